// Resolves a model name: the aliases on its way, and the route that a caller may use.
import { aliasKey } from '../../domain/aliases/manual-alias.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { type NamedAlias, NameTable } from '../../domain/aliases/name-table.ts';
import { conditionOf } from '../../domain/conditions/condition.ts';
import type { Facts } from '../../domain/conditions/facts.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { InForce } from '../snapshot/in-force.ts';
import { mostCalls } from '../snapshot/retry-policy.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { partWithLogin } from '../stages/client-part.ts';
import { roomyPart } from '../stages/fitting.ts';
import { grantedPart, partWhere, visibleRoute } from '../stages/resolve.ts';
import { partOf } from '../stages/route-part.ts';
import type { AliasStep, Resolution, Source } from './explanation.ts';
import { type ExplainSources, type Question, sees } from './question.ts';
import { factsOf } from './question-facts.ts';

/** Where a name leads. */
export interface Resolved {
  readonly resolution: Resolution;
  /** Undefined: nowhere. */
  readonly route: Route | undefined;
  /** The part of it whose conditions are not false; undefined: nothing. */
  readonly suitable: Route | undefined;
  /** The part of that which the key may use; undefined: nothing. */
  readonly granted: Route | undefined;
  /** The part of that for which the request has a credential of its client, where one is needed; undefined: nothing. */
  readonly brought: Route | undefined;
  /** The part of that which can be asked at the endpoint and has room for the prompt; undefined: nothing. */
  readonly able: Route | undefined;
  /** Those that can be asked there and have no room, while others have. */
  readonly tooSmall: readonly Target[];
  /** Aliases of that name which the request does not mean, and why. */
  readonly hidden: readonly HiddenAlias[];
  /** What conditions ask of the request. */
  readonly facts: Facts;
}

/** An alias that the user path may not use, or whose condition is false. */
export interface HiddenAlias {
  readonly source: string;
  readonly reason: 'alias_of_other_user_paths' | 'alias_condition_false';
}

/** `userPath`: the consumer's. */
export function resolveName(question: Question, userPath: string, { snapshot, inForce }: ExplainSources): Resolved {
  const { model, key, endpoint, needed, asking } = question;
  const facts = factsOf(question, userPath, snapshot);
  const route = visibleRoute(snapshot, model, facts);
  const suitable = route?.conditional === undefined ? route : partWhere(route, route.conditional, facts);
  const access = key?.modelAccess;
  const granted =
    suitable === undefined || access === undefined
      ? suitable
      : grantedPart(suitable, model, access, snapshot.providers);
  const brought = granted && asking ? partWithLogin(granted, asking).part : granted;
  const served = brought && endpoint ? partOf(brought, (target) => endpoint.mannerOf(target) !== undefined) : brought;
  const able = served && needed ? roomyPart(served, needed) : served;
  const kept = new Set(able?.targets);
  const tooSmall = (served?.targets ?? []).filter((target) => !kept.has(target));
  const table = tableOf(inForce);
  const { alias, hidden } = firstAlias(table, inForce, { model, facts });
  const steps = alias === undefined || route === undefined ? [] : chainOf(alias, table);
  const resolution: Resolution = {
    kind: kindOf(route, alias),
    aliases: steps.map((step) => describe(step, question, inForce)),
    ...(route === undefined ? {} : courseOf(route, able ?? route, question)),
  };
  return { resolution, route, suitable, granted, brought, able, tooSmall, hidden, facts };
}

/** How its targets are asked; `able`: those that can be. */
function courseOf(
  { hedge, policy, rescue, strategy, targets }: Route,
  able: Pick<Route, 'targets'>,
  { endpoint }: Pick<Question, 'endpoint'>,
): Pick<Resolution, 'strategy' | 'attempts' | 'hedge' | 'rescue'> {
  // Whoever keeps files and batches is asked once.
  if (endpoint !== undefined && endpoint.choice !== 'strategy') return { attempts: 1 };
  const hasOthers = targets.length > 1 && (endpoint?.line ?? 'model') === 'model';
  return {
    ...(targets.length < 2 ? {} : { strategy }),
    attempts: mostCalls(policy, able.targets.length),
    ...(hedge !== undefined && hasOthers ? { hedge: true } : {}),
    ...(rescue !== undefined && hasOthers ? { rescue } : {}),
  };
}

