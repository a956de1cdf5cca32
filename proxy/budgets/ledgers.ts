// The ledgers of all budgets in force: found by user path and label, opened when a request needs one, and begun anew with each window.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { budgetPeriods } from '../../domain/budgets/period.ts';
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import { type Anchors, budgetWindow } from '../../domain/budgets/window.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import type { Fleet } from '../limits/fleet/fleet.ts';
import { refresh } from '../limits/fleet/refresh.ts';
import type { OwnUse } from '../limits/fleet/tell-again.ts';
import { type MatchedCounter, RuleIndex, RuleLookup } from '../limits/match.ts';
import { ownUsesOf } from '../limits/own-uses.ts';
import { Sweeper } from '../limits/sweeper.ts';
import { type Counter, newUnsaved, Tally, type Unsaved } from '../limits/tally.ts';
import { type KeptBudget, Ledger } from './ledger.ts';
import { RecordedSpend } from './recorded-spend.ts';

/** The longest calendar month in seconds: what is counted in a window must not leave the ring of its counter before the window ends. */
const longestMonth = 31 * 86_400;

/** Whose spend it is. */
export interface Spender {
  /** Normalised. */
  readonly userPath: string;
  /** Of its key. */
  readonly labels?: readonly string[] | undefined;
}

/** The budgets in force, and where their windows begin. */
export interface BudgetsToKeep {
  readonly budgets: readonly MergedBudget[];
  readonly anchors: Anchors;
}

export class Ledgers {
  readonly records = new RecordedSpend();
  readonly #unsaved: Unsaved;
  readonly #lookup = new RuleLookup();
  #toKeep: BudgetsToKeep | undefined;
  #enforcement: Enforcement | undefined;
  #kept: ReadonlyMap<string, KeptBudget> = new Map();
  #byTally: ReadonlyMap<Tally, KeptBudget> = new Map();
  #labels: ReadonlyMap<string, readonly Tally[]> = new Map();
  #byId: ReadonlyMap<string, KeptBudget> = new Map();
  readonly #ledgers = new WeakMap<Counter, Ledger>();
  /** When the first window ends. Unix milliseconds. */
  #endMs = Number.POSITIVE_INFINITY;
  readonly #sweeper = new Sweeper({ values: () => this.#byTally.keys() });
  /** How often a request was not charged to the ledger of a child, because there were too many. */
  overflowed = 0;

  /** `mostBytes`: the most heap that all ledgers may take; of further children only what the control plane tells is known. */
  constructor(mostBytes: number = Number.POSITIVE_INFINITY) {
    this.#unsaved = newUnsaved({ isExported: false, mostBytes });
  }

  /** Counts with the fleet from now on, where limits are shared; call it once, before there are budgets. */
  share(fleet: Fleet): void {
    this.#unsaved.fleet = fleet;
  }

