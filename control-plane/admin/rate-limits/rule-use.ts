// What is used of a rule, set aside and in flight, and what is left of its caps: as the state store has it where the fleet counts the rule, else
// as its proxies have counted. Pure.
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { LiveCounters, Used } from './fleet-counters.ts';
import { type Counting, openOf, type SharedFigures, spanOf } from './store-figures.ts';

/** The sources of the figures. */
export interface UseSources {
  readonly live: LiveCounters;
  /** Where caps hold; undefined: it is not known. */
  readonly counting?: Counting | undefined;
  /** Of the rules that the whole fleet counts, as far as the store has said them, by rule key. */
  readonly shared?: ReadonlyMap<string, SharedFigures> | undefined;
}

/** The use of a rule that is no template. */
export interface RuleUse extends Used {
  readonly inFlight: number;
}

export function useOf(rule: MergedRule, { live, counting, shared }: UseSources): RuleUse {
  const { key, epoch, periodSeconds } = rule;
  const counted: RuleUse = { ...live.of(key, epoch), inFlight: sum(live.inFlight(key)) };
  const figures = shared?.get(key);
  if (figures === undefined) return counted;
  const { requests, tokens, slots } = figures;
  const { startMs = Number.POSITIVE_INFINITY, endMs = Number.NEGATIVE_INFINITY } = spanOf(figures, periodSeconds) ?? {};
  const said: RuleUse = {
    requestsUsed: requests?.used ?? 0,
    tokensUsed: tokens?.used ?? 0,
    tokensReserved: openOf(tokens),
    inFlight: openOf(slots),
    startMs,
    endMs,
  };
  // The store has not heard of what was admitted without it.
  return counting?.isLost === true ? largerOf(said, counted) : said;
}

function largerOf(one: RuleUse, other: RuleUse): RuleUse {
  return {
    requestsUsed: Math.max(one.requestsUsed, other.requestsUsed),
    tokensUsed: Math.max(one.tokensUsed, other.tokensUsed),
    tokensReserved: Math.max(one.tokensReserved, other.tokensReserved),
    inFlight: Math.max(one.inFlight, other.inFlight),
    startMs: Math.min(one.startMs, other.startMs),
    endMs: Math.max(one.endMs, other.endMs),
  };
}

/** A cap on requests (or slots) or on tokens, on all proxies together. */
export interface Room {
  /** Where each proxy counts alone, the cap times the live proxies. */
  readonly cap: number;
  /** Used, and set aside. */
  readonly taken: number;
  readonly left: number;
}

export interface RuleRoom {
  readonly requests: Room | undefined;
  readonly tokens: Room | undefined;
}

/** The room under the caps of a rule that is no template; undefined: it has no such cap. */
export function roomOf(
  rule: MergedRule,
  use: RuleUse,
  { live, counting }: Pick<UseSources, 'live' | 'counting'>,
): RuleRoom {
  const { key, epoch, periodSeconds, maxRequests, maxTokens } = rule;
  const parts = live.parts(key, epoch);
  const isOfSlots = periodSeconds === 0;
  const roomUnder = (cap: number | undefined, taken: number, byProxy: readonly number[]): Room | undefined => {
    if (cap === undefined) return undefined;
    if (counting?.counted !== 'replica') return { cap, taken, left: Math.max(0, cap - taken) };
    const whole = cap * Math.max(1, counting.replicas);
    // A proxy that is over its cap, because that was lowered, takes nothing from the others.
    const within = sum(byProxy.map((own) => Math.min(cap, own)));
    return { cap: whole, taken, left: Math.max(0, whole - within) };
  };
  return {
    requests: isOfSlots
      ? roomUnder(maxRequests, use.inFlight, live.inFlight(key))
      : roomUnder(
          maxRequests,
          use.requestsUsed,
          parts.map(({ requestsUsed }) => requestsUsed),
        ),
    tokens: roomUnder(
      maxTokens,
      use.tokensUsed + use.tokensReserved,
      parts.map(({ tokensUsed, tokensReserved }) => tokensUsed + tokensReserved),
    ),
  };
}

/** Whether nothing is left of a cap. A template has no use as a whole. */
export function isUsedUp(rule: MergedRule, sources: UseSources): boolean {
  return (shareUsed(rule, sources) ?? 0) >= 1;
}

/** The used part of the cap of which least is left; 1 where nothing is. Undefined: it is a template, which has no use as a whole. */
export function shareUsed(rule: MergedRule, sources: UseSources): number | undefined {
  if (rule.perChild) return undefined;
  const { requests, tokens } = roomOf(rule, useOf(rule, sources), sources);
  const partOf = (room: Room | undefined): number =>
    room === undefined ? 0 : room.cap === 0 ? 1 : 1 - room.left / room.cap;
  return Math.max(partOf(requests), partOf(tokens));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0);
}
