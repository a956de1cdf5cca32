// The members that the listings of several kinds share. Pure.
import type { Authorship } from '../../domain/rules/authorship.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Declared } from './declared-dates.ts';

/** The members of a listing that say where an entry comes from, and who wrote it. */
export function provenance(
  key: string,
  { overridesConfig, manual }: { readonly overridesConfig: boolean; readonly manual?: unknown },
  places: ReadonlyMap<string, string>,
  member: 'source' | 'managed_by' = 'source',
): object {
  const place = places.get(key);
  return {
    [member]: manual === undefined ? 'config' : 'manual',
    overrides_config: overridesConfig,
    ...(place === undefined ? {} : { declared_at: place }),
  };
}

/** The members of a listing that say when an operator has set an entry, and who; none for one of the configuration. */
export function dates(manual: Pick<Authorship, 'createdAt' | 'updatedAt' | 'updatedBy'> | undefined): object {
  if (manual === undefined) return {};
  return { created_at: manual.createdAt, updated_at: manual.updatedAt, updated_by: manual.updatedBy };
}

/** The members of a listing that say why, when, until when and by whom a limit was written. `declared`: the dates of one of the configuration. */
export function authorship(
  manual: Authorship | undefined,
  declared: Pick<Declared, 'createdMs' | 'updatedMs'> | undefined,
  nowMs: number,
): object {
  return {
    ...(manual?.reason === undefined ? {} : { reason: manual.reason }),
    ...(manual?.expiresAt === undefined ? {} : { expires_at: manual.expiresAt }),
    created_at: manual?.createdAt ?? timestamp(declared?.createdMs ?? nowMs),
    updated_at: manual?.updatedAt ?? timestamp(declared?.updatedMs ?? nowMs),
    ...(manual === undefined ? {} : { updated_by: manual.updatedBy }),
  };
}

/** The body of a listing of entries, under `name`. */
export function listingBody(
  name: string,
  rows: readonly object[],
  { nowMs, isStale }: { readonly nowMs: number; readonly isStale: boolean },
): object {
  return { [name]: rows, server_time: timestamp(nowMs), ...(isStale ? { stale: true } : {}) };
}
