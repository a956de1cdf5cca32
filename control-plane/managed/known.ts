// What a write to rate limits or to budgets decides on: those of the configuration and of operators, by key. Pure.
import { managedKeys } from '../../domain/documents/kinds.ts';
import { type ManagedKind, readKind } from '../../domain/documents/managed-kind.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { type Authorship, expiryMs } from '../../domain/rules/authorship.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { refusal } from '../errors.ts';

/** All rules, or all budgets, at one moment. */
export interface KnownLimits<Declared, Manual> {
  readonly config: ReadonlyMap<string, Declared>;
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

interface Keyed {
  readonly key: string;
}

export function knownLimits<Declared extends Keyed, Manual extends Keyed & Authorship>(
  kind: ManagedKind<Manual>,
  state: Pick<StoredState, 'documents' | 'skipped'>,
  config: readonly Declared[],
  nowMs: number,
): KnownLimits<Declared, Manual> {
  const { values, unreadable } = readKind(kind, state.documents, state.skipped);
  return {
    config: new Map(config.map((each) => [each.key, each])),
    manual: new Map(values.filter((each) => expiryMs(each) > nowMs).map((each) => [each.key, each])),
    expired: new Set(values.filter((each) => expiryMs(each) <= nowMs).map(({ key }) => key)),
    unreadable: new Set(unreadable),
    nowMs,
    keys: () => readKind(managedKeys, state.documents).values,
  };
}

/** How many there are, of the configuration and of operators. */
export function countOf({ config, manual }: Pick<KnownLimits<unknown, unknown>, 'config' | 'manual'>): number {
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
  before: Authorship | undefined,
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
