// Bounds the lines about requests that cost their sender nothing: a loop of refused requests, or of what cannot be read, must not fill the log.

/** Lines of a second, and how many of them one sender may have: others that are refused meanwhile have lines, too. */
const mostLines = 100;
const mostOfOne = 50;
const windowMs = 1_000;

/** One more line a second stands for all that had none; `further`: how many it stands for besides its own request. */
export interface SampledLines {
  write(line: string): void;
  writeLast(line: string, further: number): void;
}

export class LineSampler {
  /** Requests without a line, since the start. */
  omitted = 0;
  readonly #to: SampledLines;
  #lines = 0;
  readonly #linesOf = new Map<string, number>();
  /** The line of the first request without one, and how many there are. */
  #first = '';
  #count = 0;
  #isTimed = false;

  constructor(to: SampledLines) {
    this.#to = to;
  }

  /** `line` is called where the line is needed. */
  note(sender: string, line: () => string): void {
    if (!this.#isTimed) setTimeout(() => this.#close(), windowMs).unref();
    this.#isTimed = true;
    const own = this.#linesOf.get(sender) ?? 0;
    if (this.#lines < mostLines && own < mostOfOne) {
      this.#lines += 1;
      this.#linesOf.set(sender, own + 1);
      this.#to.write(line());
      return;
    }
    if (this.#count === 0) this.#first = line();
    else this.omitted += 1;
    this.#count += 1;
  }

  #close(): void {
    const [first, count] = [this.#first, this.#count];
    this.#isTimed = false;
    this.#first = '';
    this.#lines = 0;
    this.#count = 0;
    this.#linesOf.clear();
    if (count > 0) this.#to.writeLast(first, count - 1);
  }
}
