// What Prometheus sees of the limiter: read from it at every scrape, so that deciding stays plain arithmetic.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type MetricDefinition, mostLabelledRules, rateLimitMetrics } from '../schemas/metrics.ts';
import { periodLabel } from '../schemas/rules/period.ts';
import type { Rule } from '../schemas/rules/rule.ts';
import type { DecisionCount } from './limits/decisions.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Utilisation } from './limits/utilisation.ts';
import type { TokenUsage } from './usage/token-usage.ts';

/** What is counted along, because the limiter does not keep it. */
export interface LimitMetrics {
  /** Tokens were charged. */
  tokens(source: TokenUsage['source'], count: number): void;
  /** A request was refused with this Retry-After. */
  retryAfter(seconds: number): void;
}

/**
 * Registers the metrics of `schemas/metrics.ts`. `nowMs`: whole milliseconds of the limiter's clock. A scrape collects in the order
 * of registration: first which rules have series of their own, then their figures.
 */
export function observeLimits(registers: Registry[], limiter: Limiter, nowMs: () => number): LimitMetrics {
  const { decisions, rules, utilization, inFlight, counters, tokens, retryAfter } = rateLimitMetrics;
  const settings = ({ name, help, labelNames }: MetricDefinition) => ({ name, help, labelNames, registers });
  const labelled = new Set<string>();
  const others = createOthers();
  let figures: Utilisation[] = [];

  new Gauge({
    ...settings(rules),
    collect() {
      this.reset();
      const inForce = limiter.rules();
      chooseLabelled(labelled, inForce);
      for (const { id, scope, subject, periodSeconds, mode } of inForce) {
        if (!labelled.has(id)) continue;
        const shown = scope === 'user_path' ? '' : subject;
        this.set({ rule: id, scope, subject: shown, period: periodLabel(periodSeconds), mode }, 1);
      }
    },
  });
  new Counter({
    ...settings(decisions),
    collect() {
      this.reset();
      for (const decision of limiter.decisions()) {
        if (!labelled.has(decision.rule)) {
          others.add(decision);
          continue;
        }
        const { count, ...labels } = decision;
        this.inc(labels, count);
      }
      for (const { count, ...labels } of others.sums()) this.inc(labels, count);
    },
  });
  new Gauge({
    ...settings(utilization),
    collect() {
      this.reset();
      figures = limiter.utilisation(labelled, nowMs());
      for (const { rule, dimension, ratio } of figures)
        this.set({ rule: rule.id, scope: rule.scope, dimension }, ratio);
    },
  });
  new Gauge({
    ...settings(inFlight),
    collect() {
      this.reset();
      for (const { rule, dimension, inFlight: open } of figures) {
        if (dimension === 'concurrent') this.set({ rule: rule.id, scope: rule.scope }, open);
      }
    },
  });
  new Gauge({
    ...settings(counters),
    collect() {
      this.set(limiter.size);
    },
  });
  const charged = new Counter(settings(tokens));
  const waits = new Histogram({ ...settings(retryAfter), buckets: [...retryAfter.buckets] });
  return {
    tokens: (source, count) => charged.inc({ source }, count),
    retryAfter: (seconds) => waits.observe(seconds),
  };
}

/** Keeps the rules that have series of their own for as long as they are in force, and fills up free places in their order. */
function chooseLabelled(labelled: Set<string>, rules: readonly Rule[]): void {
  const inForce = new Set(rules.map(({ id }) => id));
  for (const id of labelled) if (!inForce.has(id)) labelled.delete(id);
  for (const id of inForce) {
    if (labelled.size >= mostLabelledRules) return;
    labelled.add(id);
  }
}

/** The decisions of rules without series of their own, added up. The sums never fall, whichever rules go. */
function createOthers(): { add(decision: DecisionCount): void; sums(): IterableIterator<DecisionCount> } {
  const sums = new Map<string, DecisionCount & { count: number }>();
  let seen = new Map<string, number>();
  let next = new Map<string, number>();
  return {
    add(decision) {
      const { rule, scope, dimension, outcome, count } = decision;
      const key = `${scope} ${dimension} ${outcome}`;
      const before = seen.get(`${key} ${rule}`) ?? 0;
      next.set(`${key} ${rule}`, count);
      // A smaller count is a rule that was deleted and made anew.
      const more = count >= before ? count - before : count;
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, { ...decision, rule: 'other', count: more });
      else sum.count += more;
    },
    sums() {
      // Rules that are gone are forgotten.
      seen = next;
      next = new Map();
      return sums.values();
    },
  };
}
