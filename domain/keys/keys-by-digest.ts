// Keys by the digest of their secret, in many small maps: keys after a change share all of them but those of what was changed.
import { byId } from '../documents/order.ts';
import type { AuthKey } from './auth-key.ts';
import { counting, isConfigKey } from './config-key.ts';

/**
 * One for each beginning of a digest, three hex digits: digests are evenly spread. Of 100,000 keys a map holds 25, so that a change of 100 keys
 * takes 3 ms; with two digits it took 15.
 */
const portions = 4_096;

interface Portion {
  /** Sorted by id. */
  readonly keys: readonly AuthKey[];
  /** The ones that count. */
  readonly byDigest: ReadonlyMap<string, AuthKey>;
}

const noKeys: Portion = { keys: [], byDigest: new Map() };

/** Never changed. Of two keys with the same secret the one that `counting` says counts, of two stored ones that with the lower id. */
export class KeysByDigest {
  static readonly none: KeysByDigest = new KeysByDigest(
    Array.from({ length: portions }, () => noKeys),
    0,
  );

  readonly #portions: readonly Portion[];
  /** How many keys there are. */
  readonly size: number;

  private constructor(all: readonly Portion[], size: number) {
    this.#portions = all;
    this.size = size;
    Object.freeze(this);
  }

  /** Without keys that are here, and with others. */
  changed({ gone, come }: { readonly gone: readonly AuthKey[]; readonly come: readonly AuthKey[] }): KeysByDigest {
    if (gone.length + come.length === 0) return this;
    const all = [...this.#portions];
    const [leaving, coming] = [new Set(gone), Map.groupBy(come, placeOf)];
    for (const place of new Set([...gone, ...come].map(placeOf))) {
      const kept = (all[place] ?? noKeys).keys.filter((key) => !leaving.has(key));
      all[place] = portionOf([...kept, ...(coming.get(place) ?? [])].sort(byId));
    }
    return new KeysByDigest(all, this.size + come.length - gone.length);
  }

  get(digest: string): AuthKey | undefined {
    return this.#portions[placeOf({ digest })]?.byDigest.get(digest);
  }

  /** The other keys with the same secret. */
  sharing({ id, digest }: Pick<AuthKey, 'id' | 'digest'>): readonly AuthKey[] {
    const { keys } = this.#portions[placeOf({ digest })] ?? noKeys;
    return keys.filter((key) => key.digest === digest && key.id !== id);
  }

  /** All keys; those of the configuration as they count. */
  values(): readonly AuthKey[] {
    return this.#portions.flatMap(({ keys, byDigest }) =>
      keys.map((key) => (isConfigKey(key) ? (byDigest.get(key.digest) ?? key) : key)),
    );
  }
}

function placeOf({ digest }: Pick<AuthKey, 'digest'>): number {
  return Number.parseInt(digest.slice(0, 3), 16) || 0;
}

function portionOf(keys: readonly AuthKey[]): Portion {
  const byDigest = new Map<string, AuthKey>();
  for (const key of keys) {
    const first = byDigest.get(key.digest);
    byDigest.set(key.digest, first === undefined ? key : counting(first, key));
  }
  return { keys, byDigest };
}