/** Tables are made once for each state of what is in force. */
const tables = new WeakMap<InForce, NameTable>();

/** The table of the aliases in force. */
export function tableOf(inForce: InForce): NameTable {
  let table = tables.get(inForce);
  if (table === undefined) {
    const enabled = inForce.aliases.filter(({ enforced, alias }) => enforced && alias.enabled);
    table = new NameTable(
      enabled.map(({ alias }) => alias),
      modelNames(inForce.config),
    );
    tables.set(inForce, table);
  }
  return table;
}

/** The alias that a name means for a request, and those it would mean for others. */
function firstAlias(
  table: NameTable,
  inForce: InForce,
  { model, facts }: { readonly model: string; readonly facts: Facts },
): { alias: NamedAlias | undefined; hidden: readonly HiddenAlias[] } {
  const hidden: HiddenAlias[] = [];
  for (const alias of [table.leadOf(model)?.alias, table.memberOf(model)]) {
    if (alias === undefined) continue;
    const source = (alias.family ?? alias).source;
    const { user_paths: paths, when } = rowOf(inForce, source)?.alias ?? {};
    const isOfOthers = paths !== undefined && !paths.some((path) => isWithin(facts.path ?? '/', path));
    const isFalse = when !== undefined && conditionOf(when).holds(facts) === false;
    if (!isOfOthers && !isFalse) return { alias, hidden };
    const reason = isOfOthers ? 'alias_of_other_user_paths' : 'alias_condition_false';
    if (!hidden.some((each) => each.source === source)) hidden.push({ source, reason });
  }
  return { alias: undefined, hidden };
}

function kindOf(route: Route | undefined, alias: NamedAlias | undefined): Resolution['kind'] {
  if (route === undefined) return 'unknown';
  if (alias !== undefined) return alias.family === undefined ? 'alias' : 'family';
  return route.isListed ? 'model' : 'bare_id';
}

/** The aliases in the order in which they are met, each once. */
function chainOf(first: NamedAlias, table: NameTable): readonly NamedAlias[] {
  const chain = new Set([first]);
  // A set gives what is added while it is walked, too.
  for (const { targets } of chain) {
    for (const { model } of targets) {
      const inner = table.leadOf(model)?.alias;
      if (inner !== undefined) chain.add(inner);
    }
  }
  return [...chain];
}

function describe(step: NamedAlias, question: Question, inForce: InForce): AliasStep {
  const { source } = step.family ?? step;
  const { user_paths: paths, when } = rowOf(inForce, source)?.alias ?? {};
  return {
    name: step.source,
    ...(step.family === undefined ? {} : { family: source }),
    strategy: step.strategy,
    targets: step.targets.map(({ model }) => model),
    ...(sees(question, undefined)
      ? { ...(paths && { user_paths: paths }), ...(when && { when }), ...aliasSource(source, inForce) }
      : {}),
  };
}

/** Where an alias is declared, or who wrote it. */
export function aliasSource(source: string, inForce: InForce): Source {
  const manual = rowOf(inForce, source)?.manual;
  const place = inForce.config.places?.aliases.find(([name]) => aliasKey(name) === aliasKey(source))?.[1];
  return {
    source: manual === undefined ? 'config' : 'manual',
    ...(place === undefined ? {} : { declared_at: place }),
    ...(manual === undefined ? {} : { updated_by: manual.updatedBy }),
  };
}

function rowOf({ aliases }: InForce, source: string) {
  return aliases.find(({ enforced, alias }) => enforced && alias.source === source);
}
