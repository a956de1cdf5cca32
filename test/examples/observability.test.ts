// The alerts and the dashboard of examples/observability, evaluated by promtool over scrapes of a real gateway that is harmed meanwhile.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { parse } from 'yaml';
import { operations } from '../../schemas/openapi/document.ts';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { readMetric } from '../support/gateway.ts';
import {
  type Expectation,
  promqlComplaints,
  promtoolComplaints,
  type Scrape,
  type Timeline,
} from '../support/promtool.ts';
import { waitFor } from '../support/wait-for.ts';

const folder = join(import.meta.dirname, '../../examples/observability');
const exampleText = (file: string): string => readFileSync(join(folder, file), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const groups = (parse(exampleText('alerts.yaml')) as { groups: { rules: Alert[] }[] }).groups;
const alerts = groups.flatMap(({ rules }) => rules);

const runbook = readFileSync(join(folder, '../../deploy/ALERTS.md'), 'utf8');

await test('promtool finds every alert as its tests say, and every alert has a test and says what to do', (t) => {
  t.equal(promtoolComplaints(['check', 'config', join(folder, 'prometheus.yml')]), '');
  for (const file of ['alerts.test.yaml', 'night.test.yaml'])
    t.equal(promtoolComplaints(['test', 'rules', join(folder, file)]), '');
  const tests = exampleText('alerts.test.yaml') + exampleText('night.test.yaml');
  for (const { alert, labels, annotations } of alerts) {
    const fires = [`labels: 'ALERTS{alertname="${alert}", alertstate="firing"`, `labels: '{alertname="${alert}"}'`];
    t.ok(
      fires.some((text) => tests.includes(text)),
      `${alert} fires in a test`,
    );
    t.match(labels['severity'], /^(page|ticket)$/, alert);
    t.ok((annotations['summary'] ?? '') !== '' && (annotations['description'] ?? '').length > 40, alert);
    t.equal(annotations['runbook_url'], `deploy/ALERTS.md#${alert.toLowerCase()}`);
  }
  const sections = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, alert = '']) => alert);
  t.same(sections.sort(), alerts.map(({ alert }) => alert).sort(), 'the page has a section for each');
  t.end();
});

interface NightTest {
  readonly name: string;
  readonly promql_expr_test: readonly {
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string }[];
  }[];
}

await test('the page says how soon each fault of a night is told, as the tests have it', (t) => {
  const { tests } = parse(exampleText('night.test.yaml')) as { tests: readonly NightTest[] };
  const shown = tests.flatMap(({ name, promql_expr_test: moments }) => {
    const [begins, ends] = [moments[0], moments.at(-1)];
    const alert = /alertname="(\w+)"/.exec(ends?.exp_samples[0]?.labels ?? '')?.[1];
    if (alert === undefined) return [];
    const severity = alerts.find((each) => each.alert === alert)?.labels['severity'];
    const minutes = Number.parseInt(ends?.eval_time ?? '', 10) - Number.parseInt(begins?.eval_time ?? '', 10);
    return [`| ${name} | [${alert}](#${alert.toLowerCase()}) | ${severity} | ${minutes} min |`];
  });
  const rows = runbook.replaceAll(/ +/g, ' ').match(/^\| .* min \|$/gm);
  t.same(rows, shown);
  t.ok(shown.length >= 12);
  t.end();
});

await test('every section of the page has a first command, and every path that it asks for is there', (t) => {
  const known = new Set(operations.filter(({ method }) => method === 'get').map(({ path }) => path));
  const asked = [...runbook.matchAll(/`admin '?([a-z/-]+)/g)].map(([, path]) => `/admin/${path}`);
  t.ok(asked.length > 20);
  t.same(
    asked.filter((path) => !known.has(path)),
    [],
  );
  const [, ...sections] = runbook.split(/^### /m);
  const command = /`(admin|curl|npm|redis-cli|ls|df|ss|top) [^`]+`|\blog\b|\blines\b/;
  t.same(
    sections.filter((section) => !command.test(section)),
    [],
    'a command, or the lines of the log that say it',
  );
  t.end();
});

// --- A gateway with the example's config, scraped by the example's jobs

const models = ['demo-small'];
const [main, backup] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
const configFiles = readdirSync(join(folder, 'config'));
const fleet = await startFleet(suite, {
  store: 'redis',
  proxies: 1,
  config: '{}',
  files: Object.fromEntries(configFiles.map((name) => [name, exampleText(`config/${name}`)])),
  env: { MAIN_PROVIDER_URL: main.url, DEMO_PROVIDER_URL: backup.url },
});
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('a fleet without a proxy');
const places: Readonly<Record<string, string>> = {
  'gateway-proxy': proxy.url,
  'gateway-control-plane': fleet.controlPlane.address,
};
const { scrape_configs: jobs } = parse(exampleText('prometheus.yml')) as { scrape_configs: { job_name: string }[] };

/** What Prometheus would scrape now. */
const scrape = (): Promise<Scrape> =>
  Promise.all(
    jobs.map(async ({ job_name: job }) => {
      const address = places[job] ?? '';
      return { job, instance: new URL(address).host, text: await (await fetch(`${address}/metrics`)).text() };
    }),
  );

/** The scrape in which this sample has this value wherever it is exposed. */
const scrapeWith = (name: string, wanted: number, labels: Record<string, string> = {}): Promise<Scrape> =>
  waitFor(`${name} to be ${wanted}`, async () => {
    const found = await scrape();
    const values = found.map(({ text }) => readMetric(text, name, labels)).filter((value) => value !== undefined);
    return values.length > 0 && values.every((value) => value === wanted) && found;
  });

const chat = (more: object = {}) =>
  proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }], ...more },
  });

