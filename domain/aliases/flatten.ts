// Where an alias leads in the end: models of providers, each once, with exact shares. Pure.
import type { Alias } from '../../schemas/types.ts';
import { type Fraction, fraction, none, product, sum, whole, wholeNumbers } from './fraction.ts';
import type { ModelTarget } from './model-names.ts';
import type { AliasTargets, Lead, NameTable } from './name-table.ts';

/** One place an alias leads to. */
export interface Leaf extends ModelTarget {
  /** Of the requests that ask it first; together 1. None: it is only asked when others have failed. */
  readonly share: Fraction;
}

/** An alias without aliases in it. */
export interface Flattened {
  /** In order; at least one. The first one has a share. */
  readonly leaves: readonly Leaf[];
  /** How one of those with a share is chosen. */
  readonly strategy: Alias['strategy'];
}

/**
 * A function that flattens aliases and remembers what it has found. Undefined: the alias leads nowhere. Targets that lead nowhere are left
 * out, and so is a target that leads back to an alias on the way.
 *
 * The strategy is the outermost one. What a target stands for takes the share of the target's weight: among the targets of an inner alias
 * it is divided by their weights; of a failover alias and of a bare id, the first one takes it and the others have none. A failover alias
 * is its first target, and the others follow without a share: so a balanced alias may come first, and others behind it.
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

/** The numbers for balancing: the smallest whole ones with the ratios of the shares. */
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
