// The metrics of the limiter: read from it at a scrape, so that deciding stays plain arithmetic.

import { periodLabel } from '../../domain/rules/period.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import { Histogram, type Registry, registerReaders } from '../../plane/prometheus.ts';
import { mostLabelledRules, rateLimitMetrics } from '../../schemas/metrics/limit-metrics.ts';
import type { Basis } from '../limits/answer-lengths.ts';
import type { DecisionCount } from '../limits/decisions.ts';
import type { Fleet } from '../limits/fleet/fleet.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Utilisation } from '../limits/utilisation.ts';
import { Exposition } from '../tallies/exposition.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

/** The counts that the limiter itself does not keep, and the text of its own. */
export interface LimitMetrics {
  /** Tokens were charged. */
  tokens(source: TokenUsage['source'], count: number): void;
  /** An answer has used this share of what was set aside for it. `basis`: how its length was known before. */
  usedOfReserved(basis: Basis, share: number): void;
  /** A request was refused with this Retry-After. */
  retryAfter(seconds: number): void;
  /** Samples of the rules and what they decided. Made in small steps; one call at a time. */
  rulesText(): Promise<string>;
}

/** Registers the metrics of `schemas/metrics/limit-metrics.ts` that have few samples; the others are `rulesText`. `nowMs`: whole milliseconds of the limiter's clock. */
export function observeLimits(registry: Registry, limiter: Limiter, nowMs: () => number): LimitMetrics {
  const { retryAfter, usedOfReserved } = rateLimitMetrics;
  const labelled = new Set<string>();
  const others = createOthers();
  // Counted in plain numbers, because prom-client hashes the labels of every count.
  const charged = new Map<TokenUsage['source'], number>();
  const readers = {
    counters: () => limiter.size,
    dropped: () => limiter.dropped,
    ...fleetReaders(limiter),
    tokens: () => Array.from(charged, ([source, count]) => [{ source }, count] as const),
  };
  registerReaders<keyof typeof readers>(registry, rateLimitMetrics, readers);
  const { name, help, buckets } = retryAfter;
  const waits = new Histogram({ name, help, buckets: [...buckets], registers: [registry] });
  const shares = sharesOf(registry, usedOfReserved);
  return {
    usedOfReserved: (basis, share) => shares[basis].observe(share),
    tokens: (source, count) => void charged.set(source, (charged.get(source) ?? 0) + count),
    retryAfter: (seconds) => waits.observe(seconds),
    async rulesText() {
      const exposition = new Exposition();
      // First which rules have series of their own, then their figures.
      const rules = limiter.rules();
      chooseLabelled(labelled, rules);
      await writeRules(exposition, rules, labelled);
      await writeDecisions(exposition, limiter, labelled, others);
      await writeUse(exposition, limiter, labelled, nowMs());
      writeOverflows(exposition, limiter, labelled);
      return exposition.text();
    },
  };
}

/** Of caps that hold for the fleet; 0 where none does. */
function fleetReaders(limiter: Pick<Limiter, 'fleet'>) {
  const read = (value: (fleet: Fleet) => number) => (): number =>
    limiter.fleet === undefined ? 0 : value(limiter.fleet);
  return {
    exchanges: () => {
      const { beat = 0, ask = 0, refill = 0 } = limiter.fleet?.counts ?? {};
      return Object.entries({ beat, ask, refill }).map(([reason, count]) => [{ reason }, count] as const);
    },
    waits: read(({ counts }) => counts.waits),
    waited: read(({ counts }) => counts.waitedMs / 1000),
    longestWait: read(({ counts }) => counts.longestWaitMs / 1000),
    withoutStore: read(({ counts }) => counts.withoutStore),
    storeLost: read(({ isLost }) => (isLost ? 1 : 0)),
    replicas: read(({ live }) => live),
    stocks: read(({ status }) => status.stocks),
    recalls: read(({ counts }) => counts.recalls),
    recoveries: read(({ counts }) => counts.recoveries),
  };
}

/** A histogram of each basis: they are found once, because prom-client hashes the labels at every look-up. */
function sharesOf(
  registry: Registry,
  { name, help, labelNames, buckets }: typeof rateLimitMetrics.usedOfReserved,
): Readonly<Record<Basis, { observe(share: number): void }>> {
  const shares = new Histogram({
    name,
    help,
    labelNames: [...labelNames],
    buckets: [...buckets],
    registers: [registry],
  });
  return { asked: shares.labels('asked'), learned: shares.labels('learned'), usual: shares.labels('usual') };
}

