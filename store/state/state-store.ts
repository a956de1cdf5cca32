// The state store as both planes see it: documents with revisions, each proxy's own counters, heartbeats. Two engines keep this contract.
import { randomBytes } from 'node:crypto';
import type { CounterRow, CounterText } from '../../domain/rules/counter-row.ts';
import type { KeptItems } from './kept-items.ts';
import type { LimitStore } from './limits/limit-store.ts';

/** The name of a document: kinds are for example `rate_limit`, `reset_epoch`, `auth_key`; both texts are free. */
export interface DocumentKey {
  readonly kind: string;
  readonly id: string;
}

export interface Document extends DocumentKey {
  /** JSON. */
  readonly body: unknown;
  /** The revision of the store that wrote it. */
  readonly revision: number;
  /** The proof of its writer; `sealDocuments` sets it, and the next member. */
  readonly seal?: string;
  /** It is in force, and should be written again so that it gets a seal of the master key. */
  readonly isOutdated?: boolean;
}

export interface SkippedDocument extends DocumentKey {
  /** It has no valid seal, so it was written without the master key. Otherwise it is garbage. */
  readonly isUnsealed?: boolean;
}

/** Where the store stands. Another store id, or none, says that it was emptied or replaced: never that everything was deleted. */
export interface StorePosition {
  /** Drawn at random by `initialise` or the first commit; undefined before, and when everything was lost. */
  readonly storeId: string | undefined;
  /** Raised by one with every change; 0 at first. */
  readonly revision: number;
  /**
   * The random mark of the change that led to this revision: a store that went back and on from there has the same
   * number with another mark. Undefined: there was no change, or an older version of the gateway made it.
   */
  readonly mark?: string | undefined;
}

/** The stored facts of one of the last changes. */
export interface PastChange {
  /** Its mark; several where two lines of changes were put together. */
  readonly marks: readonly string[];
  /** The documents that it deleted. */
  readonly deleted: readonly DocumentKey[];
}

/** Of how many changes: a store that is behind by more is known to be behind, but what was deleted there is not. */
export const mostPast = 2_048;

export interface StoredState extends StorePosition {
  /** The revision of the last change to each kind, deletions included; a kind never written is absent and counts as 0. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Sorted by kind, then id. */
  readonly documents: readonly Document[];
  /** Documents that lie there but cannot be read or believed. */
  readonly skipped: readonly SkippedDocument[];
  /** The last changes, by the revision that each led to; absent where an older version of the gateway wrote the state. */
  readonly past?: ReadonlyMap<number, PastChange>;
}

/** How many documents a change may name: one that changed more of them is followed by reading all. */
export const mostNamed = 1_000;

/** What has become of a state since a revision that its store has come through: of each document that was changed, how it is now. */
export interface StateChanges extends StorePosition {
  readonly storeId: string;
  /** The kinds that were changed, with the revision of the last change. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Sorted by kind, then id. */
  readonly documents: readonly Document[];
  readonly deleted: readonly DocumentKey[];
  /** Documents that were changed, and cannot be read or believed. */
  readonly skipped: readonly SkippedDocument[];
  /** The changes, by the revision that each led to. */
  readonly past: ReadonlyMap<number, PastChange>;
}

export interface Change extends DocumentKey {
  /** JSON; undefined deletes the document, whether it exists or not. */
  readonly body: unknown;
}

export interface Commit {
  /** The id of the store the commit was decided on, null for none: on any other it conflicts. */
  readonly storeId: string | null;
  /** For each kind the commit relies on: the revision the caller has read. */
  readonly expected: ReadonlyMap<string, number>;
  /** In order; none at all only checks what is expected and leaves the revision. */
  readonly changes: readonly Change[];
}

/** Where the store stands after the commit; or nothing was changed, because another writer was first: read again. */
export type CommitResult =
  | { readonly revision: number; readonly mark?: string | undefined; readonly conflict?: never }
  | { readonly revision?: never; readonly mark?: never; readonly conflict: true };

