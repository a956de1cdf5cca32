// Asks the store how counters of the fleet stand now, for those who read them.
import type { Fleet } from './fleet.ts';
import type { Stock } from './stock.ts';

/** Resolves with the next answer of the store; at the latest as a request that waits for units. */
export function refresh(fleet: Fleet, stocks: readonly Stock[], nowMs: number): Promise<void> {
  for (const stock of stocks) {
    stock.isDated = true;
    fleet.changed(stock, true);
  }
  const wanted = fleet.moment(nowMs).exchange + 1;
  return new Promise((resolve) => {
    fleet.wait({
      needs: [],
      untilMs: nowMs + fleet.leaseWaitMs,
      // It rides on the exchange that tells of the stocks.
      askAtMs: Number.POSITIVE_INFINITY,
      decide(_now, isLast) {
        if (!isLast && !fleet.hasAnswered(wanted) && !fleet.isLost) return [];
        resolve();
        return undefined;
      },
    });
  });
}
