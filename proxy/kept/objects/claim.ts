// Whether a caller may reach the objects that its request names. What it has not made itself is not there for it.

import { refusal } from '../../errors.ts';
import { type OwningCaller, ownerOf, seesAll } from '../owner.ts';
import type { StoredResponses } from '../responses/stored-responses.ts';
import { families } from './families.ts';
import type { Reference } from './json-references.ts';
import { isKeptId, type KeptHome, type KeptHomes } from './kept-homes.ts';

/** Who asks for objects, and where. */
export interface Claimant {
  readonly principal: OwningCaller;
  readonly snapshot: { readonly allowsUnknownObjects: boolean };
  /** The name of the provider that is asked; undefined: it is chosen by where the objects are. */
  readonly provider: string | undefined;
}

export interface ClaimParts {
  readonly homes: Pick<KeptHomes, 'find' | 'ownerOf'>;
  readonly storedResponses: Pick<StoredResponses, 'find' | 'findItem'>;
}

/** Where an object is that a request refers to. */
export interface Claimed extends Pick<KeptHome, 'provider' | 'key'> {
  readonly id: string;
}

/** Look-ups of one request at the same time. */
const atOnce = 16;

/**
 * The places of those that are the caller's. Rejects with 404 `kept_not_found` for one that is another owner's or, where the configuration
 * does not say otherwise, not known to be the caller's; with 503 `kept_ids_unavailable` when that cannot be read.
 */
export async function claim(
  references: readonly Reference[],
  claimant: Claimant,
  parts: ClaimParts,
): Promise<readonly Claimed[]> {
  if (references.length === 0 || seesAll(claimant.principal)) return [];
  const waiting = [...new Map(references.map((each) => [`${each.family} ${each.id}`, each])).values()];
  const claimed: Claimed[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const home = await claimOne(next, claimant, parts);
      if (home !== undefined) claimed.push({ provider: home.provider, key: home.key, id: next.id });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, work));
  return claimed;
}

async function claimOne(
  reference: Reference,
  { principal, snapshot, provider }: Claimant,
  parts: ClaimParts,
): Promise<Pick<KeptHome, 'provider' | 'key'> | undefined> {
  const { family, id, isSoft = false } = reference;
  const owner = ownerOf(principal);
  const home = await homeOf(reference, owner, parts);
  if (home !== undefined && (provider === undefined || home.provider === provider)) return home;
  if (isSoft || (snapshot.allowsUnknownObjects && home === undefined && isKeptId(id))) {
    const known = await parts.homes.ownerOf(family, id);
    if (known === undefined || known === owner) return undefined;
  }
  throw notTheirs(reference);
}

async function homeOf(
  { family, id }: Reference,
  owner: string,
  { homes, storedResponses }: ClaimParts,
): Promise<Pick<KeptHome, 'provider' | 'key'> | undefined> {
  const found = family === 'response' ? await storedResponses.find(id, owner) : undefined;
  const item = family === 'item' ? await storedResponses.findItem(id, owner) : undefined;
  // Kept by the gateway, it is at no provider.
  if ((found?.record ?? item) !== undefined) return { provider: '', key: '' };
  return found?.home ?? homes.find(family, id, owner);
}

export function notTheirs({ family, id }: Pick<Reference, 'family' | 'id'>): Error {
  const fill = { what: families[family].what, id: id.slice(0, 200) };
  // By this clients know that they must send the whole conversation once more.
  const further = family === 'thread_message' ? { further: { details: { error_code: 'thread_not_found' } } } : {};
  return refusal('kept_not_found', { fill, ...further });
}
