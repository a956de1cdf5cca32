// What clients are told about limits: the six x-ratelimit-* headers, Retry-After, and the words of a refusal (spec, Response headers; Errors).
import { periodLabel } from '../../schemas/rules/period.ts';
import type { Matches } from './match.ts';
import type { Exhausted, Rejection } from './rejection.ts';
import { windowStartMs } from './report.ts';
import type { Counter, Terms } from './tally.ts';
import { type Lane, requests, tokens } from './window.ts';

/** Clients of the OpenAI kind sleep through a longer Retry-After inside a call; they obey this header, and their caller decides. */
const longestPoliteWaitSeconds = 120;

/**
 * Headers of an answer on a limited path, names and values in turn; call it after admission. Requests and tokens are chosen
 * separately: the enforcing window with the least remaining, the first in the order of rules among equals. A dimension that no
 * matching rule limits has no headers. `target` is undefined where only user-path rules apply.
 */
export function rateLimitHeaders(target: Matches | undefined, userPath: Matches, nowMs: number): string[] {
  const headers: string[] = [];
  addTrio(headers, requests, target, userPath, nowMs);
  addTrio(headers, tokens, target, userPath, nowMs);
  return headers;
}

/** Headers of a 429: Retry-After, and for a window the trio of what the message names. Concurrency has no trio. */
export function rejectionHeaders({ dimension, cap, retryAfterSeconds, exhausted }: Rejection): Record<string, string> {
  const headers: Record<string, string> = { 'retry-after': String(retryAfterSeconds) };
  if (retryAfterSeconds > longestPoliteWaitSeconds) headers['x-should-retry'] = 'false';
  if (dimension === 'concurrent') return headers;
  const waits = exhausted.filter((found) => found.dimension === dimension).map((found) => found.retryAfterSeconds);
  headers[`x-ratelimit-limit-${dimension}`] = String(cap);
  headers[`x-ratelimit-remaining-${dimension}`] = '0';
  headers[`x-ratelimit-reset-${dimension}`] = String(Math.max(...waits));
  return headers;
}

/** What a refusal has to say: `/team`, `60 requests per minute`, 31 (spec, Errors: the message names subject, period and cap). */
export interface RejectionWords {
  readonly subject: string;
  readonly limit: string;
  readonly seconds: number;
}

/** The words of a refusal, or of one cap that is used up. */
export function rejectionWords({ rule, subject, dimension, cap, retryAfterSeconds }: Exhausted): RejectionWords {
  const who = rule.scope === 'user_path' ? subject : `${rule.scope} ${subject}`;
  const what = dimension === 'tokens' ? 'token' : 'request';
  const unit = cap === 1 ? what : `${what}s`;
  const limit =
    dimension === 'concurrent' ? `${cap} concurrent ${unit}` : `${cap} ${unit} per ${periodLabel(rule.periodSeconds)}`;
  return { subject: who, limit, seconds: retryAfterSeconds };
}

function addTrio(headers: string[], lane: Lane, target: Matches | undefined, userPath: Matches, nowMs: number): void {
  let tightest: Terms | undefined;
  let counter: Counter | undefined;
  let least = Number.POSITIVE_INFINITY;
  // Models and providers come before user paths in the order of rules.
  if (target !== undefined) look(target);
  look(userPath);
  if (tightest === undefined) return;

  const cap = lane === requests ? tightest.requestsCap : tightest.tokensCap;
  const dimension = lane === requests ? 'requests' : 'tokens';
  headers.push(
    `x-ratelimit-limit-${dimension}`,
    String(cap),
    `x-ratelimit-remaining-${dimension}`,
    String(least),
    `x-ratelimit-reset-${dimension}`,
    String(resetSeconds(tightest, counter, lane, cap, nowMs)),
  );

  function look(matches: Matches): void {
    const plan = matches.plan();
    for (let index = 0; index < plan.terms.length; index += 1) {
      const terms = plan.terms[index];
      if (terms === undefined || terms.shadow) continue;
      const limit = lane === requests ? terms.requestsCap : terms.tokensCap;
      if (limit === Number.POSITIVE_INFINITY) continue;
      const candidate = plan.counter(index);
      const remaining = Math.max(0, limit - (candidate?.window?.used(lane, nowMs) ?? 0));
      if (remaining >= least) continue;
      least = remaining;
      tightest = terms;
      counter = candidate;
    }
  }
}

/** Whole seconds until the aligned window ends, or until the cap admits again when nothing remains. */
function resetSeconds({ rule }: Terms, counter: Counter | undefined, lane: Lane, cap: number, nowMs: number): number {
  const wait = counter?.window?.retryAfterSeconds(lane, cap, nowMs) ?? 0;
  if (wait > 0) return wait;
  const endMs = windowStartMs(nowMs, rule.periodSeconds) + 1000 * rule.periodSeconds;
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
