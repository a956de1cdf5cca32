// The limits that an answer shows to a client: the six x-ratelimit-* headers, the fields of the IETF, Retry-After, and the words of a refusal (spec, Response headers; Errors).
import { periodLabel } from '../../domain/rules/period.ts';
import { ruleLabel } from '../../domain/rules/rule.ts';
import { laneOf, leftOf } from './figures.ts';
import { addIetfFields, type LimitState } from './ietf-fields.ts';
import type { Lease } from './lease.ts';
import { liveCounter, type MatchedCounter, type Matches, subjectOf } from './match.ts';
import type { Exhausted } from './rejection.ts';
import { capOf, resetSeconds } from './span.ts';
import { type Lane, requests, tokens } from './window.ts';

/**
 * In seconds. OpenAI clients sleep inside the call for any Retry-After; with `x-should-retry: false` they return the
 * error instead.
 */
export const longestPoliteWaitSeconds = 120;

/** The families of rate limit headers that an answer has. */
export interface ToldLimits {
  /** The six x-ratelimit-* headers. */
  readonly openai: boolean;
  /** RateLimit-Policy and RateLimit. */
  readonly ietf: boolean;
}

/** The families that are sent where the configuration names none. */
export const openaiOnly: ToldLimits = { openai: true, ietf: false };

/** The rules that a request counts under, and what it holds itself: of that, its headers show nothing. */
export interface Holding {
  readonly matches: Matches;
  readonly lease?: Lease | undefined;
}

/**
 * Rate limit headers of an answer, names and values in turn. Call it after admission, so that the request itself is
 * counted. Each dimension (requests, tokens) shows the enforcing window with the least remaining, the first in the
 * order of rules among equals; a dimension that no matching rule limits has no headers. Tokens that other open requests have set aside do not
 * remain; those of this request do, so that a client with one request at a time notices nothing of them. `target` is undefined where
 * only rules on user paths apply; `nowMs` in Unix milliseconds. Does not throw.
 */
export function rateLimitHeaders(
  target: Holding | undefined,
  userPath: Holding,
  nowMs: number,
  told: ToldLimits = openaiOnly,
): string[] {
  const headers: string[] = [];
  if (!told.openai && !told.ietf) return headers;
  const ofRequests = tightestOfBoth(target, userPath, requests, nowMs);
  const ofTokens = tightestOfBoth(target, userPath, tokens, nowMs);
  if (told.openai) {
    addTrio(headers, requests, ofRequests, nowMs);
    addTrio(headers, tokens, ofTokens, nowMs);
  }
  if (told.ietf) {
    const states: LimitState[] = [];
    if (ofRequests !== undefined) states.push(stateOf(ofRequests, requests, nowMs));
    if (ofTokens !== undefined) states.push(stateOf(ofTokens, tokens, nowMs));
    addIetfFields(headers, states);
  }
  return headers;
}

/**
 * Headers of a 429: the rule that refuses, Retry-After in seconds, and the numbers of the same cap. A concurrency cap
 * has no x-ratelimit-* headers.
 */
export function rejectionHeaders(exhausted: Exhausted, told: ToldLimits = openaiOnly): Record<string, string> {
  const { rule, dimension, cap, remaining, retryAfterSeconds } = exhausted;
  const headers: Record<string, string> = {
    'retry-after': String(retryAfterSeconds),
    'x-gateway-rule': ruleLabel(rule),
  };
  if (retryAfterSeconds > longestPoliteWaitSeconds) headers['x-should-retry'] = 'false';
  if (told.openai && dimension !== 'concurrent') {
    headers[`x-ratelimit-limit-${dimension}`] = String(cap);
    headers[`x-ratelimit-remaining-${dimension}`] = String(remaining);
    headers[`x-ratelimit-reset-${dimension}`] = String(retryAfterSeconds);
  }
  if (told.ietf) {
    const fields: string[] = [];
    addIetfFields(fields, [{ ...exhausted, resetSeconds: retryAfterSeconds }]);
    const [policyName = '', policy = '', limitName = '', limit = ''] = fields;
    headers[policyName] = policy;
    headers[limitName] = limit;
  }
  return headers;
}

