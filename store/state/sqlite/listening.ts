// Whether notices of other processes can concern this one: while it holds something, or waits for room. Looking for them costs a little each time.
import type { ExchangeAnswer, ExchangeMessage } from '../../../domain/limits/exchange.ts';

type Done = Extract<ExchangeAnswer, { readonly status: 'done' }>;

/** Room that cannot be foreseen is waited for so long. Milliseconds. */
const unforeseenMs = 1_000;

export class Listening {
  /** The counters under which it holds something. */
  readonly #held = new Set<string>();
  #leftMs = 0;

  /** Another session begins: what it holds is not known yet. */
  begin(): void {
    this.#held.clear();
    this.#leftMs = 0;
  }

  take({ items, groups }: ExchangeMessage, { answers, admitted }: Done): void {
    for (const [index, item] of items.entries()) {
      const { granted = 0, freeInMs = 0, recallMs = 0 } = answers[index] ?? {};
      if (item.held + granted > 0) this.#held.add(item.key);
      else this.#held.delete(item.key);
      const isWanting = recallMs !== 0 || freeInMs !== 0 || (item.wish > 0 && granted === 0);
      if (isWanting) this.#leftMs = Math.max(this.#leftMs, freeInMs > 0 ? freeInMs : unforeseenMs);
    }
    if (groups.some(({ requests }, index) => requests > (admitted[index] ?? 0))) {
      this.#leftMs = Math.max(this.#leftMs, unforeseenMs);
    }
  }

  /** Asked every `passedMs`. */
  isNeeded(passedMs: number): boolean {
    if (this.#leftMs > 0) this.#leftMs -= passedMs;
    return this.#held.size > 0 || this.#leftMs > 0;
  }
}
