// Finds aliases that lead to themselves, and chains of too many aliases. Pure.
import type { AliasTargets, NamedAlias, NameTable } from './name-table.ts';

/** The most aliases that a chain may have. */
export const mostInChain = 8;

/** A chain that is not allowed. */
export interface BadChain {
  /** The first one leads to the second, and so on; in a cycle the last one leads to the first. */
  readonly aliases: readonly NamedAlias[];
  readonly isCycle: boolean;
  /** The index of the target of the first alias that leads to the next. */
  readonly target: number;
}

interface Visit {
  readonly alias: NamedAlias;
  /** The index of the next target to look at. */
  next: number;
  /**
   * The number of aliases in the longest chain from here, this one excluded; `deepest` is the index of the target that
   * begins it.
   */
  depth: number;
  deepest: number;
}

/**
 * Each cycle once, and each chain that is too long, by its end. Iterates instead of recursing, because a chain may have
 * any length.
 */
export function findBadChains(aliases: Iterable<AliasTargets>, table: NameTable): BadChain[] {
  const found: BadChain[] = [];
  const done = new Map<NamedAlias, Visit>();
  for (const root of aliases) {
    const open: Visit[] = [];
    const positions = new Map<NamedAlias, number>();
    const begin = (alias: NamedAlias): void => {
      if (done.has(alias)) return;
      positions.set(alias, open.length);
      open.push({ alias, next: 0, depth: 0, deepest: 0 });
    };
    begin(root);
    for (let visit = open.at(-1); visit !== undefined; visit = open.at(-1)) {
      const target = visit.alias.targets[visit.next];
      visit.next += 1;
      if (target === undefined) {
        open.pop();
        positions.delete(visit.alias);
        done.set(visit.alias, visit);
        const parent = open.at(-1);
        if (parent !== undefined) deepen(parent, visit);
        if (visit.depth === mostInChain) found.push(longChain(visit, done, table));
        continue;
      }
      const inner = table.leadOf(target.model)?.alias;
      if (inner === undefined) continue;
      const position = positions.get(inner);
      const before = done.get(inner);
      if (before !== undefined) deepen(visit, before);
      else if (position === undefined) begin(inner);
      else {
        const cycle = open.slice(position);
        found.push({ aliases: cycle.map(({ alias }) => alias), isCycle: true, target: (cycle[0]?.next ?? 1) - 1 });
      }
    }
  }
  return found;
}

function deepen(parent: Visit, child: Visit): void {
  if (child.depth + 1 <= parent.depth) return;
  parent.depth = child.depth + 1;
  parent.deepest = parent.next - 1;
}

function longChain(first: Visit, done: ReadonlyMap<NamedAlias, Visit>, table: NameTable): BadChain {
  const aliases: NamedAlias[] = [];
  for (let visit: Visit | undefined = first; visit !== undefined && aliases.length <= mostInChain; ) {
    aliases.push(visit.alias);
    const next: NamedAlias | undefined = table.leadOf(visit.alias.targets[visit.deepest]?.model ?? '')?.alias;
    visit = next === undefined ? undefined : done.get(next);
  }
  return { aliases, isCycle: false, target: first.deepest };
}
