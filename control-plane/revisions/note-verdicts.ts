// Notes what each live proxy makes of revisions of the configuration, as its heartbeats say it, beside the kept revisions.
import type { Log } from '../../plane/log-events.ts';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import type { NotedVerdict, RevisionStore } from '../../store/records/kept-revisions.ts';
import { singleFlight } from '../../store/single-flight.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import type { ProxyView } from '../fleet.ts';

/** Sentences of a rejection, and their characters. */
const [mostProblems, longestProblem] = [3, 500];
/** Between two tries to note the same, where its revision is not kept or the store is away. Milliseconds. */
const againMs = 2_000;
/** Verdicts of one write. */
const mostAtOnce = 200;

/** What a proxy says of itself. */
export type HeardProxy = Pick<ProxyView, 'instance' | 'isLive' | 'body'>;

export interface VerdictParts {
  readonly store: Pick<RevisionStore, 'noteVerdicts'>;
  readonly proxies: () => readonly HeardProxy[];
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'warn'>;
}

export interface VerdictNotes {
  /** Looks at the heartbeats and writes what is new. Never rejects. */
  look(): Promise<void>;
  /** An entry was kept: verdicts about it may have come before it. */
  again(): void;
  /** Of live proxies, now. */
  current(): readonly NotedVerdict[];
}

export function noteVerdicts({ store, proxies, nowMs, log }: VerdictParts): VerdictNotes {
  /** By instance and verdict: what was heard, since when, and whether it is noted. */
  const heard = new Map<string, { readonly said: NotedVerdict; isNoted: boolean }>();
  let quietUntilMs = 0;
  let isTold = false;

  function hear(): NotedVerdict[] {
    const live = proxies().filter(({ isLive }) => isLive);
    const current = live.flatMap((proxy) => verdictsOf(proxy, nowMs()));
    const keys = new Set(current.map(keyOf));
    for (const key of heard.keys()) if (!keys.has(key)) heard.delete(key);
    for (const said of current) {
      const before = heard.get(keyOf(said));
      if (before?.said.revision !== said.revision) heard.set(keyOf(said), { said, isNoted: false });
    }
    return [...heard.values()].map(({ said }) => said);
  }

  async function look(): Promise<void> {
    hear();
    const fresh = [...heard.values()].filter(({ isNoted }) => !isNoted).slice(0, mostAtOnce);
    if (fresh.length === 0 || nowMs() < quietUntilMs) return;
    const instances = [...new Set([...heard.values()].map(({ said }) => said.instance))];
    try {
      const lacking = new Set(
        await store.noteVerdicts(
          fresh.map(({ said }) => said),
          instances,
          Math.floor(nowMs()),
        ),
      );
      for (const each of fresh) each.isNoted = !lacking.has(each.said.instance);
      if (lacking.size > 0) quietUntilMs = nowMs() + againMs;
      isTold = false;
    } catch (error) {
      quietUntilMs = nowMs() + againMs;
      // The keeper of revisions says that the store is away.
      if (!isTold && !(error instanceof StoreUnavailable))
        log.warn({ err: error }, 'verdicts of proxies on a configuration could not be noted');
      isTold = true;
    }
  }

  return {
    look: singleFlight(look).join,
    again() {
      quietUntilMs = 0;
      for (const each of heard.values()) each.isNoted = false;
    },
    current: hear,
  };
}

function keyOf({ instance, verdict }: NotedVerdict): string {
  return `${verdict} ${instance}`;
}

function verdictsOf({ instance, body }: HeardProxy, nowMs: number): NotedVerdict[] {
  const { config_revision, config_rejected: rejected, config_problems: problems } = body;
  const inForce = {
    instance,
    revision: config_revision,
    verdict: 'in_force',
    sinceMs: Math.floor(nowMs),
    problems: [],
  } as const;
  if (rejected === undefined) return [inForce];
  const [revision, sinceMs] = rejected;
  const first = problems.slice(0, mostProblems).map((each) => withoutKeys(each.slice(0, longestProblem)));
  return [inForce, { instance, revision, verdict: 'rejected', sinceMs, problems: first }];
}
