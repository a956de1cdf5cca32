// A managed key as the API lists it, and the words for its state. Pure.
import type { Role } from '../../../../../domain/keys/role.ts';
import { parseTime } from '../../time.ts';

export interface Key {
  readonly id: string;
  readonly source: 'manual' | 'config';
  readonly declared_at?: string;
  /** The key of the configuration with the same secret. */
  readonly replaced_by?: string;
  readonly name: string;
  readonly description?: string;
  readonly user_path?: string;
  readonly any_user_path: boolean;
  readonly labels?: readonly string[];
  readonly allowed_models?: readonly string[];
  readonly dashboard_access: boolean;
  /** Where it has access. */
  readonly role?: Role;
  /** Absent where the configuration declares the key, and so are the dates. */
  readonly redacted_value?: string;
  readonly enabled: boolean;
  readonly active: boolean;
  readonly expires_at?: string;
  readonly deactivated_at?: string;
  readonly last_used_at?: string;
  readonly created_at?: string;
  readonly created_by: string;
  readonly stale?: true;
}

/** A key with its secret, which is in one answer and nowhere else. */
export interface IssuedKey extends Key {
  readonly value: string;
}

export const keysPath = '/admin/auth-keys';

export type Standing = 'active' | 'expired' | 'revoked';

export function standingOf({ active, enabled }: Key): Standing {
  if (active) return 'active';
  return enabled ? 'expired' : 'revoked';
}

const soonMs = 7 * 86_400_000;

/** When it was used last, or why that is not said: uses of keys of the configuration are noted nowhere. */
export function lastUseOf({ last_used_at, source, stale }: Key): { readonly at: string } | string {
  if (last_used_at !== undefined) return { at: last_used_at };
  if (source === 'config') return 'not noted';
  return stale ? 'not known now' : 'never';
}

/** Whether it is active and ends within a week. */
export function endsSoon({ active, expires_at }: Key, nowMs: number): boolean {
  return active && expires_at !== undefined && parseTime(expires_at) - nowMs < soonMs;
}

/** Whether a key is among those that the filters of the address leave. */
export function filterOf(query: URLSearchParams, nowMs: number): (key: Key) => boolean {
  const [words = '', state = '', id = ''] = ['q', 'state', 'key'].map((name) => query.get(name) ?? '');
  const sought = words.trim().toLowerCase();
  const isIn = (key: Key): boolean => {
    if (state === 'soon') return endsSoon(key, nowMs);
    if (state === 'unused') return key.active && lastUseOf(key) === 'never';
    if (state === 'dashboard') return key.active && key.dashboard_access;
    return state === '' || standingOf(key) === state;
  };
  return (key) => {
    if (id !== '' && key.id !== id) return false;
    if (!isIn(key)) return false;
    const texts = [key.name, key.description, key.user_path, key.id, key.redacted_value, ...(key.labels ?? [])];
    return sought === '' || texts.some((text) => text?.toLowerCase().includes(sought) === true);
  };
}

/** What is said beside an id that is not in the list of keys. Those of tokens, certificates and people are `NAME:SUBJECT`. */
export function noteOfUnlisted(id: string): string {
  const isOfIdentity = id.includes(':') && !id.startsWith('config:');
  return isOfIdentity ? 'by an identity, not by a key' : 'deleted, or not yours to see';
}
