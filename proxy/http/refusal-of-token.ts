// The answer to a token of an identity that is refused, whatever the door.
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import { failedToken, isUndecided } from '../../plane/access/refused-token.ts';
import type { RefusedToken } from '../../plane/identities/token-keys.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** Counts the refused token. 401 `invalid_token`, or 503 `identity_unavailable` when nothing is known about it. */
export function refusalOfToken(
  refused: RefusedToken,
  exchange: Exchange,
  failedLogins: Pick<FailedLogins, 'note'>,
): Refusal {
  const failed = failedToken(refused);
  failedLogins.note(failed.reason);
  exchange.caller = failed;
  const fill = { reason: refused.message };
  return isUndecided(refused)
    ? refusal('identity_unavailable', { fill, headers: { 'retry-after': '1' } })
    : refusal('invalid_token', { fill });
}
