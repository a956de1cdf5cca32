// Lists the rate-limit rules of a config, because metrics name a rule by its id alone.
import type { OnStoreLoss } from '../../domain/rules/on-store-loss.ts';
import { periodLabel } from '../../domain/rules/period.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import type { RateLimits } from '../../schemas/types.ts';

/** A rule in the names of the admin API. */
export interface ListedRule {
  id: string;
  name?: string;
  scope: Rule['scope'];
  subject: string;
  period_label: string;
  /** 0: requests in flight. */
  period_seconds: number;
  max_requests?: number;
  max_tokens?: number;
  per_child: boolean;
  mode: Rule['mode'];
  on_store_loss?: OnStoreLoss;
  /** For example `60 requests, 1000 tokens per minute, for each child`. */
  words: string;
}

/** Every rule, in the order of the rules. */
export function listRules(rateLimits: RateLimits): ListedRule[] {
  return compileRules(rateLimits).map(
    ({ id, name, scope, subject, perChild, mode, periodSeconds, maxRequests, maxTokens, onStoreLoss }) => ({
      id,
      ...(name === undefined ? {} : { name }),
      scope,
      subject,
      period_label: periodLabel(periodSeconds),
      period_seconds: periodSeconds,
      ...(maxRequests === undefined ? {} : { max_requests: maxRequests }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      per_child: perChild,
      mode,
      ...(onStoreLoss === undefined ? {} : { on_store_loss: onStoreLoss }),
      words:
        describeCaps({ periodSeconds, maxRequests, maxTokens }) +
        (perChild ? ', for each child' : '') +
        (mode === 'shadow' ? ', shadow' : '') +
        (onStoreLoss === undefined ? '' : `, ${onStoreLoss} without the state store`) +
        (name === undefined ? '' : `, named ${name}`),
    }),
  );
}

function describeCaps({
  maxRequests,
  maxTokens,
  periodSeconds,
}: Record<'maxRequests' | 'maxTokens', number | undefined> & { periodSeconds: number }): string {
  if (periodSeconds === 0) return `${maxRequests} requests in flight`;
  const caps = [
    ...(maxRequests === undefined ? [] : [`${maxRequests} requests`]),
    ...(maxTokens === undefined ? [] : [`${maxTokens} tokens`]),
  ];
  return `${caps.join(', ')} per ${periodLabel(periodSeconds)}`;
}
