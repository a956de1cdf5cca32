// What a client is told beside an answer: its limits, the provider's id of the request, and what the provider could not be told.
import { rateLimitHeaders } from '../limits/headers.ts';
import { upstreamIdHeader } from '../providers/upstream-id.ts';
import { droppedHeader } from '../translation/losses.ts';
import type { Accepted } from './attempts.ts';

/** The headers of an accepted answer besides the answer's own, names and values in turn. `nowMs` in whole milliseconds. */
export function announce({ allowance, reading, routed, upstreamId }: Accepted, nowMs: number): string[] {
  const { matches, told } = routed.consumer;
  const headers = rateLimitHeaders(allowance.matches, matches, nowMs, told);
  if (upstreamId !== undefined) headers.push(upstreamIdHeader, upstreamId);
  const dropped = reading && droppedHeader(reading.translated.dropped);
  if (dropped) headers.push('x-gateway-dropped', dropped);
  return headers;
}
