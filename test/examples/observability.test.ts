// The alerts and the dashboard of examples/observability, evaluated by promtool over scrapes of a real gateway that is harmed meanwhile.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { parse } from 'yaml';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { readMetric } from '../support/gateway.ts';
import { type Expectation, promqlComplaints, promtoolComplaints, type Scrape } from '../support/promtool.ts';
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

await test('promtool finds every alert as its tests say, and every alert has a test and says what to do', (t) => {
  t.equal(promtoolComplaints(['check', 'config', join(folder, 'prometheus.yml')]), '');
  t.equal(promtoolComplaints(['test', 'rules', join(folder, 'alerts.test.yaml')]), '');
  const tests = exampleText('alerts.test.yaml');
  const readme = exampleText('README.md');
  for (const { alert, labels, annotations } of alerts) {
    t.match(tests, `labels: 'ALERTS{alertname="${alert}", alertstate="firing"`, `${alert} fires in a test`);
    t.ok(readme.includes(`| \`${alert}\` `), `the README lists ${alert}`);
    t.match(labels['severity'], /^(page|ticket)$/, alert);
    t.ok((annotations['summary'] ?? '') !== '' && (annotations['description'] ?? '').length > 40, alert);
  }
  t.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
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

/** What is wrong when exactly these alerts (and how many of each) are to fire four minutes after `before` became `after`. */
const firing = (before: Scrape, after: Scrape, wanted: Readonly<Record<string, number>>): string =>
  promqlComplaints(
    suite,
    [
      { scrape: before, times: 4 },
      { scrape: after, times: 8 },
    ],
    [
      {
        expression: 'count by (alertname) (ALERTS{alertstate="firing"})',
        samples: Object.entries(wanted).map(([name, value]) => ({ labels: `{alertname="${name}"}`, value })),
      },
    ],
    [join(folder, 'alerts.yaml')],
  );

/** That an expression gives anything at all. */
const givesSomething = (expression: string): Expectation => ({
  expression: `count(${expression}) > bool 0`,
  samples: [{ labels: '{}', value: 1 }],
});

interface Panel {
  readonly targets?: readonly { readonly expr: string }[];
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
  t.equal(firing(fresh, healthy, {}), '');
  t.end();
});

await test('every query of the dashboard finds something in a scrape', (t) => {
  const { panels } = JSON.parse(exampleText('grafana/dashboard.json')) as { panels: Panel[] };
  const queries = panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll('$instance', '.+').replaceAll('$__rate_interval', '1m'));
  t.ok(queries.length > 30);
  t.equal(promqlComplaints(t, used, queries.map(givesSomething)), '');
  const misspelled = givesSomething('sum by (provider) (rate(gateway_upstream_attempts_totl[1m]))');
  t.match(promqlComplaints(t, used, [misspelled]), /totl/, 'a query that finds nothing would be told');
  t.end();
});

await test('every metric and label of an alert is in a scrape', (t) => {
  const asked = alerts.flatMap(({ expr }) => {
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/));
    return [...expr.matchAll(/\b((?:gateway|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
      ([, metric = '', matchers = '']) => {
        const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name);
        const labels = new Set([...grouped, ...matched]);
        return `${metric}{${[...labels].map((label) => `${label}!=""`).join(',')}}`;
      },
    );
  });
  t.ok(asked.length >= alerts.length);
  t.equal(promqlComplaints(t, used, asked.map(givesSomething)), '');
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
  t.equal(firing(before, after, { GatewayProviderFailing: 1, GatewayBreakerOpen: 1 }), '');
  await main.behave({ kind: 'openai' });
});

await test('a rejected config shows on both planes, until it is repaired', async (t) => {
  const before = await scrape();
  proxy.writeConfig({ 'limits.yaml': 'rate_limits: {user_paths: [{path: /team-a}]}\n' });
  const broken = await scrapeWith('gateway_config_last_reload_successful', 0);
  t.equal(firing(before, broken, { GatewayConfigRejected: 2 }), '');
  proxy.writeConfig({ 'limits.yaml': exampleText('config/limits.yaml') });
  t.equal(firing(broken, await scrapeWith('gateway_config_last_reload_successful', 1), {}), '');
});

await test('the first refusal of a team shows', async (t) => {
  const before = await scrape();
  const statuses: number[] = [];
  for (let count = 0; count < 4; count += 1) statuses.push((await ask(proxy, '/crew-a/app', { model: 'chat' })).status);
  t.strictSame(statuses, [200, 200, 200, 429]);
  const after = await scrapeWith('gateway_rate_limit_decisions_total', 1, { outcome: 'reject' });
  t.equal(firing(before, after, { GatewayTeamRefused: 1 }), '');
  const info = after.map(({ text }) => readMetric(text, 'gateway_rate_limit_rule_info', { name: 'team A per minute' }));
  t.same(info, [1, undefined], 'what the alert reads the name of the rule from');
});

await test('a lost store shows on both planes, until it is back', async (t) => {
  const before = await scrape();
  await fleet.redis?.kill();
  const lost = await scrapeWith('gateway_state_store_up', 0);
  t.equal((await chat()).status, 200, 'requests are served');
  t.equal(firing(before, lost, { GatewayStoreLost: 2 }), '');
  await fleet.redis?.restart();
  t.equal(firing(lost, await scrapeWith('gateway_state_store_up', 1), {}), '');
});