/** A page of what an instance has stored. */
export interface StoredCounters {
  /** Of the last write; 0 before the first. */
  readonly sequence: number;
  readonly rows: readonly CounterRow[];
  /** How many rows lie on the page but cannot be read. */
  readonly skipped: number;
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

/** About how many rows a page of counters has. */
export const counterPageRows = 500;

export interface CounterBatch {
  /** Above that of every write before. */
  readonly sequence: number;
  readonly nowMs: number;
  /** Rule keys whose rows are deleted first, every child of them. */
  readonly removed: readonly string[];
  /** Rows to be put in place; one without counts is deleted. */
  readonly rows: readonly CounterText[];
}

/** When a document was used last: the whole hours from 1970 on. */
export interface DocumentUse {
  readonly id: string;
  readonly hour: number;
}

/** When documents were used last, beside them: a use is no change of a document, and raises no revision. */
export interface DocumentUses {
  /** Raises the hour of each document that exists; a later one that is stored stays, also one of another process. */
  note(kind: string, uses: readonly DocumentUse[]): Promise<void>;
  /** The hours of those of these ids that have one. */
  of(kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Of documents that were deleted. */
  forget(kind: string, ids: readonly string[]): Promise<void>;
}

/** The last end of a turn, by the clock of the store. */
export interface EndedTurn {
  /** What its holder left. */
  readonly value: string;
  /** Unix milliseconds; equal for equal ends. */
  readonly atMs: number;
}

/** A piece of work that several processes would do, and one of them does at a time. */
export interface Turn {
  readonly name: string;
  /** The process; it gets a turn that it holds already again. */
  readonly holder: string;
}

/** Turns by name: of all processes that share the store, one holds a turn. They are no documents: the store may lose one. */
export interface Turns {
  /**
   * Takes the turn for `lifeMs`, unless another process holds it, or the last one ended less than `everyMs` ago. `last`: how the last one
   * ended, absent when none has.
   */
  take(
    turn: Turn,
    times: { readonly everyMs: number; readonly lifeMs: number },
  ): Promise<{ readonly isTaken: boolean; readonly last?: EndedTurn }>;
  /** Ends the turn and leaves a value of up to 100 characters. Undefined, and nothing changed, when its time was over and another process has it. */
  end(turn: Turn, value: string): Promise<EndedTurn | undefined>;
}

/** Settings of a store that could lose documents. */
export interface Inspection {
  /** A sentence each. */
  readonly warnings: readonly string[];
  /** Why it may drop keys by itself, and what helps: a sentence. Undefined: it does not, or does not say. */
  readonly evicts: string | undefined;
}

export interface Heartbeat {
  readonly instance: string;
  readonly atMs: number;
  /** JSON. */
  readonly body: unknown;
}

/**
 * Every operation has a deadline and rejects with `StoreUnavailable`; after an outage the next one may succeed. A write that
 * rejects with reason `timeout`, `unreachable` or `garbled` may have happened all the same: read before trying again.
 */
export interface StateStore {
  /** Documents and revisions as of one moment. Creates nothing. */
  read(): Promise<StoredState>;
  /** Only where the store stands: cheap. */
  revision(): Promise<StorePosition>;
  /**
   * What has changed since the store stood at `seen`, as of one moment. Undefined when that is not known for certain: the store does not
   * go on from there, does not remember so much, was written back or by an older version since, or has changed too much. Read all then.
   */
  changesSince(seen: StorePosition): Promise<StateChanges | undefined>;
  /** Applies all changes or none, and raises the revision by one. Gives a store without id one. */
  commit(commit: Commit): Promise<CommitResult>;
  /** Looks at the settings of the store. */
  inspect(): Promise<Inspection>;
  /** Gives a store without an id one; resolves to the id in force. */
  initialise(): Promise<string>;
  /**
   * Puts a whole state, with its id, revision and past, in the place of everything that the store says, when it stands at `over`. False,
   * and nothing changed, when it stands elsewhere: another writer was first.
   */
  rewrite(state: StoredState, over: StorePosition): Promise<boolean>;
  /**
   * Calls back soon after the watch has begun, after each change of a document or the store id by any process, at the latest `pollMs`
   * later, when the store begins to fail, and when it is back. Several changes may share a call. Ends with `close`.
   */
  watch(onChange: () => void): void;
  /**
   * The first page of the rows of an instance, or the one at `from`, as a page before said. A row may come twice when the store was
   * changed between two pages.
   */
  loadCounters(instance: string, from?: string): Promise<StoredCounters>;
  /**
   * In one transaction: deletes the rows of `removed`, puts `rows` in place, deletes what has expired at `nowMs`. Rejects, and writes
   * nothing, when `sequence` is not above the stored one: a write that timed out may have been the later one.
   */
  writeCounters(instance: string, batch: CounterBatch): Promise<void>;
  writeHeartbeat(heartbeat: Heartbeat): Promise<void>;
  /** The last heartbeat of each instance, or of this one, sorted by instance; an instance without one for a day is forgotten. */
  heartbeats(instance?: string): Promise<Heartbeat[]>;
  removeHeartbeat(instance: string): Promise<void>;
  readonly uses: DocumentUses;
  readonly turns: Turns;
  /** They begin with their first use. */
  readonly kept: KeptItems;
  /** Nothing is opened for them before `connect` or `look`. */
  readonly limits: LimitStore;
  /** Finishes what was asked for before; later operations reject. */
  close(): Promise<void>;
}

/** How long rows and heartbeats of instances that are gone are kept, in milliseconds. */
export const forgottenAfterMs = 86_400_000;

/** The rejection of a write of counters when a later one is stored already. */
export function outdatedCounters(instance: string, sequence: number, stored: number): Error {
  return new Error(
    `counters of ${instance} were refused: write ${sequence} is not above the stored ${stored}; does another process run as ${instance}?`,
  );
}

/** A mark for a change. */
export function newMark(): string {
  return randomBytes(9).toString('base64url');
}

/** Whether both are the same revision of the same line of changes. */
export function isSamePosition(one: StorePosition, other: StorePosition): boolean {
  return one.storeId === other.storeId && one.revision === other.revision && one.mark === other.mark;
}

/** A body as JSON text; throws a TypeError for what JSON cannot say. */
export function bodyText(body: unknown): string {
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined) throw new TypeError('the body of a document must be JSON');
  return text;
}
