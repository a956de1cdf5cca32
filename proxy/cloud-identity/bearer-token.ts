// A token of a vendor that is sent as `Authorization: Bearer`.
import type { IssuedCredential } from './token-source.ts';
import { IdentityProblem } from './vendor-error.ts';

/** The longest token that is taken: providers refuse longer headers. Characters. */
const mostCharacters = 16_384;

export interface GivenToken {
  readonly token: unknown;
  /** Unix milliseconds; undefined or not a number: the answer had none. */
  readonly expiresAtMs: number | undefined;
  /**
   * The wall clock, where the issuer said how long the token lives and the package added that to this clock. Undefined: the issuer said
   * when it ends, by its own clock. Unix milliseconds.
   */
  readonly countedFromMs: number | undefined;
  readonly principal: string;
}

/**
 * Throws where what came is no token, or has no end. `vendor`: who gave it, for people. `issuerNowMs`: the issuer's clock; undefined:
 * it did not say it. Unix milliseconds.
 */
export function bearerToken(vendor: string, given: GivenToken, issuerNowMs: number | undefined): IssuedCredential {
  const { token, expiresAtMs, countedFromMs, principal } = given;
  if (typeof token !== 'string' || token.length > mostCharacters || !/^[\x21-\x7e]+$/.test(token))
    throw new IdentityProblem(`${vendor} answered without a token that can be sent`);
  if (expiresAtMs === undefined || !Number.isFinite(expiresAtMs))
    throw new IdentityProblem(`${vendor} did not say when its token ends`);
  const credential = { kind: 'bearer', token } as const;
  if (countedFromMs === undefined) return { credential, expiresAtMs, issuerNowMs, principal };
  const nowMs = issuerNowMs ?? countedFromMs;
  return { credential, expiresAtMs: nowMs + (expiresAtMs - countedFromMs), issuerNowMs: nowMs, principal };
}