  /** No budget is enforced, or in shadow. */
  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /**
   * Puts budgets in force. What was spent stays counted, but where a window or a reset has begun since. `nowMs`: Unix milliseconds.
   */
  keep(toKeep: BudgetsToKeep, enforcement: Enforcement, nowMs: number): void {
    if (toKeep === this.#toKeep && enforcement === this.#enforcement) return;
    const { isShared = false, onStoreLoss = 'share', maxChildren } = enforcement;
    this.#enforcement = enforcement;
    this.#unsaved.isShared = isShared && this.#unsaved.fleet !== undefined;
    this.#unsaved.onStoreLoss = onStoreLoss;
    this.#unsaved.maxChildren = maxChildren ?? Number.POSITIVE_INFINITY;
    this.#toKeep = toKeep;
    this.#begin(toKeep, nowMs);
  }

  /**
   * Whether a verdict was computed before a reset or another amount of its budget that this proxy knows of. It may have been under way then.
   */
  isOutdated({ id, fromMs = Number.POSITIVE_INFINITY, spent }: BudgetVerdict): boolean {
    const kept = this.#byId.get(id);
    return kept !== undefined && (fromMs < kept.fromMs || spent < kept.budget.amount);
  }

  /** The ledgers that count a caller. */
  of(spender: Spender, nowMs: number): readonly Ledger[] {
    return this.#matchesOf(spender, nowMs).flatMap((match) => this.#ledgerOf(match) ?? []);
  }

  /** Those that a request is charged to; a child that has none is counted in `overflowed`. */
  toCharge(spender: Spender, nowMs: number): readonly Ledger[] {
    const matches = this.#matchesOf(spender, nowMs);
    const found = matches.flatMap((match) => this.#ledgerOf(match) ?? []);
    this.overflowed += matches.length - found.length;
    return found;
  }

  /** Drops ledgers of children that have counted nothing in their window; visits so many, and returns the number dropped. */
  sweep(nowMs: number, visits: number): number {
    return this.#sweeper.sweep(nowMs, visits);
  }

  /** All that this proxy has counted in the present windows. */
  *ownUses(nowMs: number): Generator<OwnUse, void> {
    for (const { tally } of this.#kept.values())
      for (const counter of tally.counters()) yield* ownUsesOf(counter, nowMs);
  }

  /** Asks the state store how these stand, where the fleet shares them. Resolves within the time that requests may wait for it. */
  async refresh(ledgers: readonly Ledger[], nowMs: number): Promise<void> {
    const { fleet, isShared } = this.#unsaved;
    const stocks = ledgers.flatMap(({ counter }) => counter.shared?.stock('tokens', nowMs) ?? []);
    if (isShared && fleet?.isLost === false && stocks.length > 0) await refresh(fleet, stocks, nowMs);
  }

  #matchesOf({ userPath, labels = [] }: Spender, nowMs: number): readonly Match[] {
    if (this.#kept.size === 0) return noMatches;
    if (nowMs >= this.#endMs && this.#toKeep !== undefined) this.#begin(this.#toKeep, nowMs);
    const labelled = labels.flatMap((label) => this.#labels.get(label) ?? []);
    const ofLabels = labelled.map(({ caps }) => ({ caps, child: '', shownChild: '' }));
    return [...this.#lookup.forUserPath(userPath).matched(), ...ofLabels];
  }

  /** Undefined: there are too many children. */
  #ledgerOf({ caps: { tally }, child, shownChild }: Match): Ledger | undefined {
    const counter = tally.claim(child);
    const kept = this.#byTally.get(tally);
    if (counter === undefined || kept === undefined) return undefined;
    const known = this.#ledgers.get(counter);
    const ledger = known ?? new Ledger(kept, counter, { child: counter.child, shownChild });
    if (known === undefined) this.#ledgers.set(counter, ledger);
    ledger.kept = kept;
    return ledger;
  }

  #begin({ budgets, anchors }: BudgetsToKeep, nowMs: number): void {
    const kept = new Map<string, KeptBudget>();
    for (const budget of budgets) {
      if (!budget.enforced) continue;
      const window = budgetWindow(budget.periodSeconds, anchors, nowMs);
      const fromMs = Math.max(window.startMs, budget.lastResetMs ?? window.startMs);
      const rule = ruleOf(budget, fromMs);
      const known = this.#kept.get(rule.key)?.tally;
      known?.revise(rule);
      kept.set(rule.key, { budget, window, fromMs, tally: known ?? new Tally(rule, this.#unsaved) });
    }
    for (const [key, { tally }] of this.#kept) if (!kept.has(key)) tally.drop();
    this.#kept = kept;
    this.#index([...kept.values()]);
  }

  #index(kept: readonly KeptBudget[]): void {
    const ofScope = (scope: MergedBudget['scope']): KeptBudget[] => kept.filter(({ budget }) => budget.scope === scope);
    this.#lookup.index = new RuleIndex(ofScope('user_path').map(({ tally }) => tally));
    this.#byTally = new Map(kept.map((each) => [each.tally, each]));
    this.#byId = new Map(kept.map((each) => [each.budget.id, each]));
    const byLabel = Map.groupBy(ofScope('label'), ({ budget }) => budget.matchSubject);
    this.#labels = new Map([...byLabel].map(([label, found]) => [label, found.map(({ tally }) => tally)]));
    this.#endMs = kept.reduce((first, { window }) => Math.min(first, window.endMs), Number.POSITIVE_INFINITY);
  }
}

type Match = Omit<MatchedCounter, 'counter'>;

const noMatches: readonly Match[] = [];

/** A budget in one window as the counters of rate limits know it: a token is a nano-dollar, an epoch a window. */
function ruleOf({ key, id, matchSubject, subject, perChild, ...budget }: MergedBudget, fromMs: number): Rule {
  const { periodSeconds, amount, mode, source } = budget;
  return {
    key: `${perChild ? 'budgets of children' : 'budget'} ${key}`,
    id,
    // Labels are found by an index of their own.
    scope: 'user_path',
    subject,
    matchSubject,
    perChild,
    periodSeconds: periodSeconds === budgetPeriods.monthly ? longestMonth : periodSeconds,
    maxTokens: amount,
    mode: mode === 'shadow' ? 'shadow' : 'enforce',
    source,
    epoch: fromMs,
  };
}
