// A config with the aliases and guardrails of operators → a snapshot, and what its rules need.

import { aliasesInForce, aliasProblems, type MergedAlias, mergeAliases } from '../../domain/aliases/merge-aliases.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { sayUndiscovered } from '../../domain/aliases/undiscovered.ts';
import type { CacheResets } from '../../domain/cache/cache-reset.ts';
import { type ManagedDocuments, manualAliases, manualGuardrails } from '../../domain/documents/kinds.ts';
import { mergeGuardrails } from '../../domain/guardrails/merge-guardrails.ts';
import type { Credentials } from '../../domain/keys/credentials.ts';
import { type Inventories, isDiscovering } from '../../domain/listed-models.ts';
import { knownModels } from '../../domain/rules/known-models.ts';
import type { RulePrerequisites } from '../../domain/rules/obstacle.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { RuleProblem } from '../../domain/rules/unenforced.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Provider, RateLimits } from '../../schemas/types.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import type { ProviderKeys } from '../upstream/api-keys.ts';
import { compile, withDocuments } from './compile.ts';
import type { Snapshot } from './snapshot.ts';

/** A config without the aliases of operators. */
export interface LoadedConfig {
  readonly config: AssembledConfig;
  readonly revision: string;
  readonly rules: readonly Rule[];
}

/** The settings that are put in force beside a snapshot. */
export interface Standing {
  readonly rules: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
  /** What all rules share; `scope` as it is written: undefined where it is not. */
  readonly limiting: Omit<Required<Enforcement>, 'isEnforced' | 'isShared'> & { readonly scope: RateLimits['scope'] };
  /** Of aliases of operators. */
  readonly problems: readonly RuleProblem[];
  /** As it was loaded. */
  readonly config: AssembledConfig;
  /** Those that are not in force included. */
  readonly aliases: readonly MergedAlias[];
}

/** The further inputs of compiling a config. */
export interface CompileSettings extends Pick<RulePrerequisites, 'hasTemplates' | 'usageEnabled'> {
  /** The state of the keys of providers. */
  readonly providerKeys: ProviderKeys;
  /** The models that a provider without a list of models reported. */
  readonly modelsOf: (name: string, provider: Provider) => readonly string[];
  readonly resetsOfCache: CacheResets;
}

/** Of what operators have set, the aliases and the guardrails. */
export function compileManaged(
  { config, revision, rules }: LoadedConfig,
  managed: Pick<ManagedDocuments, 'of'>,
  credentials: Credentials,
  { providerKeys, modelsOf, resetsOfCache, ...switches }: CompileSettings,
): { snapshot: Snapshot; standing: Standing } {
  const inventories = inventoriesOf(config, modelsOf);
  const models = modelNames({ ...config, inventories });
  const merged = mergeAliases(config.aliases, managed.of(manualAliases), models);
  const mergedGuardrails = mergeGuardrails(config.guardrails, managed.of(manualGuardrails));
  const whole = { ...config, inventories, aliases: aliasesInForce(merged), mergedGuardrails };
  const { enabled } = whole.rate_limits;
  const prerequisites = { ...switches, enabled, known: knownModels(whole) };
  const problems = [...aliasProblems(merged), ...sayUndiscovered(whole.aliases, models)].map(
    (text): RuleProblem => ({ level: 'warn', text }),
  );
  const standing = { rules, prerequisites, limiting: limitingOf(whole.rate_limits), problems, config, aliases: merged };
  const snapshot = withDocuments(compile(whole, revision, credentials, providerKeys), credentials, resetsOfCache);
  return { snapshot, standing };
}

function limitingOf(limits: RateLimits): Standing['limiting'] {
  return {
    maxChildren: limits.max_children,
    reserveTokens: limits.reserve_tokens,
    onStoreLoss: limits.on_store_loss,
    leaseWaitMs: durationMs(limits.lease_wait),
    scope: limits.scope,
  };
}

function inventoriesOf({ providers }: AssembledConfig, modelsOf: CompileSettings['modelsOf']): Inventories {
  const discovering = Object.entries(providers).filter(([, provider]) => isDiscovering(provider));
  return new Map(discovering.map(([name, provider]) => [name, modelsOf(name, provider)]));
}