/** The alerts that fire in the end, or have fired at any time. */
const inTheEnd = 'ALERTS{alertstate="firing"}';
const everSo = `max_over_time(${inTheEnd}[1h])`;

/** What is wrong when exactly these alerts (and how many of each) are to fire, while these scrapes follow each other. */
const firing = (timeline: Timeline, wanted: Readonly<Record<string, number>>, which: string = everSo): string =>
  promqlComplaints(
    suite,
    timeline,
    [
      {
        expression: `count by (alertname) (${which})`,
        samples: Object.entries(wanted).map(([name, value]) => ({ labels: `{alertname="${name}"}`, value })),
      },
    ],
    [join(folder, 'alerts.yaml')],
  );

/** Each scrape for four minutes. */
const inTurn = (...scrapes: readonly Scrape[]): Timeline => scrapes.map((each) => ({ scrape: each, times: 16 }));

/** That an expression gives anything at all. */
const givesSomething = (expression: string): Expectation => ({
  expression: `count(${expression}) > bool 0`,
  samples: [{ labels: '{}', value: 1 }],
});

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } };
}

const fresh = await scrape();
for (const stream of [true, false, true, false]) await (await chat({ stream })).text();
const healthy = await scrapeWith('gateway_requests_total', 4);
const used = [
  { scrape: fresh, times: 2 },
  { scrape: healthy, times: 2 },
];

await test('both planes expose what promtool accepts, and a healthy gateway raises no alert', (t) => {
  for (const { job, text } of healthy) {
    t.equal(promtoolComplaints(['check', 'metrics'], text), '', job);
    t.equal(readMetric(text, 'gateway_build_info', { plane: job.replace('gateway-', '') }), 1);
  }
  t.equal(firing(inTurn(fresh, healthy), {}), '');
  t.end();
});

await test('every query of the dashboard finds something in a scrape', (t) => {
  const { panels } = JSON.parse(exampleText('grafana/dashboard.json')) as { panels: Panel[] };
  const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
  t.match(rows.join(), 'Costs and budgets,Cache,Guardrails,Records');
  const queries = panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll('$instance', '.+').replaceAll('$__rate_interval', '1m'));
  t.ok(queries.length > 50);
  t.equal(promqlComplaints(t, used, queries.map(givesSomething)), '');
  const misspelled = givesSomething('sum by (provider) (rate(gateway_upstream_attempts_totl[1m]))');
  t.match(promqlComplaints(t, used, [misspelled]), /totl/, 'a query that finds nothing would be told');
  t.end();
});

/** The metrics that an expression names, each with the labels that the expression looks at. */
function askedBy(expr: string): { readonly metric: string; readonly labels: readonly string[] }[] {
  const grouped = groupedBy(expr);
  return [...expr.matchAll(/\b((?:gateway|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', matchers = '']) => {
      const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name);
      return { metric, labels: [...new Set([...grouped, ...matched])] };
    },
  );
}

function groupedBy(expr: string): readonly string[] {
  return [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/));
}

/** What is wrong with the metrics and labels of expressions; `quiet`: the metrics that have no sample while all is well, but their head. */
function unknownIn(expressions: readonly string[]): { readonly quiet: readonly string[]; readonly complaints: string } {
  const asked = expressions.flatMap(askedBy);
  const isQuiet = ({ metric }: { readonly metric: string }): boolean =>
    healthy.some(({ text }) => text.includes(`# TYPE ${metric} `)) &&
    healthy.every(({ text }) => readMetric(text, metric) === undefined);
  const { true: quiet = [], false: seen = [] } = Object.groupBy(asked, (each) => `${isQuiet(each)}`);
  // No sample of a metric need have all of its labels.
  const selectors = seen.flatMap(({ metric, labels }) =>
    labels.length === 0 ? [metric] : labels.map((label) => `${metric}{${label}!=""}`),
  );
  const complaints = promqlComplaints(suite, used, [...new Set(selectors)].map(givesSomething));
  return { quiet: quiet.map(({ metric }) => metric), complaints };
}

await test('every metric and label of an alert is in a scrape', (t) => {
  const { quiet, complaints } = unknownIn(alerts.map(({ expr }) => expr));
  t.equal(complaints, '');
  t.same(
    [...new Set(quiet)].sort(),
    [
      'gateway_cloud_identity_renewals_total',
      'gateway_cloud_identity_valid',
      'gateway_guardrails_unusable',
      'gateway_identity_keys',
    ],
    'no provider of the example has an identity',
  );
  t.match(unknownIn(['sum by (provder) (gateway_ready)']).complaints, /provder/);
  t.end();
});

