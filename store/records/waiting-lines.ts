// The writing end of a journal in memory: lines wait in it, within a bound, until an engine has taken them.
import { setTimeout as pause } from 'node:timers/promises';
import { singleFlight } from '../single-flight.ts';
import type { Journal } from './journal.ts';
import type { Lines } from './portion.ts';
import { Portions } from './portions.ts';
import { lengthOf, longestLineBytes } from './record-line.ts';

/** The engine below: a file or Redis. Called with one portion at a time. */
export interface LineSink {
  /** Keeps lines, in their order; one that was kept before may come again. Their bytes are written over when it has resolved. Never rejects. */
  write(lines: Lines): Promise<Kept>;
  /** Resolves in bounded time. */
  close(): Promise<void>;
}

export interface Kept {
  /** Number of lines that are kept, from the first on. */
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

const retryMs = 50;
const tooSlow = 'records come faster than the journal takes them';

/** A journal whose lines end up in `sink`. */
export function bufferLines(
  sink: LineSink,
  { flushIntervalMs = 200, mostWaitingBytes = 32 * 1024 * 1024, closeWithinMs = 2_000 }: WaitingOptions = {},
): Journal {
  const waiting = new Portions();
  let appended = 0;
  let dropped = 0;
  let trouble: string | undefined;
  let isFull = false;
  let isClosed = false;
  /** Aborted at the end: a write under way no longer counts then. */
  const end = new AbortController();
  let closing: Promise<void> | undefined;
  const flushing = singleFlight(flush);
  const timer = setInterval(() => {
    if (waiting.lines > 0) void flushing.join();
  }, flushIntervalMs).unref();

  /** Writes what waits now; the rest stays after the first portion that is not kept whole. */
  async function flush(): Promise<void> {
    let left = waiting.lines;
    while (left > 0) {
      const { count, trouble: found } = await sink.write(waiting.first().lines());
      if (end.signal.aborted) return;
      left -= count;
      trouble = found;
      if (count > 0) isFull = false;
      if (!waiting.forget(count)) return;
    }
  }

  async function drain(): Promise<void> {
    while (waiting.lines > 0 && !end.signal.aborted) {
      await flushing.next();
      if (trouble !== undefined) await pause(retryMs);
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    clearInterval(timer);
    await within(closeWithinMs, drain());
    end.abort();
    dropped += waiting.lines;
    waiting.clear();
    await within(closeWithinMs, sink.close());
  }

  return {
    append(line) {
      const bytes = 1 + lengthOf(line);
      const hasRoom = waiting.bytes + bytes <= mostWaitingBytes;
      if (!hasRoom) isFull = true;
      if (!hasRoom || isClosed || bytes > longestLineBytes) {
        dropped += 1;
        return;
      }
      appended += 1;
      if (waiting.add(line, bytes) && trouble === undefined) void flushing.join();
    },
    status: () => ({
      waitingRecords: waiting.lines,
      waitingBytes: waiting.bytes,
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
