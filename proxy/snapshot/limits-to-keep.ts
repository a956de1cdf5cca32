// The rate limits and budgets that the config and the documents set together. What has not changed is the same object as the last time.
import { compileBudgets } from '../../domain/budgets/budget.ts';
import type { BudgetReset } from '../../domain/budgets/budget-reset.ts';
import { anchorsInForce, type ManualAnchors } from '../../domain/budgets/budget-settings.ts';
import type { ManualBudget } from '../../domain/budgets/manual-budget.ts';
import { mergeBudgets, nextBudgetExpiryMs } from '../../domain/budgets/merge-budgets.ts';
import { budgetResets, budgetSettings, type ManagedDocuments, manualBudgets } from '../../domain/documents/kinds.ts';
import type { StoredDocument } from '../../domain/documents/managed-kind.ts';
import { MergedRules } from '../../domain/documents/merged-rules.ts';
import { expiryMs } from '../../domain/rules/authorship.ts';
import type { ManualRule } from '../../domain/rules/manual-rule.ts';
import type { MergedRule } from '../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../domain/rules/obstacle.ts';
import { type RuleProblem, unenforcedProblems } from '../../domain/rules/unenforced.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { BudgetCover } from '../budgets/budget-cover.ts';
import type { BudgetsToKeep } from '../budgets/ledgers.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import type { Standing } from './compile-managed.ts';

export interface LimitSettings extends Pick<RulePrerequisites, 'hasTemplates' | 'usageEnabled'> {
  /** Where caps hold, when the config does not say it. */
  readonly scope: 'fleet' | 'replica';
}

export interface LimitSources {
  readonly standing: Standing;
  readonly documents: readonly StoredDocument[];
  /** Of these documents. */
  readonly managed: Pick<ManagedDocuments, 'of'>;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export interface KeptLimits {
  /** Sorted; those that are not enforced included. */
  readonly merged: readonly MergedRule[];
  /** Those with counters. */
  readonly rules: readonly MergedRule[];
  readonly enforcement: Required<Enforcement>;
  readonly budgets: BudgetsToKeep;
  /** Undefined: models without a price may be asked by all. */
  readonly budgeted: BudgetCover | undefined;
  readonly problems: readonly RuleProblem[];
  /** The rules of operators that have ended and are still stored. */
  readonly ended: readonly ManualRule[];
  /** When the next rule or budget of an operator ends, in Unix milliseconds; undefined: none does. */
  readonly nextEndMs: number | undefined;
}

export class LimitsToKeep {
  readonly #settings: LimitSettings;
  readonly #merged = new MergedRules();
  // Also while rate limits are switched off: counters are kept for as long as their windows.
  readonly #counted = remembered((merged: readonly MergedRule[]) => merged.filter(({ counted }) => counted));
  readonly #problems = remembered(unenforcedProblems);
  readonly #cover = remembered((budgets: BudgetsToKeep) => new BudgetCover(budgets.budgets));
  readonly #enforcement = remembered((limiting: Standing['limiting'], isEnforced: boolean): Required<Enforcement> => {
    const { scope = this.#settings.scope, ...enforcement } = limiting;
    return { ...enforcement, isEnforced, isShared: scope === 'fleet' };
  });
  readonly #budgets = remembered((...given: BudgetSources) => this.#budgetsOf(...given));

  constructor(settings: LimitSettings) {
    this.#settings = settings;
  }

  at({ standing, documents, managed, nowMs }: LimitSources): KeptLimits {
    const { rules: config, prerequisites, limiting } = standing;
    const merged = this.#merged.at({ documents, config, prerequisites, nowMs });
    const manual = managed.of(manualBudgets);
    const standingBudgets = manual.filter((budget) => expiryMs(budget) > nowMs);
    const areAll = standingBudgets.length === manual.length;
    const stored = [managed.of(budgetResets), managed.of(budgetSettings)] as const;
    const budgets = this.#budgets(standing.config.budgets, areAll ? manual : standingBudgets, ...stored);
    const ends = [this.#merged.nextEndMs(nowMs), nextBudgetExpiryMs(manual, nowMs)].filter(
      (endMs) => endMs !== undefined,
    );
    return {
      merged,
      rules: this.#counted(merged),
      enforcement: this.#enforcement(limiting, prerequisites.enabled),
      budgets,
      budgeted: standing.config.budgets.unpriced === 'allow' ? undefined : this.#cover(budgets),
      problems: this.#problems(merged, prerequisites),
      ended: this.#merged.endedAt(nowMs),
      nextEndMs: ends.length === 0 ? undefined : Math.min(...ends),
    };
  }

  /** The budgets of the config and of operators, and where their windows begin. */
  #budgetsOf(...[budgets, manual, resets, settings]: BudgetSources): BudgetsToKeep {
    const { hasTemplates, usageEnabled } = this.#settings;
    const prerequisites = { enabled: budgets.enabled, hasTemplates, usageEnabled };
    // Those that have ended are left out already.
    const sources = { config: compileBudgets(budgets), manual, resets, nowMs: 0, prerequisites };
    return { budgets: mergeBudgets(sources), anchors: anchorsInForce(budgets.settings, settings) };
  }
}

/** Budgets of operators that have ended are left out. */
type BudgetSources = readonly [
  config: AssembledConfig['budgets'],
  manual: readonly ManualBudget[],
  resets: readonly BudgetReset[],
  settings: readonly ManualAnchors[],
];

/** `make`, whose last result is given again for the same objects. */
function remembered<Inputs extends readonly unknown[], Made>(
  make: (...inputs: Inputs) => Made,
): (...inputs: Inputs) => Made {
  let last: { readonly inputs: Inputs; readonly made: Made } | undefined;
  return (...inputs) => {
    const isSame = last?.inputs.every((input, at) => input === inputs[at]) === true;
    if (last === undefined || !isSame) last = { inputs, made: make(...inputs) };
    return last.made;
  };
}
