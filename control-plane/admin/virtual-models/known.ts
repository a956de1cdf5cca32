// All aliases at one moment: those of the configuration, and those that operators have stored.
import { aliasKey, type ManualAlias } from '../../../domain/aliases/manual-alias.ts';
import { type MergedAlias, mergeAliases } from '../../../domain/aliases/merge-aliases.ts';
import type { ModelNames } from '../../../domain/aliases/model-names.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import type { Alias } from '../../../schemas/types.ts';
import type { KnownState } from '../../managed/commit.ts';
import { type Known, readKnown } from '../../managed/known.ts';
import type { ManagedParts } from '../../managed/resource.ts';

/** The parts of the process that this resource uses. */
export interface VirtualModelParts extends ManagedParts {
  /** The aliases of the configuration in force, where each is declared by source, and the names of all models. */
  configAliases(): {
    readonly aliases: readonly Alias[];
    readonly places: ReadonlyMap<string, string>;
    readonly models: ModelNames;
  };
}

/** All aliases at one moment, by alias key. */
export interface KnownAliases extends Known<Alias, ManualAlias> {
  readonly models: ModelNames;
}

export function knownAliases(parts: VirtualModelParts, state: KnownState, nowMs: number): KnownAliases {
  const { aliases, places, models } = parts.configAliases();
  const declaration = {
    config: new Map(aliases.map((alias) => [aliasKey(alias.source), alias])),
    places: new Map([...places].map(([source, place]) => [aliasKey(source), place])),
  };
  return { ...readKnown(manualAliases, state, declaration, nowMs), models };
}

/** Both kinds of aliases together. */
export function merged({ config, manual, models }: KnownAliases): readonly MergedAlias[] {
  return mergeAliases([...config.values()], [...manual.all().values()], models);
}
