// What this proxy knows of the money of one budget in its present window: what the fleet has spent, and what open requests have set aside.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import type { BudgetWindow } from '../../domain/budgets/window.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import { usedOf } from '../limits/figures.ts';
import type { FleetCounter } from '../limits/fleet/fleet-counter.ts';
import type { MatchedCounter } from '../limits/match.ts';
import { type Room, tokenRoom } from '../limits/room.ts';
import type { Caps, Counter, Tally } from '../limits/tally.ts';
import { tokens as money } from '../limits/window.ts';
import { Correction } from './correction.ts';
import type { RecordedSpend } from './recorded-spend.ts';
import type { KnownBudget } from './spent-budget.ts';

/** What was recorded so long before an answer of the state store has been told to it by all proxies. Milliseconds. */
const toldMs = 2_000;

/** A budget in its present window. Its tally counts nano-dollars as tokens. */
export interface KeptBudget {
  readonly budget: MergedBudget;
  readonly window: BudgetWindow;
  /** Since when spend counts: the beginning of the window, or the last reset. Unix milliseconds. */
  readonly fromMs: number;
  readonly tally: Tally;
}

const nothingHeld = { view: undefined, untold: 0, underWay: 0, inUse: 0 };

export class Ledger {
  /** Replaced when the budget is changed. */
  kept: KeptBudget;
  readonly counter: Counter;
  /** Of a template, the child: in lower case, and as it was first sent; else empty. */
  readonly #child: string;
  readonly #shownChild: string;
  readonly #correction = new Correction();
  /** What was last looked at: the records, the window, and the answer of the state store. */
  #recordedAtMs = Number.NaN;
  #fromMs = Number.NaN;
  #viewAtMs = Number.NaN;
  /** Those of the match, and those of the tally that they were made of. */
  #caps: Caps | undefined;
  #of: Caps | undefined;

  constructor(kept: KeptBudget, counter: Counter, { child, shownChild }: Pick<MatchedCounter, 'child' | 'shownChild'>) {
    this.kept = kept;
    this.counter = counter;
    this.#child = child;
    this.#shownChild = shownChild;
  }

  get isShadow(): boolean {
    return this.kept.budget.mode === 'shadow';
  }

  /** Whose spend it is. */
  get subject(): string {
    return this.#shownChild || this.kept.budget.subject;
  }

  /** The cap that the counter has to keep: the amount, less what was spent and not counted. */
  get match(): MatchedCounter {
    const { tally, budget } = this.kept;
    const tokensCap = Math.max(0, budget.amount - this.counter.uncounted);
    if (this.#caps === undefined || this.#of !== tally.caps || this.#caps.tokensCap !== tokensCap) {
      this.#of = tally.caps;
      this.#caps = { ...tally.caps, tokensCap, alone: budget.mode === 'hard' ? 'none' : 'any' };
    }
    return { caps: this.#caps, child: this.#child, shownChild: this.#shownChild, counter: this.counter };
  }

  /** Spent by all proxies, as far as this one knows. */
  spent(nowMs: number): NanoDollars {
    return Math.max(0, usedOf(this.counter, money, nowMs) + this.counter.uncounted);
  }

  /** Whether there is room for a request that needs so much of it; 0: it must not be used up. `isLast`: it has waited for the store as long as it may. */
  room(wanted: NanoDollars, nowMs: number, isLast: boolean): Room {
    const { caps } = this.match;
    const { shared } = this.counter;
    if (shared?.fleet.isLost === true && caps.onStoreLoss === 'share')
      return this.#hasPartLeft(shared, wanted) ? 'room' : 'none';
    return tokenRoom(caps, this.counter, nowMs, { wanted, isLast });
  }

  /** While the store is lost: whether this proxy's part of what was left is not used up. The whole amount may be far from what is left of a month. */
  #hasPartLeft(shared: FleetCounter, wanted: NanoDollars): boolean {
    const { view, untold, underWay, inUse } = shared.known('tokens') ?? nothingHeld;
    const left = Math.max(0, this.match.caps.tokensCap - (view?.used ?? 0));
    return untold + underWay + inUse + Math.max(1, wanted) <= shared.fleet.share(left);
  }

  /** Counts what a request has cost, at `nowMs` (Unix milliseconds). */
  charge(cost: NanoDollars, nowMs: number): void {
    if (!(cost >= 1)) return;
    this.counter.window?.add(money, cost, nowMs);
    this.counter.shared?.charge(cost, nowMs);
  }

  /** Takes into account what records say. Where the fleet counts, only what it has had the time to count before the store last answered. */
  correct(records: RecordedSpend, nowMs: number): void {
    const { shared } = this.counter;
    const stock = shared?.known('tokens');
    const viewAtMs = stock?.view?.atMs ?? Number.NEGATIVE_INFINITY;
    const { fromMs } = this.kept;
    if (records.atMs === this.#recordedAtMs && fromMs === this.#fromMs && viewAtMs === this.#viewAtMs) return;
    this.#recordedAtMs = records.atMs;
    this.#fromMs = fromMs;
    this.#viewAtMs = viewAtMs;
    const { key, perChild, matchSubject } = this.kept.budget;
    const of = { key, perChild, subject: this.#child || matchSubject, fromMs };
    const recorded = records.spent(of, nowMs);
    if (recorded === undefined) return;
    const knownAtMs = shared === undefined ? nowMs : viewAtMs - toldMs;
    const settled = records.spent(of, knownAtMs);
    const counted = usedOf(this.counter, money, nowMs);
    this.#correction.note({ counted, settled, recorded, recordedAtMs: records.atMs }, nowMs);
    this.counter.uncounted = this.#correction.amount;
    // The next exchange may show that the store does not know all that is recorded.
    if (stock !== undefined && recorded > counted + this.counter.uncounted) shared?.fleet.changed(stock, false);
  }

  /** The budget as it stands at `nowMs` (Unix milliseconds). */
  known(nowMs: number): KnownBudget {
    const { budget, window } = this.kept;
    const { id, scope, subject, perChild, periodSeconds, amount, mode } = budget;
    return {
      id,
      scope,
      subject,
      effectiveSubject: this.subject,
      perChild,
      periodSeconds,
      amount,
      spent: this.spent(nowMs),
      ...window,
      mode,
    };
  }
}
