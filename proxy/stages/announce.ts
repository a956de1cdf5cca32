// The headers beside an answer: its limits, those of the provider's answer, and the members that the provider did not get.
import type { Surface } from '../dialects/dialect.ts';
import { anthropicLimitHeaders } from '../dialects/messages/limit-headers.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import type { Allowance, ConsumerAllowance } from '../routing/limit-refusal.ts';
import { droppedHeader } from '../translation/losses.ts';

/** The facts of an accepted answer that its headers tell. */
export interface Announced {
  readonly consumer: ConsumerAllowance;
  /** Under the rules of the target. */
  readonly allowance: Allowance;
  readonly surface: Surface;
  /** Headers of the provider that the client is told, by name. */
  readonly told: Readonly<Record<string, string>>;
  /** Fields that the provider was not told. */
  readonly dropped: readonly string[];
}

/** The headers of an accepted answer besides the answer's own, names and values in turn. `nowMs` in whole milliseconds. */
export function announce(
  { consumer, allowance, surface, told, dropped }: Announced,
  requestId: string,
  nowMs: number,
): string[] {
  const headers = rateLimitHeaders(allowance, consumer, nowMs, consumer.told);
  if (surface === 'anthropic') headers.push(...anthropicLimitHeaders(headers, nowMs / 1000));
  headers.push(...idHeaders(surface, requestId));
  for (const name in told) headers.push(name, told[name] as string);
  const left = droppedHeader(dropped);
  if (left !== '') headers.push('x-gateway-dropped', left);
  return headers;
}

/** The id of the request as the clients of a surface read it, besides x-request-id, which every answer has. */
export function idHeaders(surface: Surface, requestId: string): readonly string[] {
  return surface === 'anthropic' ? ['request-id', requestId] : [];
}
