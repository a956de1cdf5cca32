// Requests that wait for the store's next answer, in the order in which they came.
import type { LimitGroup, LimitItem } from '../../../domain/limits/exchange.ts';
import type { Stock } from './stock.ts';

/** Units that a request needs of a counter. `alone`: it may go with fewer when no other request is open under the counter. */
export interface Need {
  readonly stock: Stock;
  readonly units: number;
  readonly alone: boolean;
}

/** A request that waits. */
export interface Waiting {
  needs: readonly Need[];
  /** Its time is over then: it is decided with what is known. Milliseconds of the own clock, as below. */
  readonly untilMs: number;
  /** The store is not asked for it before. */
  askAtMs: number;
  /** Decides it if possible, and says what it still needs if not. Behind `isLast` it must be decided. */
  decide(nowMs: number, isLast: boolean): readonly Need[] | undefined;
}

/** So many groups are asked for in one exchange. */
const mostGroups = 64;

export class WaitingRequests {
  #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
  }

  /** When the first of them has to be looked at, or asked for. */
  nextMs(isAsking: boolean): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { untilMs, askAtMs } of this.#waiting) next = Math.min(next, untilMs, isAsking ? next : askAtMs);
    return next;
  }

  /** Whether the store has to be asked for one of them now. */
  isWanting(nowMs: number): boolean {
    return this.#waiting.some(({ askAtMs }) => askAtMs <= nowMs);
  }

  /** Those that are asked for now, put together by what they need, the first first. */
  groups(nowMs: number): { requests: number; readonly needs: readonly Need[] }[] {
    const groups = new Map<string, { requests: number; readonly needs: readonly Need[] }>();
    for (const { needs, askAtMs } of this.#waiting) {
      if (askAtMs > nowMs) continue;
      const name = needs.map(({ stock, units }) => `${stock.of.key}:${units}`).join('\n');
      const group = groups.get(name);
      if (group !== undefined) group.requests += 1;
      else if (groups.size < mostGroups) groups.set(name, { requests: 1, needs });
    }
    return [...groups.values()];
  }

  /** Decides those that can be, in order. `askAgainMs`: when those that go on waiting are asked for; undefined: as before. */
  run(nowMs: number, askAgainMs?: (needs: readonly Need[]) => number): void {
    const before = this.#waiting;
    this.#waiting = [];
    for (const waiting of before) {
      const needs = waiting.decide(nowMs, nowMs >= waiting.untilMs);
      if (needs === undefined) continue;
      waiting.needs = needs;
      if (askAgainMs !== undefined) waiting.askAtMs = askAgainMs(needs);
      this.#waiting.push(waiting);
    }
  }

  /** Decides those whose time is over. */
  expire(nowMs: number): void {
    if (!this.#waiting.some(({ untilMs }) => untilMs <= nowMs)) return;
    this.run(nowMs);
  }
}

/** The groups as the store takes them: what is spare here is kept for the first ones. `indexOf`: the place of the item of a stock. */
export function groupsAsTold(
  groups: readonly { readonly requests: number; readonly needs: readonly Need[] }[],
  items: readonly LimitItem[],
  indexOf: (stock: Stock) => number,
): LimitGroup[] {
  const spare = items.map((item) => item.spare);
  return groups.map(({ requests, needs }) => ({
    requests,
    needs: needs.map(({ stock, units, alone }) => {
      const index = indexOf(stock);
      const kept = Math.min(spare[index] ?? 0, requests * units);
      spare[index] = (spare[index] ?? 0) - kept;
      return [index, units, kept, alone ? 1 : 0] as const;
    }),
  }));
}

/** The units of the smallest request that may not go, by stock. `admitted`: for each group, how many of its requests may. */
export function lackedUnits(
  groups: readonly { readonly requests: number; readonly needs: readonly Need[] }[],
  admitted: readonly number[],
): Map<Stock, number> {
  const lacked = new Map<Stock, number>();
  for (const [index, { requests, needs }] of groups.entries()) {
    if ((admitted[index] ?? 0) >= requests) continue;
    for (const { stock, units } of needs) lacked.set(stock, Math.min(units, lacked.get(stock) ?? units));
  }
  return lacked;
}

/** The counters under which one request may go with what is free, because no other is open. */
export function aloneStocks(
  groups: readonly { readonly needs: readonly Need[] }[],
  admitted: readonly number[],
): Set<Stock> {
  const alone = groups.flatMap(({ needs }, index) =>
    (admitted[index] ?? 0) > 0 ? needs.filter((need) => need.alone) : [],
  );
  return new Set(alone.map(({ stock }) => stock));
}
