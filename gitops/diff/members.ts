// The members of two values side by side, and their differences in words. Pure.
import { isDeepStrictEqual } from 'node:util';
import { isTree } from '../../schemas/validation/value-at.ts';
import { nameSome } from './config-change.ts';

/** The most of one value that a sentence shows. */
const mostLetters = 200;

/** Every value that is not a mapping, by its keys joined with dots. */
export function flatten(value: object, prefix: string = ''): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    if (isTree(item) && !Array.isArray(item))
      for (const [name, inner] of flatten(item, `${prefix}${key}.`)) found.set(name, inner);
    else found.set(`${prefix}${key}`, item);
  }
  return found;
}

/**
 * The changed members, each once: lists by what came and went. `hiddenName`: what a member is called whose value may be a secret; undefined: its
 * value may be shown.
 */
export function sayMembers(
  old: ReadonlyMap<string, unknown>,
  present: ReadonlyMap<string, unknown>,
  hiddenName: (member: string, value: unknown) => string | undefined,
): string[] {
  const keys = [...new Set([...old.keys(), ...present.keys()])].sort();
  const said = keys.flatMap((key) => {
    const [from, to] = [old.get(key), present.get(key)];
    if (isDeepStrictEqual(from, to)) return [];
    const [hidden] = [from, to].flatMap((value) => (value === undefined ? [] : (hiddenName(key, value) ?? [])));
    if (hidden !== undefined) return [`${hidden}${sayCounts(from, to)}`];
    if (Array.isArray(from) && Array.isArray(to))
      return [`${key} ${sayListDifference(from.map(sayValue), to.map(sayValue))}`];
    return [`${key} ${sayValue(from)} → ${sayValue(to)}`];
  });
  return [...new Set(said)];
}

export function sayValue(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value).replaceAll('"', '').slice(0, mostLetters);
}

function sayListDifference(before: readonly string[], after: readonly string[]): string {
  const { added, removed } = changesOf(before, after);
  if (added.length + removed.length === 0) return 'in another order';
  return nameSome([...added.map((item) => `+${item}`), ...removed.map((item) => `-${item}`)]);
}

/** How many entries of a hidden list came and went. */
function sayCounts(before: unknown, after: unknown): string {
  if (!Array.isArray(before) || !Array.isArray(after)) return '';
  const { added, removed } = changesOf(before, after);
  return ` (${added.length} added, ${removed.length} removed)`;
}

function changesOf<Item>(before: readonly Item[], after: readonly Item[]): { added: Item[]; removed: Item[] } {
  const [old, present] = [new Set(before), new Set(after)];
  return { added: after.filter((item) => !old.has(item)), removed: before.filter((item) => !present.has(item)) };
}
