// What a client is told beside an answer: its limits, and the provider's id of the request.
import { rateLimitHeaders } from '../limits/headers.ts';
import { upstreamIdHeader } from '../providers/upstream-id.ts';
import type { Accepted } from './attempts.ts';

/** The headers of an accepted answer besides the answer's own, names and values in turn. `nowMs` in whole milliseconds. */
export function announce({ allowance, routed, upstreamId }: Accepted, nowMs: number): string[] {
  const { matches, told } = routed.consumer;
  const headers = rateLimitHeaders(allowance.matches, matches, nowMs, told);
  if (upstreamId !== undefined) headers.push(upstreamIdHeader, upstreamId);
  return headers;
}
