// Custody of the managed documents: whether a state store has lost some of them, or all, and who may read and write it then.
//
// A store gets its id before or with its first document and keeps it. A store that was emptied (FLUSHALL, a deleted file) has none and
// looks like one that was never used. One that went back (a snapshot, a replica that lagged, a restored file) has its id, and says again
// what was changed since. What processes remember, in memory or in their copies on disk, tells:
//
// | The store says | Remembered here   | The live proxies           | Standing    | In force here | Operators get | The control plane    |
// | -------------- | ----------------- | -------------------------- | ----------- | ------------- | ------------- | -------------------- |
// | no answer      | any               | any                        | as before   | what was      | 503           | asks again           |
// | an id          | the same, or none | any                        | `held`      | the store's   | an answer     |                      |
// | an id          | the same, later   | any                        | `behind`    | what was      | 503           | writes it back       |
// | an id          | the same, or none | some remember later        | `behind`    | what was      | 503           | waits for a proxy    |
// | an id          | another           | any                        | `replaced`  | the store's   | an answer     | keeps its copy apart |
// | no id          | an id             | any                        | `emptied`   | what was      | 503           | writes it back       |
// | no id          | none              | some remember an id        | `lost`      | nothing       | 503           | says what helps      |
// | no id          | none              | none live, some remembered | `lost`      | nothing       | 503           |                      |
// | no id          | none              | not all could be heard yet | `undecided` | nothing       | to wait       | waits                |
// | no id          | none              | all remember none          | `new`       | nothing       | an answer     | gives it an id       |
//
// "Later" is a state that the store does not go on from, whatever number it has reached: `lineage.ts` says how that is seen. A deliberate
// restore gives the store another id: `replaced`.
// A proxy hears no other proxy: it stays at `undecided` where the control plane goes on to `lost` or `new`. It writes documents in one
// case: the store is behind it, and the control plane has not written them back in time, because it does not know them.
// Two promises are kept by this. No rule or key is lost, and none that was revoked comes back, while any process remembers it. No write
// turns an emptied store into a new one.

import { heartbeatIntervalMs, heartbeatLifeMs } from './heartbeat-body.ts';
import type { StorePosition } from './state-store.ts';

export type Standing = 'unread' | 'held' | 'behind' | 'replaced' | 'emptied' | 'lost' | 'undecided' | 'new';

/** The reports of the live proxies, as their heartbeats were read last. */
export interface Witnesses {
  /** When they were read. Unix milliseconds. */
  readonly atMs: number;
  /** How many proxies live. */
  readonly live: number;
  /** How many of them have documents of a store with an id. */
  readonly remembering: number;
  /** Where the stores stood that each of these has its documents from. */
  readonly seen?: readonly StorePosition[];
}

/**
 * The further duties of the process that owns the documents: it gives a new store its id, and writes the documents back
 * into an emptied one.
 */
export interface StateOwner {
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** As of the last reading of the heartbeats; undefined when it failed, and before the first one. */
  readonly witnesses: () => Witnesses | undefined;
}

/** An answer of the store, and what else is known then. */
export interface Observation {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The id of the store; undefined: it has none. */
  readonly storeId: string | undefined;
  /** The id of the store whose documents are in force here; undefined: there are none. */
  readonly remembered: string | undefined;
  /** The store, of the same id, does not go on from what is in force here, or in a live proxy. */
  readonly isBehind?: boolean;
  /** Undefined: this process does not know, because it is a proxy, or because the heartbeats could not be read. */
  readonly witnesses: Witnesses | undefined;
}

export interface Custody {
  readonly standing: Standing;
  /** Since when the store has had no id, while this process remembers none. Unix milliseconds. */
  readonly namelessSinceMs?: number;
}

/** Before the first answer of the store. */
export const unread: Custody = { standing: 'unread' };

/** The standing after an answer of the store, from the one before. */
export function judge(before: Custody, { atMs, storeId, remembered, isBehind, witnesses }: Observation): Custody {
  if (storeId !== undefined) {
    if (remembered !== undefined && remembered !== storeId) return { standing: 'replaced' };
    return { standing: isBehind === true ? 'behind' : 'held' };
  }
  if (remembered !== undefined) return { standing: 'emptied' };
  const wasLost = before.standing === 'lost';
  if (witnesses === undefined) return { standing: wasLost ? 'lost' : 'undecided' };
  // A proxy that is gone still has its copy.
  if (witnesses.remembering > 0 || (wasLost && witnesses.live === 0)) return { standing: 'lost' };
  const namelessSinceMs = before.namelessSinceMs ?? atMs;
  // A proxy that was silent for a whole life is gone; where one has been heard, the others are heard within an interval.
  const patienceMs = witnesses.live > 0 ? 2 * heartbeatIntervalMs : heartbeatLifeMs;
  return { standing: witnesses.atMs - namelessSinceMs >= patienceMs ? 'new' : 'undecided', namelessSinceMs };
}

/** The standing after a question that the store did not answer: proxies could not speak either, so their time begins again. */
export function unanswered({ standing }: Custody): Custody {
  return { standing };
}

/** All documents that were in the store are not there any more. False while no standing is known. */
export function isEmptied(standing: Standing | undefined): boolean {
  return standing === 'emptied' || standing === 'lost';
}

/** Some documents that were in the store are not there any more, or all. */
export function hasLost(standing: Standing | undefined): boolean {
  return standing === 'behind' || isEmptied(standing);
}

/** The advice for a `lost` store; `folder` is where the control plane keeps its copy. */
export function lostAdvice(folder: string): string {
  return `the state store is empty, but proxies know rules and keys from it, so it is neither read nor written: put its data back; or copy a proxy's last-good-state.json into ${folder} and restart the control plane; or, to begin with none, remove that file of every proxy and restart them`;
}
