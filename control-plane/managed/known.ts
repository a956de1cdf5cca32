// The documents of one kind that a write is decided on, beside what the configuration declares, and what all decisions have in common. Pure.
import { type ManagedKind, written } from '../../domain/documents/managed-kind.ts';
import type { ManualEntry } from '../../domain/documents/manual-entry.ts';
import { type Authorship, expiryMs } from '../../domain/rules/authorship.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Change } from '../../store/state/state-store.ts';
import { type ErrorCode, type Refusal, refusal } from '../errors.ts';
import { type KeyIndex, keysOf } from './key-index.ts';
import { longestDocumentBytes } from './quotas.ts';
import { invalid } from './read-body.ts';
import type { KnownDocuments, ManualDocuments } from './resource.ts';
import { type KindState, storedKind } from './stored-kind.ts';

/** All entries of a kind at one moment, by key. */
export interface Known<Declared, Manual> extends KnownDocuments<Manual> {
  readonly config: ReadonlyMap<string, Declared>;
  /** Where the configuration declares an entry: `<file>:<line>`, or its variable. */
  readonly places: ReadonlyMap<string, string>;
  /** Those of operators that have not expired. */
  readonly manual: ManualDocuments<Manual>;
  /** Whether the document with this key has expired. */
  readonly isExpired: (key: string) => boolean;
  /** The keys of all documents that have expired. */
  readonly expired: () => readonly string[];
  /** Whether there is a document with this key that cannot be read. */
  readonly isUnreadable: (key: string) => boolean;
  /** Whether there is a document with this key, also one that has expired or cannot be read. */
  readonly isStored: (key: string) => boolean;
  /** How many documents there are, those that have expired or cannot be read included. */
  readonly count: number;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Every managed key; it holds until those of another state are asked for. */
  readonly keys: () => KeyIndex;
}

/** The entries of the configuration by key, and where each is declared. */
export type Declaration<Declared> = Pick<Known<Declared, unknown>, 'config' | 'places'>;

export function readKnown<Declared, Manual extends { readonly key: string } & Pick<Authorship, 'expiresAt'>>(
  kind: ManagedKind<Manual>,
  state: KindState,
  declaration: Declaration<Declared>,
  nowMs: number,
): Known<Declared, Manual> {
  const stored = storedKind(kind, state);
  const get = (key: string): Manual | undefined => {
    const found = stored.get(key);
    return found !== undefined && expiryMs(found) > nowMs ? found : undefined;
  };
  return {
    ...declaration,
    manual: { get, all: () => new Map([...stored.all()].filter(([, each]) => expiryMs(each) > nowMs)) },
    isExpired: (key) => get(key) === undefined && stored.get(key) !== undefined,
    expired: () => [...stored.all()].flatMap(([key, each]) => (expiryMs(each) > nowMs ? [] : [key])),
    isUnreadable: stored.isUnreadable,
    isStored: stored.has,
    count: stored.count,
    nowMs,
    keys: () => keysOf(state),
  };
}

/** Entries of the configuration by key; the map of one list is made once. */
export function byKey<Declared extends object>(
  list: readonly Declared[],
  keyOf: (entry: Declared) => string,
): ReadonlyMap<string, Declared> {
  const before = madeBefore.get(list);
  if (before !== undefined) return before as ReadonlyMap<string, Declared>;
  const made = new Map(list.map((entry) => [keyOf(entry), entry]));
  madeBefore.set(list, made);
  return made;
}

const madeBefore = new WeakMap<object, ReadonlyMap<string, unknown>>();

/**
 * Throws what `refuse` makes of the number of entries, those of the configuration and of operators, when there are `limit` or more. They
 * are counted one by one only near the limit.
 */
export function refuseFull(
  { config, manual, count: stored }: Pick<Known<unknown, unknown>, 'config' | 'manual' | 'count'>,
  limit: number,
  refuse: (count: number) => Refusal,
): void {
  if (config.size + stored < limit) return;
  const count = config.size + [...manual.all().keys()].filter((key) => !config.has(key)).length;
  if (count >= limit) throw refuse(count);
}

/** A write that leaves `per_child` out keeps that of the configuration. Throws 403 without the entitlement for templates. */
export function perChildOf(named: boolean | undefined, declared: boolean | undefined, hasTemplates: boolean): boolean {
  const perChild = named ?? declared ?? false;
  if (perChild && !hasTemplates) throw refusal('quota_templates_not_entitled', { param: 'per_child' });
  return perChild;
}

/** When it was written until when, and by whom; `before`: what it replaces of operators. `by` names the operator. */
export function signature(
  before: Pick<Authorship, 'createdAt'> | undefined,
  expiresAtMs: number | undefined,
  by: string,
  nowMs: number,
): Pick<Authorship, 'expiresAt' | 'createdAt' | 'updatedAt' | 'updatedBy'> {
  const now = timestamp(nowMs);
  return {
    ...(expiresAtMs === undefined ? {} : { expiresAt: timestamp(expiresAtMs) }),
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
    updatedBy: by,
  };
}

/** Throws `code` (409) when `key` is new and operators have set as many entries as they may. */
export function refuseMore(known: Known<unknown, unknown>, key: string, limit: number, code: ErrorCode): void {
  const { count } = known;
  if (count >= limit && !isSet(known, key)) throw refusal(code, { fill: { count, limit } });
}

/** Whether operators have set something with this key, even if it cannot be read. */
function isSet(
  { manual, isUnreadable }: Pick<Known<unknown, unknown>, 'manual' | 'isUnreadable'>,
  key: string,
): boolean {
  return manual.get(key) !== undefined || isUnreadable(key);
}

/** The change that stores an entry. Throws the 400 that `tooLong` makes of its length in bytes. */
export function writtenEntry<Value>(
  { manual, nowMs }: Known<unknown, ManualEntry<Value>>,
  kind: ManagedKind<ManualEntry<Value>>,
  { key, value, by }: { readonly key: string; readonly value: Value; readonly by: string },
  tooLong: (bytes: number) => readonly [param: string, problem: string],
): Change {
  const change = written(kind, key, { key, value, ...signature(manual.get(key), undefined, by, nowMs) });
  const bytes = Buffer.byteLength(JSON.stringify(change.body));
  if (bytes > longestDocumentBytes) throw invalid(...tooLong(bytes));
  return change;
}

/**
 * Throws when operators have set nothing with this key: `configOwned` (409) naming the place where the configuration declares it, else
 * `notFound` (404). `name`: how the messages call the entry.
 */
export function refuseUnset(
  known: Known<unknown, unknown>,
  key: string,
  codes: { readonly configOwned: ErrorCode; readonly notFound: ErrorCode },
  name: Readonly<Record<string, string>> = {},
): void {
  if (isSet(known, key)) return;
  const { config, places } = known;
  const place = places.get(key) ?? 'the configuration';
  throw config.has(key)
    ? refusal(codes.configOwned, { fill: { ...name, place } })
    : refusal(codes.notFound, { fill: name });
}
