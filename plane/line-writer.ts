// Writes lines to a file descriptor without ever waiting for its reader: what a reader does not take is held up to a bound, then dropped
// and counted. Events go out at once, lines of requests in batches; both in the order in which they came.
import { writeSync } from 'node:fs';

/** Requests' lines wait this long for others. Milliseconds. */
const batchMs = 100;
/** So many characters are written without waiting. */
const batchLength = 64 * 1024;
/** What is held for a reader that has stopped, in characters: requests' lines may take the first half, events all of it. */
const mostHeld = 2 * 1024 * 1024;
/** Pauses between two attempts to write, in milliseconds; each is twice the one before. */
const shortestPauseMs = 1;
const longestPauseMs = 100;
/** At the exit a reader that has fallen behind gets so many pauses of so many milliseconds. */
const lastAttempts = 40;
const lastPauseMs = 5;

/** Lines that nobody will read. */
export interface Dropped {
  /** Lines of requests. */
  readonly requests: number;
  /** Lines of events. */
  readonly events: number;
}

export class LineWriter {
  /** Lines of requests that were dropped since the start. */
  droppedRequests = 0;
  readonly #fd: number;
  /** Lines that no attempt to write has seen. */
  #waiting = '';
  #waitingRequests = 0;
  /** What is left of the batch that is being written. */
  #batch: Buffer | undefined;
  #batchRequests = 0;
  #droppedEvents = 0;
  #told: Dropped = { requests: 0, events: 0 };
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = shortestPauseMs;
  readonly #flushLater = (): void => this.flush();

  /** `fd` must not block: see `standardOutput`. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Takes the line of an event, with its line break, and writes all that waits. pino calls it. */
  write(line: string): void {
    if (this.#held() + line.length > mostHeld) this.#droppedEvents += 1;
    else this.#waiting += line;
    if (this.#batch === undefined) this.flush();
  }

  /** Takes the line of a request, with its line break; it is written with others. */
  writeSoon(line: string): void {
    if (this.#held() + line.length > mostHeld / 2) {
      this.droppedRequests += 1;
      return;
    }
    this.#waiting += line;
    this.#waitingRequests += 1;
    if (this.#batch === undefined && this.#waiting.length >= batchLength) this.flush();
    else this.#timer ??= setTimeout(this.#flushLater, batchMs).unref();
  }

  /** Writes as much as the reader takes now; the rest is tried again by itself. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#nextBatch()) if (!this.#writeBatch()) return;
  }

  /** The last attempt before the process ends: a reader that is behind gets a fifth of a second. */
  end(): void {
    for (let attempt = 0; attempt < lastAttempts; attempt += 1) {
      this.flush();
      clearTimeout(this.#timer);
      if (this.#batch === undefined) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lastPauseMs);
    }
  }

  /** What was dropped since this was asked last, once the reader has caught up; undefined: nothing, or it has not. */
  takeDropped(): Dropped | undefined {
    const { requests, events } = this.#told;
    const news = { requests: this.droppedRequests - requests, events: this.#droppedEvents - events };
    if (this.#batch !== undefined || news.requests + news.events === 0) return undefined;
    this.#told = { requests: this.droppedRequests, events: this.#droppedEvents };
    return news;
  }

  #held(): number {
    return this.#waiting.length + (this.#batch?.length ?? 0);
  }

  #nextBatch(): boolean {
    if (this.#batch === undefined && this.#waiting !== '') {
      this.#batch = Buffer.from(this.#waiting);
      this.#batchRequests = this.#waitingRequests;
      this.#waiting = '';
      this.#waitingRequests = 0;
    }
    return this.#batch !== undefined;
  }

  /** False when the reader takes no more for now. */
  #writeBatch(): boolean {
    const batch = this.#batch;
    if (batch === undefined) return true;
    try {
      const written = writeSync(this.#fd, batch);
      this.#batch = written < batch.length ? batch.subarray(written) : undefined;
      this.#pauseMs = shortestPauseMs;
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN' || code === 'EINTR') {
        this.#timer = setTimeout(this.#flushLater, this.#pauseMs).unref();
        this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
        return false;
      }
      // A full disk, or a reader that is gone for good: a batch that was written in part counts as lost.
      this.droppedRequests += this.#batchRequests;
      this.#batch = undefined;
      return true;
    }
  }
}

/**
 * The writer of this process's standard output. To ask Node for the stream makes a pipe non-blocking; files and terminals need no such
 * thing. What waits is written when the process ends.
 */
export function standardOutput(): LineWriter {
  void process.stdout;
  const writer = new LineWriter(1);
  process.once('exit', () => writer.end());
  return writer;
}
