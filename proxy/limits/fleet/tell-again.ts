// What a store is told again that has lost something, or never knew it.
import type { AttachAnswer } from '../../../domain/limits/exchange.ts';
import { sliceAt, sliceStartMs } from '../../../domain/rules/slice.ts';
import type { Lost } from './session.ts';
import type { Stock } from './stock.ts';
import type { StoreTime } from './store-time.ts';

/** Uses of a counter that the store may not know, by the slices of the own clock. */
export interface OwnUse {
  readonly stock: Stock;
  readonly pairs: readonly (readonly [slice: number, units: number])[];
}

/** The store knows the session, or has buried it: it is told what it has not applied. */
export function tellLost({ former, recovering }: AttachAnswer, lost: Lost, stocks: Iterable<Stock>): void {
  const isBuried = former === 'buried';
  for (const stock of stocks) {
    if (isBuried) stock.bury();
    // Behind a loss that is over, others may have been granted what this proxy held.
    else if (lost.answered.length > 0 && !recovering) stock.units = 0;
  }
  for (const { stock, covered, uncovered, refunds } of lost.answered)
    stock.tellAgain([...covered, ...uncovered], refunds);
  for (const { stock, covered, uncovered, refunds } of lost.underWay) {
    // What a buried session held was counted as used.
    stock.tellAgain(isBuried ? uncovered : [...covered, ...uncovered], isBuried ? [] : refunds);
  }
}

/** The store knows nothing of this proxy: it is told all that was used in the trailing periods, and nothing that was granted holds. */
export function tellAll(ownUses: Iterable<OwnUse>, stocks: Iterable<Stock>, time: StoreTime, nowMs: number): void {
  for (const stock of stocks) stock.forget();
  for (const { stock, pairs } of ownUses) {
    const { periodSeconds } = stock.of;
    // The end of a slice of the own clock is, on the store's, the latest moment at which its uses can have been.
    const latestMs = (slice: number): number =>
      time.latest(nowMs) - Math.max(0, nowMs - sliceStartMs(slice + 1, periodSeconds));
    stock.tellAgain(pairs.map(([slice, units]) => [sliceAt(latestMs(slice), periodSeconds), units] as const));
  }
}
