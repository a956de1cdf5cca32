// The description of a kind of documents that operators list and write. `routes.ts` serves it.
import type { ManagedKind } from '../../domain/documents/managed-kind.ts';
import type { Change } from '../../store/state/state-store.ts';
import type { Operator } from '../authenticate.ts';
import type { DocumentStore, KnownState } from './commit.ts';

/** The parts of the process that every kind uses. */
export interface ManagedParts {
  readonly store: DocumentStore;
  /** Unix milliseconds. */
  nowMs(): number;
}

/** The document that a write is about. */
export interface Named {
  /** The id of the document. */
  readonly key: string;
}

/** The documents of a kind that operators have set, by id. */
export interface ManualDocuments<Manual> {
  readonly get: (id: string) => Manual | undefined;
  readonly all: () => ReadonlyMap<string, Manual>;
}

/** The documents of a kind that a write is decided on. */
export interface KnownDocuments<Manual> {
  readonly manual: ManualDocuments<Manual>;
}

/** The operator of a write. */
export interface Writer {
  readonly operator: Operator;
  /** `master_key`, or the id of a managed key. */
  readonly name: string;
}

/** The facts that an answer shows. */
export interface Shown<Query, Figures> {
  readonly operator: Operator;
  /** Of a listing; undefined after a write. */
  readonly query: Query | undefined;
  /** Undefined: their source does not answer. */
  readonly figures: Figures | undefined;
  /** The store does not answer: the documents are those in force here. */
  readonly isStale: boolean;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** One way to write. */
export interface ManagedWrite<Parts, Known, Wanted extends Named = Named> {
  readonly method: 'PUT' | 'DELETE' | 'POST';
  /** Behind the path of the resource, such as `/reset-one`; `/*` stands for anything. Absent: nothing. */
  readonly suffix?: string;
  /** The body, by its schema. `rest`: what the path has for the `*` of the suffix. Throws or rejects with the refusal. */
  read(body: unknown, nowMs: number, rest: string): Wanted | Promise<Wanted>;
  /** Throws the refusal of an operator who may write nothing of this name, whatever is stored. */
  admit?(wanted: Wanted, operator: Operator, parts: Parts): void;
  /** Decides on what is stored; called again after a conflict. Throws the refusal. */
  decide(known: Known, wanted: Wanted, writer: Writer): readonly Change[];
  /** The body of the answer. Absent: the listing. */
  readonly answer?: object;
}

export interface ManagedResource<
  Parts extends ManagedParts,
  Known extends KnownDocuments<unknown>,
  Query = undefined,
  Figures = undefined,
> {
  /** Such as `/admin/guardrails`. */
  readonly path: string;
  readonly kind: ManagedKind<unknown>;
  /** Other kinds that a write is decided on. */
  readonly others?: readonly ManagedKind<unknown>[];
  /** The answers have no entity tag, and writes take no condition. */
  readonly isUntagged?: boolean;
  /** Reads the query of the listing; absent: it takes none. Throws 400 `invalid_query`. */
  readQuery?(query: unknown): Query;
  /** The counts of the entries. `isNeeded`: a write is refused without them. `read` rejects with `StoreUnavailable`. */
  readonly figures?: { read(parts: Parts): Promise<Figures>; readonly isNeeded: boolean };
  /** The entries that a write is decided on. `nowMs`: Unix milliseconds. */
  known(parts: Parts, state: KnownState, nowMs: number): Known;
  /** The body of the listing; one that may be long as a `LongList`. It does not fail: behind a write nothing may. */
  list(parts: Parts, state: KnownState, shown: Shown<Query, Figures>): object | Promise<object>;
  /** The name in the log and in the record of a write. */
  title(wanted: Named): string;
  /** The members of log and record for a write that changes the document. They hold no secret. It looks at this document alone. */
  facts(before: Known, after: Known, wanted: Named): object;
  readonly writes: readonly ManagedWrite<Parts, Known>[];
}

/** The entries after `changes`; a document that cannot be read is left out. */
export function knownAfter<Manual, Known extends KnownDocuments<Manual>>(
  known: Known,
  kind: ManagedKind<Manual>,
  changes: readonly Change[],
): Known {
  const { manual } = known;
  const own = changes.filter((change) => change.kind === kind.kind);
  const next = new Map(own.map(({ id, body }) => [id, body === undefined ? undefined : kind.read(id, body)]));
  const all = (): ReadonlyMap<string, Manual> => {
    const after = new Map(manual.all());
    for (const [id, value] of next) {
      if (value === undefined) after.delete(id);
      else after.set(id, value);
    }
    return after;
  };
  return { ...known, manual: { get: (id) => (next.has(id) ? next.get(id) : manual.get(id)), all } };
}
