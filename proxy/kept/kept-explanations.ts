// Keeps the explanations of requests for as long as an operator may ask for them: texts by id, bounded in time, number and bytes.

/** Milliseconds. */
const keptMs = 10 * 60_000;
const most = 1_000;
const mostBytes = 8 * 1024 * 1024;
/** A longer text is not kept. */
const longestBytes = 1024 * 1024;

interface Kept {
  readonly text: Buffer;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** The oldest make room for the newest. */
export class KeptExplanations {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** False: it is too long. `nowMs`: Unix milliseconds. */
  keep(id: string, text: string, nowMs: number): boolean {
    const bytes = Buffer.from(text);
    if (bytes.length > longestBytes) return false;
    this.#drop(id);
    this.#kept.set(id, { text: bytes, untilMs: nowMs + keptMs });
    this.#bytes += bytes.length;
    for (const [oldest, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size <= most && this.#bytes <= mostBytes) break;
      this.#drop(oldest);
    }
    return true;
  }

  /** Undefined: there is none, or no longer. */
  get(id: string, nowMs: number): Buffer | undefined {
    const found = this.#kept.get(id);
    if (found === undefined || found.untilMs > nowMs) return found?.text;
    this.#drop(id);
    return undefined;
  }

  get size(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #drop(id: string): void {
    this.#bytes -= this.#kept.get(id)?.text.length ?? 0;
    this.#kept.delete(id);
  }
}
