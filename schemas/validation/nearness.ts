// Decides whether one name is likely a misspelling of another.
import leven from 'leven';

/** `letter_case`: they differ in that alone. `separator`: also in `_` for `-`. `spelling`: in one or two characters. */
export type Nearness = 'letter_case' | 'separator' | 'spelling';

const mostEdits = 2;
/** Longer names are not compared: it would keep requests waiting. Characters. */
const longestName = 100;

/** How near two different names are; undefined when they are equal, or not near. */
export function nearness(one: string, other: string): Nearness | undefined {
  if (one === other || Math.abs(one.length - other.length) > mostEdits) return undefined;
  if (Math.max(one.length, other.length) > longestName) return undefined;
  // With a provider in front, it is another kind of name.
  if (one.includes('/') !== other.includes('/')) return undefined;
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  if (a === b) return 'letter_case';
  const [c, d] = [a.replaceAll('_', '-'), b.replaceAll('_', '-')];
  if (c === d) return 'separator';
  // In a short name, every other short name is near.
  const most = Math.min(mostEdits, Math.floor(Math.min(c.length, d.length) / 2));
  return leven(c, d, { maxDistance: most + 1 }) <= most ? 'spelling' : undefined;
}
