// Merges the aliases of the configuration with those of operators; both planes use it. Pure.
import type { Alias } from '../../schemas/types.ts';
import { type BadChain, findBadChains } from './chains.ts';
import { aliasKey, type ManualAlias } from './manual-alias.ts';
import { complete, mirrorProblem, sayChain, targetProblem } from './mistakes.ts';
import type { ModelNames } from './model-names.ts';
import { type AliasTargets, NameTable } from './name-table.ts';

/** An alias of the configuration or of an operator. */
export interface MergedAlias {
  readonly key: string;
  readonly alias: Alias;
  /** Present for an alias of an operator. */
  readonly manual?: ManualAlias;
  /** The configuration declares the same alias, and this one replaces it. */
  readonly overridesConfig: boolean;
  /** Whether the alias is in force. */
  readonly enforced: boolean;
  /** Why the alias is not in force; for one in force, why some of its targets, or its mirror, are left out. */
  readonly problem: string | undefined;
}

/**
 * The aliases of the configuration in their order, those that operators added behind them. An alias of an operator replaces the one of the
 * configuration with the same key. When it cannot be used, because all its targets are unknown or it leads to itself, it is left out, and
 * the one of the configuration counts: then the list has both.
 */
export function mergeAliases(
  config: readonly Alias[],
  manual: readonly ManualAlias[],
  models: ModelNames,
): readonly MergedAlias[] {
  const refused = new Map<string, string>();
  let found = new Map<string, string>();
  for (;;) {
    const standing = manual.filter(({ key }) => !refused.has(key));
    const keys = new Set(standing.map(({ key }) => key));
    const list = [...config.filter(({ source }) => !keys.has(aliasKey(source))), ...standing.map(({ value }) => value)];
    const table = new NameTable(list, models);
    found = new Map();
    const more = findUnusable(standing, { list, table, found });
    if (more.size === 0) break;
    for (const [key, problem] of more) refused.set(key, problem);
  }
  return rowsOf(config, manual, { refused, found });
}

interface Found {
  readonly list: readonly Alias[];
  readonly table: NameTable;
  /** Gets the problems of aliases that can be used in part. */
  readonly found: Map<string, string>;
}

/** The aliases of operators that cannot be used, with the reason. */
function findUnusable(standing: readonly ManualAlias[], { list, table, found }: Found): Map<string, string> {
  const unusable = new Map<string, string>();
  for (const { key, value: alias } of standing) {
    const parts = { table, guess: () => '', has: complete };
    const problems = alias.targets.flatMap(({ model }) => targetProblem(alias, model, parts) ?? []);
    const [first] = problems;
    const mirror = alias.mirror && mirrorProblem(alias.mirror.target, parts);
    if (first !== undefined) (problems.length === alias.targets.length ? unusable : found).set(key, first);
    else if (mirror !== undefined) found.set(key, `its mirror cannot be used: ${mirror}`);
  }
  const keys = new Map<AliasTargets, string>(standing.map(({ key, value }) => [value, key]));
  for (const chain of findBadChains(list, table)) {
    for (const each of chain.aliases) {
      const key = keys.get(each.family ?? each);
      if (key !== undefined && !unusable.has(key)) unusable.set(key, sayPlainly(chain));
    }
  }
  return unusable;
}

/** The sentence about a bad chain; it names the aliases by their sources. */
export function sayPlainly(chain: BadChain): string {
  return sayChain(chain, ({ source }) => JSON.stringify(source));
}

function rowsOf(
  config: readonly Alias[],
  manual: readonly ManualAlias[],
  { refused, found }: { refused: ReadonlyMap<string, string>; found: ReadonlyMap<string, string> },
): MergedAlias[] {
  const standing = new Map(manual.map((each) => [each.key, each]));
  const rowOf = (each: ManualAlias, isDeclared: boolean): MergedAlias => {
    const { key, value: alias } = each;
    const enforced = !refused.has(key);
    const problem = refused.get(key) ?? found.get(key);
    return { key, alias, manual: each, overridesConfig: isDeclared && enforced, enforced, problem };
  };
  const rows: MergedAlias[] = [];
  for (const alias of config) {
    const key = aliasKey(alias.source);
    const override = standing.get(key);
    standing.delete(key);
    if (override === undefined || refused.has(key))
      rows.push({ key, alias, overridesConfig: false, enforced: true, problem: undefined });
    if (override !== undefined) rows.push(rowOf(override, true));
  }
  return [...rows, ...[...standing.values()].map((each) => rowOf(each, false))];
}

/** The aliases that are in force. */
export function aliasesInForce(rows: readonly MergedAlias[]): Alias[] {
  return rows.filter(({ enforced }) => enforced).map(({ alias }) => alias);
}

/** The most lines in the log; the listing shows every alias. */
const mostSaid = 20;

/** A sentence for each alias of an operator that is not in force, or not with all its targets. */
export function aliasProblems(rows: readonly MergedAlias[]): string[] {
  const wrong = rows.filter(({ problem }) => problem !== undefined);
  const said = wrong.slice(0, mostSaid).map(({ alias, enforced, problem }) => {
    const state = enforced ? 'is in force without a part of it' : 'is not in force';
    return `the virtual model ${JSON.stringify(alias.source)} ${state}: ${problem}`;
  });
  const more = wrong.length - said.length;
  return more > 0 ? [...said, `${more} more virtual models have problems; the listing says which`] : said;
}
