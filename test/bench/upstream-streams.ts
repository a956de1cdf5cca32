// The streams of the bench provider that take time: paced ones and those without an end, all driven by one ticker each.
import type { Socket } from 'node:net';
import { HELD_INTERVAL_MS, PACED_EVENTS, PACED_INTERVAL_MS, streamWrites } from './workload.ts';

/** How many streams the provider began, finished, and lost because the client left. */
export const streamCounts = { streamsStarted: 0, streamsFinished: 0, streamsCut: 0 };

interface OpenStream {
  readonly writes: readonly Buffer[];
  readonly isEndless: boolean;
  next: number;
  dueMs: number;
}

const paced = [false, true].map((usage) => streamWrites(PACED_EVENTS, usage));
const streams = new Map<Socket, OpenStream>();
let ticker: NodeJS.Timeout | undefined;

/** Streams under way. */
export function openStreams(): number {
  return streams.size;
}

/** Begins a paced stream, or one without an end, whose first event is due now. */
export function beginStream(socket: Socket, kind: 'paced' | 'held', usage: boolean): void {
  const writes = paced[usage ? 1 : 0] ?? [];
  streams.set(socket, { writes, isEndless: kind === 'held', next: 0, dueMs: performance.now() });
  ticker ??= setInterval(tick, 1);
}

/** The connection is gone. */
export function cutStream(socket: Socket): void {
  if (streams.delete(socket)) streamCounts.streamsCut += 1;
}

// Each stream keeps its own due time, so arrivals stay spread as the requests were.
function tick(): void {
  const nowMs = performance.now();
  for (const [socket, stream] of streams) {
    while (stream.dueMs <= nowMs && stream.next < stream.writes.length) {
      socket.write(stream.writes[stream.next] ?? '');
      advance(stream);
    }
    if (stream.next === stream.writes.length) {
      streams.delete(socket);
      streamCounts.streamsFinished += 1;
    }
  }
  if (streams.size === 0) {
    clearInterval(ticker);
    ticker = undefined;
  }
}

// A stream without an end sends its second event again and again.
function advance(stream: OpenStream): void {
  stream.next = stream.isEndless ? 1 : stream.next + 1;
  stream.dueMs += stream.isEndless ? HELD_INTERVAL_MS : PACED_INTERVAL_MS;
}
