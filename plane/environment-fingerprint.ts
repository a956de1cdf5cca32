// A fingerprint of the variables that must be equal in all processes: it shows a difference without showing a value.
import { createHash } from 'node:crypto';
import type { Variables } from '../schemas/variables.ts';

const shared =
  /^(SET_(PROVIDER_)?RATE_LIMIT_.*|SET_BUDGET_.*|RATE_LIMITS_ENABLED|BUDGETS_ENABLED|USAGE_ENABLED|GATEWAY_ENTITLEMENTS)$/;

/** Twelve hex digits; equal when the rules, entitlements and switches from the environment are equal. */
export function environmentFingerprint(variables: Variables): string {
  const set = Object.entries(variables).filter(([name, value]) => shared.test(name) && value);
  const text = JSON.stringify(set.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
