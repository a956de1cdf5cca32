// The metrics of limits for Prometheus: every metric with its exact value, and never a user path.
import { t as suite, test } from 'tap';
import { ruleKey } from '../../domain/rules/rule.ts';
import { ruleId } from '../../domain/rules/rule-id.ts';
import { mostLabelledRules, rateLimitMetrics } from '../../schemas/metrics/limit-metrics.ts';
import { ask } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, models: ['fake-small'] };

const gateway = await startGateway(suite, {
  env: { GATEWAY_ENTITLEMENTS: 'quota_templates' },
  config: {
    providers: { one: provider, two: provider },
    aliases: [{ source: 'pair', targets: [{ model: 'one/fake-small' }, { model: 'two/fake-small' }] }],
    rate_limits: {
      user_paths: [
        { path: '/secret-team', limits: [{ period: 'minute', max_requests: 8, max_tokens: 1_040 }] },
        { path: '/secret-team', limits: [{ period: 'concurrent', max_requests: 4 }] },
        { path: '/secret-team/secret-app', limits: [{ period: 'hour', max_requests: 2, mode: 'shadow' }] },
        { path: '/secret-kids', per_child: true, limits: [{ period_seconds: 300, max_requests: 2 }] },
      ],
      providers: [{ name: 'One', limits: [{ period: 'day', max_requests: 2 }] }],
      models: [{ model: 'two/fake-small', limits: [{ period: 'minute', max_requests: 6 }] }],
    },
  },
});

/** The status of a request for that model, and when to come again. */
async function askFor(model: string, userPath = '/secret-team/secret-app') {
  const { status, headers } = await ask(gateway, userPath, { model });
  return { status, seconds: Number(headers.get('retry-after')) };
}

/** Every sample of the limiter's metrics: name with labels → value. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith('gateway_rate_limit_'));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice('gateway_rate_limit_'.length, line.lastIndexOf(' ')),
      Number(line.split(' ').at(-1)),
    ]),
  );
}

/** The user paths of this file; a metric of the gateway speaks of secret files. */
const ownPath = /\/secret/i;

/** Histograms, and what a proxy tells of limits that a fleet shares: nothing where it counts alone. */
const isApart = (name: string): boolean =>
  /^(retry_after|used_of_reserved|exchanges|wait|longest_wait|fallback|recalls|recoveries|replicas|stocks|store_lost)/.test(
    name,
  );

