// The registry of the documents that operators manage: one row per kind.
import { type ManualAlias, manualAliasBody, manualAliasKind, readManualAlias } from '../aliases/manual-alias.ts';
import {
  type BudgetReset,
  budgetResetBody,
  budgetResetKind,
  everyBudget,
  readBudgetReset,
} from '../budgets/budget-reset.ts';
import { budgetSettingsKind, type ManualAnchors, readManualAnchors } from '../budgets/budget-settings.ts';
import { type ManualBudget, manualBudgetBody, manualBudgetKind, readManualBudget } from '../budgets/manual-budget.ts';
import { type CacheReset, cacheResetBody, cacheResetKind, everyAnswer, readCacheReset } from '../cache/cache-reset.ts';
import { type ConfigPin, configPinBody, configPinKind, readConfigPin } from '../config-pins/config-pin.ts';
import {
  type ConfigRollout,
  configRolloutBody,
  configRolloutKind,
  readConfigRollout,
} from '../config-rollouts/config-rollout.ts';
import {
  type ManualGuardrail,
  manualGuardrailBody,
  manualGuardrailKind,
  readManualGuardrail,
} from '../guardrails/manual-guardrail.ts';
import { type AuthKey, authKeyBody, authKeyKind, readAuthKey } from '../keys/auth-key.ts';
import {
  type EndedSessions,
  endedSessionsBody,
  endedSessionsKind,
  everyKey,
  readEndedSessions,
} from '../keys/ended-sessions.ts';
import { type ManualRule, manualRuleBody, manualRuleKind, readManualRule } from '../rules/manual-rule.ts';
import { everyRule, type ResetEpoch, readResetEpoch, resetEpochBody, resetEpochKind } from '../rules/reset-epochs.ts';
import { readTargetDrain, type TargetDrain, targetDrainBody, targetDrainKind } from '../targets/target-drain.ts';
import { timestamp } from '../timestamp.ts';
import { type KindReading, type ManagedKind, readAgain, readOnce, type StoredDocument } from './managed-kind.ts';

export const manualRules: ManagedKind<ManualRule> = {
  kind: manualRuleKind,
  noun: (id) => `rule "${id}"`,
  consequence: ' and is not enforced',
  read: readOnce(readManualRule),
  write: manualRuleBody,
};

export const resets: ManagedKind<ResetEpoch> = {
  kind: resetEpochKind,
  noun: (id) => `reset of ${id === everyRule ? 'every rule' : `"${id}"`}`,
  consequence: '',
  read: readOnce(readResetEpoch),
  write: ({ epoch, raisedAtMs }) =>
    resetEpochBody(epoch, Number.isFinite(raisedAtMs) ? timestamp(raisedAtMs) : undefined),
};

export const managedKeys: ManagedKind<AuthKey> = {
  kind: authKeyKind,
  noun: (id) => `key "${id}"`,
  consequence: ' and is refused',
  read: readOnce(readAuthKey),
  write: authKeyBody,
};

export const manualAliases: ManagedKind<ManualAlias> = {
  kind: manualAliasKind,
  noun: (id) => `virtual model "${id}"`,
  consequence: ' and is not in force',
  read: readOnce(readManualAlias),
  write: manualAliasBody,
};

export const manualBudgets: ManagedKind<ManualBudget> = {
  kind: manualBudgetKind,
  noun: (id) => `budget "${id}"`,
  consequence: ' and is not enforced',
  read: readOnce(readManualBudget),
  write: manualBudgetBody,
};

export const budgetResets: ManagedKind<BudgetReset> = {
  kind: budgetResetKind,
  noun: (id) => `reset of ${id === everyBudget ? 'every budget' : `the budget "${id}"`}`,
  consequence: '',
  read: readOnce(readBudgetReset),
  write: budgetResetBody,
};

export const budgetSettings: ManagedKind<ManualAnchors> = {
  kind: budgetSettingsKind,
  noun: () => 'setting of the windows of budgets',
  consequence: ' and is not in force',
  read: readOnce(readManualAnchors),
  write: ({ anchors }) => anchors,
};

