// An alias that an operator set through the admin API, and its document in the state store.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { Alias } from '../../schemas/types.ts';
import { alias as isAlias } from '../../schemas/validation/generated/config.js';
import { foldCase } from '../selector.ts';
import { normaliseUserPath } from '../user-path.ts';
import { sourceProblem } from './mistakes.ts';

/** The kind of its documents; the id is the alias key. */
export const manualAliasKind = 'virtual_model';

export interface ManualAlias {
  /** The identity; see `aliasKey`. */
  readonly key: string;
  readonly alias: Alias;
  /** RFC 3339 in UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** `master_key`, or the id of a managed key. */
  readonly updatedBy: string;
}

/** The identity of an alias: two sources that differ only in letter case are one. */
export function aliasKey(source: string): string {
  return foldCase(source);
}

/** Aliases by the body they were read from: the same documents are read again and again. */
const readBefore = new WeakMap<object, { readonly id: string; readonly alias: ManualAlias | undefined }>();

/**
 * The alias of a document. Undefined when any member is invalid or unknown, because an alias that is partly read could lead elsewhere. A
 * body is never changed, so it is read once.
 */
export function readManualAlias(id: string, body: unknown): ManualAlias | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const before = readBefore.get(body);
  if (before?.id === id) return before.alias;
  const alias = parse(id, body);
  readBefore.set(body, { id, alias });
  return alias;
}

function parse(id: string, body: object): ManualAlias | undefined {
  const { alias: stored, created_at, updated_at, updated_by } = body as Readonly<Record<string, unknown>>;
  if (!isMoment(created_at) || !isMoment(updated_at) || typeof updated_by !== 'string') return undefined;
  // The validator fills in defaults.
  const alias: unknown = structuredClone(stored);
  if (!isAlias(alias) || !Array.isArray(alias.targets)) return undefined;
  if (aliasKey(alias.source) !== id || sourceProblem(alias.source) !== undefined) return undefined;
  if (alias.user_paths?.some((path) => normaliseUserPath(path).path !== path) === true) return undefined;
  return Object.freeze({
    key: id,
    alias,
    createdAt: created_at,
    updatedAt: updated_at,
    updatedBy: updated_by,
  });
}

/** The body for `readManualAlias`. */
export function manualAliasBody({ alias, createdAt, updatedAt, updatedBy }: ManualAlias): object {
  return { alias, created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy };
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}
