// What the workers of one proxy do for each other: one text of metrics, explanations and objects that another one has just made, failed logins.
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { Log } from '../../plane/log-events.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import { sayEnforced } from '../admin/await-enforced.ts';
import type { KeptExplanations } from '../kept/kept-explanations.ts';
import type { WrittenElsewhere } from '../kept/objects/kept-homes.ts';
import type { Readiness } from '../readiness.ts';
import type { FromParent, Question, Reply } from '../workers/messages.ts';
import { alone, joinSiblings, type Siblings } from '../workers/siblings.ts';
import type { Kept } from './open-kept.ts';

/** After its parent is gone, a worker may take so long to write what it has counted. Milliseconds. */
const mostMs = 5_000;

/**
 * Joins the other workers where this process is one. A worker takes signals from its parent alone: a terminal and a supervisor send them to
 * all processes, and each would come twice.
 */
export function openSiblings(isWorker: boolean, log: Pick<Log, 'error'>): Siblings {
  if (!isWorker || process.send === undefined) return alone;
  const { worker } = process.getBuiltinModule('node:cluster');
  // Otherwise node:cluster ends the process at once when its parent is gone.
  if (worker !== undefined) worker.exitedAfterDisconnect = true;
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => undefined);
  const channel = {
    on: (event: 'message', listener: (message: FromParent) => void) =>
      process.on(event, (message) => listener(message as FromParent)),
    once: (event: 'disconnect', listener: () => void) => process.once(event, listener),
    send: (message: object) => {
      // What cannot be said to a parent that is gone is not said.
      if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
    },
  };
  return joinSiblings(channel, {
    leave: () => process.exit(0),
    lost(end) {
      log.error('the parent of the workers is gone, so this worker ends');
      setTimeout(() => process.exit(1), mostMs);
      end();
    },
  });
}

export interface SiblingParts {
  /** Of this worker alone. */
  readonly readiness: () => Readiness;
  readonly graceMs: () => number;
  readonly observed: { readonly text: () => Promise<string> };
  readonly keptExplanations: Pick<KeptExplanations, 'get'>;
  readonly kept: Pick<Kept, 'written'>;
  readonly state: Pick<StateFollower, 'status' | 'refresh'>;
  /** Those that are told to nobody. */
  readonly failedLogins: Pick<FailedLogins, 'fail'>;
  readonly nowMs: () => number;
}

/** From now on the others are answered. */
export function workForSiblings(siblings: Siblings, parts: SiblingParts): void {
  const { readiness, graceMs, observed, keptExplanations, kept, state, failedLogins, nowMs } = parts;
  // Its text is made once at a time.
  const metrics = singleFlight(() => observed.text());
  const answers: {
    readonly [About in Question['about']]: (question: Extract<Question, { about: About }>) => Promise<Reply>;
  } = {
    metrics: () => metrics.next(),
    explanation: async ({ id }) => keptExplanations.get(id, nowMs())?.toString() ?? null,
    kept: async ({ id, owner }) => {
      await kept.written(id, owner);
      return null;
    },
    enforced: ({ revision }) => sayEnforced(state, revision),
  };
  siblings.work({
    status: () => ({ readiness: readiness(), graceMs: graceMs() }),
    answer: (question) => answers[question.about](question as never),
    failedLogin: ({ address, atMs }) => failedLogins.fail(address, atMs),
  });
}

/** What is counted here, with `text` of all workers. A parent that does not answer in time leaves the text of this one. */
export function metricsOfAll<Source extends { text(): Promise<string> }>(observed: Source, siblings: Siblings): Source {
  if (siblings.isAlone) return observed;
  return { ...observed, text: async () => (await siblings.ask({ about: 'metrics' }))[0] ?? observed.text() };
}

/** Undefined: there is no other worker. */
export function askWritten(siblings: Siblings): WrittenElsewhere | undefined {
  if (siblings.isAlone) return undefined;
  return (id, owner) => siblings.ask({ about: 'kept', id, owner });
}

/** A failure counts in all workers: an address has as many attempts as with one. */
export function shareFailedLogins(own: FailedLogins, siblings: Siblings): FailedLogins {
  if (siblings.isAlone) return own;
  return {
    ...own,
    fail(address, nowMs) {
      own.fail(address, nowMs);
      siblings.tell({ address, atMs: nowMs });
    },
  };
}
