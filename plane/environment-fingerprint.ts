// A mark of the variables both planes must agree on, so that a mismatch shows without showing the variables.
import { createHash } from 'node:crypto';
import type { Variables } from '../schemas/variables.ts';

const shared = /^(SET_(PROVIDER_)?RATE_LIMIT_.*|RATE_LIMITS_ENABLED|USAGE_ENABLED|GATEWAY_ENTITLEMENTS)$/;

/** Twelve hex digits; equal for equal rules from the environment, entitlements and switches. */
export function environmentFingerprint(variables: Variables): string {
  const set = Object.entries(variables).filter(([name, value]) => shared.test(name) && value);
  const text = JSON.stringify(set.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
