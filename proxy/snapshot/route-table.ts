// Where the names of models lead: qualified names, bare ids, names of families, aliases. A later kind wins over an earlier one.

import { type Flattened, weightsOf } from '../../domain/aliases/flatten.ts';
import { foldedIn, type ModelNames } from '../../domain/aliases/model-names.ts';
import { nameInFamily } from '../../domain/aliases/name-table.ts';
import { conditionOf } from '../../domain/conditions/condition.ts';
import { foldCase, parseSelector } from '../../domain/selector.ts';
import type { Alias } from '../../schemas/types.ts';
import type { Slices } from '../pacing/slices.ts';
import { conditionalTargets, type IsOn } from './conditional-targets.ts';
import { compileHedge } from './hedge.ts';
import { compileRetryPolicy, defaultRetryPolicy, type RetryPolicy } from './retry-policy.ts';
import type { MirrorPlace, ModelEntry, Route, Routes, Target } from './snapshot.ts';

/** An alias that leads somewhere. */
export interface NamedRoute {
  readonly alias: Alias;
  readonly flattened: Flattened;
  /** Without the targets whose conditions `isOn` refuses; undefined: nothing is left. */
  readonly flattenWhere: (isOn: IsOn) => Flattened | undefined;
}

/** The names of a family. */
export interface FamilyRoutes {
  readonly alias: Alias;
  /** The models behind the slash of its names. */
  readonly models: ReadonlySet<string>;
  /** Where a name leads, without the targets whose conditions `isOn` refuses; undefined: nowhere. */
  readonly flatten: (name: string, isOn?: IsOn) => Flattened | undefined;
}

/** The parts that names are made of. */
export interface RouteParts {
  readonly targets: Routes['targets'];
  readonly names: ModelNames;
  /** By their source in lower case. */
  readonly aliases: ReadonlyMap<string, NamedRoute>;
  /** By their prefix in lower case. */
  readonly families: ReadonlyMap<string, FamilyRoutes>;
}

/** Entries of a list that are made in one step. */
const stepEntries = 500;

/** A copy is one call, which no client's budget of retries counts. */
const mirrorPolicy: RetryPolicy = Object.freeze({ ...defaultRetryPolicy, attempts: 1, budget: 0 });

/** Providers may list thousands of models: a route is made when its name is first asked for. */
export class RouteTable implements Routes {
  readonly targets: Routes['targets'];
  readonly #parts: RouteParts;
  readonly #made = new Map<string, Route>();
  #entries: readonly ModelEntry[] | undefined;

  constructor(parts: RouteParts) {
    this.targets = parts.targets;
    this.#parts = parts;
    Object.freeze(this);
  }

  get(name: string): Route | undefined {
    const made = this.#made.get(name);
    if (made !== undefined) return made;
    const route = this.#aliased(name);
    if (route !== undefined) this.#made.set(name, route);
    return route;
  }

  inAnyCase(name: string): Route | undefined {
    const alias = this.#parts.aliases.get(foldCase(name));
    return alias === undefined ? this.#belowInAnyCase(name) : this.get(alias.alias.source);
  }

  *keys(): Generator<string, void> {
    const { targets, names, aliases, families } = this.#parts;
    const further = new Set<string>();
    for (const { alias, models } of families.values())
      for (const model of models) further.add(nameInFamily(alias, model));
    for (const { alias } of aliases.values()) further.add(alias.source);
    for (const name of [...qualified(targets), ...names.bare.keys()]) if (!further.has(name)) yield name;
    yield* further;
  }

  *entries(): Slices<readonly ModelEntry[]> {
    if (this.#entries !== undefined) return this.#entries;
    const entries: ModelEntry[] = [];
    let count = 0;
    for (const name of this.keys()) {
      count += 1;
      if (count % stepEntries === 0) yield;
      const route = this.get(name);
      if (route?.isListed === true) entries.push(modelEntry(name, route.targets));
    }
    this.#entries ??= Object.freeze(entries.sort((a, b) => (a.id < b.id ? -1 : 1)));
    return this.#entries;
  }

  /** With aliases. */
  #aliased(name: string): Route | undefined {
    const named = this.#parts.aliases.get(foldCase(name));
    if (named === undefined) return this.#below(name);
    const { alias } = named;
    if (alias.source === name) return this.#led(name, named, this.#below(name) ?? this.#belowInAnyCase(name));
    const below = this.#below(name);
    return below && hidden(this.#led(alias.source, named, below));
  }

  /** Without aliases, with families. */
  #below(name: string): Route | undefined {
    const plain = this.#plain(name);
    const member = this.#member(name);
    if (member === undefined) return plain;
    if (member.name === name) return this.#led(name, member, plain ?? this.#plainInAnyCase(name));
    return plain && hidden(this.#led(member.name, member, plain));
  }

  #belowInAnyCase(name: string): Route | undefined {
    const member = this.#member(name);
    return member === undefined ? this.#plainInAnyCase(name) : this.get(member.name);
  }

