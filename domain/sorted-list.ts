// Sorted lists of which a little has changed: made without sorting again, and compared by what changed.

/**
 * A list sorted by `compare`, without all that is equal to an entry of `gone`, and with those of `come`; of these, equal ones stay in
 * their order.
 */
export function changedOrder<Entry extends Key, Key>(
  sorted: readonly Entry[],
  gone: readonly Key[],
  come: readonly Entry[],
  compare: (one: Key, other: Key) => number,
): readonly Entry[] {
  if (gone.length + come.length === 0) return sorted;
  if (sorted.length === 0) return come.toSorted(compare);
  const steps = [...gone.map((key) => ({ key, entry: undefined })), ...come.map((entry) => ({ key: entry, entry }))];
  const lists: (readonly Entry[])[] = [];
  let next = 0;
  for (const { key, entry } of steps.sort((one, other) => compare(one.key, other.key))) {
    const place = firstNot((at) => compare(sorted[at] as Entry, key) < 0, next, sorted.length);
    lists.push(sorted.slice(next, place), entry === undefined ? [] : [entry]);
    const isEqualOrBefore = (at: number): boolean => compare(sorted[at] as Entry, key) <= 0;
    next = entry === undefined ? firstNot(isEqualOrBefore, place, sorted.length) : place;
  }
  return joined([...lists, sorted.slice(next)]);
}

/** The first place from `from` on of which `holds` is false, where it is true up to one place and false from there on; else `to`. */
export function firstNot(holds: (place: number) => boolean, from: number, to: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What differs between two lists in the order of `compare`. */
export function differences<Entry>(
  before: readonly Entry[],
  after: readonly Entry[],
  compare: (one: Entry, other: Entry) => number,
): { readonly gone: readonly Entry[]; readonly come: readonly Entry[] } {
  const [gone, come]: [Entry[][], Entry[][]] = [[], []];
  let [from, to] = [0, 0];
  for (const { at, place, count } of sameParts(before, after, compare)) {
    gone.push(before.slice(from, at));
    come.push(after.slice(to, place));
    [from, to] = [at + count, place + count];
  }
  return { gone: joined(gone), come: joined(come) };
}

/** Entries that two lists share, from a place on in each of them. */
export interface SamePart {
  readonly at: number;
  readonly place: number;
  readonly count: number;
}

/**
 * The entries that both lists have, which are the same objects, in parts; the last one, perhaps empty, ends where the lists end. Both are in
 * the order of `compare`, which is asked only where they differ: 100,000 entries take 0.2 ms.
 */
export function sameParts<Entry>(
  before: readonly Entry[],
  after: readonly Entry[],
  compare: (one: Entry, other: Entry) => number,
): SamePart[] {
  const parts: SamePart[] = [];
  let [at, place] = [0, 0];
  for (;;) {
    let count = 0;
    const most = Math.min(before.length - at, after.length - place);
    while (count < most && before[at + count] === after[place + count]) count += 1;
    const isEnd = at + count === before.length && place + count === after.length;
    if (count > 0 || isEnd) parts.push({ at, place, count });
    if (isEnd) return parts;
    [at, place] = [at + count, place + count];
    const [old, now] = [before[at], after[place]];
    const order = old === undefined ? 1 : now === undefined ? -1 : compare(old, now);
    if (order <= 0) at += 1;
    if (order >= 0) place += 1;
  }
}

/** One list of several. With few of them, 100,000 entries take 0.1 ms. */
export function joined<Entry>(lists: readonly (readonly Entry[])[]): Entry[] {
  return lists.length < mostArguments ? ([] as Entry[]).concat(...lists) : lists.flat();
}

const mostArguments = 1_000;
