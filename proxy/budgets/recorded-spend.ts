// What budgets have spent as records say, told by the control plane: the newest figures, and some that are a little older.
import { placeOfBudget } from '../../domain/budgets/budget.ts';
import type { BudgetSpends, SpendWindow } from '../../domain/budgets/spends.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';

/** Figures are kept until others are so old. Milliseconds. */
const keptMs = 10_000;

/** One subject of one budget, since a moment (the beginning of its window, or its last reset). */
export interface SpendOf {
  readonly key: string;
  readonly perChild: boolean;
  /** Whose spend it is, in the form to compare: of a template, the child. */
  readonly subject: string;
  /** Unix milliseconds. */
  readonly fromMs: number;
}

/** All figures of one moment. */
interface Figures {
  /** When they were read. Unix milliseconds. */
  readonly atMs: number;
  readonly windows: ReadonlyMap<string, SpendWindow>;
  readonly spends: ReadonlyMap<string, NanoDollars>;
}

export class RecordedSpend {
  /** The newest first. */
  #figures: readonly Figures[] = [];

  /** When the newest figures were read. Unix milliseconds; 0: none were. */
  get atMs(): number {
    return this.#figures[0]?.atMs ?? 0;
  }

  /** Takes the figures that were read at `nowMs` (Unix milliseconds). */
  put({ windows, spends }: BudgetSpends, nowMs: number): void {
    const next = {
      atMs: nowMs,
      windows: new Map(windows.map((window) => [placeOfBudget(window), window])),
      spends: new Map(spends.map((each) => [`${placeOfBudget(each)}\n${each.effectiveSubject}`, each.spent])),
    };
    const settled = this.#figures.findIndex(({ atMs }) => atMs <= nowMs - keptMs);
    this.#figures = [next, ...(settled === -1 ? this.#figures : this.#figures.slice(0, settled + 1))];
  }

  /** By the newest figures that were read at `latestMs` or before (Unix milliseconds); undefined: they do not say it. */
  spent({ key, perChild, subject, fromMs }: SpendOf, latestMs: number): NanoDollars | undefined {
    const figures = this.#figures.find(({ atMs }) => atMs <= latestMs);
    const place = placeOfBudget({ key, perChild });
    const window = figures?.windows.get(place);
    if (window?.fromMs !== fromMs) return undefined;
    return figures?.spends.get(`${place}\n${subject}`) ?? (window.unlisted === 0 ? 0 : undefined);
  }
}
