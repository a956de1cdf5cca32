// Stage 7: money that a call will cost is set aside under the budgets of its caller, until its answer has ended: of an enforced budget what is known to
// be spent (its prompt), of a hard one the most that it may cost.
import { costOf } from '../../domain/prices/cost.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { Budgets, Taken } from '../budgets/budgets.ts';
import type { Ledger } from '../budgets/ledger.ts';
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
  const ledgers = budgets.ledgers.of({ userPath: principal.shownPath, labels: principal.labels }, now);
  if (ledgers.length === 0) return;
  const expected = trip.expected ?? new Expected(asked, limiter.lengths, 'p90');
  // The length of the answer is asked for only where it counts.
  const wanted = ledgers.some(isHard) ? wantedByMode(expected, targets) : wantedAtLeast(expected, targets);
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

function isHard({ kept }: Ledger): boolean {
  return kept.budget.mode === 'hard';
}

/** Whatever target answers, the prompt costs as much as at the cheapest. */
function wantedAtLeast({ promptTokens }: Expected, targets: readonly PricedPlace[]): Wanted {
  const least = Math.min(...targets.map(({ price }) => costAt(price, promptTokens, 0)));
  return () => (Number.isFinite(least) ? least : 0);
}

/** A hard budget has to have what the whole costs at the dearest target. */
function wantedByMode(expected: Expected, targets: readonly PricedPlace[]): Wanted {
  const input = expected.promptTokens;
  const most = Math.max(0, ...targets.map((target) => costAt(target.price, input, expected.mostOutputAt(target))));
  const least = wantedAtLeast(expected, targets);
  return (ledger) => (isHard(ledger) ? most : least(ledger));
}

/** 0 where there is no price, or it is not one of tokens. */
function costAt(price: Price | undefined, input: number, output: number): NanoDollars {
  const counts = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return (price && costOf(counts, price)?.total) ?? 0;
}
