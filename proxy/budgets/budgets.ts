// The budgets of a proxy: whether a caller may spend, what requests set aside and cost. What this proxy and its fleet know at once (ledgers)
// stands beside what records say (verdicts of the control plane); a budget that is used up by either refuses.
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { SetAside } from '../limits/set-aside.ts';
import { followed } from '../pacing/slices.ts';
import { BudgetsInForce, foremost } from './budgets-in-force.ts';
import type { Ledger } from './ledger.ts';
import { Ledgers, type Spender } from './ledgers.ts';
import { type MoneyRoom, spentBudgetOf, takeMoney, type Wanted } from './money-room.ts';
import type { KnownBudget, SpentBudget } from './spent-budget.ts';

/** What one call has cost. */
export interface Spending {
  readonly cost: NanoDollars;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Money that was set aside for a request, or the budget that refuses it. */
export type Taken =
  | { readonly aside: readonly SetAside[]; readonly spent?: undefined }
  | { readonly spent: SpentBudget };

const nothingWanted: Wanted = () => 0;

export class Budgets {
  readonly verdicts = new BudgetsInForce();
  readonly ledgers: Ledgers;

  constructor(ledgers: Ledgers = new Ledgers()) {
    this.ledgers = ledgers;
  }

  /** Nothing is bounded, as far as is known. */
  get isEmpty(): boolean {
    return this.verdicts.isEmpty && this.ledgers.isEmpty;
  }

  /**
   * The budget that refuses a request of this caller, undefined when none does: among several the one after whose wait a retry would be
   * admitted. Refusals are counted. A promise where the state store has to be asked.
   */
  refusing(spender: Spender, nowMs: number): SpentBudget | undefined | Promise<SpentBudget | undefined> {
    if (this.isEmpty) return undefined;
    const told = this.#told(spender, nowMs);
    const ledgers = foremost(told) === undefined ? this.ledgers.of(spender, nowMs) : [];
    if (ledgers.length === 0) return this.verdicts.note(told);
    return followed(takeMoney(ledgers, nothingWanted, this.ledgers.records, nowMs), (room) =>
      this.verdicts.note(joined(told, room, nowMs)),
    );
  }

  /** Sets money aside for a request that `refusing` has let through. A promise where the state store has to be asked. */
  setAside(ledgers: readonly Ledger[], wanted: Wanted, nowMs: number): Taken | Promise<Taken> {
    return followed(takeMoney(ledgers, wanted, this.ledgers.records, nowMs), (room): Taken => {
      const spent = foremost(joined([], room, nowMs));
      // In shadow a request that was counted at its admission is not counted again.
      if (spent === undefined) return { aside: room.aside };
      this.verdicts.note([spent]);
      return { spent };
    });
  }

  /** Counts at once what calls of this caller have cost; `spendingsOf` is asked where a budget counts it. */
  charge(spender: Spender, spendingsOf: () => readonly Spending[], nowMs: number): void {
    const ledgers = this.ledgers.toCharge(spender, nowMs);
    const spendings = ledgers.length === 0 ? [] : spendingsOf();
    for (const ledger of ledgers) {
      for (const { cost, atMs } of spendings) if (atMs >= ledger.kept.fromMs) ledger.charge(cost, nowMs);
    }
  }

  /** The used-up budgets of a caller, whatever their mode. Counts nothing. */
  covering(userPath: string, labels: readonly string[] | undefined, nowMs: number): readonly KnownBudget[] {
    return this.known({ userPath, labels }, nowMs).filter(({ spent, amount }) => spent >= amount);
  }

  /** The budgets of a caller as they stand, and those that the control plane says are used up. Counts nothing. */
  known(spender: Spender, nowMs: number): readonly KnownBudget[] {
    const told = this.#told(spender, nowMs);
    const own = this.ledgers.of(spender, nowMs).map((ledger) => {
      ledger.correct(this.ledgers.records, nowMs);
      return ledger.known(nowMs);
    });
    return merged(told, own);
  }

  /** What the control plane says of a caller, as far as it is about the budgets in force. */
  #told({ userPath, labels }: Spender, nowMs: number): readonly BudgetVerdict[] {
    const told = this.verdicts.covering(userPath, labels, nowMs);
    return told.length === 0 ? told : told.filter((each) => !this.ledgers.isOutdated(each));
  }

  /** Asks the state store how the budgets of a caller stand that the fleet shares. Resolves within the time that requests may wait for it. */
  refresh(spender: Spender, nowMs: number): Promise<void> {
    return this.ledgers.refresh(this.ledgers.of(spender, nowMs), nowMs);
  }
}

function joined(told: readonly KnownBudget[], { short }: MoneyRoom, nowMs: number): readonly SpentBudget[] {
  return merged(
    told,
    short.map((each) => spentBudgetOf(each, nowMs)),
  );
}

/** A budget may be used up by both. */
function merged<Told extends KnownBudget>(
  told: readonly KnownBudget[],
  known: readonly Told[],
): readonly (KnownBudget | Told)[] {
  if (known.length === 0) return told;
  if (told.length === 0) return known;
  const isTold = ({ id, effectiveSubject }: KnownBudget): boolean =>
    told.some((each) => each.id === id && each.effectiveSubject.toLowerCase() === effectiveSubject.toLowerCase());
  return [...told, ...known.filter((each) => !isTold(each))];
}
