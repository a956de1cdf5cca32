// What a refused token means for the log, the metrics and the answer; both planes use it.
import type { FailedLogin, LoginFailure } from '../../domain/keys/credentials.ts';
import type { RefusedToken } from '../identities/token-keys.ts';

const reasons: Readonly<Partial<Record<RefusedToken['check'], LoginFailure>>> = {
  exp: 'expired',
  deny: 'revoked',
  unavailable: 'unavailable',
  overloaded: 'unavailable',
};

/** The failed login. */
export function failedToken({ identity, check }: RefusedToken): FailedLogin {
  return { reason: reasons[check] ?? 'unknown', token: { identity, check } };
}

/** Whether nothing is said of the token: it may be good, and can be sent again. */
export function isUndecided({ check }: RefusedToken): boolean {
  return check === 'unavailable' || check === 'overloaded';
}
