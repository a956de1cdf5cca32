// GET /v1/usage: what the caller has used, its budgets and its limits as they stand. Asking counts nothing. Usage is what the control plane says,
// null without it; budgets are what it says and what this proxy knows.

import type { FastifyPluginAsync } from 'fastify';
import { periodLabel } from '../../domain/rules/period.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { askControlPlane, type ControlPlaneAnswer } from '../admin/ask-control-plane.ts';
import type { Budgets } from '../budgets/budgets.ts';
import { callerBudgets } from '../budgets/caller-budgets.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { RuleReport } from '../limits/report.ts';
import { usedShare } from '../limits/utilisation.ts';

export type UsageParts = Parameters<typeof askControlPlane>[1] & {
  readonly budgets: Budgets;
  readonly limiter: Limiter;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
};

/** Per-child templates show the caller's child. Provider and model rules protect others and are not shown. */
export const usage: FastifyPluginAsync<{ gateway: UsageParts }> = async (app, { gateway }) => {
  const { limiter, budgets } = gateway;

  app.get('/v1/usage', async ({ principal: { shownPath: userPath, labels }, query }) => {
    const path = encodeURIComponent(userPath);
    const matches = limiter.forUserPath(userPath);
    const [summary, listed] = await Promise.all([
      askControlPlane(`/admin/usage/summary?${summaryQuery(query, userPath)}`, gateway),
      askControlPlane(`/admin/budgets?covers=${path}`, gateway),
      limiter.refresh([matches], Math.floor(gateway.nowMs())),
      budgets.refresh({ userPath, labels }, Math.floor(gateway.nowMs())),
    ]);
    const now = Math.floor(gateway.nowMs());
    return {
      user_path: userPath,
      server_time: timestamp(now),
      usage: usageIn(summary),
      budgets: callerBudgets(
        listed?.status === 200 ? listed.body : undefined,
        budgets.known({ userPath, labels }, now),
        now,
      ),
      rate_limits: limiter.report(matches, now).map(item),
    };
  });
};

/** Which records are summed up; the user path is the caller's own, whatever it asks for. */
const asked: ReadonlySet<string> = new Set(['start_date', 'end_date', 'days', 'cache_mode']);

function summaryQuery(query: unknown, userPath: string): string {
  const given = query as Readonly<Record<string, unknown>>;
  const wanted = new URLSearchParams({ user_path: userPath });
  for (const [name, value] of Object.entries(given)) {
    if (name === 'user_path') continue;
    if (!asked.has(name)) throw invalidQuery(name, `is not known here; known are ${[...asked].join(', ')}`);
    if (typeof value !== 'string') throw invalidQuery(name, 'is given more than once');
    wanted.set(name, value);
  }
  return wanted.toString();
}

function invalidQuery(name: string, problem: string): Refusal {
  return refusal('invalid_query', { param: name, fill: { name, problem } });
}

/** Null when it is not known. Throws 400 for a query that means nothing, in the words of the control plane. */
function usageIn(answer: ControlPlaneAnswer | undefined): object | null {
  const { status = 0, body } = answer ?? {};
  if (typeof body !== 'object' || body === null) return null;
  const { code, message, param, total_requests: requests } = body as Readonly<Record<string, unknown>>;
  if (status === 200) return typeof requests === 'number' ? body : null;
  if (status !== 400 || code !== 'invalid_query' || typeof message !== 'string') return null;
  const details = typeof param === 'string' ? { param } : {};
  throw new Refusal({ status, type: 'invalid_request_error', message }, code, details);
}

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
    tokens_reserved: maxTokens === undefined ? undefined : report.tokensReserved,
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
