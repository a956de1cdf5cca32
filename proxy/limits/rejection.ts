// Finds the cap that rejects a request, and the wait after which a retry would be admitted. Runs only for refused requests.
import { compareRules, type Rule } from '../../domain/rules/rule.ts';
import type { Dimension, Outcome } from './decisions.ts';
import { leftOf, reservedOf, usedOf } from './figures.ts';
import { liveCounter, type MatchedCounter, type MatchedCounters, type Matches, subjectOf } from './match.ts';
import { isClosed, lanesOf } from './room.ts';
import { slotSeconds, tokenSeconds, waitSeconds } from './span.ts';
import type { Caps, Counter, Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** One cap that is used up. */
export interface Exhausted {
  readonly rule: Rule;
  readonly tally: Tally;
  /** The child's path for a template, else the subject of the rule. */
  readonly subject: string;
  readonly dimension: Dimension;
  readonly cap: number;
  /** What is left of it: too little for the request. Only of a token cap is it ever more than 0. */
  readonly remaining: number;
  /** The tokens that open requests have set aside, where these are in the way; 0: what is used is. */
  readonly reserved: number;
  /** Whole seconds, at least 1, until this cap alone would admit a request. */
  readonly retryAfterSeconds: number;
  /** It is not known whether it is used up: the state store is lost, and the rule admits nothing without it. */
  readonly isStoreLost: boolean;
}

const dimensionOf = { slots: 'concurrent', requests: 'requests', tokens: 'tokens' } as const;

/**
 * The decision to reject. It names the used-up cap with the longest wait, because only after that wait a retry would be
 * admitted; the first in the order of rules among equals (spec, Errors).
 */
export interface Rejection extends Exhausted {
  /** Every used-up cap of an enforcing rule, in the order of rules. */
  readonly exhausted: readonly Exhausted[];
}

/** Every used-up cap of one rule, an enforced or a shadow one, for a request of so many tokens. */
export function exhaustedOf(match: MatchedCounter, nowMs: number, wanted: number): Exhausted[] {
  const found: Exhausted[] = [];
  collect(found, match, nowMs, wanted);
  return found;
}

/** Every used-up cap of the enforcing rules, in the order of rules. */
function exhaustedIn(matched: MatchedCounters, nowMs: number, wanted: number): Exhausted[] {
  const found: Exhausted[] = [];
  for (const match of matched) if (!match.caps.shadow) collect(found, match, nowMs, wanted);
  return found;
}

function collect(found: Exhausted[], match: MatchedCounter, nowMs: number, wanted: number): void {
  const { caps } = match;
  const counter = liveCounter(match);
  add('concurrent', caps.slotsCap, slotSeconds(caps, counter, nowMs));
  add('requests', caps.requestsCap, waitSeconds(caps, counter, requests, nowMs));
  add('tokens', caps.tokensCap, tokenSeconds(caps, counter, wanted, nowMs));
  if (!isClosed(caps, counter, nowMs, wanted)) return;
  const [lane] = lanesOf(caps, wanted);
  if (lane !== undefined) add(dimensionOf[lane.lane], lane.cap, 1, true);

  function add(dimension: Dimension, cap: number, retryAfterSeconds: number, isStoreLost: boolean = false): void {
    if (retryAfterSeconds === 0) return;
    const { rule, tally } = caps;
    const left = dimension === 'tokens' ? tokensLeft(caps, counter, nowMs) : nothingLeft;
    found.push({ rule, tally, subject: subjectOf(match), dimension, cap, ...left, retryAfterSeconds, isStoreLost });
  }
}

const nothingLeft = { remaining: 0, reserved: 0 };

/** What open requests have left of a token cap that is not used up. */
function tokensLeft(
  caps: Caps,
  counter: Counter | undefined,
  nowMs: number,
): Pick<Exhausted, 'remaining' | 'reserved'> {
  if (counter === undefined || usedOf(counter, tokens, nowMs) >= caps.tokensCap) return nothingLeft;
  return { remaining: Math.max(0, leftOf(caps, counter, 'tokens', nowMs)), reserved: reservedOf(counter) };
}

/**
 * Builds the rejection of a request that wants so many tokens, and counts it as `rejectedAs` for each used-up cap. Throws an Error when no
 * enforcing rule of `matched` is used up.
 */
export function reject(matched: MatchedCounters, nowMs: number, rejectedAs: Outcome, wanted: number = 0): Rejection {
  const exhausted = exhaustedIn(matched, nowMs, wanted);
  for (const { tally, dimension } of exhausted) tally.decisions.note(dimension, rejectedAs);
  return decide(exhausted);
}

/**
 * Builds the rejection of a request that its consumer's rules and its targets' rules refuse together, and counts
 * nothing. The wait is the first whole second at which the consumer's rules and all rules of one target admit: per
 * target the longest wait counts, of the targets the shortest of these, then the longer of that and the consumer's. The
 * consumer must hold nothing of the request; undefined leaves its rules out. `wanted`: the tokens that the request will probably take. When
 * nothing is used up any more, returns `before`; throws an Error when `before` is undefined.
 */
export function explain(
  targets: readonly Matches[],
  consumer: Matches | undefined,
  nowMs: number,
  { before, wanted = 0 }: { readonly before?: Rejection; readonly wanted?: number } = {},
): Rejection {
  const ofConsumer = consumer === undefined ? [] : exhaustedIn(consumer.matched(), nowMs, wanted);
  const exhausted = [...soonestOf(targets, nowMs, wanted), ...ofConsumer];
  return exhausted.length === 0 && before !== undefined ? before : decide(exhausted);
}

/** What would reject a request of so many tokens now; undefined: all enforcing rules admit it. Counts nothing. */
export function foreseen(matches: Matches, nowMs: number, wanted: number = 0): Rejection | undefined {
  const exhausted = exhaustedIn(matches.matched(), nowMs, wanted);
  return exhausted.length === 0 ? undefined : decide(exhausted);
}

/** Whole seconds until all enforcing rules admit a request of so many tokens; 0 when they admit it now. */
export function waitOf(matches: Matches, nowMs: number, wanted: number = 0): number {
  return foreseen(matches, nowMs, wanted)?.retryAfterSeconds ?? 0;
}

/**
 * Builds the rejection of a request whose targets were all skipped, as `explain` does, and counts a `reject` for each
 * used-up cap of the target that has room first. Throws an Error when nothing is used up.
 */
export function rejectTargets(
  targets: readonly Matches[],
  consumer: Matches,
  nowMs: number,
  wanted: number = 0,
): Rejection {
  // A single target was rejected instead of skipped, and that was counted.
  if (targets.length > 1) {
    for (const { tally, dimension } of soonestOf(targets, nowMs, wanted)) tally.decisions.note(dimension, 'reject');
  }
  return explain(targets, consumer, nowMs, { wanted });
}

/** The used-up caps of the target that has room first; none when one has room now. */
function soonestOf(targets: readonly Matches[], nowMs: number, wanted: number): readonly Exhausted[] {
  const all = targets.map((matches) => exhaustedIn(matches.matched(), nowMs, wanted));
  if (all.some((exhausted) => exhausted.length === 0)) return [];
  return all.map(decide).sort(bySeconds)[0]?.exhausted ?? [];
}

/** The rejection names the cap with the longest wait; `exhausted` is in the order of rules. */
function decide(exhausted: readonly Exhausted[]): Rejection {
  let [deciding] = exhausted;
  if (deciding === undefined) throw new Error('nothing is used up, so nothing can be rejected');
  for (const found of exhausted) if (found.retryAfterSeconds > deciding.retryAfterSeconds) deciding = found;
  return { ...deciding, exhausted };
}

function bySeconds(a: Rejection, b: Rejection): number {
  return a.retryAfterSeconds - b.retryAfterSeconds || compareRules(a.rule, b.rule);
}
