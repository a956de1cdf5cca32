// Stage 7: money that a call will cost is set aside under the budgets of its caller, until its answer has ended: of an enforced budget what is known to
// be spent (its prompt), of a hard one the most that it may cost.
import { costOf } from '../../domain/prices/cost.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { Budgets, Taken } from '../budgets/budgets.ts';
import { MoneyHold } from '../budgets/money-hold.ts';
import type { Wanted } from '../budgets/money-room.ts';
import type { AnswerLengths } from '../limits/answer-lengths.ts';
import { followed } from '../pacing/slices.ts';
import type { Allowance } from '../routing/limit-refusal.ts';
import type { Principal } from './authenticate.ts';
import { budgetRefusal } from './budget.ts';
import { type Answering, Expected, type ExpectedOf } from './expect.ts';

/** A request whose call is known. */
interface Paying {
  readonly principal: Principal | undefined;
  readonly consumer: Allowance | undefined;
  /** The tokens that it will probably take; undefined: nothing is set aside for them. */
  readonly expected: Expected | undefined;
  /** The money that is set aside for it; undefined: none was asked for. */
  money: MoneyHold | undefined;
}

interface PayParts {
  readonly budgets: Budgets;
  readonly limiter: { readonly lengths: AnswerLengths };
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

type PricedPlace = Answering & { readonly price?: Price | undefined };

/**
 * Throws 429 `budget_exceeded`, or rejects with it, where a budget has not enough left; the request holds nothing then. `asked` undefined: it costs
 * nothing now. A promise where the state store has to be asked.
 */
export function setAsideMoney(
  trip: Paying,
  { targets, asked }: { readonly targets: readonly PricedPlace[]; readonly asked: ExpectedOf | undefined },
  { budgets, limiter, nowMs }: PayParts,
): void | Promise<void> {
  const { principal } = trip;
  if (budgets.ledgers.isEmpty || principal === undefined || asked === undefined) return;
  const now = Math.floor(nowMs());
  const ledgers = budgets.ledgersOf({ userPath: principal.shownPath, labels: principal.labels }, now);
  if (ledgers.length === 0) return;
  const expected = trip.expected ?? new Expected(asked, limiter.lengths, 'p90');
  const wanted = wantedOf(expected, targets);
  if (expected !== trip.expected) expected.end();
  const hold = new MoneyHold();
  trip.money = hold;
  return followed(budgets.setAside(ledgers, wanted, now), (taken: Taken) => {
    if (taken.spent === undefined) {
      hold.take(taken.aside);
      return;
    }
    const refusedAtMs = Math.floor(nowMs());
    trip.consumer?.lease.refund(refusedAtMs);
    throw budgetRefusal(taken.spent, principal.shownPath, refusedAtMs);
  });
}

/** Whatever target answers, the prompt costs as much as at the cheapest, and the whole at most as much as at the dearest. */
function wantedOf(expected: Expected, targets: readonly PricedPlace[]): Wanted {
  const input = expected.promptTokens;
  const known = targets.map(({ price }) => costAt(price, input, 0));
  const most = targets.map((target) => costAt(target.price, input, expected.mostOutputAt(target)));
  const [least, dearest] = [Math.min(...known), Math.max(0, ...most)];
  return ({ kept }) => (kept.budget.mode === 'hard' ? dearest : Number.isFinite(least) ? least : 0);
}

/** 0 where there is no price, or it is not one of tokens. */
function costAt(price: Price | undefined, input: number, output: number): NanoDollars {
  const counts = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return (price && costOf(counts, price)?.total) ?? 0;
}
