// Budgets of one proxy without a server around them: the clock is a number, and records are told by hand.
import { compileBudgets } from '../../../domain/budgets/budget.ts';
import type { ManualBudget } from '../../../domain/budgets/manual-budget.ts';
import { type MergedBudget, mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import { nanoDollarsOf } from '../../../domain/budgets/money.ts';
import type { BudgetSpend } from '../../../domain/budgets/spends.ts';
import { defaultAnchors } from '../../../domain/budgets/window.ts';
import { Budgets } from '../../../proxy/budgets/budgets.ts';
import { Ledgers, type Spender } from '../../../proxy/budgets/ledgers.ts';
import type { Wanted } from '../../../proxy/budgets/money-room.ts';
import type { Enforcement } from '../../../proxy/limits/enforcement.ts';
import type { BudgetLimit, Budgets as Declared } from '../../../schemas/types.ts';

type Mode = BudgetLimit['mode'];
export type Lists = Partial<Pick<Declared, 'user_paths' | 'labels'>>;

/** A budget of a user path, in dollars. */
export function pathBudget(
  path: string,
  amount: number,
  more: { period?: 'monthly' | 'hourly'; mode?: Mode; perChild?: boolean } = {},
) {
  const { period = 'monthly', mode = 'enforce', perChild = false } = more;
  return { path, per_child: perChild, limits: [{ period, amount, mode }] };
}

export interface KeepOptions {
  readonly enforcement?: Enforcement;
  readonly resetAtMs?: number;
  readonly manual?: readonly ManualBudget[];
}

export class LedgerStand {
  readonly budgets: Budgets;
  nowMs: number;
  #kept: readonly MergedBudget[] = [];

  constructor(lists: Lists, nowMs: number, options: KeepOptions & { readonly ledgers?: Ledgers } = {}) {
    this.nowMs = nowMs;
    this.budgets = new Budgets(options.ledgers ?? new Ledgers());
    this.keep(lists, options);
  }

  /** Puts budgets in force. */
  keep(lists: Lists, { enforcement = {}, resetAtMs, manual = [] }: KeepOptions = {}): void {
    const resets = resetAtMs === undefined ? [] : [{ id: '', atMs: resetAtMs }];
    const config = compileBudgets({ user_paths: [], labels: [], ...lists });
    const prerequisites = { enabled: true, hasTemplates: true, usageEnabled: true };
    const budgets = mergeBudgets({ config, manual, resets, nowMs: this.nowMs, prerequisites });
    this.#kept = budgets;
    this.budgets.ledgers.keep({ budgets, anchors: defaultAnchors }, enforcement, this.nowMs);
  }

  /** Counts dollars that a call has cost. */
  spend(userPath: string, dollars: number, more: { labels?: readonly string[]; atMs?: number } = {}): void {
    const spending = { cost: nanoDollarsOf(dollars), atMs: more.atMs ?? this.nowMs };
    this.budgets.charge({ userPath, labels: more.labels }, () => [spending], this.nowMs);
  }

  /** Who refuses a request, and what is spent of it in dollars; undefined: none. */
  refusal(spender: string | Spender): string | undefined {
    const refusing = this.budgets.refusing(typeof spender === 'string' ? { userPath: spender } : spender, this.nowMs);
    if (refusing instanceof Promise) throw new Error('nothing has to be asked here');
    return refusing && `${refusing.effectiveSubject} ${refusing.spent / 1e9}`;
  }

  /** Sets dollars aside for a call; the function gives them back. Undefined: there is no room. */
  take(userPath: string, dollars: (mode: Mode) => number): ReturnType<Budgets['setAside']> {
    const wanted: Wanted = ({ kept }) => nanoDollarsOf(dollars(kept.budget.mode));
    return this.budgets.setAside(this.budgets.ledgers.of({ userPath }, this.nowMs), wanted, this.nowMs);
  }

  /** The control plane tells that this path has spent so many dollars of its budget since a moment (absent: by an older version). */
  tell(effectiveSubject: string, dollars: number, fromMs?: number): void {
    const budget = this.#kept.find(({ subject }) => subject === effectiveSubject);
    if (budget === undefined) throw new Error(`${effectiveSubject} has no budget`);
    const { id, subject, scope, perChild, periodSeconds } = budget;
    const named = { id, subject, scope, perChild, periodSeconds, effectiveSubject, mode: 'enforce' as const };
    const spent = nanoDollarsOf(dollars);
    const window = { startMs: fromMs ?? 0, endMs: Number.MAX_SAFE_INTEGER };
    this.budgets.verdicts.put([
      { ...named, amount: spent, spent, ...window, ...(fromMs === undefined ? {} : { fromMs }) },
    ]);
  }

  /** Dollars spent of each budget that counts the caller. */
  spent(userPath: string, labels?: readonly string[]): number[] {
    return this.budgets.known({ userPath, labels }, this.nowMs).map(({ spent }) => spent / 1e9);
  }

  /** The control plane tells what records say. */
  record(
    spends: readonly (Pick<BudgetSpend, 'effectiveSubject'> & { readonly dollars: number })[],
    fromMs: number,
  ): void {
    const found = this.#kept.map(({ key, perChild }) => ({ key, perChild, fromMs }));
    this.budgets.ledgers.records.put(
      {
        computedAtMs: this.nowMs,
        unlisted: 0,
        windows: found.map((each) => ({ ...each, unlisted: 0 })),
        spends: found.flatMap((each) =>
          spends.map(({ effectiveSubject, dollars }) => ({ ...each, effectiveSubject, spent: nanoDollarsOf(dollars) })),
        ),
      },
      this.nowMs,
    );
  }
}