await test('a known sequence gives known figures', async (t) => {
  const id = {
    team: ruleId(ruleKey('user_path', '/secret-team', 60)),
    slots: ruleId(ruleKey('user_path', '/secret-team', 0)),
    app: ruleId(ruleKey('user_path', '/secret-team/secret-app', 3_600)),
    kids: ruleId(ruleKey('user_path', '/secret-kids', 300)),
    one: ruleId(ruleKey('provider', 'one', 86_400)),
    two: ruleId(ruleKey('model', 'two/fake-small', 60)),
  };
  const info = (rule: string, [scope, subject, period, mode]: readonly [string, string, string, string]) => [
    `rule_info{rule="${rule}",name="",scope="${scope}",subject="${subject}",period="${period}",mode="${mode}"}`,
    1,
  ];
  const utilization = (rule: string, scope: string, dimension: string, ratio: number) => [
    `utilization_ratio{rule="${rule}",scope="${scope}",dimension="${dimension}"}`,
    ratio,
  ];
  const decided = (rule: string, [scope, dimension, outcome]: readonly [string, string, string], count: number) => [
    `decisions_total{rule="${rule}",scope="${scope}",dimension="${dimension}",outcome="${outcome}"}`,
    count,
  ];
  const inForce = [
    info(id.two, ['model', 'two/fake-small', 'minute', 'enforce']),
    info(id.one, ['provider', 'One', 'day', 'enforce']),
    info(id.kids, ['user_path', '', '300s', 'enforce']),
    info(id.slots, ['user_path', '', 'concurrent', 'enforce']),
    info(id.team, ['user_path', '', 'minute', 'enforce']),
    info(id.app, ['user_path', '', 'hour', 'shadow']),
  ];
  const refusals: Parameters<typeof decided>[] = [
    [id.two, ['model', 'requests', 'reject'], 0],
    [id.two, ['model', 'requests', 'skip_target'], 0],
    [id.one, ['provider', 'requests', 'reject'], 0],
    [id.one, ['provider', 'requests', 'skip_target'], 0],
    [id.kids, ['user_path', 'requests', 'reject'], 0],
    [id.slots, ['user_path', 'concurrent', 'reject'], 0],
    [id.team, ['user_path', 'requests', 'reject'], 0],
    [id.team, ['user_path', 'tokens', 'reject'], 0],
    [id.app, ['user_path', 'requests', 'shadow_reject'], 0],
  ];
  const noRefusal = refusals.map((refusal) => decided(...refusal));
  const fresh = samplesOf(await gateway.metrics());
  t.strictSame(
    Object.fromEntries(Object.entries(fresh).filter(([name]) => !isApart(name))),
    Object.fromEntries([
      ...inForce,
      ...noRefusal,
      utilization(id.two, 'model', 'requests', 0),
      utilization(id.one, 'provider', 'requests', 0),
      utilization(id.slots, 'user_path', 'concurrent', 0),
      utilization(id.team, 'user_path', 'requests', 0),
      utilization(id.team, 'user_path', 'tokens', 0),
      utilization(id.kids, 'user_path', 'requests', 0),
      utilization(id.app, 'user_path', 'requests', 0),
      [`in_flight{rule="${id.slots}",scope="user_path"}`, 0],
      [`reserved_tokens{rule="${id.team}",scope="user_path"}`, 0],
      ['counters', 5],
      ['counters_dropped_total', 0],
    ]),
    'rules and their refusals are there before their first request, templates without a counter',
  );

  // The pair in turns: one, two, one, two; then one is used up.
  for (let index = 0; index < 5; index += 1) t.equal((await askFor('pair')).status, 200);
  const direct = await askFor('one/fake-small');
  t.equal(direct.status, 429);
  // A request in flight, seen while it is.
  const gate = createGate();
  await upstream.behave([{ kind: 'hold', gate }]);
  const held = askFor('two/fake-small');
  await waitFor('a held request', () => gate.waiting === 1);
  const during = samplesOf(await gateway.metrics());
  t.equal(during[`in_flight{rule="${id.slots}",scope="user_path"}`], 1);
  t.equal(during[`utilization_ratio{rule="${id.slots}",scope="user_path",dimension="concurrent"}`], 0.25);
  const setAside = during[`reserved_tokens{rule="${id.team}",scope="user_path"}`] ?? 0;
  t.equal(setAside, 1_040 - 5 * 13, 'all that is left: the estimate is larger');
  gate.release();
  t.equal((await held).status, 200);
  const asKid = (name: string) => askFor('two/fake-small', `/secret-kids/${name}`);
  for (const name of ['ann', 'ann/x']) t.equal((await asKid(name)).status, 200);
  const ann = await asKid('ann');
  const ben = await asKid('ben');
  t.strictSame([ann.status, ben.status], [429, 429], "Ann's limit, then that of the model");

  const text = await gateway.metrics();
  const samples = samplesOf(text);
  const expected = Object.fromEntries([
    ...inForce,
    ...noRefusal,
    decided(id.two, ['model', 'requests', 'allow'], 6),
    decided(id.two, ['model', 'requests', 'reject'], 1),
    decided(id.one, ['provider', 'requests', 'allow'], 2),
    decided(id.one, ['provider', 'requests', 'skip_target'], 1),
    decided(id.one, ['provider', 'requests', 'reject'], 1),
    decided(id.slots, ['user_path', 'concurrent', 'allow'], 7),
    decided(id.team, ['user_path', 'requests', 'allow'], 7),
    decided(id.team, ['user_path', 'tokens', 'allow'], 7),
    decided(id.app, ['user_path', 'requests', 'allow'], 2),
    decided(id.app, ['user_path', 'requests', 'shadow_reject'], 5),
    decided(id.kids, ['user_path', 'requests', 'allow'], 3),
    decided(id.kids, ['user_path', 'requests', 'reject'], 1),
    utilization(id.two, 'model', 'requests', 1),
    utilization(id.one, 'provider', 'requests', 1),
    utilization(id.slots, 'user_path', 'concurrent', 0),
    utilization(id.team, 'user_path', 'requests', 6 / 8),
    utilization(id.team, 'user_path', 'tokens', (6 * 13) / 1_040),
    utilization(id.kids, 'user_path', 'requests', 1),
    utilization(id.app, 'user_path', 'requests', 1),
    [`in_flight{rule="${id.slots}",scope="user_path"}`, 0],
    [`reserved_tokens{rule="${id.team}",scope="user_path"}`, 0],
    ['counters', 7],
    ['counters_dropped_total', 0],
    ['tokens_total{source="reported"}', 8 * 13],
  ]);
  t.strictSame(Object.fromEntries(Object.entries(samples).filter(([name]) => !isApart(name))), expected);
  t.equal(samples['used_of_reserved_ratio_count{basis="usual"}'], 6);
  const share = samples['used_of_reserved_ratio_sum{basis="usual"}'] ?? 0;
  t.ok(share > 0 && share < 6 * (13 / 1_000), `13 tokens of 1,024 and a prompt, each time: ${share}`);

  t.equal(samples['retry_after_seconds_count'], 3);
  t.equal(samples['retry_after_seconds_sum'], direct.seconds + ann.seconds + ben.seconds);
  for (const [bound, atMost] of [
    ['30', 0],
    ['61', 1],
    ['120', 1],
    ['1800', 2],
    ['87840', 3],
    ['+Inf', 3],
  ] as const) {
    t.equal(samples[`retry_after_seconds_bucket{le="${bound}"}`], atMost, `waits up to ${bound} s`);
  }
  t.notMatch(text, ownPath, 'no user path anywhere');

  for (const { name, type, help, labelNames } of Object.values(rateLimitMetrics)) {
    t.match(text, `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    const labelled = text.split('\n').filter((each) => each.startsWith(`${name}{`));
    const namesIn = (line: string) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label).join();
    t.same(
      labelled.filter((line) => namesIn(line) !== labelNames.join()),
      [],
      `${name}: every sample has the labels ${labelNames.join()}`,
    );
  }
});

await test('of more than 250 rules at most 250 have series of their own; the sums hold all of them', async (t) => {
  const count = mostLabelledRules + 30;
  const waits = `${rateLimitMetrics.retryAfter.name}_count`;
  const before = (await gateway.metric(waits)) ?? 0;
  await gateway.applyConfig({
    'gateway.yaml': {
      providers: { one: provider },
      rate_limits: {
        user_paths: Array.from({ length: count }, (_, index) => ({
          path: `/secret-${index}`,
          limits: [{ period: 'hour', max_requests: 1 }],
        })),
      },
    },
  });
  const indexes = Array.from({ length: count }, (_, index) => index);
  for (const status of [200, 429]) {
    const statuses = await Promise.all(
      indexes.map(async (index) => (await askFor('one/fake-small', `/secret-${index}`)).status),
    );
    t.same(
      statuses.filter((each) => each !== status),
      [],
      `every answer is a ${status}`,
    );
    // A scrape in between: counts that are added up must not be added twice.
    await gateway.metrics();
  }
  const text = await gateway.metrics();
  const name = rateLimitMetrics.decisions.name;
  const rules = new Set(
    [...text.matchAll(/^gateway_rate_limit_decisions_total\{rule="([^"]+)"/gm)].map(([, rule]) => rule),
  );
  t.equal(rules.size, mostLabelledRules + 1);
  t.ok(rules.has('other'));
  for (const outcome of ['allow', 'reject']) {
    t.equal(readMetric(text, name, { outcome }), count);
    t.equal(readMetric(text, name, { outcome, rule: 'other' }), count - mostLabelledRules);
  }
  t.equal(readMetric(text, rateLimitMetrics.rules.name), mostLabelledRules);
  t.equal(readMetric(text, rateLimitMetrics.utilization.name), mostLabelledRules, 'each of them is full');
  t.equal(readMetric(text, rateLimitMetrics.counters.name), count);
  t.equal(readMetric(text, waits), before + count);
  t.notMatch(text, ownPath);
});