async function writeRules(to: Exposition, rules: readonly Rule[], labelled: ReadonlySet<string>): Promise<void> {
  const { rules: metric } = rateLimitMetrics;
  to.metric(metric);
  for (const { id, name = '', scope, subject, periodSeconds, mode } of rules) {
    if (!labelled.has(id)) continue;
    const shown = scope === 'user_path' ? '' : subject;
    to.sample(metric.name, { rule: id, name, scope, subject: shown, period: periodLabel(periodSeconds), mode }, 1);
    await to.pause();
  }
}

async function writeDecisions(
  to: Exposition,
  limiter: Limiter,
  labelled: ReadonlySet<string>,
  others: Others,
): Promise<void> {
  const { name } = rateLimitMetrics.decisions;
  to.metric(rateLimitMetrics.decisions);
  const write = ({ rule, scope, dimension, outcome, count }: DecisionCount): void =>
    to.sample(name, { rule, scope, dimension, outcome }, count);
  for (const decided of limiter.decisionsByRule()) {
    if (labelled.has(decided[0]?.rule ?? '')) decided.forEach(write);
    else others.add(decided);
    await to.pause(1 + decided.length);
  }
  for (const sum of others.sums()) write(sum);
}

/** How full the caps are, what is in flight and what is set aside. Of a template, every child is read. */
async function writeUse(to: Exposition, limiter: Limiter, labelled: ReadonlySet<string>, nowMs: number): Promise<void> {
  const { utilization, inFlight, reserved } = rateLimitMetrics;
  to.metric(utilization);
  const slots: Utilisation[] = [];
  const setAside: Utilisation[] = [];
  for (const { figures, counters } of limiter.utilisationByRule(labelled, nowMs)) {
    for (const figure of figures) {
      const { rule, dimension, ratio } = figure;
      to.sample(utilization.name, { rule: rule.id, scope: rule.scope, dimension }, ratio);
      if (dimension === 'concurrent') slots.push(figure);
      if (dimension === 'tokens') setAside.push(figure);
    }
    await to.pause(1 + counters);
  }
  to.metric(inFlight);
  for (const { rule, inFlight: open } of slots) {
    to.sample(inFlight.name, { rule: rule.id, scope: rule.scope }, open);
    await to.pause();
  }
  to.metric(reserved);
  for (const { rule, reserved: tokens } of setAside) {
    to.sample(reserved.name, { rule: rule.id, scope: rule.scope }, tokens);
    await to.pause();
  }
}

/** Few templates ever have too many children. */
function writeOverflows(to: Exposition, limiter: Limiter, labelled: ReadonlySet<string>): void {
  const { overflowed } = rateLimitMetrics;
  to.metric(overflowed);
  let others = 0;
  for (const { rule, requests } of limiter.overflows()) {
    if (labelled.has(rule.id)) to.sample(overflowed.name, { rule: rule.id }, requests);
    else others += requests;
  }
  if (others > 0) to.sample(overflowed.name, { rule: 'other' }, others);
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

interface Others {
  /** Adds the decisions of one rule so far. */
  add(decided: readonly DecisionCount[]): void;
  sums(): Iterable<DecisionCount>;
}

/** The decisions of rules without series of their own, added up. The sums never fall, whichever rules go. */
function createOthers(): Others {
  const sums: (DecisionCount & { count: number })[] = [];
  let seen = new Map<string, readonly DecisionCount[]>();
  let next = new Map<string, readonly DecisionCount[]>();
  return {
    add(decided) {
      const [first] = decided;
      if (first === undefined) return;
      const before = seen.get(first.rule) ?? [];
      next.set(first.rule, decided);
      for (const decision of decided) {
        const { count } = decision;
        const known = before.find((one) => isSame(one, decision))?.count ?? 0;
        // A smaller count is a rule that was deleted and made anew.
        const more = count >= known ? count - known : count;
        const sum = sums.find((one) => isSame(one, decision));
        if (sum === undefined) sums.push({ ...decision, rule: 'other', count: more });
        else sum.count += more;
      }
    },
    sums() {
      // Rules that are gone are forgotten.
      seen = next;
      next = new Map();
      return sums;
    },
  };
}

function isSame(one: DecisionCount, other: DecisionCount): boolean {
  return one.outcome === other.outcome && one.dimension === other.dimension && one.scope === other.scope;
}