  /** Without aliases and families. */
  #plain(name: string): Route | undefined {
    const { targets, names } = this.#parts;
    const { provider, model } = parseSelector(name) ?? {};
    const target = provider === undefined || model === undefined ? undefined : targets.get(provider)?.get(model);
    if (target !== undefined) return plainRoute(name, [target], true);
    const sharing = names.bare.get(name);
    return sharing && plainRoute(name, targetsOf(sharing, targets), false);
  }

  #plainInAnyCase(name: string): Route | undefined {
    const spelling = this.#parts.names.spelling(name);
    return spelling === undefined ? undefined : this.get(spelling);
  }

  /** The name of a family that this one is, in any letter case. */
  #member(name: string): (NamedRoute & { readonly name: string }) | undefined {
    const slash = name.indexOf('/');
    const family = slash === -1 ? undefined : this.#parts.families.get(foldCase(name.slice(0, slash)));
    if (family === undefined) return undefined;
    const { alias, models } = family;
    const rest = name.slice(slash + 1);
    const model = models.has(rest) ? rest : foldedIn(models).get(foldCase(rest));
    if (model === undefined) return undefined;
    const spelled = nameInFamily(alias, model);
    const flattened = family.flatten(spelled);
    return (
      flattened && { name: spelled, alias, flattened, flattenWhere: (isOn: IsOn) => family.flatten(spelled, isOn) }
    );
  }

  #led(name: string, { alias, flattened, flattenWhere }: NamedRoute, behind: Route | undefined): Route {
    const { targets } = this.#parts;
    const mirror = alias.mirror && this.#mirrorOf(alias.mirror);
    const partOf = (of: Flattened): Route => aliasRoute(name, alias, { flattened: of, targets, behind, mirror });
    const route = partOf(flattened);
    const conditional = conditionalTargets(flattened, (isOn) => {
      const left = flattenWhere(isOn);
      return left && Object.freeze(partOf(left));
    });
    return Object.freeze({ ...route, conditional });
  }

  /** Undefined: there is no such model. */
  #mirrorOf({ target, share }: NonNullable<Alias['mirror']>): MirrorPlace | undefined {
    const named = this.#plain(target) ?? this.#plain(this.#parts.names.spelling(target) ?? '');
    const first = named?.targets[0];
    if (first === undefined) return undefined;
    const route = plainRoute(`${first.upstream.name}/${first.model}`, [first], false);
    return Object.freeze({ share, route: Object.freeze({ ...route, policy: mirrorPolicy }) });
  }
}

/** The route of a name that an alias covers in another letter case. */
function hidden(route: Route): Route {
  return Object.freeze({ ...route, isListed: false });
}

function targetsOf(
  list: readonly { readonly provider: string; readonly model: string }[],
  targets: Routes['targets'],
): readonly Target[] {
  return list.flatMap(({ provider, model }) => targets.get(provider)?.get(model) ?? []);
}

function* qualified(targets: Routes['targets']): Generator<string, void> {
  for (const [provider, models] of targets) for (const model of models.keys()) yield `${provider}/${model}`;
}

/** Without an alias: the targets are tried in this order. */
export function plainRoute(name: string, targets: readonly Target[], isListed: boolean): Route {
  return Object.freeze({
    name,
    targets: Object.freeze(targets),
    weights: Object.freeze(targets.map((_, index) => (index === 0 ? 1 : 0))),
    tiers: undefined,
    strategy: 'failover',
    policy: defaultRetryPolicy,
    hedge: undefined,
    rescue: undefined,
    userPaths: undefined,
    when: undefined,
    behind: undefined,
    conditional: undefined,
    family: undefined,
    source: name,
    isAlias: false,
    isListed,
  });
}

function aliasRoute(
  name: string,
  alias: Alias,
  {
    flattened,
    targets,
    behind,
    mirror,
  }: {
    flattened: Flattened;
    targets: Routes['targets'];
    behind: Route | undefined;
    mirror: MirrorPlace | undefined;
  },
): Route {
  const { strategy, leaves } = flattened;
  const weights = weightsOf(flattened);
  const words = leaves.map(({ provider, model, tier }, index) => {
    return `${weights[index]} ${provider}/${model}${tier === 0 ? '' : ` tier ${tier}`}`;
  });
  const userPaths = alias.user_paths === undefined ? undefined : Object.freeze([...alias.user_paths]);
  const when = alias.when === undefined ? undefined : conditionOf(alias.when);
  return {
    name: [name, strategy, ...words].join('\n'),
    targets: Object.freeze(targetsOf(leaves, targets)),
    weights: Object.freeze(weights),
    tiers: leaves.at(-1)?.tier === 0 ? undefined : Object.freeze(leaves.map(({ tier }) => tier)),
    strategy,
    policy: compileRetryPolicy(alias.retry),
    hedge: compileHedge(alias.hedge),
    rescue: alias.rescue,
    mirror,
    userPaths,
    when,
    behind: userPaths === undefined && when === undefined ? undefined : behind,
    conditional: undefined,
    family: alias.source === name ? undefined : alias.source,
    source: alias.source,
    isAlias: true,
    isListed: true,
  };
}

/** Owned by the provider of the first target. */
export function modelEntry(id: string, targets: readonly Target[]): ModelEntry {
  return Object.freeze({ id, object: 'model', created: 0, owned_by: targets[0]?.upstream.name ?? '' });
}