/**
 * The parts of a refusal's message: `/team`, `60 requests per minute`, 31 (spec, Errors: the message names subject,
 * period and cap).
 */
export interface RejectionWords {
  readonly subject: string;
  readonly limit: string;
  readonly seconds: number;
}

/** The words for one used-up cap. */
export function rejectionWords(exhausted: Exhausted): RejectionWords {
  const { rule, subject, dimension, cap, reserved, retryAfterSeconds } = exhausted;
  const who = rule.scope === 'user_path' ? subject : `${rule.scope} ${subject}`;
  const what = dimension === 'tokens' ? 'token' : 'request';
  const unit = cap === 1 ? what : `${what}s`;
  const aside = reserved > 0 ? `, ${reserved} of them set aside for open requests` : '';
  const limit =
    dimension === 'concurrent'
      ? `${cap} concurrent ${unit}`
      : `${cap} ${unit} per ${periodLabel(rule.periodSeconds)}${aside}`;
  return { subject: who, limit, seconds: retryAfterSeconds };
}

function addTrio(headers: string[], lane: Lane, tightest: Tightest | undefined, nowMs: number): void {
  if (tightest === undefined) return;
  const { match, remaining } = tightest;
  const { caps } = match;
  const reset = String(resetSeconds(caps, liveCounter(match), lane, nowMs));
  const [limitName, remainingName, resetName] = lane === requests ? requestTrio : tokenTrio;
  const limit = lane === requests ? caps.requestsText : caps.tokensText;
  headers.push(limitName, limit, remainingName, String(remaining), resetName, reset);
}

function stateOf({ match, remaining }: Tightest, lane: Lane, nowMs: number): LimitState {
  const { caps } = match;
  return {
    rule: caps.rule,
    subject: subjectOf(match),
    dimension: lane === requests ? 'requests' : 'tokens',
    cap: capOf(caps, lane),
    remaining,
    resetSeconds: resetSeconds(caps, liveCounter(match), lane, nowMs),
  };
}

const requestTrio = trioOf('requests');
const tokenTrio = trioOf('tokens');

/** The names of a dimension's three headers: its cap, the remaining amount, the seconds to its reset. */
function trioOf(dimension: 'requests' | 'tokens'): readonly [string, string, string] {
  return [`x-ratelimit-limit-${dimension}`, `x-ratelimit-remaining-${dimension}`, `x-ratelimit-reset-${dimension}`];
}

interface Tightest {
  readonly match: MatchedCounter;
  readonly remaining: number;
}

function tightestOfBoth(
  target: Holding | undefined,
  userPath: Holding,
  lane: Lane,
  nowMs: number,
): Tightest | undefined {
  // Models and providers come before user paths in the order of rules.
  const first = target && tightestOf(target, lane, nowMs);
  const second = tightestOf(userPath, lane, nowMs);
  return first !== undefined && (second === undefined || first.remaining <= second.remaining) ? first : second;
}

/** The enforcing rule with the least remaining, the first among equals. */
function tightestOf({ matches, lease }: Holding, lane: Lane, nowMs: number): Tightest | undefined {
  let best: MatchedCounter | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const match of matches.matched()) {
    if (match.caps.shadow) continue;
    const cap = capOf(match.caps, lane);
    if (cap === Number.POSITIVE_INFINITY) continue;
    const counter = liveCounter(match);
    const own = counter === undefined || lane === requests ? 0 : (lease?.reservedOn(counter) ?? 0);
    const remaining = Math.max(0, leftOf(match.caps, counter, laneOf(lane), nowMs) + own);
    if (remaining >= least) continue;
    least = remaining;
    best = match;
  }
  return best && { match: best, remaining: least };
}
