// `model-gateway check DIR --token FILE`: the rights that a sample token would get, and the claims behind them. Nothing is asked, so the signature
// is not checked.
import { readFileSync } from 'node:fs';
import { type Identity, identitiesOf } from '../../domain/identities/identity.ts';
import { type IdentityRights, rightsOf } from '../../domain/identities/rights.ts';
import { claimedIdentity, isFor, readUnverified } from '../../domain/identities/token-form.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Config } from '../../schemas/types.ts';

/** A right, what it is, and where it comes from. */
export interface ForeseenRight {
  readonly right: string;
  readonly value: string;
  /** The place in the configuration; absent: nothing gives it. */
  readonly from?: string;
  readonly claims: readonly string[];
}

/** What becomes of a token whose signature is right. Exactly one of `caller` and `refused`. */
export interface ForeseenToken {
  readonly identity?: string;
  /** What records and the log call its holder. */
  readonly caller?: string;
  readonly rights: readonly ForeseenRight[];
  /** RFC 3339. */
  readonly expires_at?: string;
  /** Why it would be refused: a sentence without its end. */
  readonly refused?: string;
}

/** A longer file holds no token. Bytes. */
const longestFile = 64 * 1024;

/** The token in a file, with or without `Bearer` before it; or a sentence without a full stop. */
export function readTokenFile(path: string): { readonly token: string } | { readonly problem: string } {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > longestFile) return { problem: 'is too long to hold a token' };
    return {
      token: bytes
        .toString('utf8')
        .trim()
        .replace(/^bearer +/i, ''),
    };
  } catch {
    return { problem: 'cannot be read' };
  }
}

/** `identities`: those of a checked configuration. */
export function foreseeToken(token: string, identities: Config['identities']): ForeseenToken {
  const unverified = readUnverified(token);
  if (unverified === undefined)
    return { rights: [], refused: 'it is no signed token (JWT) that names an issuer (iss)' };
  const identity = claimedIdentity(unverified, identitiesOf(identities));
  if (identity === undefined) return { rights: [], refused: 'no identity of the configuration has its issuer (iss)' };
  const refused = (message: string): ForeseenToken => ({ identity: identity.name, rights: [], refused: message });
  const problem = unverified.problem ?? problemOf(unverified, identity);
  if (problem !== undefined) return refused(problem);
  const { rights, refused: refusal } = rightsOf(identity, unverified.claims);
  if (rights === undefined) return refused(refusal.message);
  const expiresAtMs = Number(unverified.claims['exp']) * 1000;
  return {
    identity: identity.name,
    caller: rights.id,
    rights: describe(rights),
    ...(Math.abs(expiresAtMs) < 8.64e15 ? { expires_at: timestamp(expiresAtMs) } : {}),
  };
}

/** Lines for a terminal. */
export function sayToken({ caller, rights, expires_at: end, refused }: ForeseenToken): string[] {
  if (caller === undefined) return [`token: it would be refused: ${refused}`];
  const [name, value] = [rights.map(({ right }) => right.length), rights.map((each) => each.value.length)];
  return [
    `token: ${caller} would get, if its signature is right (it was not checked)${end === undefined ? '' : ` and until ${end}`}:`,
    ...rights.map((each) => {
      const { right, from, claims } = each;
      const by = claims.length === 0 ? '' : `, by ${claims.join(', ')}`;
      return `  ${right.padEnd(Math.max(...name))}  ${each.value.padEnd(Math.max(...value))}  ${from === undefined ? '' : `${from}${by}`}`.trimEnd();
    }),
  ];
}

function problemOf(
  { algorithm, audiences }: { readonly algorithm: unknown; readonly audiences: readonly unknown[] },
  identity: Identity,
): string | undefined {
  if (!identity.algorithms.some((each) => each === algorithm))
    return 'its algorithm (alg) is not one of those that are accepted';
  return isFor(audiences, identity) ? undefined : 'it was issued for somebody else (aud)';
}

function describe({ userPath, labels, allowedModels, dashboard, because }: IdentityRights): ForeseenRight[] {
  const values = {
    user_path: userPath,
    labels: labels.length === 0 ? 'none' : labels.join(', '),
    allowed_models: allowedModels.length === 0 ? 'every model' : allowedModels.join(', '),
    dashboard: dashboard === undefined ? 'no access' : `${dashboard.role} at ${dashboard.userPath}`,
  };
  return (Object.keys(values) as (keyof typeof values)[]).map((right) => ({
    right,
    value: values[right],
    ...(because[right] === undefined ? { claims: [] } : because[right]),
  }));
}
