// The proxies by their heartbeats: which are live, what each enforces, and for how long a proxy has been behind. A heartbeat comes through the
// state store; while that does not take it, from the proxy itself.
import { singleFlight } from '../store/single-flight.ts';
import type { Witnesses } from '../store/state/custody.ts';
import { type HeartbeatBody, heartbeatLifeMs, readHeartbeatBody } from '../store/state/heartbeat-body.ts';
import type { Heartbeat, StateStore } from '../store/state/state-store.ts';
import { ToldHeartbeats } from './told-heartbeats.ts';

/** How long a shared name is reported after the last sign of it: two processes alternate only in some heartbeats. Milliseconds. */
const sharedMemoryMs = 10 * heartbeatLifeMs;

/** The revisions that all proxies should have in force. */
export interface Desired {
  readonly configRevision: string;
  /** A revision that some proxies have before the others; absent: there is none. */
  readonly tried?: { readonly revision: string; readonly proxies: readonly string[] } | undefined;
  readonly stateRevision: number;
  /** See `environmentFingerprint`. */
  readonly environment: string;
}

export interface ProxyView {
  readonly instance: string;
  /** Its last heartbeat is less than three seconds old. */
  readonly isLive: boolean;
  /** The time of its last heartbeat by this plane's clock. Unix milliseconds. */
  readonly heardAtMs: number;
  /** Where that heartbeat came from: the state store, or the proxy itself. */
  readonly heardFrom: 'store' | 'proxy';
  readonly body: HeartbeatBody;
  /** It enforces the desired config and state. */
  readonly isConverged: boolean;
  /** When this plane first saw it with another config revision than the desired one. Unix milliseconds; undefined: it has that one. */
  readonly otherConfigSinceMs?: number | undefined;
  /** Two processes have recently sent heartbeats under its name: their counters overwrite each other. */
  readonly isShared: boolean;
}

/** The heartbeats of an instance so far. Unix milliseconds. */
interface Heard {
  readonly atMs: number;
  readonly heardAtMs: number;
  /** The start of the process that sent the last heartbeat, and of the process before it. */
  readonly startedAtMs: number | undefined;
  readonly formerStartMs?: number | undefined;
  /** When a process sent a heartbeat again after another process had sent one. */
  readonly sharedAtMs?: number | undefined;
}

export interface Fleet {
  /** Reads the heartbeats; calls at the same time share one read. Rejects with `StoreUnavailable`. */
  refresh(): Promise<void>;
  /** A proxy says itself what the store did not take. */
  told(instance: string, body: HeartbeatBody): void;
  /** As of the last refresh, and of what proxies said since; sorted by instance. */
  proxies(): readonly ProxyView[];
  /** The same, with the times by this plane's clock: clocks of other machines do not matter. */
  heartbeats(): readonly Heartbeat[];
  /** The live proxies that the store knows and that know documents of it; undefined when the last refresh failed, and before the first one. */
  witnesses(): Witnesses | undefined;
  /** The live proxies that work with the master key of this mark; see `sealMark`. As of the last refresh. */
  workingWith(mark: string): readonly string[];
  /** Seconds for which at least one live proxy has been behind; 0 when none is. */
  lagSeconds(): number;
}

