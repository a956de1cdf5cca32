// An entry of the configuration that an operator set through the admin API: its document in the state store, and how it is merged.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { ManagedKind } from './managed-kind.ts';

/** Times are RFC 3339 texts in UTC. */
export interface ManualEntry<Value> {
  /** The identity, and the id of the document. */
  readonly key: string;
  readonly value: Value;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** `master_key`, or the id of a managed key. */
  readonly updatedBy: string;
}

/**
 * Reads and writes documents that hold the entry in `member`. `isEntry` says whether a stored value is the entry of this id; it may fill in
 * defaults. A document with any invalid member is not read: an entry that is partly read could mean something else.
 */
export function entryDocuments<Value>(
  member: string,
  isEntry: (value: unknown, id: string) => value is Value,
): Pick<ManagedKind<ManualEntry<Value>>, 'read' | 'write'> {
  return {
    read(id, body) {
      if (typeof body !== 'object' || body === null) return undefined;
      const given = body as Readonly<Record<string, unknown>>;
      const { created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy } = given;
      if (!isMoment(createdAt) || !isMoment(updatedAt) || typeof updatedBy !== 'string') return undefined;
      const value: unknown = structuredClone(given[member]);
      return isEntry(value, id) ? Object.freeze({ key: id, value, createdAt, updatedAt, updatedBy }) : undefined;
    },
    write: ({ value, createdAt, updatedAt, updatedBy }) => ({
      [member]: value,
      created_at: createdAt,
      updated_at: updatedAt,
      updated_by: updatedBy,
    }),
  };
}

/** An entry of the configuration or of an operator. */
export interface MergedEntry<Value> {
  readonly value: Value;
  /** Undefined: the configuration declares it. */
  readonly manual?: ManualEntry<Value>;
  /** It stands in the place of one of the configuration. */
  readonly overridesConfig: boolean;
}

/**
 * Those of the configuration as written, then those of operators by key. One of an operator replaces the one of the configuration with the
 * same key.
 */
export function mergeEntries<Value>(
  config: readonly Value[],
  manual: readonly ManualEntry<Value>[],
  keyOf: (value: Value) => string,
): MergedEntry<Value>[] {
  const declared = new Set(config.map(keyOf));
  const replaced = new Set(manual.map(({ key }) => key));
  const sorted = manual.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return [
    ...config.filter((value) => !replaced.has(keyOf(value))).map((value) => ({ value, overridesConfig: false })),
    ...sorted.map((each) => ({ value: each.value, manual: each, overridesConfig: declared.has(each.key) })),
  ];
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}
