// What has been spent of budgets, as the records say, which the control plane sends to the proxies: they correct what they count themselves by it.
import type { NanoDollars } from '../records/usage.ts';
import { placeOfBudget } from './budget.ts';
import { isCount, isMoment } from './verdicts.ts';

/** What one subject of a budget has spent. */
export interface BudgetSpend {
  /** Of the budget. */
  readonly key: string;
  readonly perChild: boolean;
  /** Whose spend it is: of a template, the child. A user path is in lower case. */
  readonly effectiveSubject: string;
  /** Since when it counts: the start of the window, or the last reset in it. Unix milliseconds. */
  readonly fromMs: number;
  /** Above 0. */
  readonly spent: NanoDollars;
}

/** A budget that is enforced, in shadow or not. A subject without a spend has spent nothing when `unlisted` is 0. */
export interface SpendWindow {
  /** Of the budget. */
  readonly key: string;
  readonly perChild: boolean;
  /** As in `BudgetSpend`. */
  readonly fromMs: number;
  /** How many of its subjects have spent something and are left out. */
  readonly unlisted: number;
}

/** All spends of one moment. */
export interface BudgetSpends {
  /** When the records were asked: later ones are not in it. Unix milliseconds. */
  readonly computedAtMs: number;
  readonly windows: readonly SpendWindow[];
  /** Of budgets in `windows`. */
  readonly spends: readonly BudgetSpend[];
  /** How many subjects with a spend are left out, those of budgets that are not in `windows` included. */
  readonly unlisted: number;
}

/** The most spends in one body, and the most windows: about half a megabyte each. */
export const mostSpends = 10_000;

/** The most characters of the subjects in one body: a user path may have a thousand. */
export const mostSpendCharacters = 1_000_000;

/** The spends as a JSON body. A spend is a list that begins with the place of its window, because there may be 10,000. */
export function spendsBody({ computedAtMs, windows, spends, unlisted }: BudgetSpends): object {
  const places = new Map(windows.map((each, place) => [placeOfBudget(each), place]));
  return {
    computed_at_ms: computedAtMs,
    unlisted,
    windows: windows.map((each) => [each.key, each.perChild, each.fromMs, each.unlisted]),
    spends: spends.map((each) => [places.get(placeOfBudget(each)), each.effectiveSubject, each.spent]),
  };
}

/** The inverse of `spendsBody`; undefined when the body is none. Never throws, for any stored body. */
export function readSpends(body: unknown): BudgetSpends | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { computed_at_ms: computedAtMs, unlisted } = members;
  if (!isCount(computedAtMs) || !isCount(unlisted)) return undefined;
  const windows = readRows(members['windows'], readWindow);
  const spends = windows && readRows(members['spends'], (row) => readSpend(row, windows));
  return spends && { computedAtMs, windows, spends, unlisted };
}

function readRows<Row>(rows: unknown, read: (row: readonly unknown[]) => Row | undefined): Row[] | undefined {
  if (!Array.isArray(rows) || rows.length > mostSpends) return undefined;
  const found: Row[] = [];
  for (const row of rows as readonly unknown[]) {
    const one = Array.isArray(row) ? read(row) : undefined;
    if (one === undefined) return undefined;
    found.push(one);
  }
  return found;
}

function readWindow([key, perChild, fromMs, unlisted]: readonly unknown[]): SpendWindow | undefined {
  if (typeof key !== 'string' || typeof perChild !== 'boolean' || !isMoment(fromMs) || !isCount(unlisted)) {
    return undefined;
  }
  return { key, perChild, fromMs, unlisted };
}

function readSpend(
  [place, effectiveSubject, spent]: readonly unknown[],
  windows: readonly SpendWindow[],
): BudgetSpend | undefined {
  const window = isCount(place) ? windows[place] : undefined;
  if (window === undefined || typeof effectiveSubject !== 'string' || !isCount(spent) || spent === 0) return undefined;
  const { key, perChild, fromMs } = window;
  return { key, perChild, effectiveSubject, fromMs, spent };
}
