// All guardrails at one moment: those of the configuration, and those that operators have stored.
import { manualGuardrails } from '../../../domain/documents/kinds.ts';
import type { ManualGuardrail } from '../../../domain/guardrails/manual-guardrail.ts';
import { kindOf, type MergedGuardrail, mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import type { EntryNames } from '../../../domain/keys/model-access.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import type { Fleet } from '../../fleet.ts';
import { type Known, readKnown } from '../../managed/known.ts';
import type { ManagedParts, ManagedState } from '../../managed/resource.ts';

export interface GuardrailParts extends ManagedParts {
  /** The section of the configuration in force, and where each entry is declared, by name. */
  readonly config: {
    readonly guardrails: readonly Guardrail[];
    readonly places: { readonly guardrails: ReadonlyMap<string, string> };
    readonly known: EntryNames;
  };
  readonly fleet: Pick<Fleet, 'proxies'>;
}

/** All guardrails at one moment, by name. */
export interface KnownGuardrails extends Known<Guardrail, ManualGuardrail> {
  readonly names: EntryNames;
}

export function knownGuardrails({ config }: GuardrailParts, state: ManagedState, nowMs: number): KnownGuardrails {
  const declared = new Map(config.guardrails.map((each) => [each.name, each]));
  const declaration = { config: declared, places: config.places.guardrails };
  return { ...readKnown(manualGuardrails, state, declaration, nowMs), names: config.known };
}

export function mergedOf({ config, manual }: KnownGuardrails): readonly MergedGuardrail[] {
  return mergeGuardrails([...config.values()], [...manual.values()]);
}

/** The members of the log for a guardrail: the one in force, without its words. Null: none is in force. */
export function factsOf(all: KnownGuardrails, name: string): object | null {
  const row = mergedOf(all).find(({ value }) => value.name === name);
  if (row === undefined) return null;
  const { mode, order, on, user_paths, models } = row.value;
  const source = row.manual === undefined ? 'config' : 'manual';
  return { source, kind: kindOf(row.value), mode, order, on, user_paths, models };
}
