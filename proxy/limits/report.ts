// The live state of the rules that concern one request, as plain numbers: for GET /v1/usage and explanations.
import type { OnStoreLoss } from '../../domain/rules/on-store-loss.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import { inFlightOf, leftOf, reservedOf, usedOf } from './figures.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { Stock } from './fleet/stock.ts';
import { liveCounter, type MatchedCounters, subjectOf } from './match.ts';
import { fleetOf, isClosed } from './room.ts';
import { secondsUntil, tokenSeconds, waitSeconds, windowEndMs, windowStartMs } from './span.ts';
import type { Caps, Counter } from './tally.ts';
import { requests, tokens } from './window.ts';

/** How a rule is counted that the fleet shares. */
export interface SharedReport {
  /** How exactly it is counted now: `recovering` while the store waits for all proxies; while it is lost, what holds without it. */
  readonly exactness: 'exact' | 'recovering' | OnStoreLoss;
  /** What holds while the store is lost. */
  readonly onStoreLoss: OnStoreLoss;
  /** It is lost, and the rule admits nothing without it, whatever is used. */
  readonly isClosed: boolean;
  /** The live proxies that share it. */
  readonly replicas: number;
  /** Requests, or slots, that this proxy holds in advance, and that others do. They can be called back. */
  readonly held: number;
  readonly heldByOthers: number;
  /** The same of tokens; absent without a cap on them. */
  readonly tokensHeld?: number;
  readonly tokensHeldByOthers?: number;
}

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
  /** Absent: this proxy counts alone. */
  readonly shared?: SharedReport;
}

/** The state of each matched rule at `nowMs` (Unix milliseconds), in the order of `matched`. */
export function reportMatched(matched: MatchedCounters, nowMs: number): RuleReport[] {
  return matched.map((match) => reportCounter(match.caps, liveCounter(match), subjectOf(match), nowMs));
}

function reportCounter(caps: Caps, counter: Counter | undefined, subject: string, nowMs: number): RuleReport {
  const figures =
    caps.rule.periodSeconds === 0 ? slotFigures(caps, counter, nowMs) : windowFigures(caps, counter, nowMs);
  const fleet = fleetOf(caps);
  if (fleet === undefined) return { rule: caps.rule, subject, ...figures };
  const shared = { ...sharing(caps, counter, fleet), isClosed: isClosed(caps, counter, nowMs, 0) };
  return { rule: caps.rule, subject, ...figures, shared };
}

type Figures = Omit<RuleReport, 'rule' | 'subject' | 'shared'>;

function slotFigures(caps: Caps, counter: Counter | undefined, nowMs: number): Figures {
  const requestsRemaining = Math.max(0, leftOf(caps, counter, 'slots', nowMs));
  const inFlight = inFlightOf(counter);
  return {
    requestsUsed: 0,
    requestsRemaining,
    tokensUsed: 0,
    tokensReserved: 0,
    inFlight,
    exhausted: requestsRemaining === 0,
  };
}

function windowFigures(caps: Caps, counter: Counter | undefined, nowMs: number): Figures {
  const { maxRequests, maxTokens } = caps.rule;
  counter?.window?.advance(nowMs);
  const requestsUsed = maxRequests === undefined ? 0 : usedOf(counter, requests, nowMs);
  const tokensUsed = caps.tokensCap === Number.POSITIVE_INFINITY ? 0 : usedOf(counter, tokens, nowMs);
  const tokensReserved = caps.tokensCap === Number.POSITIVE_INFINITY ? 0 : reservedOf(counter);
  const endMs = windowEndMs(caps, counter, nowMs);
  const closed = isClosed(caps, counter, nowMs, 0) ? 1 : 0;
  const wait = Math.max(closed, waitSeconds(caps, counter, requests, nowMs), tokenSeconds(caps, counter, 0, nowMs));
  const requestsRemaining = Math.max(0, leftOf(caps, counter, 'requests', nowMs));
  // Without usage tracking a cap on tokens is shown, and not enforced.
  const tokensLeft = caps.tokensCap === Number.POSITIVE_INFINITY ? maxTokens : leftOf(caps, counter, 'tokens', nowMs);
  const tokensRemaining = Math.max(0, tokensLeft ?? 0);
  return {
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

function sharing(caps: Caps, counter: Counter | undefined, fleet: Fleet): Omit<SharedReport, 'isClosed'> {
  const { onStoreLoss, tokensCap, slotsCap } = caps;
  const held = heldOf(counter?.shared?.known(slotsCap === Number.POSITIVE_INFINITY ? 'requests' : 'slots'));
  const ofTokens = heldOf(counter?.shared?.known('tokens'));
  return {
    exactness: fleet.isRecovering ? 'recovering' : fleet.isLost ? onStoreLoss : 'exact',
    onStoreLoss,
    replicas: fleet.live,
    held: held.own,
    heldByOthers: held.others,
    ...(tokensCap === Number.POSITIVE_INFINITY
      ? {}
      : { tokensHeld: ofTokens.own, tokensHeldByOthers: ofTokens.others }),
  };
}

/** Spare units: those of open requests are not held in advance. */
function heldOf(stock: Stock | undefined): { readonly own: number; readonly others: number } {
  const { others = 0, othersOpen = 0 } = stock?.view ?? {};
  return { own: Math.max(0, stock?.units ?? 0), others: others - othersOpen };
}
