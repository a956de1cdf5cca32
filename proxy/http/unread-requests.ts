// Bounds the lines about requests that cannot be read: without a key, a stranger makes one with every connection.

/** The number of requests per second with a log line each. One more line per second counts the others. */
const mostLines = 100;
const windowMs = 1_000;

/** Takes each request once; calls `write` for those that get a line. `further`: how many more this line stands for. */
export class UnreadRequests<Request> {
  readonly #write: (request: Request, further: number) => void;
  #lines = 0;
  /** The last request without a line, and how many there are. */
  #last: Request | undefined;
  #count = 0;
  #isTimed = false;

  constructor(write: (request: Request, further: number) => void) {
    this.#write = write;
  }

  note(request: Request): void {
    if (!this.#isTimed) setTimeout(() => this.#close(), windowMs).unref();
    this.#isTimed = true;
    if (this.#lines < mostLines) {
      this.#lines += 1;
      this.#write(request, 0);
      return;
    }
    this.#last = request;
    this.#count += 1;
  }

  #close(): void {
    const [last, count] = [this.#last, this.#count];
    this.#isTimed = false;
    this.#last = undefined;
    this.#lines = 0;
    this.#count = 0;
    if (last !== undefined) this.#write(last, count - 1);
  }
}
