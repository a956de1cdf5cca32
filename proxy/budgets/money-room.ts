// Whether budgets have money for a request: as this proxy knows, or as the fleet does, where the state store may have to be asked first.
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { Need } from '../limits/fleet/waiting.ts';
import { needsOf } from '../limits/room.ts';
import { type SetAside, setAside } from '../limits/set-aside.ts';
import { whenKnown } from '../limits/when-known.ts';
import type { Ledger } from './ledger.ts';
import type { RecordedSpend } from './recorded-spend.ts';
import type { SpentBudget } from './spent-budget.ts';

/** The end of a request that has set money aside cannot be foreseen. Milliseconds. */
const unforeseenMs = 1_000;

/** A budget that has not enough for a request; `isClosed`: the state store is lost, and nothing is admitted without it. */
export interface Shortage {
  readonly ledger: Ledger;
  /** What the request needs of it. */
  readonly wanted: NanoDollars;
  readonly isClosed: boolean;
}

/** `short`: the budgets without room; when one of them is enforced, nothing was set aside. */
export interface MoneyRoom {
  readonly short: readonly Shortage[];
  readonly aside: readonly SetAside[];
}

/** What a request needs of a budget; 0: it must not be used up. */
export type Wanted = (ledger: Ledger) => NanoDollars;

/**
 * Sets money aside in all of `ledgers`, or in none; in 0 of it nothing is taken. A budget in shadow takes part as far as it has room, and is never
 * waited for. A promise where the state store has to be asked; it resolves within the time that requests may wait. `nowMs`: Unix milliseconds.
 */
export function takeMoney(
  ledgers: readonly Ledger[],
  wanted: Wanted,
  records: RecordedSpend,
  nowMs: number,
): MoneyRoom | Promise<MoneyRoom> {
  const matches = { matched: () => ledgers.map(({ match }) => match) };
  return whenKnown(matches, nowMs, (now, isLast) => {
    const found = look(ledgers, wanted, records, { nowMs: now, isLast });
    if (found.needs.length > 0) return found.needs;
    const isRefused = found.short.some(({ ledger }) => !ledger.isShadow);
    return { short: found.short, aside: isRefused ? [] : takeFrom(ledgers, wanted, found.short, now) };
  });
}

interface Found {
  readonly short: Shortage[];
  /** What the state store has to grant before it is decided. */
  needs: readonly Need[];
}

function look(
  ledgers: readonly Ledger[],
  wantedOf: Wanted,
  records: RecordedSpend,
  { nowMs, isLast }: { readonly nowMs: number; readonly isLast: boolean },
): Found {
  const found: Found = { short: [], needs: [] };
  let isAsking = false;
  for (const ledger of ledgers) {
    ledger.correct(records, nowMs);
    const wanted = wantedOf(ledger);
    const room = ledger.room(wanted, nowMs, isLast);
    if (room === 'asking') isAsking ||= !ledger.isShadow;
    else if (room !== 'room') found.short.push({ ledger, wanted, isClosed: room === 'closed' });
  }
  if (isAsking && !found.short.some(({ ledger }) => !ledger.isShadow))
    found.needs = ledgers.flatMap((ledger) => needsOf([ledger.match], wantedOf(ledger), nowMs));
  return found;
}

function takeFrom(
  ledgers: readonly Ledger[],
  wantedOf: Wanted,
  short: readonly Shortage[],
  nowMs: number,
): readonly SetAside[] {
  const aside: SetAside[] = [];
  for (const ledger of ledgers) {
    const { caps, counter } = ledger.match;
    const wanted = wantedOf(ledger);
    if (wanted < 1 || counter === undefined || short.some((each) => each.ledger === ledger)) continue;
    aside.push(setAside(caps, counter, wanted, nowMs));
  }
  return aside;
}

/** The budget of a shortage as it refuses a request at `nowMs` (Unix milliseconds). */
export function spentBudgetOf({ ledger, wanted, isClosed }: Shortage, nowMs: number): SpentBudget {
  const known = ledger.known(nowMs);
  const soon = { againAtMs: Math.min(known.endMs, nowMs + unforeseenMs) };
  if (isClosed) return { ...known, ...soon, isStoreLost: true };
  const { spent, amount } = known;
  if (spent >= amount) return known;
  // What others have set aside may come back; what is spent does not.
  return spent + wanted > amount ? { ...known, wanted } : { ...known, wanted, ...soon };
}
