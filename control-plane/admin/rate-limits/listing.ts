// The listing of rate-limit rules with their usage (spec, Rate limit rule (listing item)). Pure.
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { periodLabel } from '../../../domain/rules/period.ts';
import { explainUnenforced } from '../../../domain/rules/unenforced.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { DeclaredDates } from '../../managed/declared-dates.ts';
import { authorship, provenance } from '../../managed/listing.ts';
import type { LiveCounters } from './fleet-counters.ts';

export interface ListingParts {
  /** Sorted. */
  readonly rules: readonly MergedRule[];
  readonly prerequisites: RulePrerequisites;
  /** Undefined: the store does not answer, so the usage is not known. */
  readonly live: LiveCounters | undefined;
  readonly declared: DeclaredDates;
  /** Where the configuration declares a rule, by rule key. */
  readonly places: ReadonlyMap<string, string>;
  readonly nowMs: number;
  /** The members of the answer that describe the page. Undefined: the answer has all rules. */
  readonly page?: object;
}

/** The body of `schemas/admin/rate-limits.schema.json`: times are RFC 3339 in UTC; absent members are left out. */
export function listing(parts: ListingParts): object {
  return {
    rate_limits: rows(parts),
    ...parts.page,
    server_time: timestamp(parts.nowMs),
    ...(parts.live === undefined ? { stale: true } : {}),
  };
}

/** One row for each rule; without usage when `live` is undefined. */
export function rows(parts: ListingParts): object[] {
  return parts.rules.map((rule) => item(rule, parts));
}

function item(rule: MergedRule, { prerequisites, live, declared: all, places, nowMs }: ListingParts): object {
  const { manual } = rule;
  const unenforced = explainUnenforced(rule, prerequisites);
  return {
    id: rule.id,
    ...(rule.name === undefined ? {} : { name: rule.name }),
    scope: rule.scope,
    subject: rule.subject,
    ...(rule.perChild ? {} : { effective_subject: rule.matchSubject }),
    ...(rule.scope === 'user_path' ? { user_path: rule.subject } : {}),
    per_child: rule.perChild,
    ...provenance(rule.key, rule, places),
    enforced: rule.enforced,
    ...(unenforced === undefined ? {} : { unenforced_reason: unenforced }),
    mode: rule.mode,
    period_label: periodLabel(rule.periodSeconds),
    period_seconds: rule.periodSeconds,
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
    ...(live === undefined ? {} : { ...usage(rule, live, nowMs), refused: live.refused(rule.key) }),
    ...authorship(manual, all.get(rule.key), nowMs),
  };
}

/** A template has no usage, because each child has its own counters. An absent cap has none either. */
function usage(rule: MergedRule, live: LiveCounters, nowMs: number): object {
  const { key, epoch, maxRequests, maxTokens, periodSeconds } = rule;
  if (rule.perChild) return { requests_used: 0, tokens_used: 0, in_flight: 0 };
  if (periodSeconds === 0) {
    const inFlight = live.inFlight(key);
    return { requests_used: 0, ...remaining('requests', maxRequests, inFlight), tokens_used: 0, in_flight: inFlight };
  }
  const used = live.of(key, epoch);
  const requestsUsed = maxRequests === undefined ? 0 : used.requestsUsed;
  const tokensUsed = maxTokens === undefined ? 0 : used.tokensUsed;
  return {
    requests_used: requestsUsed,
    ...remaining('requests', maxRequests, requestsUsed),
    tokens_used: tokensUsed,
    ...(maxTokens === undefined ? {} : { tokens_reserved: used.tokensReserved }),
    ...remaining('tokens', maxTokens, tokensUsed + used.tokensReserved),
    in_flight: 0,
    window_start: timestamp(Math.min(used.startMs, nowMs)),
    window_end: timestamp(Number.isFinite(used.endMs) ? used.endMs : nowMs + 1000 * periodSeconds),
  };
}

function remaining(dimension: 'requests' | 'tokens', cap: number | undefined, used: number): object {
  return cap === undefined ? {} : { [`${dimension}_remaining`]: Math.max(0, cap - used) };
}
