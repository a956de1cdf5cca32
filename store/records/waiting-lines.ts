// The writing end of a journal in memory: lines wait in it, within a bound, until an engine has taken them.
import { setTimeout as pause } from 'node:timers/promises';
import { singleFlight } from '../single-flight.ts';
import type { Journal } from './journal.ts';
import { longestLineBytes } from './read-record.ts';

/** What lies below: a file or Redis. Called with one portion at a time. */
export interface LineSink {
  /** Keeps lines, in their order; one that was kept before may come again. Never rejects. */
  write(lines: readonly string[]): Promise<Kept>;
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

/** Characters of one portion: made and written in a millisecond or two. A longer line is one of its own. */
const portionCharacters = 256 * 1024;
const retryMs = 50;
const tooSlow = 'records come faster than the journal takes them';

/** A journal whose lines end up in `sink`. */
export function bufferLines(
  sink: LineSink,
  { flushIntervalMs = 200, mostWaitingBytes = 32 * 1024 * 1024, closeWithinMs = 2_000 }: WaitingOptions = {},
): Journal {
  const waiting: string[] = [];
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

  /** Writes what waits now; the rest stays after the first portion that is not kept whole. */
  async function flush(): Promise<void> {
    let left = waiting.length;
    while (left > 0) {
      const portion = waiting.slice(0, portionLength(waiting));
      const kept = await sink.write(portion);
      if (end.signal.aborted) return;
      for (const line of waiting.splice(0, kept.count)) waitingBytes -= bytesOf(line);
      left -= kept.count;
      trouble = kept.trouble;
      if (kept.count > 0) isFull = false;
      if (kept.count < portion.length) return;
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
    dropped += waiting.length;
    waiting.length = 0;
    waitingBytes = 0;
    await within(closeWithinMs, sink.close());
  }

  return {
    append(line) {
      const bytes = bytesOf(line);
      const hasRoom = waitingBytes + bytes <= mostWaitingBytes;
      if (!hasRoom) isFull = true;
      if (!hasRoom || isClosed || bytes > longestLineBytes) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += bytes;
      appended += 1;
      // What waits for long is copied again and again while memory is collected.
      if (waitingBytes >= portionCharacters && trouble === undefined) void flushing.join();
    },
    status: () => ({
      waitingRecords: waiting.length,
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

/** As UTF-8, with its line break. */
function bytesOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

function portionLength(lines: readonly string[]): number {
  let characters = 0;
  const end = lines.findIndex((line, index) => {
    characters += line.length;
    return index > 0 && characters > portionCharacters;
  });
  return end === -1 ? lines.length : end;
}

/** Resolves when `work` has, at the latest after so many milliseconds. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const clock = new AbortController();
  const deadline = pause(ms, undefined, { signal: clock.signal }).catch(() => undefined);
  await Promise.race([work, deadline]);
  clock.abort();
}
