// Who asks under /admin: known before a byte of the body is read. What the caller may do there, the control plane decides.
import type { FailedLogins } from '../../plane/failed-logins.ts';
import { bearerToken, type Caller, type Credentials, failedLogin, identify } from '../../schemas/keys/credentials.ts';
import type { Exchange } from '../connection/exchange.ts';
import { type Refusal, refusal } from '../errors.ts';

/**
 * The caller of a request under `/admin`, by `Authorization: Bearer` alone (spec: Authentication 2). Throws 401 `invalid_api_key` for
 * every failure, 429 `too_many_failed_logins` after too many from one client address (design section 4, Wrong keys), and 400
 * `ambiguous_credentials`. While the keys could not be read yet, an unknown one gets 503 `store_unavailable`.
 */
export function authenticateAdmin(exchange: Exchange, credentials: Credentials, failedLogins: FailedLogins): Caller {
  const { head, startedAtMs } = exchange;
  // The control plane sees joined headers only, so what is ambiguous must end here.
  if (head.ambiguousCredentials) {
    failedLogins.note('ambiguous');
    exchange.caller = { reason: 'ambiguous' };
    throw refusal('ambiguous_credentials');
  }
  const shown = bearerToken(head.authorization);
  const caller = identify(shown, credentials, startedAtMs);
  if (caller !== undefined) {
    exchange.caller = { kind: caller.kind, keyId: caller.key?.id, userPath: caller.key?.userPath };
    return caller;
  }
  const failed = failedLogin(shown, head.authorization !== undefined, credentials);
  failedLogins.note(failed.reason);
  exchange.caller = failed;
  // A request without a key tries none, so it is not counted as a failure.
  if (shown === undefined) throw refusal('invalid_api_key');
  if (!credentials.isComplete) throw refusal('store_unavailable', { headers: { 'retry-after': '1' } });
  throw failure(exchange.clientAddress, failedLogins, startedAtMs);
}

function failure(address: string | undefined, failedLogins: FailedLogins, nowMs: number): Refusal {
  const seconds = failedLogins.fail(address, nowMs);
  if (seconds === undefined) return refusal('invalid_api_key');
  // An SDK that waited would only fail again.
  const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' };
  return refusal('too_many_failed_logins', { fill: { seconds }, headers });
}
