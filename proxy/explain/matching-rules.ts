// The rules that hold for a request, with their counters and where they come from.
import type { MergedRule } from '../../domain/rules/merge.ts';
import { periodLabel } from '../../domain/rules/period.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { Matches } from '../limits/match.ts';
import type { RuleReport } from '../limits/report.ts';
import type { InForce } from '../snapshot/in-force.ts';
import type { MatchingRule, Source } from './explanation.ts';
import { type ExplainSources, type Question, sees } from './question.ts';

/** In the order in which they are checked. */
export function matchingRules(
  matches: Matches,
  question: Question,
  { limiter, inForce }: Pick<ExplainSources, 'limiter' | 'inForce'>,
): MatchingRule[] {
  return limiter.report(matches, question.nowMs).map((report) => {
    const known = sees(question, pathOf(report.rule)) ? { ...counters(report), ...origin(report.rule, inForce) } : {};
    return { ...shape(report), ...known };
  });
}

/** Where a rule is declared, or who wrote it. */
export function ruleSource({ key, source, manual }: MergedRule, { config: { places } }: InForce): Source {
  const declaredAt = places?.rules.find(([name]) => name === key)?.[1];
  return {
    source,
    ...(declaredAt === undefined ? {} : { declared_at: declaredAt }),
    ...(manual === undefined ? {} : { updated_by: manual.updatedBy }),
  };
}

/** The user path that a rule belongs to; undefined: it belongs to the whole gateway. */
export function pathOf({ scope, matchSubject }: Pick<Rule, 'scope' | 'matchSubject'>): string | undefined {
  return scope === 'user_path' ? matchSubject : undefined;
}

function shape({ rule, subject, exhausted, resetsInSeconds }: RuleReport): MatchingRule {
  return {
    id: rule.id,
    ...(rule.name === undefined ? {} : { name: rule.name }),
    scope: rule.scope,
    subject: rule.subject,
    effective_subject: rule.perChild ? subject : rule.matchSubject,
    per_child: rule.perChild,
    mode: rule.mode,
    period_label: periodLabel(rule.periodSeconds),
    period_seconds: rule.periodSeconds,
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
    exhausted,
    // A slot may become free at any moment.
    ...(exhausted ? { retry_after_seconds: resetsInSeconds ?? 1 } : {}),
  };
}

function counters(report: RuleReport): Partial<MatchingRule> {
  const { requestsUsed, requestsRemaining, tokensUsed, tokensReserved, tokensRemaining, inFlight } = report;
  const { resetsInSeconds } = report;
  return {
    requests_used: requestsUsed,
    ...(requestsRemaining === undefined ? {} : { requests_remaining: requestsRemaining }),
    tokens_used: tokensUsed,
    ...(tokensRemaining === undefined ? {} : { tokens_reserved: tokensReserved, tokens_remaining: tokensRemaining }),
    in_flight: inFlight,
    ...(resetsInSeconds === undefined ? {} : { resets_in_seconds: resetsInSeconds }),
  };
}

function origin({ key }: Rule, inForce: InForce): Partial<MatchingRule> {
  const rule = inForce.rules.find((each) => each.key === key && each.counted);
  if (rule === undefined) return {};
  const { manual, overridesConfig } = rule;
  return {
    ...ruleSource(rule, inForce),
    overrides_config: overridesConfig,
    ...(manual?.reason === undefined ? {} : { reason: manual.reason }),
    ...(manual?.expiresAt === undefined ? {} : { expires_at: manual.expiresAt }),
  };
}
