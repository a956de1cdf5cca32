// What changed with a configuration, as fields of one log line: bounded, because a first merge may change thousands of rules.
import type { ConfigChange } from '../gitops/diff/config-change.ts';

/** The most names in one field, and the most sentences. */
const mostNamed = 20;

/**
 * Up to five lists of names (`added`, `removed`, `loosened`, `tightened`, `changed`), and `changes`, the same in words. Each has the
 * first 20, then how many more there are. No fields when nothing changed.
 */
export function changeFields(changes: readonly ConfigChange[] = []): Record<string, string | string[]> {
  const names: Record<string, string[]> = {};
  for (const { change, kind, name } of changes) {
    names[change] ??= [];
    names[change].push(`${kind} ${name}`);
  }
  const fields = Object.entries(names).map(([change, named]) => [change, firstOf(named)] as const);
  if (fields.length === 0) return {};
  return { ...Object.fromEntries(fields), changes: firstOf(changes.map(({ words }) => words)).join('; ') };
}

function firstOf(texts: readonly string[]): string[] {
  const more = texts.length - mostNamed;
  return more > 0 ? [...texts.slice(0, mostNamed), `and ${more} more`] : [...texts];
}
