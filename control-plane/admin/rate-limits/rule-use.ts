// What is used of a rule, set aside and in flight: as the state store has it where the fleet counts the rule, else as its proxies have counted. Pure.
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
  const counted: RuleUse = { ...live.of(key, epoch), inFlight: live.inFlight(key) };
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

/** Whether nothing is left of a cap. A template has no use as a whole. */
export function isUsedUp(rule: MergedRule, sources: UseSources): boolean {
  const { perChild, periodSeconds, maxRequests, maxTokens } = rule;
  if (perChild) return false;
  const { requestsUsed, tokensUsed, tokensReserved, inFlight } = useOf(rule, sources);
  const requests = periodSeconds === 0 ? inFlight : requestsUsed;
  return (
    requests >= (maxRequests ?? Number.POSITIVE_INFINITY) ||
    tokensUsed + tokensReserved >= (maxTokens ?? Number.POSITIVE_INFINITY)
  );
}
