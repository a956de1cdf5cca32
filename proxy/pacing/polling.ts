// A poll that repeats while there is something to look at: a process without requests sleeps.

export class Polling {
  readonly #poll: () => boolean;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** `poll` gives whether there is something left to look at. The process may end meanwhile. */
  constructor(poll: () => boolean, everyMs: number) {
    this.#poll = poll;
    this.#everyMs = everyMs;
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** There is something. While it runs this does nothing. */
  start(): void {
    this.#timer ??= setInterval(() => {
      if (this.#poll()) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, this.#everyMs).unref();
  }
}
