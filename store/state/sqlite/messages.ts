// The messages between the two ends of the embedded store; input and output are JSON, which threads pass on faster than objects.
import type { StoreFailure } from '../store-unavailable.ts';

/** The settings of the thread at its start. */
export interface ThreadSettings {
  readonly directory: string;
  /** Of a store on a server. */
  readonly databaseUrl?: string;
  /** Most pages that its connection holds; default: as many as pages of lists need. */
  readonly cacheKiB?: number;
  /** How long a statement waits for a lock of another process. */
  readonly busyMs: number;
  readonly pollMs: number;
  /** True when the store has been open before in this process: a file that is gone is then not silently created anew. */
  readonly wasOpen: boolean;
  readonly isWatching: boolean;
}

export type OperationName =
  | 'readPage'
  | 'revision'
  | 'since'
  | 'commit'
  | 'initialise'
  | 'rewrite'
  | 'loadCounters'
  | 'writeCounters'
  | 'writeHeartbeat'
  | 'heartbeats'
  | 'removeHeartbeat'
  | 'noteUses'
  | 'usesOf'
  | 'forgetUses'
  | 'takeTurn'
  | 'endTurn'
  | 'watch'
  | 'close';

export interface Request<Name extends string = OperationName> {
  /** Its number. A thread with more than one request at work says it in its answer. */
  readonly id: number;
  readonly name: Name;
  readonly input: string;
  readonly bytes?: Uint8Array;
}

/**
 * One for every request, in their order where it has no `id`; `changed` whenever a watcher should poll; `online` once at the start.
 */
export type Answer =
  | { readonly kind: 'online' }
  | { readonly kind: 'changed' }
  | (ToRequest & { readonly kind: 'output'; readonly output: string; readonly bytes?: Uint8Array })
  | (ToRequest & {
      readonly kind: 'failure';
      readonly reason: StoreFailure;
      readonly message: string;
      readonly cause: string;
    })
  | (ToRequest & { readonly kind: 'broken'; readonly message: string });

interface ToRequest {
  readonly id?: number;
}

export type TextDocument = readonly [kind: string, id: string, revision: number, body: unknown];

export type TextName = readonly [kind: string, id: string];

/** The marks, and each document that was deleted. */
export type TextChange = readonly [revision: number, marks: readonly string[], deleted: readonly TextName[]];

/** A change, and each document that it wrote or deleted. */
export type TextNames = readonly [...TextChange, names: readonly TextName[]];

export interface FoundOutput {
  readonly documents: readonly TextDocument[];
  readonly skipped: readonly TextName[];
}

/** `after`: the last name of the page before; null: the first page. */
export interface PageInput {
  readonly after: TextName | null;
  readonly limit: number;
}

/** `last`: of this page, when there may be another. */
export interface PageOutput extends RevisionOutput, FoundOutput {
  readonly last: TextName | null;
  /** On the first page. */
  readonly past: readonly TextChange[];
  readonly kinds: readonly (readonly [kind: string, revision: number])[];
}

/** Where the store was seen, and the most documents of which it is said what has become of them. */
export interface SinceInput extends RevisionOutput {
  readonly limit: number;
}

/** Null: it is not known. */
export type SinceOutput = (RevisionOutput & FoundOutput & { readonly changes: readonly TextNames[] }) | null;

export interface RevisionOutput {
  readonly storeId: string | null;
  readonly revision: number;
  readonly mark: string | null;
}

/** The revision and mark after it; null: another writer was first. */
export type CommitOutput = readonly [revision: number, mark: string | null] | null;

export interface CommitInput {
  readonly storeId: string | null;
  /** For the change. */
  readonly mark: string;
  readonly expected: readonly (readonly [kind: string, revision: number])[];
  /** The body as JSON text; null deletes. */
  readonly changes: readonly (readonly [kind: string, id: string, body: string | null])[];
}

export interface RewriteInput {
  readonly over: RevisionOutput;
  readonly storeId: string;
  readonly revision: number;
  readonly past: readonly TextChange[];
  readonly kinds: readonly (readonly [kind: string, revision: number])[];
  /** The body as JSON text. */
  readonly documents: readonly (readonly [kind: string, id: string, revision: number, body: string])[];
}

/** A row as it is stored, its counts as text; null for the moment it expires: nothing is counted, so it is deleted. */
export type TextRow = readonly [key: string, child: string, counts: string, expiresAtMs: number | null];

export interface CountersInput {
  readonly instance: string;
  readonly sequence: number;
  readonly nowMs: number;
  readonly removed: readonly string[];
  readonly rows: readonly TextRow[];
}

/** `after`: the last rule key and child of the page before. */
export interface LoadInput {
  readonly instance: string;
  readonly after: readonly [key: string, child: string] | null;
  readonly limit: number;
}

/** The counts as they are stored. `last`: of this page, when there may be another. */
export interface LoadOutput {
  readonly sequence: number;
  readonly last: readonly [key: string, child: string] | null;
  readonly rows: readonly (readonly [key: string, child: string, counts: string])[];
}

/** The stored sequence number, when the write was refused. */
export interface CountersOutput {
  readonly refusedBy: number | null;
}

export interface UsesInput {
  readonly kind: string;
  readonly uses: readonly (readonly [id: string, hour: number])[];
}

export interface UsedInput {
  readonly kind: string;
  readonly ids: readonly string[];
}

/** Its body goes beside it, as JSON in UTF-8. */
export interface HeartbeatInput {
  readonly instance: string;
  readonly atMs: number;
}

export interface TurnInput {
  readonly name: string;
  readonly holder: string;
}

export interface TakeInput extends TurnInput {
  readonly everyMs: number;
  readonly lifeMs: number;
}

/** `endedMs` 0: none has ended. */
export interface TakeOutput {
  readonly isTaken: boolean;
  readonly endedMs: number;
  readonly value: string;
}

export interface EndInput extends TurnInput {
  readonly value: string;
}