await test('every panel has a title and a unit, and its queries and legends name metrics and labels that there are', (t) => {
  const { panels } = JSON.parse(exampleText('grafana/dashboard.json')) as { panels: Panel[] };
  const shown = panels.filter(({ type }) => type !== 'row');
  const unnamed = shown.filter(({ title, fieldConfig }) => !title || !fieldConfig?.defaults?.unit);
  t.same(unnamed, []);
  const titles = shown.map(({ title }) => title);
  t.equal(new Set(titles).size, titles.length, 'titles differ');
  t.same(
    shown.filter(({ targets = [] }) => targets.length === 0),
    [],
  );
  const targets = shown.flatMap(({ targets: each = [] }) => each);
  t.same(unknownIn(targets.map(({ expr }) => expr)), { quiet: [], complaints: '' });
  const misnamed = targets.filter(({ expr, legendFormat = '' }) => {
    const grouped = groupedBy(expr);
    const known = new Set(grouped.length > 0 ? grouped : askedBy(expr).flatMap(({ labels }) => labels));
    const named = [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name);
    return named.some((name) => !known.has(name) && !(grouped.length === 0 && ['instance', 'job'].includes(name)));
  });
  t.same(misnamed, [], 'a legend names labels that its query gives');
  t.end();
});

await test('a dead provider behind an alias shows, although no client notices', async (t) => {
  await main.behave({ kind: 'refused' });
  const before = await scrape();
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await chat()).status));
  t.strictSame(new Set(statuses), new Set([200]));
  // How many of them asked the dead one first depends on when its breaker opened.
  const served = { provider: 'backup', outcome: 'success' };
  const [servedBefore = 0] = before
    .map(({ text }) => readMetric(text, 'gateway_upstream_attempts_total', served))
    .filter((value) => value !== undefined);
  const after = await scrapeWith('gateway_upstream_attempts_total', servedBefore + 20, served);
  t.equal(firing(inTurn(before, after), { GatewayProviderFailing: 1 }), '');
  await main.behave({ kind: 'openai' });
});

await test('a rejected config shows on both planes, until it is repaired', async (t) => {
  const before = await scrape();
  proxy.writeConfig({ 'limits.yaml': 'rate_limits: {user_paths: [{path: /team-a}]}\n' });
  const broken = await scrapeWith('gateway_config_last_reload_successful', 0);
  t.equal(firing(inTurn(before, broken), { GatewayConfigRejected: 2 }), '');
  proxy.writeConfig({ 'limits.yaml': exampleText('config/limits.yaml') });
  const repaired = await scrapeWith('gateway_config_last_reload_successful', 1);
  t.equal(firing(inTurn(broken, repaired), {}, inTheEnd), '');
});

await test('a team that is refused once raises nothing; one that goes on and on does', async (t) => {
  const before = await scrape();
  const statuses: number[] = [];
  const request = async () => void statuses.push((await ask(proxy, '/crew-a/app', { model: 'chat' })).status);
  const rejects = (count: number) => scrapeWith('gateway_rate_limit_decisions_total', count, { outcome: 'reject' });
  while (statuses.length < 4) await request();
  t.strictSame(statuses, [200, 200, 200, 429]);
  const after = await rejects(1);
  t.equal(firing(inTurn(before, after), {}), '');
  const info = after.map(({ text }) => readMetric(text, 'gateway_rate_limit_rule_info', { name: 'team A per minute' }));
  t.same(info, [1, undefined], 'what the alert reads the name of the rule from');
  const minutes: Timeline[number][] = [{ scrape: after, times: 4 }];
  while (minutes.length < 6) {
    for (let count = 0; count < 10; count += 1) await request();
    minutes.push({ scrape: await rejects(statuses.filter((status) => status === 429).length), times: 4 });
  }
  t.equal(firing(minutes, { GatewayTeamRefused: 1 }), '');
});

await test('a lost store shows on both planes, until it is back', async (t) => {
  const before = await scrape();
  await fleet.redis?.kill();
  const lost = await scrapeWith('gateway_state_store_up', 0);
  t.equal((await chat()).status, 200, 'requests are served');
  t.equal(firing(inTurn(before, lost), { GatewayStoreLost: 2 }), '');
  await fleet.redis?.restart();
  const back = await scrapeWith('gateway_state_store_up', 1);
  t.equal(firing(inTurn(lost, back), {}, inTheEnd), '');
});

await test('a budget that is used up shows, and a guardrail without a verdict', async (t) => {
  const before = await scrape();
  for (const path of ['/crew-c', '/crew-d'])
    for (let count = 0; count < 4; count += 1) await ask(proxy, path, { model: 'chat' });
  await scrapeWith('gateway_guardrail_verdicts_total', 4, { outcome: 'failed' });
  const after = await waitFor('the budget to be used up', async () => {
    const found = await scrape();
    return found.some(({ text }) => (readMetric(text, 'gateway_budget_spent_ratio') ?? 0) >= 1) && found;
  });
  t.equal(firing(inTurn(before, after), { GatewayBudgetUsedUp: 1, GatewayGuardrailFailing: 1 }), '');
});
