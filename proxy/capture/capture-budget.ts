// The memory that the recorded bodies of all open requests may take together. Recording never refuses a request: a body without room is left out.

/** Part of the memory limit. */
const share = 1 / 16;
/** First share of a body; each next one is twice as large. Bytes. */
const firstBytes = 16 * 1024;

export class CaptureBudget {
  readonly #most: number;
  #taken = 0;

  constructor(memoryLimitBytes: number) {
    this.#most = memoryLimitBytes * share;
  }

  /** Bytes taken at this moment. */
  get taken(): number {
    return this.#taken;
  }

  /** Opens the account of one body of at most so many bytes. */
  open(mostBytes: number): CaptureRoom {
    return new CaptureRoom(this, mostBytes);
  }

  /** False: so many bytes more do not fit. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#most) return false;
    this.#taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
  }
}

/** The memory of one recorded body. */
export class CaptureRoom {
  readonly #budget: CaptureBudget;
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(budget: CaptureBudget, mostBytes: number) {
    this.#budget = budget;
    this.#mostBytes = mostBytes;
  }

  /** Whether the body may take so many bytes in all. */
  hasFor(bytes: number): boolean {
    if (bytes <= this.#bytes) return true;
    const next = Math.max(bytes, Math.min(Math.max(firstBytes, 2 * this.#bytes), this.#mostBytes));
    if (!this.#budget.take(next - this.#bytes)) return false;
    this.#bytes = next;
    return true;
  }

  /** Again does nothing. */
  release(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
