// The scopes that a quota holds for: an operator cannot gain room by issuing dashboard keys for paths below its own. Pure.
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { isWithin } from '../../domain/user-path.ts';
import { isScoped, type Operator } from '../authenticate.ts';

/** The path of a scoped operator, and those above it that dashboard keys administer; none for an operator of the whole gateway. */
export function scopesOf(operator: Operator, keys: readonly AuthKey[]): ReadonlySet<string> {
  const scopes = new Set<string>();
  if (!isScoped(operator)) return scopes;
  scopes.add(operator.userPath);
  for (const { dashboardAccess, userPath = '/' } of keys) {
    if (dashboardAccess && userPath !== '/' && isWithin(operator.userPath, userPath)) scopes.add(userPath);
  }
  return scopes;
}
