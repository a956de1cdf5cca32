// The roles of operators: what a key or a person may do on the admin API, within its user path.

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

export function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value);
}
