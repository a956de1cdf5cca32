// The roles of operators: what a key or a person may do on the admin API, within its user path.
import type { Right } from '../../schemas/admin-rights.ts';

/** From the least to the most: each may do all that those before it may do. */
export const roles = ['viewer', 'operator', 'admin'] as const;

/**
 * `viewer` reads. `operator` also changes what holds for a while: limits, resets, the cache, targets. `admin` also decides who may do what, and
 * what a name means: keys, aliases, guardrails.
 */
export type Role = (typeof roles)[number];

/** Whether somebody with this role may do what needs another one. */
export function mayDo(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** What an operator lacks for a right: the role, or the scope of the whole gateway. Undefined: it has the right. */
export function lackOf(
  { role, userPath }: { readonly role: Role; readonly userPath: string },
  needed: Right,
): 'role' | 'scope' | undefined {
  if (!mayDo(role, needed.role)) return 'role';
  return needed.reach === 'gateway' && userPath !== '/' ? 'scope' : undefined;
}

/** Whether a key has a right; without a key (the master key, or a gateway without one) everything is allowed. */
export function hasRight(
  key: { readonly role: Role | undefined; readonly userPath: string | undefined } | undefined,
  needed: Right | undefined,
): boolean {
  if (key === undefined) return true;
  const { role, userPath = '/' } = key;
  return role !== undefined && needed !== undefined && lackOf({ role, userPath }, needed) === undefined;
}

export function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value);
}
