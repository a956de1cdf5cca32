// The keys of a document of an issuer (JWKS): only those that can verify a signature, and of them only what is public.
import type { JWK } from 'jose';
import { FetchTrouble } from './fetch-json.ts';

/** More keys make each look for one of them long. */
const mostKeys = 100;
/** Characters of a modulus of 8,192 bits, and of the largest coordinates, in base64url. */
const longestModulus = 1_366;
const longestExponent = 6;
const longestCoordinate = 88;
const longestName = 256;

/** What is public in keys of each kind. A secret that is shared (`oct`) is none. */
const membersOf: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  RSA: { n: longestModulus, e: longestExponent },
  EC: { crv: 16, x: longestCoordinate, y: longestCoordinate },
  OKP: { crv: 16, x: longestCoordinate },
};

/** The usable keys of a document. Throws a FetchTrouble for what is no such document, holds too many keys, or none that is usable. */
export function publicKeysOf(document: unknown): readonly JWK[] {
  const keys: unknown = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : null;
  if (!Array.isArray(keys)) throw new FetchTrouble('the document has no list "keys"');
  if (keys.length > mostKeys) throw new FetchTrouble(`the document has more than ${mostKeys} keys`);
  const usable = keys.flatMap((key: unknown) => publicKeyOf(key) ?? []);
  if (usable.length === 0) throw new FetchTrouble('the document has no key that can be used');
  return usable;
}

function publicKeyOf(key: unknown): JWK | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  const given = key as Readonly<Record<string, unknown>>;
  const { kty, kid, use, alg } = given;
  if (typeof kty !== 'string' || !Object.hasOwn(membersOf, kty)) return undefined;
  const names: readonly unknown[] = [kid, use, alg].filter((each) => each !== undefined);
  if (!names.every((each) => typeof each === 'string' && each.length <= longestName)) return undefined;
  if (use !== undefined && use !== 'sig') return undefined;
  const members = Object.entries(membersOf[kty] ?? {}).map(([name, longest]) => {
    const value = given[name];
    return [name, typeof value === 'string' && value.length <= longest ? value : undefined] as const;
  });
  if (members.some(([, value]) => value === undefined)) return undefined;
  const named = Object.entries({ kid, alg }).filter(([, value]) => value !== undefined);
  return { kty, ...Object.fromEntries(named), ...Object.fromEntries(members) };
}
