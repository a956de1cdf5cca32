// Flattens an alias: the models of providers that it leads to in the end, each once, with exact shares. Pure.
import type { Alias } from '../../schemas/types.ts';
import { type Fraction, fraction, none, product, sum, whole, wholeNumbers } from './fraction.ts';
import type { ModelTarget } from './model-names.ts';
import type { AliasTargets, Lead, NameTable } from './name-table.ts';

/** One model that an alias leads to. */
export interface Leaf extends ModelTarget {
  /**
   * The share of requests that ask this model first; all shares add up to 1. `none`: it is asked only when others have
   * failed.
   */
  readonly share: Fraction;
  /** From 0, without gaps: a tier is asked behind those before it. Shares are those within a tier. */
  readonly tier: number;
  /** The conditions of the targets on the way to it, each once. */
  readonly when: readonly string[];
}

/** An alias without aliases in it. */
export interface Flattened {
  /** In order, by tier; at least one. The first one has a share. */
  readonly leaves: readonly Leaf[];
  /** How one of the leaves with a share is chosen. */
  readonly strategy: Alias['strategy'];
}

/**
 * Returns a function that flattens an alias and caches the result; it returns undefined for an alias without a known
 * target. Unknown targets are left out, and so is a target that leads back to an alias on the way. A balanced alias has
 * its own strategy; a failover alias has that of its first target, and its other targets follow without a share. A
 * target has the share of its weight within its tier. An inner alias that balances divides that share by its own weights; otherwise its
 * first model takes all of it. The tiers of an inner alias stand behind one another in the tier of its target, and a model that is reached
 * twice is asked in the lowest of its tiers. `isOn`: a target whose condition it refuses is left out, as if it were not written.
 */
export function createFlattener(
  table: NameTable,
  isOn: (when: string) => boolean = () => true,
): (alias: AliasTargets) => Flattened | undefined {
  const found = new Map<AliasTargets, Flattened | undefined>();

  function flatten(alias: AliasTargets): Flattened | undefined {
    if (found.has(alias)) return found.get(alias);
    found.set(alias, undefined);
    const branches = alias.targets.flatMap(({ model, weight, tier = 1, when }): Branch[] => {
      const branch = when === undefined || isOn(when) ? follow(table.leadOf(model)) : undefined;
      return branch === undefined ? [] : [{ ...branch, weight, tier, when }];
    });
    const flattened = join(alias.strategy, branches);
    found.set(alias, flattened);
    return flattened;
  }

  function follow(lead: Lead | undefined): Flattened | undefined {
    if (lead === undefined) return undefined;
    if (lead.alias !== undefined) return flatten(lead.alias);
    const leaves = lead.models.map((target, index) => ({
      ...target,
      share: index === 0 ? whole : none,
      tier: 0,
      when: [],
    }));
    return { leaves, strategy: 'failover' };
  }

  return flatten;
}

/** Weights for balancing, one per leaf: the smallest whole numbers in the ratios of the shares. */
export function weightsOf({ leaves }: Flattened): number[] {
  return wholeNumbers(leaves.map(({ share }) => share));
}

interface Branch extends Flattened {
  readonly weight: number;
  /** As they are written. */
  readonly tier: number;
  readonly when: string | undefined;
}

function join(strategy: Alias['strategy'], branches: readonly Branch[]): Flattened | undefined {
  const [first] = sortedByTier(branches);
  if (first === undefined) return undefined;
  const isFailover = strategy === 'failover';
  const leaves = new Map<string, Leaf>();
  let base = 0;
  for (const group of groupsOf(sortedByTier(branches), isFailover)) {
    const total = BigInt(group.reduce((all, { weight }) => all + weight, 0));
    for (const branch of group) {
      const failover = branch === group[0] ? whole : none;
      const part = isFailover ? failover : fraction(BigInt(branch.weight), total);
      for (const leaf of branch.leaves) {
        const when = branch.when === undefined ? leaf.when : together([branch.when], leaf.when);
        add(leaves, { ...leaf, share: product(leaf.share, part), tier: base + leaf.tier, when });
      }
    }
    base += Math.max(...group.map(tiersOf));
  }
  const list = [...leaves.values()].sort((a, b) => a.tier - b.tier);
  const chosen = list.filter(({ share }) => share.over > 0n).map(({ tier }) => tier);
  const isChoice = new Set(chosen).size < chosen.length;
  const own = isFailover ? first.strategy : strategy;
  return { leaves: withoutGaps(list), strategy: isChoice ? own : 'failover' };
}

function sortedByTier(branches: readonly Branch[]): readonly Branch[] {
  return [...branches].sort((a, b) => a.tier - b.tier);
}

/**
 * The targets that are chosen from together: those of one tier. Where an alias fails over to another one with tiers, each target is a group of its
 * own, because all tiers of one come before the next target.
 */
function groupsOf(sorted: readonly Branch[], isFailover: boolean): Branch[][] {
  const groups: Branch[][] = [];
  const areApart = isFailover && sorted.some((branch) => tiersOf(branch) > 1);
  for (const branch of sorted) {
    const last = groups.at(-1);
    if (last === undefined || areApart || last[0]?.tier !== branch.tier) groups.push([branch]);
    else last.push(branch);
  }
  return groups;
}

function tiersOf({ leaves }: Flattened): number {
  return (leaves.at(-1)?.tier ?? 0) + 1;
}

/** The groups come in the order of their tiers: a model that is in a lower one already stays there. */
function add(leaves: Map<string, Leaf>, leaf: Leaf): void {
  const key = `${leaf.provider}/${leaf.model}`;
  const before = leaves.get(key) ?? leaf;
  const when = together(before.when, leaf.when);
  const share = before === leaf || before.tier !== leaf.tier ? before.share : sum(before.share, leaf.share);
  leaves.set(key, { ...before, share, when });
}

function together(some: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...some, ...others])];
}

/** A tier has a gap behind it where all its models are in a lower one already. */
function withoutGaps(sorted: readonly Leaf[]): readonly Leaf[] {
  let tier = -1;
  let last = -1;
  return sorted.map((leaf) => {
    if (leaf.tier !== last) tier += 1;
    last = leaf.tier;
    return { ...leaf, tier };
  });
}
