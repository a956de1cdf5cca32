// Checks of where aliases lead in the end: enough targets, targets named twice, strategies and prices that do not count.
import { createFlattener, type Flattened } from '../../domain/aliases/flatten.ts';
import { conditionsIn, mostConditions, mostLeaves } from '../../domain/aliases/mistakes.ts';
import {
  type AliasTargets,
  familyPrefix,
  type NamedAlias,
  type NameTable,
  nameInFamily,
} from '../../domain/aliases/name-table.ts';
import { modelId } from '../../domain/listed-models.ts';
import { pricingIn } from '../../domain/prices/price-book.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { type AliasFindings, type IndexedAlias, targetsOf } from '../assemble/written-aliases.ts';
import { checkRetries } from './check-alias-retries.ts';

/** OpenAI's models that think, as OpenAI names them. */
const thinks = /(?:^|\/)(?:o\d|gpt-[5-9]|codex)/i;
/** Types whose providers speak Responses where `dialects` does not say otherwise, and serve these models. */
const responders = ['openai', 'azure'];

interface Judging extends AliasFindings {
  readonly providers: Config['providers'];
  readonly table: NameTable;
  readonly sources: Sources;
  readonly flatten: (alias: AliasTargets) => Flattened | undefined;
  readonly disabled: ReadonlySet<string>;
  /** `<provider>/<model>` of every model with a price. */
  readonly priced: ReadonlySet<string>;
}

/** Judges every alias; all their targets exist, and none leads to itself. */
export function checkStrategies(
  list: readonly IndexedAlias[],
  table: NameTable,
  { providers, usage, sources }: Pick<Config, 'providers' | 'usage'> & { readonly sources: Sources },
): AliasFindings {
  const priced = Object.entries(providers).flatMap(([name, provider]) =>
    (provider.models ?? [])
      .filter((model) => pricingIn(provider, model, usage)?.input_per_mtok !== undefined)
      .map((model) => `${name}/${modelId(model)}`),
  );
  const judging: Judging = {
    providers,
    table,
    sources,
    flatten: createFlattener(table),
    disabled: new Set(list.filter(({ written }) => !written.enabled).map(({ source }) => source)),
    priced: new Set(priced),
    problems: [],
    warnings: [],
  };
  const families = new Map([...table.families()].map(({ family, models }) => [family, models]));
  for (const alias of list) {
    const models = [...(families.get(alias) ?? [])];
    const isFamily = familyPrefix(alias.source) !== undefined;
    const meant = isFamily ? models.flatMap((model) => table.leadOf(nameInFamily(alias, model))?.alias ?? []) : [alias];
    checkLeaves(alias, meant, judging);
    checkTiers(alias, judging);
    checkQuota(alias, meant, judging);
    checkThoughts(alias, meant, judging);
    checkRetries(alias, meant, judging);
    checkMirror(alias, meant, judging);
    if (isFamily) checkFamilyTwins(alias, judging);
    else checkTargets(alias, judging);
  }
  return judging;
}

/** Whether there are enough targets, not too many, and one with a price where prices decide. */
function checkLeaves(
  { index, written, strategy }: IndexedAlias,
  meant: readonly NamedAlias[],
  { table, flatten, priced, sources, problems, warnings }: Judging,
): void {
  const flattened = meant.flatMap((each) => flatten(each) ?? []);
  const most = flattened.reduce((count, { leaves }) => Math.max(count, leaves.length), 0);
  if (most > mostLeaves) {
    const message = `leads to ${most} models; at most ${mostLeaves} are supported`;
    problems.push(sources.problem(['aliases', index, 'source'], message));
  }
  const conditions = Math.max(0, ...flattened.map(conditionsIn));
  if (conditions > mostConditions) {
    const message = `leads through ${conditions} conditions; at most ${mostConditions} are supported`;
    problems.push(sources.problem(['aliases', index, 'source'], message));
  }
  // With discovered models there may be a second one.
  for (const needy of ['hedge', 'rescue'] as const) {
    if (!written[needy] || most >= 2 || table.models.discovering.size > 0) continue;
    problems.push(sources.problem(['aliases', index, needy], 'needs two targets, and the alias leads to one'));
  }
  const hasPrice = flattened.some(({ leaves }) =>
    leaves.some(({ provider, model }) => priced.has(`${provider}/${model}`)),
  );
  if (strategy !== 'cost' || hasPrice) return;
  const message =
    'compares prices, but no target has one: the first target is always asked first; add pricing to models';
  warnings.push(sources.problem(['aliases', index, 'strategy'], message));
}

