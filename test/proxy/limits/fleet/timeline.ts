// Events of a simulation in the order of their time.

interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class Timeline {
  nowMs = 0;
  /** How many events have happened. */
  passed = 0;
  #order = 0;
  readonly #heap: Happening[] = [];

  /** Lets something happen at a moment, behind all that was put there before. Milliseconds from the start. */
  at(atMs: number, run: () => void): void {
    this.#order += 1;
    const event = { atMs: Math.max(atMs, this.nowMs), order: this.#order, run };
    let place = this.#heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (isBefore(this.#heap[parent] as Happening, event)) break;
      this.#heap[place] = this.#heap[parent] as Happening;
      place = parent;
    }
    this.#heap[place] = event;
  }

  in(delayMs: number, run: () => void): void {
    this.at(this.nowMs + delayMs, run);
  }

  /** Runs the next event, unless it is later than `untilMs`; false: there is none. */
  step(untilMs: number): boolean {
    const [first] = this.#heap;
    if (first === undefined || first.atMs > untilMs) return false;
    this.#drop();
    this.nowMs = first.atMs;
    this.passed += 1;
    first.run();
    return true;
  }

  #drop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= this.#heap.length) break;
      const right = left + 1;
      const isRight =
        right < this.#heap.length && isBefore(this.#heap[right] as Happening, this.#heap[left] as Happening);
      const child = isRight ? right : left;
      if (isBefore(last, this.#heap[child] as Happening)) break;
      this.#heap[place] = this.#heap[child] as Happening;
      place = child;
    }
    this.#heap[place] = last;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
