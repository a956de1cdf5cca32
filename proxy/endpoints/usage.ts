// GET /v1/usage: the caller's own limits as they stand (spec, Usage of the caller). Asking counts nothing.
import type { FastifyPluginAsync } from 'fastify';
import { periodLabel } from '../../schemas/rules/period.ts';
import { timestamp } from '../../schemas/timestamp.ts';
import type { Gateway } from '../gateway.ts';
import type { RuleReport } from '../limits/report.ts';
import { usedShare } from '../limits/utilisation.ts';

/** Per-child templates show the caller's child. Provider and model rules protect others and are not shown. */
export const usage: FastifyPluginAsync<{ gateway: Gateway }> = async (app, { gateway }) => {
  const { limiter } = gateway;

  app.get('/v1/usage', ({ principal: { userPath } }) => {
    const now = Math.floor(gateway.nowMs());
    return {
      user_path: userPath,
      server_time: timestamp(now),
      usage: null,
      budgets: [],
      rate_limits: limiter.report(limiter.forUserPath(userPath), now).map(item),
    };
  });
};

/** One entry of `schemas/model-api/usage.schema.json`. */
function item(report: RuleReport): object {
  const { rule, requestsUsed, tokensUsed, inFlight, windowStartMs, windowEndMs } = report;
  const { maxRequests, maxTokens, periodSeconds } = rule;
  const effective = rule.perChild ? report.subject : rule.matchSubject;
  return {
    subject: rule.subject,
    effective_subject: effective,
    per_child: rule.perChild,
    user_path: effective,
    mode: rule.mode,
    period_seconds: periodSeconds,
    period_label: periodLabel(periodSeconds),
    max_requests: maxRequests,
    max_tokens: maxTokens,
    requests_used: requestsUsed,
    requests_remaining: report.requestsRemaining,
    requests_usage_ratio: ratio(periodSeconds === 0 ? inFlight : requestsUsed, maxRequests),
    tokens_used: tokensUsed,
    tokens_remaining: report.tokensRemaining,
    tokens_usage_ratio: ratio(tokensUsed, maxTokens),
    in_flight: inFlight,
    window_start: windowStartMs === undefined ? undefined : timestamp(windowStartMs),
    window_end: windowEndMs === undefined ? undefined : timestamp(windowEndMs),
    resets_in_seconds: report.resetsInSeconds,
    exhausted: report.exhausted,
  };
}

function ratio(used: number, cap: number | undefined): number | undefined {
  return cap === undefined ? undefined : usedShare(used, cap);
}
