// Finds out what a JSON key means without making a string of it: bodies have hundreds of thousands of keys.

/** The meanings of keys, by their bytes. */
export interface KeyNames<Meaning> {
  /** The meaning of the key between these offsets; undefined for any other key. */
  get(body: Buffer, from: number, to: number): Meaning | undefined;
}

/** A table of keys, each meaning with the names that have it. */
export function keysBy<Meaning extends string>(
  names: Readonly<Partial<Record<Meaning, readonly string[]>>>,
): KeyNames<Meaning> {
  const byLength: { name: Buffer; meaning: Meaning }[][] = [];
  for (const [meaning, keys] of Object.entries(names) as [Meaning, readonly string[]][]) {
    for (const key of keys) {
      const name = Buffer.from(key);
      byLength[name.length] = [...(byLength[name.length] ?? []), { name, meaning }];
    }
  }
  return {
    get(body, from, to) {
      const candidates = byLength[to - from];
      if (candidates === undefined) return undefined;
      for (const { name, meaning } of candidates) if (stands(name, body, from)) return meaning;
      return undefined;
    },
  };
}

function stands(name: Buffer, body: Buffer, from: number): boolean {
  for (let index = 0; index < name.length; index += 1) if (body[from + index] !== name[index]) return false;
  return true;
}
