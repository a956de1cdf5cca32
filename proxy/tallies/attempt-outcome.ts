// The outcomes of an attempt, as the values of a metric label.
import type { ErrorCode, Refusal } from '../errors.ts';

/** The outcomes of an attempt; schemas/metrics/proxy-metrics.ts describes each one. */
export const attemptOutcomes = [
  'success',
  'client_error',
  'unauthorized',
  'rate_limited',
  'server_error',
  'timeout',
  'unreachable',
  'invalid_response',
  'cut',
  'outrun',
  'cancelled',
] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

const outcomes: readonly (readonly [ErrorCode, AttemptOutcome])[] = [
  ['upstream_unavailable', 'unreachable'],
  ['upstream_dns', 'unreachable'],
  ['upstream_tls', 'unreachable'],
  ['upstream_timeout', 'timeout'],
  ['upstream_invalid_response', 'invalid_response'],
  ['upstream_unauthorized', 'unauthorized'],
  ['upstream_disconnected', 'cut'],
  ['stream_incomplete', 'cut'],
  ['hedge_lost', 'outrun'],
  // The provider has answered; what it said was refused.
  ['guardrail_blocked', 'success'],
  ['guardrail_unavailable', 'success'],
];
/** A map, because a provider may give an error any code. */
const byCode: ReadonlyMap<string | null, AttemptOutcome> = new Map(outcomes);

/** Of an attempt whose answer was relayed, by what ended it (undefined: the end of the answer). */
export function relayedOutcome(refused: Refusal | undefined): AttemptOutcome {
  return refused === undefined ? 'success' : (byCode.get(refused.code) ?? 'cancelled');
}

/** Of an attempt without an answer to relay. `isCancelled`: it was broken off from our side. */
export function failedOutcome({ code, status }: Refusal, isCancelled: boolean): AttemptOutcome {
  if (isCancelled) return 'cancelled';
  const known = byCode.get(code);
  if (known !== undefined) return known;
  if (status === 429) return 'rate_limited';
  return status < 500 ? 'client_error' : 'server_error';
}
