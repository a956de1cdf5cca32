// What Prometheus sees of a limiter: every label, the rules that share a series, and sums that never fall.

import { test } from 'tap';
import type { Rule } from '../../domain/rules/rule.ts';
import { Registry } from '../../plane/prometheus.ts';
import type { Lease } from '../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../proxy/limits/limiter.ts';
import { type LimitMetrics, observeLimits } from '../../proxy/metrics/limit-metrics.ts';
import { mostLabelledRules, rateLimitMetrics } from '../../schemas/metrics/limit-metrics.ts';
import { readMetric } from '../support/gateway.ts';
import { ruleOf } from './limits/rule-of.ts';

const start = Date.UTC(2026, 0, 5, 12);
const decisions = rateLimitMetrics.decisions.name;
const info = rateLimitMetrics.rules.name;

interface Observed {
  readonly limiter: Limiter;
  readonly metrics: LimitMetrics;
  text(): Promise<string>;
  /** Samples of that name, sorted, without their name. */
  samples(name: string): Promise<string[]>;
  at: number;
}

function observe(rules: readonly Rule[]): Observed {
  const registry = new Registry();
  const limiter = createLimiter();
  limiter.reconcile(rules);
  const observed: Observed = {
    limiter,
    metrics: observeLimits(registry, limiter, () => observed.at),
    text: async () => `${await registry.metrics()}\n${await observed.metrics.rulesText()}`,
    async samples(name) {
      const lines = (await observed.text()).split('\n');
      return lines
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.slice(name.length))
        .sort();
    },
    at: start,
  };
  return observed;
}

/** So many requests of a consumer; the leases of those that were admitted. */
function ask({ limiter, at }: Observed, path: string, times = 1): Lease[] {
  const matches = limiter.forUserPath(path);
  return Array.from({ length: times }, () => limiter.admit(matches, at).lease).filter((lease) => lease !== undefined);
}

function skip({ limiter, at }: Observed, provider: string, model: string, times: number): void {
  for (let count = 0; count < times; count += 1) {
    limiter.admit(limiter.forTarget(provider, model), at, 'skip_target').lease?.release();
  }
}

const path = ruleOf('user_path', '/team', 60, { maxRequests: 4, maxTokens: 100 });
const slots = ruleOf('user_path', '/team', 0, { maxRequests: 2 });
const provider = ruleOf('provider', 'OpenAI', 3_600, { maxRequests: 2, name: 'OpenAI per hour' });
const model = ruleOf('model', 'OpenAI/gpt-x', 300, { maxRequests: 1, mode: 'shadow' });

