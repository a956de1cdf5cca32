// Counts under the budgets of a caller what a request has cost, as its record will say it, but at once.
import type { Budgets, Spending } from '../../budgets/budgets.ts';
import { spendingsOf } from '../../records/attempts.ts';
import { attemptsOf, type RecordedEnd, type RecordedTrip, userPathOf } from '../../records/record-of-trip.ts';

/** A request that is over. `charged`: what was counted of it before, in nano-dollars. */
export type ChargedTrip = RecordedTrip & { readonly charged?: number };

/** Does nothing where no budget counts the caller. */
export function chargeBudgets(trip: ChargedTrip, end: RecordedEnd, budgets: Budgets): void {
  const { accepted, failed, principal, caching } = trip;
  if (budgets.ledgers.isEmpty || caching?.hit !== undefined || (accepted === undefined && failed.length === 0)) return;
  const spender = { userPath: userPathOf(trip), labels: principal?.labels };
  const nowMs = Math.floor(end.nowMs);
  const spendings = (): readonly Spending[] =>
    spendingsOf(attemptsOf(trip, end)).map(({ cost, atMs }, index, all) => ({
      // The accepted attempt is the last one that can have been counted before.
      cost: index === all.length - 1 ? cost - (trip.charged ?? 0) : cost,
      atMs,
    }));
  budgets.charge(spender, spendings, nowMs);
}
