// What a token says of itself before its signature is verified: whether it is one at all, who issued it, and whether its form is sound.

import type { Claims } from '../conditions/claim-path.ts';
import type { Identity } from './identity.ts';

/** A longer token is not looked at. Characters. */
const longestToken = 16_384;
const form = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;
/** The names and texts of a JSON text. */
const texts = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** A token as it was sent; nothing in it is proven. */
export interface Unverified {
  readonly issuer: string;
  readonly audiences: readonly unknown[];
  readonly algorithm: unknown;
  readonly claims: Claims;
  /** What is wrong with its form: a sentence without its end. */
  readonly problem: string | undefined;
}

/** Undefined: it is no signed token (JWT) that names an issuer, so it may be a key of any other form. */
export function readUnverified(token: string): Unverified | undefined {
  if (!token.startsWith('eyJ') || token.length > 4 * longestToken || !form.test(token)) return undefined;
  const [header = '', payload = ''] = token
    .split('.', 2)
    .map((part) => Buffer.from(part, 'base64url').toString('utf8'));
  const [head, claims] = [read(header), read(payload)];
  if (head === undefined || typeof claims?.['iss'] !== 'string') return undefined;
  const audience: unknown = claims['aud'];
  const audiences: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  return {
    issuer: claims['iss'],
    audiences,
    algorithm: head['alg'],
    claims,
    problem: problemOf(token, { head, header, claims, payload }),
  };
}

/** The identity that a token says it is of: of several with its issuer, the one whose audience it names. Undefined: none has its issuer. */
export function claimedIdentity(
  { issuer, audiences }: Unverified,
  identities: readonly Identity[],
): Identity | undefined {
  const ofIssuer = identities.filter((each) => each.issuer === issuer);
  return ofIssuer.find((each) => isFor(audiences, each)) ?? ofIssuer[0];
}

/** Whether a token with these audiences is for the gateway. */
export function isFor(audiences: readonly unknown[], identity: Pick<Identity, 'audiences'>): boolean {
  return identity.audiences.some((each) => audiences.includes(each));
}

interface Parts {
  readonly head: Readonly<Record<string, unknown>>;
  readonly header: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly payload: string;
}

function problemOf(token: string, { head, header, claims, payload }: Parts): string | undefined {
  const { kid, cty, crit } = head;
  const { exp } = claims;
  if (token.length > longestToken) return `it is longer than ${longestToken} characters`;
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 256)) return 'its kid is not a short text';
  if (cty !== undefined) return 'it holds another token (cty)';
  if (crit !== undefined) return 'it asks for extensions that are not known here (crit)';
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'it has no end (exp)';
  if (repeats(header, head) || repeats(payload, claims)) return 'a member stands in it twice';
  return undefined;
}

/** Undefined for what is no object. */
function read(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isTree = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isTree ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an object in a valid JSON text has a member twice: then one value is checked here, and another one elsewhere. */
function repeats(text: string, value: unknown): boolean {
  let names = 0;
  for (const [, colon] of text.matchAll(texts)) if (colon !== undefined) names += 1;
  return names !== countNames(value);
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return members.reduce<number>((sum, each) => sum + countNames(each), Array.isArray(value) ? 0 : members.length);
}
