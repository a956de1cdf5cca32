// Work that can wait a moment, done for many requests in one go: what does it is used for all of them while the processor has it at hand,
// which halves its cost.

/** The most entries in one batch. */
const mostWaiting = 32;
/** How long work waits for more. Milliseconds. */
const longestWaitMs = 50;
/** The longest text, in bytes, of an entry that should wait. */
export const longestWaitingText = 16 * 1024;

export class Batch<Item> {
  readonly #handle: (item: Item) => void;
  #waiting: Item[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `handle` must not throw. */
  constructor(handle: (item: Item) => void) {
    this.#handle = handle;
  }

  /** It is handled within 50 ms, in the order in which items came; at once, with all that wait, where it may not wait. */
  add(item: Item, mayWait: boolean): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= mostWaiting || !mayWait) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), longestWaitMs).unref();
  }

  /** Handles what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#waiting;
    if (items.length === 0) return;
    this.#waiting = [];
    for (const item of items) this.#handle(item);
  }
}
