// All aliases at one moment: those of the configuration, and those that operators have stored.
import type { ManualAlias } from '../../../domain/aliases/manual-alias.ts';
import { type MergedAlias, mergeAliases } from '../../../domain/aliases/merge-aliases.ts';
import type { ModelNames } from '../../../domain/aliases/model-names.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { readKind } from '../../../domain/documents/managed-kind.ts';
import type { Alias } from '../../../schemas/types.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import type { DocumentStore } from '../../managed/commit.ts';
import { aliasRows } from './listing.ts';

/** The parts of the process that this resource uses. */
export interface VirtualModelParts {
  readonly store: DocumentStore;
  /** The aliases of the configuration in force, where each is declared by source, and the names of all models. */
  configAliases(): {
    readonly aliases: readonly Alias[];
    readonly places: ReadonlyMap<string, string>;
    readonly models: ModelNames;
  };
  /** Unix milliseconds. */
  nowMs(): number;
}

/** All aliases at one moment. */
export interface KnownAliases {
  readonly config: readonly Alias[];
  /** By alias key. */
  readonly manual: ReadonlyMap<string, ManualAlias>;
  /** Keys of documents that cannot be read. */
  readonly unreadable: ReadonlySet<string>;
  readonly models: ModelNames;
  readonly nowMs: number;
}

export function knownAliases(
  state: Pick<StoredState, 'documents'> & Partial<Pick<StoredState, 'skipped'>>,
  config: readonly Alias[],
  models: ModelNames,
  nowMs: number,
): KnownAliases {
  const { values, unreadable } = readKind(manualAliases, state.documents, state.skipped);
  return {
    config,
    manual: new Map(values.map((each) => [each.key, each])),
    unreadable: new Set(unreadable),
    models,
    nowMs,
  };
}

/** Both kinds of aliases together. */
export function merged({ config, manual, models }: KnownAliases): readonly MergedAlias[] {
  return mergeAliases(config, [...manual.values()], models);
}

/** The rows of all aliases of a state, without its dates. */
export function rowsOfAliases(parts: VirtualModelParts, state: Pick<StoredState, 'documents'>): object[] {
  const { aliases, models, places } = parts.configAliases();
  return aliasRows({ aliases: merged(knownAliases(state, aliases, models, parts.nowMs())), places });
}