/** `desired` is called at every refresh. */
export function createFleet(store: Pick<StateStore, 'heartbeats'>, desired: () => Desired, nowMs: () => number): Fleet {
  const heard = new Map<string, Heard>();
  let stored: Heartbeat[] = [];
  const told = new ToldHeartbeats(nowMs);
  let otherConfigSince: ReadonlyMap<string, number> = new Map();
  let behindSinceMs: number | undefined;
  let refreshedAtMs: number | undefined;

  /** The first heartbeat of a proxy has the age that it states; every later one was sent just now. */
  function hear({ instance, atMs, body }: Heartbeat): number {
    const before = heard.get(instance);
    const startedAtMs = readHeartbeatBody(body)?.started_at_ms;
    if (before === undefined) {
      const heardAtMs = Math.max(0, Math.min(atMs, nowMs()));
      heard.set(instance, { atMs, heardAtMs, startedAtMs });
      return heardAtMs;
    }
    if (before.atMs === atMs && before.startedAtMs === startedAtMs) return before.heardAtMs;
    const heardAtMs = nowMs();
    const isSame = startedAtMs === before.startedAtMs;
    heard.set(instance, {
      atMs,
      heardAtMs,
      startedAtMs,
      formerStartMs: isSame ? before.formerStartMs : before.startedAtMs,
      // A replaced process sends no more heartbeats, so a process that sends again shares the name with another.
      sharedAtMs:
        !isSame && startedAtMs !== undefined && startedAtMs === before.formerStartMs ? heardAtMs : before.sharedAtMs,
    });
    return heardAtMs;
  }

  function proxies(): ProxyView[] {
    return told.beside(stored).flatMap((beat) => {
      const { instance, atMs: heardAtMs } = beat;
      const body = readHeartbeatBody(beat.body);
      if (body === undefined) return [];
      const isLive = nowMs() - heardAtMs < heartbeatLifeMs;
      const sharedAtMs = heard.get(instance)?.sharedAtMs;
      // Both send as often as this plane reads, so it may read only one of them for a long time; they notice each other.
      const isSeen = sharedAtMs !== undefined && nowMs() - sharedAtMs < sharedMemoryMs;
      const isShared = isSeen || (isLive && body.instance_shared === true);
      const heardFrom = told.has(beat) ? 'proxy' : 'store';
      const view = { instance, isLive, heardAtMs, heardFrom, body, isShared } as const;
      return [{ ...view, ...standing(view, desired(), otherConfigSince.get(instance)) }];
    });
  }

  async function refresh(): Promise<void> {
    const beganAtMs = nowMs();
    try {
      const beats = await store.heartbeats().catch((error: unknown) => {
        refreshedAtMs = undefined;
        throw error;
      });
      refreshedAtMs = beganAtMs;
      stored = beats.map((beat) => ({ ...beat, atMs: hear(beat) }));
      const instances = new Set(beats.map(({ instance }) => instance));
      for (const instance of heard.keys()) if (!instances.has(instance)) heard.delete(instance);
      told.forgetSilent();
    } finally {
      otherConfigSince = sinceWhen(otherConfigSince, proxies(), desired(), nowMs());
      const isBehind = proxies().some((proxy) => proxy.isLive && !proxy.isConverged);
      behindSinceMs = isBehind ? (behindSinceMs ?? nowMs()) : undefined;
    }
  }

  return {
    refresh: singleFlight(refresh).next,
    told: (instance, body) => told.take(instance, body),
    proxies,
    witnesses: () => (refreshedAtMs === undefined ? undefined : witnessesIn(proxies(), refreshedAtMs)),
    heartbeats: () => told.beside(stored),
    workingWith(mark) {
      const live = proxies().filter(({ isLive }) => isLive);
      return live.filter(({ body }) => body.master_key_mark === mark).map(({ instance }) => instance);
    },
    lagSeconds: () => (behindSinceMs === undefined ? 0 : (nowMs() - behindSinceMs) / 1000),
  };
}

/** Since when each has another config revision than the desired one; `before`: as of the last time. Unix milliseconds. */
function sinceWhen(
  before: ReadonlyMap<string, number>,
  proxies: readonly ProxyView[],
  desired: Desired,
  nowMs: number,
): Map<string, number> {
  const others = proxies.filter(({ instance, body }) => body.config_revision !== revisionFor(instance, desired));
  return new Map(others.map(({ instance }) => [instance, before.get(instance) ?? nowMs]));
}

function witnessesIn(proxies: readonly ProxyView[], atMs: number): Witnesses {
  const live = proxies.filter(({ isLive, heardFrom }) => isLive && heardFrom === 'store');
  const seen = live.flatMap(({ body }) => {
    const { store_id: storeId, state_revision: revision, state_mark: mark } = body;
    return storeId === null ? [] : [{ storeId, revision, mark }];
  });
  return { atMs, live: live.length, remembering: seen.length, seen };
}

/** `since`: see `ProxyView`. */
function standing(
  { instance, body }: Pick<ProxyView, 'instance' | 'body'>,
  desired: Desired,
  since: number | undefined,
): Pick<ProxyView, 'isConverged' | 'otherConfigSinceMs'> {
  return { isConverged: isConverged(instance, body, desired), otherConfigSinceMs: since };
}

function isConverged(instance: string, body: HeartbeatBody, desired: Desired): boolean {
  return (
    body.config_revision === revisionFor(instance, desired) &&
    body.state_revision === desired.stateRevision &&
    body.environment === desired.environment
  );
}

function revisionFor(instance: string, { configRevision, tried }: Desired): string {
  return tried?.proxies.includes(instance) === true ? tried.revision : configRevision;
}

/** Logs a line when proxies begin to share a name and when they no longer do. */
export function createSharingWarnings(
  log: Record<'error' | 'info', (text: string) => void>,
): (proxies: readonly ProxyView[]) => void {
  let said: readonly string[] = [];
  return (proxies) => {
    const shared = proxies.filter(({ isShared }) => isShared).map(({ instance }) => instance);
    for (const name of shared.filter((each) => !said.includes(each))) {
      log.error(
        `several proxies run as instance "${name}", so their counters overwrite each other: give each its own GATEWAY_INSTANCE`,
      );
    }
    for (const name of said.filter((each) => !shared.includes(each))) {
      log.info(`one proxy runs as instance "${name}" again`);
    }
    said = shared;
  };
}
