// Resolves a model name: the aliases on its way, and the route that a caller may use.
import { aliasKey } from '../../domain/aliases/manual-alias.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { type NamedAlias, NameTable } from '../../domain/aliases/name-table.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { InForce } from '../snapshot/in-force.ts';
import { mostCalls } from '../snapshot/retry-policy.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { roomyPart } from '../stages/fitting.ts';
import { grantedPart, visibleRoute } from '../stages/resolve.ts';
import { partOf } from '../stages/route-part.ts';
import type { AliasStep, Resolution, Source } from './explanation.ts';
import { type ExplainSources, type Question, sees } from './question.ts';

/** Where a name leads. */
export interface Resolved {
  readonly resolution: Resolution;
  /** Undefined: nowhere. */
  readonly route: Route | undefined;
  /** The part of it that the key may use; undefined: nothing. */
  readonly granted: Route | undefined;
  /** The part of that which can be asked at the endpoint and has room for the prompt; undefined: nothing. */
  readonly able: Route | undefined;
  /** Those that can be asked there and have no room, while others have. */
  readonly tooSmall: readonly Target[];
  /** Aliases of that name which the user path may not use. */
  readonly hidden: readonly string[];
}

/** `userPath`: the consumer's. */
export function resolveName(question: Question, userPath: string, { snapshot, inForce }: ExplainSources): Resolved {
  const { model, key, endpoint, needed } = question;
  const route = visibleRoute(snapshot, model, userPath);
  const access = key?.modelAccess;
  const granted =
    route === undefined || access === undefined ? route : grantedPart(route, model, access, snapshot.providers);
  const served = granted && endpoint ? partOf(granted, (target) => endpoint.mannerOf(target) !== undefined) : granted;
  const able = served && needed ? roomyPart(served, needed) : served;
  const kept = new Set(able?.targets);
  const tooSmall = (served?.targets ?? []).filter((target) => !kept.has(target));
  const table = tableOf(inForce);
  const { alias, hidden } = firstAlias(table, inForce, { model, userPath });
  const steps = alias === undefined || route === undefined ? [] : chainOf(alias, table);
  const resolution: Resolution = {
    kind: kindOf(route, alias),
    aliases: steps.map((step) => describe(step, question, inForce)),
    ...(route === undefined ? {} : courseOf(route, able ?? route, question)),
  };
  return { resolution, route, granted, able, tooSmall, hidden };
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

/** The alias that a name means for a user path, and those it would mean for others. */
function firstAlias(
  table: NameTable,
  inForce: InForce,
  { model, userPath }: { readonly model: string; readonly userPath: string },
): { alias: NamedAlias | undefined; hidden: readonly string[] } {
  const hidden: string[] = [];
  for (const alias of [table.leadOf(model)?.alias, table.memberOf(model)]) {
    if (alias === undefined) continue;
    const source = (alias.family ?? alias).source;
    const paths = rowOf(inForce, source)?.alias.user_paths;
    if (paths === undefined || paths.some((path) => isWithin(userPath, path))) return { alias, hidden };
    if (!hidden.includes(source)) hidden.push(source);
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
  const paths = rowOf(inForce, source)?.alias.user_paths;
  return {
    name: step.source,
    ...(step.family === undefined ? {} : { family: source }),
    strategy: step.strategy,
    targets: step.targets.map(({ model }) => model),
    ...(sees(question, undefined) ? { ...(paths && { user_paths: paths }), ...aliasSource(source, inForce) } : {}),
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