export const managedCacheResets: ManagedKind<CacheReset> = {
  kind: cacheResetKind,
  noun: (id) => `reset of ${id === everyAnswer ? 'all cached answers' : `the cached answers of "${id}"`}`,
  consequence: ' and is not in force',
  read: readOnce(readCacheReset),
  write: cacheResetBody,
};

export const manualGuardrails: ManagedKind<ManualGuardrail> = {
  kind: manualGuardrailKind,
  noun: (id) => `guardrail "${id}"`,
  consequence: ' and is not enforced',
  read: readOnce(readManualGuardrail),
  write: manualGuardrailBody,
};

export const endedSessions: ManagedKind<EndedSessions> = {
  kind: endedSessionsKind,
  noun: (id) => `end of sessions of ${id === everyKey ? 'every key' : `the key with the digest ${id}…`}`,
  consequence: ' and is not in force',
  read: readOnce(readEndedSessions),
  write: endedSessionsBody,
};

export const targetDrains: ManagedKind<TargetDrain> = {
  kind: targetDrainKind,
  noun: (id) => `drain of "${id}"`,
  consequence: ' and is not in force',
  read: readOnce(readTargetDrain),
  write: targetDrainBody,
};

export const configPins: ManagedKind<ConfigPin> = {
  kind: configPinKind,
  noun: () => 'pin of the configuration',
  consequence: ' and is not in force',
  read: readOnce(readConfigPin),
  write: configPinBody,
};

export const configRollouts: ManagedKind<ConfigRollout> = {
  kind: configRolloutKind,
  noun: () => 'rollout of the configuration',
  consequence: ' and new revisions wait',
  read: readOnce(readConfigRollout),
  write: configRolloutBody,
};

/** The kinds whose documents are entries of a list of the configuration: as codes of errors name one, and as sentences do. */
export const entryNouns = { virtual_model: 'virtual model', guardrail: 'guardrail' } as const;
export type EntryKindName = keyof typeof entryNouns;

/** In the order in which problems are reported. */
export const managedKinds: readonly ManagedKind<unknown>[] = [
  manualRules,
  resets,
  managedKeys,
  manualAliases,
  manualBudgets,
  budgetResets,
  budgetSettings,
  managedCacheResets,
  manualGuardrails,
  endedSessions,
  targetDrains,
  configPins,
  configRollouts,
];

const kindsByName = new Map(managedKinds.map((managed) => [managed.kind, managed]));

/** Reads a document, of whatever kind: `readManaged` finds then that it was read. */
export function readDocument({ kind, id, body }: StoredDocument): void {
  kindsByName.get(kind)?.read(id, body);
}

/** Documents of every kind, read once. */
export interface ManagedDocuments {
  /** The readable documents of one kind, in stored order: the same list as long as no document of the kind changes. */
  of<Value>(managed: ManagedKind<Value>): readonly Value[];
  /** A sentence for each document that cannot be read. */
  readonly problems: readonly string[];
}

interface AllReadings extends ManagedDocuments {
  readonly readings: ReadonlyMap<string, KindReading<unknown>>;
}

/**
 * Reads documents, sorted by kind and id; skips kinds that this version does not know. `before`: the result of the last time. Documents that
 * are the same objects as then are not read again.
 */
export function readManaged(documents: readonly StoredDocument[], before?: ManagedDocuments): ManagedDocuments {
  const known = (before as AllReadings | undefined)?.readings;
  const readings = new Map(
    managedKinds.map((managed) => [managed.kind, readAgain(managed, documents, known?.get(managed.kind))]),
  );
  const all: AllReadings = {
    readings,
    of: <Value>({ kind }: ManagedKind<Value>) => (readings.get(kind) as KindReading<Value> | undefined)?.values ?? [],
    problems: managedKinds.flatMap((managed) =>
      (readings.get(managed.kind)?.unreadable ?? []).map(
        (id) => `the stored ${managed.noun(id)} cannot be read${managed.consequence}`,
      ),
    ),
  };
  return all;
}
