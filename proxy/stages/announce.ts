// What a client is told beside an answer: its limits, the provider's id of the request, and what the provider could not be told.
import type { Surface } from '../dialects/dialect.ts';
import { anthropicLimitHeaders } from '../dialects/messages/limit-headers.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { upstreamIdHeader } from '../providers/upstream-id.ts';
import { droppedHeader } from '../translation/losses.ts';
import type { Accepted } from './attempts.ts';

/** The headers of an accepted answer besides the answer's own, names and values in turn. `nowMs` in whole milliseconds. */
export function announce(
  { allowance, reading, routed, upstreamId }: Accepted,
  requestId: string,
  nowMs: number,
): string[] {
  const { matches, told } = routed.consumer;
  const headers = rateLimitHeaders(allowance.matches, matches, nowMs, told);
  if (routed.surface === 'anthropic') headers.push(...anthropicLimitHeaders(headers, nowMs / 1000));
  headers.push(...idHeaders(routed.surface, requestId));
  if (upstreamId !== undefined) headers.push(upstreamIdHeader, upstreamId);
  const dropped = reading && droppedHeader(reading.translated.dropped);
  if (dropped) headers.push('x-gateway-dropped', dropped);
  return headers;
}

/** The id of the request as the clients of a surface read it, besides x-request-id, which every answer has. */
export function idHeaders(surface: Surface, requestId: string): readonly string[] {
  return surface === 'anthropic' ? ['request-id', requestId] : [];
}
