// The writing end of a journal in memory: lines wait in it, within a bound, until an engine has taken them.
import { setTimeout as pause } from 'node:timers/promises';
import { singleFlight } from '../single-flight.ts';
import type { Journal } from './journal.ts';
import { type Lines, Portion, portionBytes } from './portion.ts';
import { longestLineBytes } from './read-record.ts';

/** What lies below: a file or Redis. Called with one portion at a time. */
export interface LineSink {
  /** Keeps lines, in their order; one that was kept before may come again. Their bytes are written over when it has resolved. Never rejects. */
  write(lines: Lines): Promise<Kept>;
  /** Resolves in bounded time. */
  close(): Promise<void>;
}

export interface Kept {
  /** So many of the lines, from the first on. */
  readonly count: number;
  /** Why not all of them, a sentence. */
  readonly trouble: string | undefined;
}

export interface WaitingOptions {
  /** Between two flushes; default 200 ms. */
  readonly flushIntervalMs?: number;
  /** Of lines that wait; default 32 MiB. */
  readonly mostWaitingBytes?: number;
  /** How long `close` tries to write what waits; default 2,000 ms. */
  readonly closeWithinMs?: number;
}

/** Portions that are kept for the next lines. */
const mostSpare = 4;
const retryMs = 50;
const tooSlow = 'records come faster than the journal takes them';

/** A journal whose lines end up in `sink`. */
export function bufferLines(
  sink: LineSink,
  { flushIntervalMs = 200, mostWaitingBytes = 32 * 1024 * 1024, closeWithinMs = 2_000 }: WaitingOptions = {},
): Journal {
  /** The oldest is the first; lines are added to the last, if it is open. */
  const waiting: Portion[] = [];
  const spare: Portion[] = [];
  let open: Portion | undefined;
  let waitingRecords = 0;
  let waitingBytes = 0;
  let appended = 0;
  let dropped = 0;
  let trouble: string | undefined;
  let isFull = false;
  let isClosed = false;
  /** What is under way then no longer counts. */
  const end = new AbortController();
  let closing: Promise<void> | undefined;
  const flushing = singleFlight(flush);
  const timer = setInterval(() => {
    if (waiting.length > 0) void flushing.join();
  }, flushIntervalMs).unref();

  function begin(bytes: number): Portion {
    const begun = bytes > portionBytes ? new Portion(bytes) : (spare.pop() ?? new Portion(portionBytes));
    waiting.push(begun);
    return begun;
  }

  /** Writes what waits now; the rest stays after the first portion that is not kept whole. */
  async function flush(): Promise<void> {
    let left = waitingRecords;
    while (left > 0) {
      const portion = waiting[0] as Portion;
      if (portion === open) open = undefined;
      const { count, trouble: found } = await sink.write(portion.lines());
      if (end.signal.aborted) return;
      waitingBytes -= portion.forget(count);
      waitingRecords -= count;
      left -= count;
      trouble = found;
      if (count > 0) isFull = false;
      if (portion.lineCount > 0) return;
      waiting.shift();
      if (portion.isReusable && spare.length < mostSpare) spare.push(portion);
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0 && !end.signal.aborted) {
      await flushing.next();
      if (trouble !== undefined) await pause(retryMs);
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    clearInterval(timer);
    await within(closeWithinMs, drain());
    end.abort();
    dropped += waitingRecords;
    waiting.length = 0;
    open = undefined;
    waitingRecords = 0;
    waitingBytes = 0;
    await within(closeWithinMs, sink.close());
  }

  return {
    append(line) {
      const bytes = 1 + (typeof line === 'string' ? Buffer.byteLength(line) : line.length);
      const hasRoom = waitingBytes + bytes <= mostWaitingBytes;
      if (!hasRoom) isFull = true;
      if (!hasRoom || isClosed || bytes > longestLineBytes) {
        dropped += 1;
        return;
      }
      const isBegun = open?.hasRoom(bytes) !== true;
      if (open === undefined || isBegun) open = begin(bytes);
      open.add(line, bytes);
      waitingBytes += bytes;
      waitingRecords += 1;
      appended += 1;
      // Then the one before is full.
      if (isBegun && waiting.length > 1 && trouble === undefined) void flushing.join();
    },
    status: () => ({
      waitingRecords,
      waitingBytes,
      appendedRecords: appended,
      droppedRecords: dropped,
      trouble: trouble ?? (isFull ? tooSlow : undefined),
    }),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Resolves when `work` has, at the latest after so many milliseconds. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const clock = new AbortController();
  const deadline = pause(ms, undefined, { signal: clock.signal }).catch(() => undefined);
  await Promise.race([work, deadline]);
  clock.abort();
}
