// Resolves a model name: an alias, a member of a family, a model of one provider, or a bare id on every provider that lists it. Pure.

import type { Alias } from '../../schemas/types.ts';
import { foldCase, parseSelector } from '../selector.ts';
import type { ModelNames, ModelTarget } from './model-names.ts';

/** The part of an alias that says where it leads. */
export type AliasTargets = Pick<Alias, 'source' | 'targets' | 'strategy'>;

/** An alias, or a name of a family: then `family` is the alias that declares it. */
export interface NamedAlias extends AliasTargets {
  readonly family?: AliasTargets;
}

/** `alias` leads further; `models` are tried in order. */
export type Lead =
  | { readonly alias: NamedAlias; readonly models?: undefined }
  | { readonly alias?: undefined; readonly models: readonly ModelTarget[] };

/** `eu/*` → `eu`; undefined for a name that is no family. A prefix has no slash. */
export function familyPrefix(name: string): string | undefined {
  return /^[^/*]+\/\*$/.test(name) ? name.slice(0, -2) : undefined;
}

/** The name that stands for a model in a family: `eu/*` and `m` → `eu/m`. */
export function nameInFamily({ source }: AliasTargets, model: string): string {
  return `${familyPrefix(source) ?? ''}/${model}`;
}

/**
 * Resolves names. An alias wins over a name of a family, and both win over models. Letter case is ignored, except
 * between two models whose names differ only in case.
 */
export class NameTable {
  readonly models: ModelNames;
  /** By source, and by prefix, in lower case. */
  readonly #aliases = new Map<string, AliasTargets>();
  readonly #families = new Map<string, AliasTargets>();
  /** By prefix. */
  readonly #under = new Map<string, ReadonlySet<string>>();
  readonly #members = new Map<string, NamedAlias | undefined>();

  /** Of two aliases with the same source the first counts. */
  constructor(aliases: Iterable<AliasTargets>, models: ModelNames) {
    this.models = models;
    for (const alias of aliases) {
      const key = foldCase(alias.source);
      if (this.#aliases.has(key)) continue;
      this.#aliases.set(key, alias);
      const prefix = familyPrefix(alias.source);
      if (prefix !== undefined) this.#families.set(foldCase(prefix), alias);
    }
  }

  /** The alias or the models of a name; undefined for an unknown name. */
  leadOf(name: string): Lead | undefined {
    const alias = this.#aliases.get(foldCase(name)) ?? this.memberOf(name);
    if (alias !== undefined) return { alias };
    const models = this.modelsOf(name);
    return models === undefined ? undefined : { models };
  }

  /** The member of a family with this name, also where an alias has the same name; undefined when no family has it. */
  memberOf(name: string): NamedAlias | undefined {
    const slash = name.indexOf('/');
    const family = slash === -1 ? undefined : this.#families.get(foldCase(name.slice(0, slash)));
    if (family === undefined || this.#members.has(name)) return this.#members.get(name);
    // A name that leads to itself leads nowhere.
    this.#members.set(name, undefined);
    const rest = name.slice(slash);
    const targets = family.targets
      .map((target) => ({ ...target, model: `${familyPrefix(target.model)}${rest}` }))
      .filter(({ model }) => this.leadOf(model) !== undefined);
    const member = targets.length === 0 ? undefined : { source: name, targets, strategy: family.strategy, family };
    this.#members.set(name, member);
    return member;
  }

  /**
   * The models of a name, aliases ignored; undefined when no provider has it. A provider whose models are not known
   * here has every model.
   */
  modelsOf(name: string): readonly ModelTarget[] | undefined {
    const found = this.#listed(name);
    if (found !== undefined) return found;
    const { provider, model } = parseSelector(name) ?? {};
    const { isDiscovered, discovering } = this.models;
    if (provider !== undefined && model !== undefined && !isDiscovered && discovering.has(provider)) {
      if (!model.includes('*')) return [{ provider, model }];
    }
    const spelling = this.models.spelling(name);
    return spelling === undefined ? undefined : this.#listed(spelling);
  }

  /** In this letter case. */
  #listed(name: string): readonly ModelTarget[] | undefined {
    const { provider, model } = parseSelector(name) ?? {};
    const isOffered = provider !== undefined && model !== undefined && this.models.offered.get(provider)?.has(model);
    return isOffered === true ? [{ provider, model }] : this.models.bare.get(name);
  }

  /** Whether an unknown name may become known when providers report their models. */
  mayLeadSomewhere(name: string): boolean {
    const { discovering, offered } = this.models;
    const { provider } = parseSelector(name) ?? {};
    return provider !== undefined && offered.has(provider) ? discovering.has(provider) : discovering.size > 0;
  }

  /** The sources of all aliases. */
  sources(): string[] {
    return [...this.#aliases.values()].map(({ source }) => source);
  }

  /** The families, each with what stands behind the slash of its names. */
  *families(): Generator<{ readonly family: AliasTargets; readonly models: ReadonlySet<string> }> {
    for (const family of this.#families.values()) yield { family, models: this.#modelsOfFamily(family) };
  }

  #modelsOfFamily({ targets }: AliasTargets): ReadonlySet<string> {
    const under = targets.flatMap(({ model }) => {
      const prefix = familyPrefix(model);
      return prefix === undefined ? [] : [this.#modelsUnder(prefix)];
    });
    const [first = new Set<string>(), ...further] = under;
    return further.length === 0 ? first : new Set(under.flatMap((models) => [...models]));
  }

  /** Every `x` for which `<prefix>/x` is a model of a provider, or a name of a family. */
  #modelsUnder(prefix: string): ReadonlySet<string> {
    const known = this.#under.get(prefix);
    if (known !== undefined) return known;
    const own = this.models.offered.get(prefix) ?? new Set();
    // A family that leads to itself finds what is known so far.
    this.#under.set(prefix, own);
    const family = this.#families.get(foldCase(prefix));
    const all = family === undefined ? own : new Set([...own, ...this.#modelsOfFamily(family)]);
    this.#under.set(prefix, all);
    return all;
  }
}
