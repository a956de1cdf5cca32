// Writes lines to a file descriptor without ever waiting for its reader: what a reader does not take is held up to a bound, then dropped
// and counted. Events go out at once, lines of requests in batches; both in the order in which they came.
import { writeSync } from 'node:fs';

/** Requests' lines wait this long for others. Milliseconds. */
const batchMs = 100;
/** The number of bytes that are written without waiting. */
const batchBytes = 64 * 1024;
/** The most bytes held for a reader that has stopped: lines of requests may take the first half, events all of it. */
const mostHeld = 2 * 1024 * 1024;
/** Pauses between two attempts to write, in milliseconds; each is twice the one before. */
const shortestPauseMs = 1;
const longestPauseMs = 100;
/** At the exit a reader that has fallen behind gets so many pauses of so many milliseconds. */
const lastAttempts = 40;
const lastPauseMs = 5;

/** Lines that were dropped. */
export interface Dropped {
  /** Lines of requests. */
  readonly requests: number;
  /** Lines of events. */
  readonly events: number;
}

/** Lines as bytes, in one piece. */
interface Batch {
  readonly bytes: Buffer;
  /** How many of them are of requests, and how many of events. */
  readonly requests: number;
  readonly events: number;
}

export class LineWriter {
  /** Lines of requests that were dropped since the start. */
  droppedRequests = 0;
  /** Lines of events that were dropped since the start. */
  droppedEvents = 0;
  readonly #fd: number;
  /** Lines that no attempt to write has seen: each is turned into bytes at once, because a text of thousands of pieces is slow to put together. */
  #open: Buffer | undefined;
  #openBytes = 0;
  #openRequests = 0;
  #openEvents = 0;
  /** Full batches behind the one that is being written. */
  readonly #full: Batch[] = [];
  #fullBytes = 0;
  /** The rest of the batch that is being written. */
  #batch: Batch | undefined;
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
    if (this.#held() + line.length > mostHeld) this.droppedEvents += 1;
    else {
      this.#add(line);
      this.#openEvents += 1;
    }
    if (this.#batch === undefined) this.flush();
  }

  /** Takes the line of a request, with its line break; it is written with others. */
  writeSoon(line: string): void {
    if (this.#held() + line.length > mostHeld / 2) {
      this.droppedRequests += 1;
      return;
    }
    this.#add(line);
    this.#openRequests += 1;
    const isFull = this.#full.length > 0 || this.#openBytes >= batchBytes;
    if (this.#batch === undefined && isFull) this.flush();
    else this.#timer ??= setTimeout(this.#flushLater, batchMs).unref();
  }

  /**
   * Takes whole lines of another process, which must not change, and writes all that waits. False: its reader has fallen behind, and
   * the other process should wait for `isBehind` to be false; nothing of what was taken is dropped.
   */
  pass(lines: Buffer): boolean {
    this.#closeOpen();
    this.#full.push({ bytes: lines, requests: 0, events: 0 });
    this.#fullBytes += lines.length;
    if (this.#batch === undefined) this.flush();
    return !this.isBehind;
  }

  /** More waits than is written at once. */
  get isBehind(): boolean {
    return this.#held() > batchBytes;
  }

  /** Writes as much as the reader takes now; the rest is tried again later. */
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

  /** The lines dropped since the last call, once the reader has caught up; undefined: none, or it has not. */
  takeDropped(): Dropped | undefined {
    const { requests, events } = this.#told;
    const news = { requests: this.droppedRequests - requests, events: this.droppedEvents - events };
    if (this.#batch !== undefined || news.requests + news.events === 0) return undefined;
    this.#told = { requests: this.droppedRequests, events: this.droppedEvents };
    return news;
  }

  #held(): number {
    return this.#openBytes + this.#fullBytes + (this.#batch?.bytes.length ?? 0);
  }

  #add(line: string): void {
    // A character has at most three bytes.
    const most = line.length * 3;
    if (this.#openBytes + most > batchBytes) this.#closeOpen();
    this.#open ??= Buffer.allocUnsafe(Math.max(batchBytes, most));
    this.#openBytes += this.#open.write(line, this.#openBytes);
  }

  #closeOpen(): void {
    if (this.#open === undefined || this.#openBytes === 0) return;
    const bytes = this.#open.subarray(0, this.#openBytes);
    this.#full.push({ bytes, requests: this.#openRequests, events: this.#openEvents });
    this.#fullBytes += this.#openBytes;
    this.#open = undefined;
    this.#openBytes = 0;
    this.#openRequests = 0;
    this.#openEvents = 0;
  }

  #nextBatch(): boolean {
    if (this.#batch !== undefined) return true;
    if (this.#full.length === 0) this.#closeOpen();
    this.#batch = this.#full.shift();
    this.#fullBytes -= this.#batch?.bytes.length ?? 0;
    return this.#batch !== undefined;
  }

  /** False when the reader takes no more for now. */
  #writeBatch(): boolean {
    const batch = this.#batch;
    if (batch === undefined) return true;
    try {
      const { bytes } = batch;
      const written = writeSync(this.#fd, bytes);
      this.#pauseMs = shortestPauseMs;
      this.#batch = written < bytes.length ? { ...batch, bytes: bytes.subarray(written) } : undefined;
      if (this.#batch === undefined) return true;
      this.#tryAgain();
      return false;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN' || code === 'EINTR') {
        this.#tryAgain();
        return false;
      }
      // A full disk, or a reader that has closed: a batch that was written in part counts as lost.
      this.droppedRequests += batch.requests;
      this.droppedEvents += batch.events;
      this.#batch = undefined;
      return true;
    }
  }

  #tryAgain(): void {
    this.#timer = setTimeout(this.#flushLater, this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
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
