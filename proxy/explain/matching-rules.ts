// The rules that hold for a request, with their counters and where they come from.
import type { MergedRule } from '../../domain/rules/merge.ts';
import { periodLabel } from '../../domain/rules/period.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { Matches } from '../limits/match.ts';
import type { RuleReport, SharedReport } from '../limits/report.ts';
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

function shape({ rule, subject, exhausted, resetsInSeconds, shared }: RuleReport): MatchingRule {
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
    ...counting(shared),
    exhausted,
    // A slot may become free at any moment.
    ...(exhausted ? { retry_after_seconds: resetsInSeconds ?? 1 } : {}),
  };
}

/** Who counts a rule, and what that means now. */
function counting(shared: SharedReport | undefined): Pick<MatchingRule, 'counted' | 'says'> & Partial<MatchingRule> {
  if (shared === undefined) return { counted: 'replica', says: 'this proxy counts it alone, as each other one does' };
  const { exactness, onStoreLoss, replicas } = shared;
  return { counted: 'fleet', replicas, exactness, on_store_loss: onStoreLoss, says: countingWords(shared) };
}

const withoutStore: Readonly<Record<SharedReport['onStoreLoss'], string>> = {
  share: 'admits its part of the cap',
  closed: 'admits nothing',
  open: 'admits the whole cap',
};

function countingWords({ exactness, onStoreLoss, replicas }: SharedReport): string {
  const all =
    replicas === 1 ? 'the only proxy counts it in the state store' : `all ${replicas} proxies count it together`;
  if (exactness === 'exact') return `${all}; without the state store each ${withoutStore[onStoreLoss]}`;
  if (exactness === 'recovering')
    return `${all}; the state store grants nothing until each has told it what it has used: meanwhile each ${withoutStore[onStoreLoss]}`;
  const part = onStoreLoss === 'share' && replicas > 1 ? `, one of ${replicas}` : '';
  return `the state store does not answer: this proxy ${withoutStore[onStoreLoss]}${part}`;
}

function counters(report: RuleReport): Partial<MatchingRule> {
  const { requestsUsed, requestsRemaining, tokensUsed, tokensReserved, tokensRemaining, inFlight } = report;
  const { resetsInSeconds, shared } = report;
  return {
    requests_used: requestsUsed,
    ...(requestsRemaining === undefined ? {} : { requests_remaining: requestsRemaining }),
    tokens_used: tokensUsed,
    ...(tokensRemaining === undefined ? {} : { tokens_reserved: tokensReserved, tokens_remaining: tokensRemaining }),
    in_flight: inFlight,
    ...(shared === undefined ? {} : heldOf(shared)),
    ...(resetsInSeconds === undefined ? {} : { resets_in_seconds: resetsInSeconds }),
  };
}

function heldOf({ held, heldByOthers, tokensHeld, tokensHeldByOthers }: SharedReport): Partial<MatchingRule> {
  return {
    held,
    held_by_others: heldByOthers,
    ...(tokensHeld === undefined ? {} : { tokens_held: tokensHeld }),
    ...(tokensHeldByOthers === undefined ? {} : { tokens_held_by_others: tokensHeldByOthers }),
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
