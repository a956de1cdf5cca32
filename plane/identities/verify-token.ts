// Verifies one token with jose, and says which check failed. No message holds the token or the value of a claim.
import type * as Jose from 'jose';
import type { Claims } from '../../domain/conditions/claim-path.ts';
import type { Identity } from '../../domain/identities/identity.ts';
import { dateOf } from '../../domain/timestamp.ts';
import type { KeyOfToken } from './issuer.ts';

export type JosePackage = Pick<typeof Jose, 'jwtVerify' | 'createLocalJWKSet' | 'errors'>;

/** Which check failed. */
export type TokenCheck = 'form' | 'alg' | 'kid' | 'signature' | 'aud' | 'exp' | 'nbf';

/** Why a token is refused: its message is a sentence without its end, for the one who sent it. */
export interface RefusedCheck {
  readonly check: TokenCheck;
  readonly message: string;
}

export type Verification =
  | { readonly claims: Claims; readonly expiresAtMs: number; readonly refused?: undefined }
  | { readonly refused: RefusedCheck; readonly claims?: undefined };

const messages: Readonly<Record<Exclude<TokenCheck, 'form'>, string>> = {
  alg: 'its algorithm (alg) is not one of those that are accepted',
  kid: 'none of the keys of its issuer fits it (kid, alg)',
  signature: 'its signature is wrong',
  aud: 'it was issued for somebody else (aud)',
  exp: 'it has expired (exp)',
  nbf: 'it is not valid yet (nbf)',
};

/** Loads the package: only a configuration with identities needs it. */
export async function loadJose(): Promise<JosePackage> {
  return import('jose');
}

/** `nowMs`: Unix milliseconds. The work on the signature runs on another thread. */
export async function verifyToken(
  token: string,
  identity: Identity,
  keyOf: KeyOfToken,
  { jose, nowMs }: { readonly jose: JosePackage; readonly nowMs: number },
): Promise<Verification> {
  const { issuer, audiences, algorithms, clockSkewMs } = identity;
  try {
    const { payload } = await jose.jwtVerify(token, keyOf, {
      issuer,
      audience: [...audiences],
      algorithms: [...algorithms],
      clockTolerance: clockSkewMs / 1000,
      currentDate: dateOf(nowMs),
      requiredClaims: ['exp', 'sub'],
    });
    return { claims: payload, expiresAtMs: (payload.exp ?? 0) * 1000 + clockSkewMs };
  } catch (error) {
    return { refused: refusedCheck(error, jose) };
  }
}

function refusedCheck(error: unknown, { errors }: JosePackage): RefusedCheck {
  const say = (check: keyof typeof messages): RefusedCheck => ({ check, message: messages[check] });
  if (error instanceof errors.JWTExpired) return say('exp');
  if (error instanceof errors.JOSEAlgNotAllowed) return say('alg');
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return say('kid');
  if (error instanceof errors.JWSSignatureVerificationFailed) return say('signature');
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim } = error;
    if (claim === 'aud' || claim === 'nbf' || claim === 'exp') return say(claim);
    return {
      check: 'form',
      message: `its claim ${claim === 'sub' || claim === 'iss' ? claim : 'set'} is missing or has a wrong type`,
    };
  }
  return { check: 'form', message: 'it is not in the form of a signed token (JWT)' };
}