/** Whether tiers say anything: there are several, and without them the order would be another one. */
function checkTiers({ index, strategy, targets, written }: IndexedAlias, { sources, warnings }: Judging): void {
  const tiers = targets.map(({ tier = 1 }) => tier);
  const said = targets.findIndex(({ tier }) => tier !== undefined);
  const isSorted = tiers.every((tier, place) => place === 0 || tier >= (tiers[place - 1] ?? 1));
  const areEqual = new Set(tiers).size === 1;
  const message = areEqual
    ? `has no effect: every target has the tier ${tiers[0]}`
    : 'has no effect: with the strategy failover, targets are asked in this order anyway';
  const isVain = (areEqual && tiers[0] !== 1) || (!areEqual && isSorted && strategy === 'failover');
  if (said === -1 || !isVain || written.targets === undefined) return;
  warnings.push(sources.problem(['aliases', index, 'targets', said, 'tier'], message));
}

/** Whether some provider may say what is left of its limits. */
function checkQuota(
  { index, strategy }: IndexedAlias,
  meant: readonly NamedAlias[],
  { flatten, providers, sources, warnings }: Judging,
): void {
  const leaves = meant.flatMap((each) => flatten(each)?.leaves ?? []);
  if (strategy !== 'quota' || leaves.some(({ provider }) => providers[provider]?.learn_limits !== false)) return;
  const message = 'compares what providers report of their limits, and all targets have learn_limits: false';
  warnings.push(sources.problem(['aliases', index, 'strategy'], message));
}

/** Whether an account gets thoughts back that only another one can decrypt. */
function checkThoughts(
  { index, source, strategy }: IndexedAlias,
  meant: readonly NamedAlias[],
  { flatten, providers, sources, warnings }: Judging,
): void {
  if (strategy === 'session_affinity' || strategy === 'failover') return;
  const keepsThoughts = ({ provider: name, model }: { provider: string; model: string }): boolean => {
    const provider = providers[name];
    if (provider === undefined || !thinks.test(model)) return false;
    return provider.dialects?.includes('responses') ?? responders.includes(provider.type);
  };
  for (const alias of meant) {
    const thinkers = flatten(alias)?.leaves.filter(keepsThoughts) ?? [];
    const [one, other] = new Set(thinkers.map(({ provider }) => quote(provider)));
    if (one === undefined || other === undefined) continue;
    const message = `${quote(source)} spreads conversations over ${one} and ${other}, which cannot decrypt each other's reasoning items (/v1/responses): use the strategy session_affinity`;
    warnings.push(sources.problem(['aliases', index, 'source'], message));
    return;
  }
}

/** Whether the answers of a model would be compared with its own. */
function checkMirror(
  { index, source, written: { mirror } }: IndexedAlias,
  meant: readonly NamedAlias[],
  { table, flatten, sources, warnings }: Judging,
): void {
  const [model] = (mirror && table.modelsOf(mirror.target)) ?? [];
  if (model === undefined) return;
  const isTarget = meant.some((alias) =>
    flatten(alias)?.leaves.some((leaf) => leaf.provider === model.provider && leaf.model === model.model),
  );
  if (!isTarget) return;
  const message = `is a target of ${quote(source)}, too: requests that it answers are sent to it twice, and say nothing about another model`;
  warnings.push(sources.problem(['aliases', index, 'mirror', 'target'], message));
}

function checkTargets(alias: IndexedAlias, { table, flatten, disabled, sources, warnings }: Judging): void {
  const firsts = new Map<string, number>();
  targetsOf(alias.written, alias.index).forEach(({ model, path }, position) => {
    const lead = table.leadOf(model);
    const warn = (message: string): void => void warnings.push(sources.problem(path, message));
    const inner = lead?.alias === undefined ? undefined : flatten(lead.alias);
    if (disabled.has(model)) warn(`leads to the alias ${quote(model)}, which is not enabled`);
    else if (inner !== undefined && inner.strategy !== 'failover') {
      const says = `the strategy ${inner.strategy} of ${quote(model)} does not count here`;
      if (alias.strategy !== 'failover' && alias.strategy !== inner.strategy)
        warn(`${says}: its targets are targets of ${quote(alias.source)}, by weight`);
      if (alias.strategy === 'failover' && position > 0)
        warn(`${says}: behind the first target of a failover alias, targets are asked in order`);
    }
    const leaves = inner?.leaves ?? lead?.models ?? [];
    const keys = leaves.map((leaf) => `${leaf.provider}/${leaf.model}`);
    const again = keys.find((key) => firsts.has(key));
    if (again !== undefined) {
      const first = targetsOf(alias.written, alias.index)[firsts.get(again) ?? 0]?.path ?? path;
      warn(`leads to ${quote(again)}, as ${sources.place(first)} does; it is asked once, with both shares`);
    }
    for (const key of keys) if (!firsts.has(key)) firsts.set(key, position);
  });
}

function checkFamilyTwins({ written, index }: IndexedAlias, { sources, warnings }: Judging): void {
  const seen = new Set<string>();
  for (const { model, path } of targetsOf(written, index)) {
    if (seen.has(model)) warnings.push(sources.problem(path, `${quote(model)} is a target already; both shares count`));
    seen.add(model);
  }
}
