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
}

/** An alias without aliases in it. */
export interface Flattened {
  /** In order; at least one. The first one has a share. */
  readonly leaves: readonly Leaf[];
  /** How one of the leaves with a share is chosen. */
  readonly strategy: Alias['strategy'];
}

/**
 * Returns a function that flattens an alias and caches the result; it returns undefined for an alias without a known
 * target. Unknown targets are left out, and so is a target that leads back to an alias on the way. A balanced alias has
 * its own strategy; a failover alias has that of its first target, and its other targets follow without a share. A
 * target has the share of its weight. An inner alias that balances divides that share by its own weights; otherwise its
 * first model takes all of it.
 */
export function createFlattener(table: NameTable): (alias: AliasTargets) => Flattened | undefined {
  const found = new Map<AliasTargets, Flattened | undefined>();

  function flatten(alias: AliasTargets): Flattened | undefined {
    if (found.has(alias)) return found.get(alias);
    found.set(alias, undefined);
    const branches = alias.targets.flatMap(({ model, weight }) => {
      const branch = follow(table.leadOf(model));
      return branch === undefined ? [] : [{ ...branch, weight }];
    });
    const flattened = join(alias.strategy, branches);
    found.set(alias, flattened);
    return flattened;
  }

  function follow(lead: Lead | undefined): Flattened | undefined {
    if (lead === undefined) return undefined;
    if (lead.alias !== undefined) return flatten(lead.alias);
    const leaves = lead.models.map((target, index) => ({ ...target, share: index === 0 ? whole : none }));
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
}

function join(strategy: Alias['strategy'], branches: readonly Branch[]): Flattened | undefined {
  const [first] = branches;
  if (first === undefined) return undefined;
  const isFailover = strategy === 'failover';
  const total = BigInt(branches.reduce((all, { weight }) => all + weight, 0));
  const leaves = new Map<string, Leaf>();
  for (const branch of branches) {
    const failover = branch === first ? whole : none;
    const part = isFailover ? failover : fraction(BigInt(branch.weight), total);
    for (const { provider, model, share } of branch.leaves) {
      const key = `${provider}/${model}`;
      const before = leaves.get(key)?.share ?? none;
      leaves.set(key, { provider, model, share: sum(before, product(share, part)) });
    }
  }
  const list = [...leaves.values()];
  const isChoice = list.filter(({ share }) => share.over > 0n).length > 1;
  const own = isFailover ? first.strategy : strategy;
  return { leaves: list, strategy: isChoice ? own : 'failover' };
}
