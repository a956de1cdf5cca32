// Short stable ids for rules: metrics use them as labels, because a user path must never be a label.

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Eight characters (40 bits) that depend on the rule key alone, so a rule keeps its id over cap edits, reloads and on both planes.
 * Two keys may share an id; `uniqueRuleIds` keeps a set apart.
 */
export function ruleId(key: string): string {
  const first = hash(key, 0x811c9dc5);
  const second = hash(key, 0x050c5d1f);
  let id = '';
  for (let shift = 0; shift < 30; shift += 5) id += alphabet[(first >>> shift) & 31];
  for (let shift = 0; shift < 10; shift += 5) id += alphabet[(second >>> shift) & 31];
  return id;
}

/**
 * The id of every key, in the order given. Keys that collide get `-2`, `-3` … in the order of the keys themselves, so the result
 * does not depend on the order of the set. `idOf` is a parameter because a collision of 40 bits cannot be had on demand.
 */
export function uniqueRuleIds(keys: readonly string[], idOf: (key: string) => string = ruleId): string[] {
  const all = keys.map((key) => idOf(key));
  // A reload waits for this, and collisions are very rare.
  if (new Set(all).size === keys.length) return all;
  const ids = new Map<string, string>();
  const taken = new Map<string, number>();
  for (const key of [...new Set(keys)].sort()) {
    const id = idOf(key);
    const count = (taken.get(id) ?? 0) + 1;
    taken.set(id, count);
    ids.set(key, count === 1 ? id : `${id}-${count}`);
  }
  return keys.map((key) => ids.get(key) ?? '');
}

/** FNV-1a over UTF-16 code units with a final mix, so that keys differing only at their end differ in every bit. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
