// The documents of one kind that a write is decided on, beside what the configuration declares, and what all decisions have in common. Pure.
import { managedKeys } from '../../domain/documents/kinds.ts';
import { type ManagedKind, readKind, written } from '../../domain/documents/managed-kind.ts';
import type { ManualEntry } from '../../domain/documents/manual-entry.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { type Authorship, expiryMs } from '../../domain/rules/authorship.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Change } from '../../store/state/state-store.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import { longestDocumentBytes } from './quotas.ts';
import { invalid } from './read-body.ts';
import type { KnownDocuments, ManagedState } from './resource.ts';

/** All entries of a kind at one moment, by key. */
export interface Known<Declared, Manual> extends KnownDocuments<Manual> {
  readonly config: ReadonlyMap<string, Declared>;
  /** Where the configuration declares an entry: `<file>:<line>`, or its variable. */
  readonly places: ReadonlyMap<string, string>;
  /** Those of operators that have not expired. */
  readonly manual: ReadonlyMap<string, Manual>;
  /** Keys of expired ones with a document in the store. */
  readonly expired: ReadonlySet<string>;
  /** Keys of documents that cannot be read. */
  readonly unreadable: ReadonlySet<string>;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Every managed key. */
  keys(): readonly AuthKey[];
}

/** The entries of the configuration by key, and where each is declared. */
export type Declaration<Declared> = Pick<Known<Declared, unknown>, 'config' | 'places'>;

export function readKnown<Declared, Manual extends { readonly key: string } & Pick<Authorship, 'expiresAt'>>(
  kind: ManagedKind<Manual>,
  state: Pick<ManagedState, 'documents' | 'skipped'>,
  declaration: Declaration<Declared>,
  nowMs: number,
): Known<Declared, Manual> {
  const { values, unreadable } = readKind(kind, state.documents, state.skipped);
  return {
    ...declaration,
    manual: new Map(values.filter((each) => expiryMs(each) > nowMs).map((each) => [each.key, each])),
    expired: new Set(values.filter((each) => expiryMs(each) <= nowMs).map(({ key }) => key)),
    unreadable: new Set(unreadable),
    nowMs,
    keys: () => readKind(managedKeys, state.documents).values,
  };
}

/** How many there are, of the configuration and of operators. */
export function countOf({ config, manual }: Pick<Known<unknown, unknown>, 'config' | 'manual'>): number {
  let count = config.size;
  for (const key of manual.keys()) if (!config.has(key)) count += 1;
  return count;
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
export function refuseMore(
  { manual, unreadable }: Pick<Known<unknown, unknown>, 'manual' | 'unreadable'>,
  key: string,
  limit: number,
  code: ErrorCode,
): void {
  const count = manual.size + unreadable.size;
  if (count >= limit && !manual.has(key) && !unreadable.has(key)) throw refusal(code, { fill: { count, limit } });
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
  { manual, unreadable, config, places }: Known<unknown, unknown>,
  key: string,
  codes: { readonly configOwned: ErrorCode; readonly notFound: ErrorCode },
  name: Readonly<Record<string, string>> = {},
): void {
  if (manual.has(key) || unreadable.has(key)) return;
  const place = places.get(key) ?? 'the configuration';
  throw config.has(key)
    ? refusal(codes.configOwned, { fill: { ...name, place } })
    : refusal(codes.notFound, { fill: name });
}
