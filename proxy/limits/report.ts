// The live state of the rules that concern one request, as plain numbers: for GET /v1/usage.
import type { Rule } from '../../domain/rules/rule.ts';
import { liveCounter, type MatchedCounters, subjectOf } from './match.ts';
import { inFlightOf, secondsUntil, tokenSeconds, usedOf, waitSeconds, windowEndMs, windowStartMs } from './span.ts';
import type { Caps, Counter } from './tally.ts';
import { requests, tokens } from './window.ts';

/** The state of one rule. A cap that the rule does not have shows 0 used and no remaining. */
export interface RuleReport {
  readonly rule: Rule;
  /** The child's path for a template, else the subject of the rule. */
  readonly subject: string;
  readonly requestsUsed: number;
  /** For a concurrency rule, the number of free slots. */
  readonly requestsRemaining?: number;
  readonly tokensUsed: number;
  /** What open requests have set aside; it is not in `tokensUsed`, and not in `tokensRemaining`. */
  readonly tokensReserved: number;
  readonly tokensRemaining?: number;
  readonly inFlight: number;
  /**
   * Start of the oldest slice with use (now, without use) and the moment when all use has left (a period from now,
   * without use), in Unix milliseconds; absent for a concurrency rule.
   */
  readonly windowStartMs?: number;
  readonly windowEndMs?: number;
  /**
   * Whole seconds, at least 1: while a cap is used up, until it admits again, else until all use has left. Absent for a
   * concurrency rule.
   */
  readonly resetsInSeconds?: number;
  /** Whether some cap is used up. */
  readonly exhausted: boolean;
}

/** The state of each matched rule at `nowMs` (Unix milliseconds), in the order of `matched`. */
export function reportMatched(matched: MatchedCounters, nowMs: number): RuleReport[] {
  return matched.map((match) => reportCounter(match.caps, liveCounter(match), subjectOf(match), nowMs));
}

function reportCounter(caps: Caps, counter: Counter | undefined, subject: string, nowMs: number): RuleReport {
  const { rule } = caps;
  const { maxRequests, maxTokens, periodSeconds } = rule;
  if (periodSeconds === 0) {
    const inFlight = inFlightOf(counter);
    const requestsRemaining = Math.max(0, (maxRequests ?? 0) - inFlight);
    const exhausted = requestsRemaining === 0;
    return { rule, subject, requestsUsed: 0, requestsRemaining, tokensUsed: 0, tokensReserved: 0, inFlight, exhausted };
  }
  counter?.window?.advance(nowMs);
  const requestsUsed = maxRequests === undefined ? 0 : usedOf(counter, requests, nowMs);
  const tokensUsed = caps.tokensCap === Number.POSITIVE_INFINITY ? 0 : usedOf(counter, tokens, nowMs);
  const tokensReserved = caps.tokensCap === Number.POSITIVE_INFINITY ? 0 : (counter?.reserved ?? 0);
  const endMs = windowEndMs(caps, counter, nowMs);
  const wait = Math.max(waitSeconds(caps, counter, requests, nowMs), tokenSeconds(caps, counter, 0, nowMs));
  const requestsRemaining = Math.max(0, (maxRequests ?? 0) - requestsUsed);
  const tokensRemaining = Math.max(0, (maxTokens ?? 0) - tokensUsed - tokensReserved);
  return {
    rule,
    subject,
    requestsUsed,
    ...(maxRequests === undefined ? {} : { requestsRemaining }),
    tokensUsed,
    tokensReserved,
    ...(maxTokens === undefined ? {} : { tokensRemaining }),
    inFlight: 0,
    windowStartMs: windowStartMs(caps, counter, nowMs),
    windowEndMs: endMs,
    resetsInSeconds: wait > 0 ? wait : secondsUntil(endMs, nowMs),
    exhausted:
      (maxRequests !== undefined && requestsRemaining === 0) || (maxTokens !== undefined && tokensRemaining === 0),
  };
}
