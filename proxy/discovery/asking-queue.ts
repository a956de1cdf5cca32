// Asks a few at a time: an answer may take megabytes while it is read.

/** How many are asked at once. */
const mostAtOnce = 4;

export class AskingQueue<Asked> {
  /** In order; each once. */
  readonly #waiting = new Set<Asked>();
  readonly #asking = new Set<Asked>();
  readonly #ask: (asked: Asked) => Promise<void>;

  /** `ask` never rejects. */
  constructor(ask: (asked: Asked) => Promise<void>) {
    this.#ask = ask;
  }

  /** Asks as soon as there is room; one that waits already, or is being asked, is not asked again. */
  add(asked: Asked): void {
    if (this.#asking.has(asked)) return;
    this.#waiting.add(asked);
    this.#begin();
  }

  #begin(): void {
    for (const asked of this.#waiting) {
      if (this.#asking.size >= mostAtOnce) return;
      this.#waiting.delete(asked);
      this.#asking.add(asked);
      void this.#ask(asked).finally(() => {
        this.#asking.delete(asked);
        this.#begin();
      });
    }
  }
}