await test('rules and decisions with all their labels, and never a user path', async (t) => {
  const observed = observe([path, slots, provider, model]);
  t.same(
    await observed.samples(info),
    [
      `{rule="${model.id}",name="",scope="model",subject="OpenAI/gpt-x",period="300s",mode="shadow"} 1`,
      `{rule="${provider.id}",name="OpenAI per hour",scope="provider",subject="OpenAI",period="hour",mode="enforce"} 1`,
      `{rule="${path.id}",name="",scope="user_path",subject="",period="minute",mode="enforce"} 1`,
      `{rule="${slots.id}",name="",scope="user_path",subject="",period="concurrent",mode="enforce"} 1`,
    ].sort(),
  );
  const of = (rule: Rule, dimension: string, outcome: string, count: number) =>
    `{rule="${rule.id}",scope="${rule.scope}",dimension="${dimension}",outcome="${outcome}"} ${count}`;
  t.same(
    await observed.samples(decisions),
    [
      of(path, 'requests', 'reject', 0),
      of(path, 'tokens', 'reject', 0),
      of(slots, 'concurrent', 'reject', 0),
      of(provider, 'requests', 'reject', 0),
      of(provider, 'requests', 'skip_target', 0),
      of(model, 'requests', 'shadow_reject', 0),
    ].sort(),
    'nothing was decided, and the first refusal will be seen',
  );

  const [first] = ask(observed, '/team/app', 3);
  skip(observed, 'openai', 'gpt-x', 3);
  t.same(
    await observed.samples(decisions),
    [
      of(path, 'requests', 'allow', 2),
      of(path, 'requests', 'reject', 0),
      of(path, 'tokens', 'allow', 2),
      of(path, 'tokens', 'reject', 0),
      of(slots, 'concurrent', 'allow', 2),
      of(slots, 'concurrent', 'reject', 1),
      of(provider, 'requests', 'allow', 2),
      of(provider, 'requests', 'reject', 0),
      of(provider, 'requests', 'skip_target', 1),
      of(model, 'requests', 'allow', 1),
      of(model, 'requests', 'shadow_reject', 1),
    ].sort(),
  );
  const text = await observed.text();
  t.notMatch(text, '/team');
  t.equal(readMetric(text, rateLimitMetrics.inFlight.name, { rule: slots.id }), 2);
  first?.release();
  t.equal(readMetric(await observed.text(), rateLimitMetrics.inFlight.name, { rule: slots.id, scope: 'user_path' }), 1);
  for (const { name, help, type } of Object.values(rateLimitMetrics)) {
    t.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`), name);
  }
});

await test('how full the caps are, now', async (t) => {
  const observed = observe([path, slots, provider]);
  const ratio = async (rule: Rule, dimension: string) =>
    readMetric(await observed.text(), rateLimitMetrics.utilization.name, { rule: rule.id, dimension });
  t.equal(await ratio(path, 'requests'), 0);
  const leases = ask(observed, '/team', 2);
  observed.limiter.charge(observed.limiter.forUserPath('/team'), 150, start);
  t.equal(await ratio(path, 'requests'), 0.5);
  t.equal(await ratio(path, 'tokens'), 1.5, 'tokens may overshoot');
  t.equal(await ratio(slots, 'concurrent'), 1);
  t.equal(await ratio(provider, 'requests'), 0);
  t.equal(await ratio(provider, 'tokens'), undefined, 'no such cap');
  for (const lease of leases) lease.release();
  observed.at = start + 61_000;
  t.same([await ratio(path, 'requests'), await ratio(path, 'tokens'), await ratio(slots, 'concurrent')], [0, 0, 0]);
});

await test('a template shows its fullest child, all slots and the number of counters', async (t) => {
  const template = ruleOf('user_path', '/c', 0, { perChild: true, maxRequests: 4 });
  const observed = observe([template, path]);
  ask(observed, '/c/a', 1);
  ask(observed, '/c/b/deep', 3);
  const text = await observed.text();
  t.equal(readMetric(text, rateLimitMetrics.utilization.name, { rule: template.id }), 0.75);
  t.equal(readMetric(text, rateLimitMetrics.inFlight.name, { rule: template.id }), 4);
  t.equal(readMetric(text, rateLimitMetrics.counters.name), 3, 'two children and the other rule');
  t.equal(text.match(new RegExp(`rule="${template.id}"`, 'g'))?.length, 5, 'no series per child');
});

await test('tokens by source, and a histogram of waiting times', async (t) => {
  const observed = observe([]);
  const { metrics } = observed;
  metrics.tokens('reported', 40);
  metrics.tokens('reported', 2);
  metrics.tokens('estimated', 5);
  for (const seconds of [1, 1, 61, 90_000]) metrics.retryAfter(seconds);
  const seen = await observed.text();
  t.equal(readMetric(seen, rateLimitMetrics.tokens.name, { source: 'reported' }), 42);
  t.equal(readMetric(seen, rateLimitMetrics.tokens.name, { source: 'estimated' }), 5);
  const bucket = (le: string) => readMetric(seen, `${rateLimitMetrics.retryAfter.name}_bucket`, { le });
  t.same([bucket('1'), bucket('30'), bucket('61'), bucket('87840'), bucket('+Inf')], [2, 2, 3, 3, 4]);
  t.equal(readMetric(seen, `${rateLimitMetrics.retryAfter.name}_sum`), 90_063);
});

/** Rules that sort by their number. */
const many = (from: number, to: number): Rule[] =>
  Array.from({ length: to - from }, (_, index) => {
    return ruleOf('user_path', `/n/${String(from + index).padStart(4, '0')}`, 60, { maxRequests: 1_000 });
  });

/** What Prometheus would add up over all rules. */
async function allowed(observed: Observed): Promise<number> {
  return readMetric(await observed.text(), decisions, { outcome: 'allow' }) ?? 0;
}

async function labelled(observed: Observed): Promise<Set<string>> {
  const samples = await observed.samples(info);
  return new Set(samples.map((sample) => /rule="([^"]*)"/.exec(sample)?.[1] ?? ''));
}

await test('beyond 250 rules the decisions of the rest are added up as `other`', async (t) => {
  const rules = many(0, 300);
  const observed = observe(rules.toReversed());
  for (const { matchSubject } of rules) ask(observed, matchSubject, 2);
  const own = await labelled(observed);
  t.equal(own.size, mostLabelledRules);
  t.same(own, new Set(rules.slice(0, mostLabelledRules).map(({ id }) => id)), 'the first in the order of rules');
  for (const metric of [decisions, rateLimitMetrics.utilization.name]) {
    const samples = await observed.samples(metric);
    t.equal(samples.length, metric === decisions ? 2 * (mostLabelledRules + 1) : mostLabelledRules, metric);
  }
  const other = (outcome: string, count: number) =>
    `{rule="other",scope="user_path",dimension="requests",outcome="${outcome}"} ${count}`;
  t.same(
    (await observed.samples(decisions)).filter((sample) => sample.includes('other')),
    [other('allow', 100), other('reject', 0)],
  );
  t.equal(await allowed(observed), 600);
  t.equal(await allowed(observed), 600, 'asking again counts nothing again');
  ask(observed, rules[299]?.matchSubject ?? '', 5);
  t.same(
    (await observed.samples(decisions)).filter((sample) => sample.includes('other')),
    [other('allow', 105), other('reject', 0)],
  );
});

await test('thousands of rules are rendered in many small steps, between which requests are served', async (t) => {
  const rules = many(0, 5_000);
  const observed = observe(rules);
  for (const { matchSubject } of rules) ask(observed, matchSubject, 1);
  let [steps, isRendering] = [0, true];
  const count = (): void => {
    steps += 1;
    if (isRendering) setImmediate(count);
  };
  setImmediate(count);
  await observed.metrics.rulesText();
  isRendering = false;
  t.ok(steps >= 20, `${steps} steps`);
  t.equal(await allowed(observed), 5_000);
});

await test('`other` never falls, whichever rules go, come back or get a series of their own', async (t) => {
  const rules = many(0, 260);
  const observed = observe(rules);
  const other = async () => readMetric(await observed.text(), decisions, { rule: 'other' }) ?? 0;
  for (const { matchSubject } of rules) ask(observed, matchSubject, 3);
  t.equal(await other(), 30);
  observed.limiter.reconcile(rules.slice(0, 255));
  t.equal(await other(), 30, 'five of its rules went');
  ask(observed, rules[254]?.matchSubject ?? '', 1);
  t.equal(await other(), 31);
  observed.limiter.reconcile(rules);
  ask(observed, rules[259]?.matchSubject ?? '', 2);
  t.equal(await other(), 33, 'one came back and counts from 0');
  observed.limiter.reconcile(rules.slice(10));
  t.equal(await other(), 33, 'ten places became free, ten rules moved up');
  const own = await labelled(observed);
  t.ok(own.has(rules[259]?.id ?? ''));
  ask(observed, rules[259]?.matchSubject ?? '', 4);
  t.equal(await other(), 33, 'what moved up counts in its own series');
  t.equal(readMetric(await observed.text(), decisions, { rule: rules[259]?.id ?? '' }), 6);
  observed.limiter.reconcile([]);
  t.equal(await other(), 33, 'all rules went');
  t.same(await observed.samples(info), []);
});

await test('a rule keeps its own series while others come before it', async (t) => {
  const later = many(100, 350);
  const observed = observe(later);
  const before = await labelled(observed);
  t.equal(before.size, mostLabelledRules);
  observed.limiter.reconcile([...many(0, 100), ...later]);
  t.same(await labelled(observed), before, 'a hundred rules that sort before them change nothing');
  observed.limiter.reconcile([...many(0, 100), ...later.slice(3)]);
  const after = await labelled(observed);
  t.equal(after.size, mostLabelledRules);
  t.same(
    new Set([...after].filter((id) => !before.has(id))),
    new Set(many(0, 3).map(({ id }) => id)),
    'the free places go to the first in order',
  );
});

await test('the series of a rule outlives a cap edit, a reset and a toggled template', async (t) => {
  const observed = observe([path]);
  const counted = async () => readMetric(await observed.text(), decisions, { rule: path.id, dimension: 'requests' });
  ask(observed, '/team/a', 2);
  for (const [index, changed] of [{ maxRequests: 1_000 }, { epoch: 1 }, { perChild: true }].entries()) {
    observed.limiter.reconcile([{ ...path, maxRequests: 1_000, ...changed }]);
    ask(observed, '/team/a', 1);
    t.equal(await counted(), 3 + index, JSON.stringify(changed));
  }
});

/** Counts what the limiter tells between two turns of the event loop: the most counters and decisions of one turn, once it is over. */
function mostInATurn({ limiter }: Observed): () => number {
  let [most, inTurn, isOver] = [0, 0, false];
  const count = (things: number): void => {
    inTurn += things;
    most = Math.max(most, inTurn);
  };
  const use = limiter.utilisationByRule.bind(limiter);
  limiter.utilisationByRule = function* (...asked) {
    for (const step of use(...asked)) {
      count(step.counters);
      yield step;
    }
  };
  const decide = limiter.decisionsByRule.bind(limiter);
  limiter.decisionsByRule = function* () {
    for (const decided of decide()) {
      count(decided.length);
      yield decided;
    }
  };
  const turn = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
    return most;
  };
}

await test('thousands of rules and children are read in small steps: a turn of the event loop has 1,000 counters, and little more', async (t) => {
  const teams = Array.from({ length: 5_000 }, (_, index) =>
    ruleOf('user_path', `/teams/${index}`, 60, { maxRequests: 9 }),
  );
  const guests = ruleOf('user_path', '/guests', 3_600, { maxRequests: 9, perChild: true });
  const observed = observe([guests, ...teams]);
  const children = 20_000;
  for (let child = 0; child < children; child += 1) ask(observed, `/guests/${child}`, child === 7 ? 3 : 1);
  for (let team = 0; team < teams.length; team += 1) ask(observed, `/teams/${team}`);
  const steps = [...observed.limiter.utilisationByRule(new Set([guests.id]), observed.at)];
  t.equal(
    steps.reduce((sum, { counters }) => sum + counters, 0),
    children,
    'each counter once',
  );
  const most = mostInATurn(observed);
  const text = await observed.metrics.rulesText();
  t.equal(readMetric(text, rateLimitMetrics.utilization.name, { rule: guests.id }), 3 / 9);
  const counted = most();
  t.ok(counted >= 1_000 && counted <= 1_500, `${counted} in one turn`);
});
