// GET /admin/status over a real socket and a real store: which proxies are converged, behind or gone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Test, test } from 'tap';
import { status } from '../../control-plane/admin/status/routes.ts';
import { createDegradation } from '../../control-plane/degradation.ts';
import { createFleet, createSharingWarnings, type Desired } from '../../control-plane/fleet.ts';
import { createMetrics } from '../../control-plane/metrics.ts';
import type { Readiness } from '../../control-plane/readiness.ts';
import { createServer } from '../../control-plane/server.ts';
import type { FollowStatus } from '../../gitops/config-status.ts';
import { createFailedLogins } from '../../plane/failed-logins.ts';
import { credentialsOf } from '../../schemas/keys/credentials.ts';
import { digestOf } from '../../schemas/keys/secret.ts';
import { parseMoment } from '../../schemas/rules/moment.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { openStateStore } from '../../store/state/open.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const start = Date.UTC(2026, 5, 1);
const hour = 3_600_000;

const schema = readFileSync(join(import.meta.dirname, '../../schemas/admin/status.schema.json'), 'utf8');
const isMoment = (text: string): boolean => parseMoment(text) !== undefined && text.endsWith('Z');
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  formats: { 'date-time': isMoment },
});
const validate = ajv.compile(JSON.parse(schema));

interface Shown {
  readonly converged: boolean;
  readonly lag_seconds: number;
  readonly proxies: readonly { readonly instance: string; readonly [name: string]: unknown }[];
  readonly [name: string]: unknown;
}

/** What a healthy proxy says. */
const healthy = sampleHeartbeat({
  started_at_ms: start - 60_000,
  config_revision: 'c1',
  state_revision: 4,
  environment: 'e1',
});

async function startStatus(t: Test) {
  const store = openStateStore({ directory: temporaryDirectory(t) });
  const at = { nowMs: start };
  const facts = {
    desired: { configRevision: 'c1', stateRevision: 4, environment: 'e1' } as Desired,
    config: undefined as FollowStatus | undefined,
    keyMark: undefined as string | undefined,
    secretProblems: [] as string[],
    readiness: { status: 'ready', reasons: [] } as Readiness,
    state: {
      storeId: 's1',
      revision: 4,
      source: 'store',
      isUp: true,
      standing: 'held',
      skipped: { unreadable: 0, unsealed: 0 },
    } as StateStatus,
  };
  const nowMs = () => at.nowMs;
  const fleet = createFleet(store, () => facts.desired, nowMs);
  const credentials = credentialsOf(digestOf('master'), []);
  const logged: unknown[] = [];
  const failedLogins = createFailedLogins();
  const app = createServer({
    logger: { error: (...said: unknown[]) => void logged.push(said), info: () => undefined },
    metrics: createMetrics({
      budgets: { standings: () => [] },
      records: () => ({ storedRecords: 0, lostRecords: 0, trouble: undefined }),
      version: '1',
      config: () => undefined,
      state: () => facts.state,
      secretProblems: () => [],
      fleet,
      failedLogins,
      output: { droppedEvents: 0 },
    }),
    access: { credentials: () => credentials, failedLogins, masterKey: 'master', nowMs },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  await app.register(status, {
    parts: {
      fleet,
      degradation: createDegradation({ fleet, readiness: () => facts.readiness, desired: () => facts.desired, nowMs }),
      desired: () => facts.desired,
      config: () => facts.config,
      state: () => facts.state,
      engine: 'sqlite',
      keyMark: () => facts.keyMark,
      secretProblems: () => facts.secretProblems,
      nowMs,
    },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  let isClosed = false;
  const closeStore = async () => {
    if (!isClosed) await store.close();
    isClosed = true;
  };
  t.teardown(async () => {
    await app.close();
    await closeStore();
  });

  return {
    at,
    facts,
    logged,
    closeStore,
    /** A heartbeat, sent now or at the time of another clock. */
    beat: (instance: string, body: unknown = healthy, atMs = at.nowMs) =>
      store.writeHeartbeat({ instance, atMs, body }),
    forget: (instance: string) => store.removeHeartbeat(instance),
    async look(): Promise<Shown> {
      const response = await fetch(`${address}/admin/status`, { headers: { authorization: 'Bearer master' } });
      const shown: unknown = await response.json();
      t.equal(response.status, 200, JSON.stringify(shown));
      t.ok(validate(shown), ajv.errorsText(validate.errors));
      return shown as Shown;
    },
    async convergence(query: string): Promise<unknown> {
      const headers = { authorization: 'Bearer master' };
      return (await fetch(`${address}/admin/convergence${query}`, { headers })).json();
    },
    async metric(name: string): Promise<number> {
      const text = await (await fetch(`${address}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
  };
}

await test('without a proxy nothing is converged, and nothing is behind', async (t) => {
  const plane = await startStatus(t);
  t.strictSame(await plane.look(), {
    server_time: '2026-06-01T00:00:00.000Z',
    converged: false,
    lag_seconds: 0,
    degraded: [{ where: 'control-plane', reason: 'no_proxy_is_live', since: '2026-06-01T00:00:00.000Z' }],
    desired: { config_revision: 'c1', state_revision: 4, environment: 'e1' },
    proxies: [],
    last_rejected_config: null,
    secret_problems: [],
    store: { engine: 'sqlite', status: 'up', source: 'store', store_id: 's1' },
  });
});

await test('a proxy that enforces what is desired is shown with all it says', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  const shown = await plane.look();
  t.equal(shown.converged, true);
  t.strictSame(shown.proxies, [
    {
      instance: 'proxy-1',
      instance_shared: false,
      live: true,
      converged: true,
      heard_at: '2026-06-01T00:00:00.000Z',
      started_at: '2026-05-31T23:59:00.000Z',
      config_revision: 'c1',
      config_source: 'directory',
      state_revision: 4,
      state_source: 'store',
      limiter: 'enforcing',
      environment: 'e1',
      environment_matches: true,
      last_config_error: null,
      secret_problems: [],
      left_out_providers: [],
      unusable_targets: [],
      unusable_target_count: 0,
      discovered_models: [],
    },
  ]);
});

await test('a proxy with another master key, an unusable secret and a provider without a key says so', async (t) => {
  const plane = await startStatus(t);
  plane.facts.keyMark = 'mark of ours';
  plane.facts.secretProblems = ['REDIS_URL_FILE names a file that is empty'];
  const told = { secret_problems: ['GATEWAY_MASTER_KEY_FILE names a file that is empty'], left_out_providers: ['a'] };
  await plane.beat('proxy-1', { ...healthy, ...told, master_key_mark: 'another mark' });
  await plane.beat('proxy-2', { ...healthy, master_key_mark: 'mark of ours' });
  await plane.beat('proxy-3');
  const shown = await plane.look();
  t.match(shown, { secret_problems: plane.facts.secretProblems, proxies: [{ ...told, master_key_matches: false }] });
  t.match(shown.proxies[1], { master_key_matches: true, secret_problems: [] });
  t.notOk('master_key_matches' in (shown.proxies[2] ?? {}), 'an older proxy does not say');
  t.notMatch(JSON.stringify(shown), /mark of ours|another mark/);
});

await test('the targets to which a proxy prefers others are shown with the reason', async (t) => {
  const plane = await startStatus(t);
  const broken = (index: number) => ['p', `m${index}`, 'breaker_open', start + 2000] as const;
  await plane.beat('proxy-1', { ...healthy, unusable_targets: [broken(0)], unusable_target_count: 7 });
  const until = '2026-06-01T00:00:02.000Z';
  t.match((await plane.look()).proxies, [
    {
      unusable_targets: [{ provider: 'p', model: 'm0', reason: 'breaker_open', until }],
      unusable_target_count: 7,
    },
  ]);
  const many = Array.from({ length: 150 }, (_, index) => broken(index));
  await plane.beat('proxy-1', { ...healthy, unusable_targets: many, unusable_target_count: 150 }, start + 1);
  t.match((await plane.look()).proxies, [{ unusable_target_count: 150 }], 'the schema allows a hundred');
  const odd = { ...healthy, unusable_targets: [['p', 'm', 'resting', '2026']] };
  await plane.beat('proxy-2', odd);
  t.equal((await plane.look()).proxies.length, 1, 'what is no heartbeat is left out');
});

await test('a proxy that is behind is named, for how long, and no longer once it has caught up', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  await plane.beat('proxy-2');
  await plane.look();
  plane.facts.desired = { ...plane.facts.desired, stateRevision: 5 };
  const behind = await plane.look();
  t.match(behind, { converged: false, proxies: [{ converged: false }, { converged: false }] });
  plane.at.nowMs += 1_500;
  await plane.beat('proxy-1', { ...healthy, state_revision: 5 });
  await plane.beat('proxy-2');
  const half = await plane.look();
  t.match(half, { converged: false, lag_seconds: 1.5, proxies: [{ converged: true }, { converged: false }] });
  t.equal(await plane.metric('gateway_proxies_live'), 2);
  t.equal(await plane.metric('gateway_proxies_behind'), 1);
  t.equal(await plane.metric('gateway_convergence_lag_seconds'), 1.5);
  await plane.beat('proxy-2', { ...healthy, state_revision: 5 });
  t.match(await plane.look(), { converged: true, lag_seconds: 0 });
  t.equal(await plane.metric('gateway_proxies_behind'), 0);
});

const astray: [claim: string, body: Partial<HeartbeatBody>, shown: object][] = [
  ['another configuration', { config_revision: 'c0' }, { config_revision: 'c0', environment_matches: true }],
  ['other variables', { environment: 'e0' }, { environment: 'e0', environment_matches: false }],
  [
    'a broken directory, on its copy',
    { config_revision: 'c0', config_source: 'last-good', config_problems: ['a.yaml:1:1  bad'] },
    { config_source: 'last-good', last_config_error: ['a.yaml:1:1  bad'] },
  ],
];
for (const [claim, body, expected] of astray) {
  await test(`a proxy with ${claim} is not converged`, async (t) => {
    const plane = await startStatus(t);
    await plane.beat('proxy-1', { ...healthy, ...body });
    t.match(await plane.look(), { converged: false, proxies: [{ live: true, converged: false, ...expected }] });
  });
}

await test('what is degraded is shown with the time since when, until it is well', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, left_out_providers: ['b'], unusable_target_count: 2 });
  await plane.look();
  plane.at.nowMs += 2_500;
  plane.facts.readiness = { status: 'degraded', reasons: ['record_store_unavailable'] };
  await plane.beat('proxy-1', { ...healthy, left_out_providers: ['b'] });
  const [first, then] = ['2026-06-01T00:00:00.000Z', '2026-06-01T00:00:02.500Z'];
  const leftOut = { where: 'proxy-1', reason: 'providers_left_out', since: first };
  const records = { where: 'control-plane', reason: 'record_store_unavailable', since: then };
  t.strictSame((await plane.look())['degraded'], [leftOut, records]);
  plane.at.nowMs += 3_000;
  plane.facts.readiness = { status: 'ready', reasons: [] };
  const silent = { where: 'proxy-1', reason: 'silent', since: then };
  const nobody = { where: 'control-plane', reason: 'no_proxy_is_live', since: '2026-06-01T00:00:05.500Z' };
  t.strictSame((await plane.look())['degraded'], [silent, nobody]);
});

await test('a proxy that has not followed a change for two seconds is behind', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, state_revision: 3 });
  t.strictSame((await plane.look())['degraded'], []);
  plane.at.nowMs += 2_001;
  await plane.beat('proxy-1', { ...healthy, state_revision: 3 });
  t.strictSame((await plane.look())['degraded'], [
    { where: 'proxy-1', reason: 'behind', since: '2026-06-01T00:00:00.000Z' },
  ]);
});

await test('how many live proxies enforce a revision', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  await plane.beat('proxy-2', { ...healthy, state_revision: 3 });
  await plane.beat('proxy-3', { ...healthy, state_source: 'copy' });
  t.match(await plane.convergence(''), { state_revision: 4, proxies: { live: 3, enforcing: 1 } });
  t.match(await plane.convergence('?revision=3'), { state_revision: 3, proxies: { live: 3, enforcing: 2 } });
  t.match(await plane.convergence('?revision=x'), { code: 'invalid_query', param: 'revision' });
});

await test('a dead proxy stays listed and has no effect on counters and convergence', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, state_revision: 3 });
  await plane.look();
  plane.at.nowMs += 2_999;
  await plane.beat('proxy-2');
  t.match(await plane.look(), { converged: false, proxies: [{ live: true }, { live: true }] });
  plane.at.nowMs += 1;
  const shown = await plane.look();
  t.match(shown, { converged: true, lag_seconds: 0, proxies: [{ live: false, converged: false }, { live: true }] });
  t.equal(shown.proxies[0]?.['heard_at'], '2026-06-01T00:00:00.000Z');
  t.equal(await plane.metric('gateway_proxies_live'), 1);
  await plane.forget('proxy-1');
  t.strictSame(
    (await plane.look()).proxies.map(({ instance }) => instance),
    ['proxy-2'],
  );
});

for (const [claim, skew] of [
  ['behind', -hour],
  ['ahead', hour],
] as const) {
  await test(`a proxy whose clock is an hour ${claim} lives by what is heard of it`, async (t) => {
    const plane = await startStatus(t);
    await plane.beat('proxy-1', healthy, start + skew);
    await plane.look();
    plane.at.nowMs += 500;
    await plane.beat('proxy-1', healthy, start + skew + 500);
    const shown = await plane.look();
    t.match(shown, { converged: true, proxies: [{ live: true, heard_at: '2026-06-01T00:00:00.500Z' }] });
    plane.at.nowMs += 3_000;
    t.match(await plane.look(), { converged: false, proxies: [{ live: false }] }, 'silence is silence by any clock');
  });
}

await test('what no proxy can have said is left out, and the others are shown', async (t) => {
  const plane = await startStatus(t);
  const { limiter: _, ...incomplete } = healthy;
  const nonsense = [null, 7, 'x', [], {}, incomplete, { ...healthy, counters: [['k']] }, { ...healthy, limiter: 'on' }];
  for (const [index, body] of nonsense.entries()) await plane.beat(`nonsense-${index}`, body);
  await plane.beat('proxy-1', { ...healthy, more: 'of a later version' });
  const shown = await plane.look();
  t.strictSame(
    shown.proxies.map(({ instance }) => instance),
    ['proxy-1'],
  );
  t.equal(shown.converged, true);
});

await test('a config that was rejected here is shown with what is wrong', async (t) => {
  const plane = await startStatus(t);
  const problem = { file: 'limits.yaml', line: 3, column: 5, path: 'rate_limits', message: 'is not a map' };
  plane.facts.config = {
    revision: 'c1',
    source: 'directory',
    lastReloadSuccessful: false,
    lastSuccessMs: start,
    reloads: { success: 0, failure: 1 },
    problems: [problem],
  };
  t.match(await plane.look(), { last_rejected_config: { problems: [/limits\.yaml.*is not a map/] } });
});

await test('it answers while the store is gone, as of the last heartbeats', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  await plane.look();
  await plane.closeStore();
  plane.facts.state = { ...plane.facts.state, isUp: false };
  t.match(await plane.look(), { converged: true, store: { status: 'down' }, proxies: [{ live: true }] });
  plane.at.nowMs += 3_000;
  t.match(await plane.look(), { converged: false, proxies: [{ live: false }] });
  plane.facts.state = {
    storeId: undefined,
    revision: 0,
    source: 'copy',
    isUp: true,
    standing: 'emptied',
    skipped: plane.facts.state.skipped,
  };
  t.match(await plane.look(), { store: { status: 'emptied', source: 'copy', store_id: null } });
});

await test('moments beyond the calendar break nothing', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, started_at_ms: Number.MAX_SAFE_INTEGER });
  await plane.beat('proxy-2', healthy, -Number.MAX_SAFE_INTEGER);
  await plane.look();
  t.same(plane.logged, []);
});

await test('two processes that alternate under one name are distinguished from a restarted one', async (t) => {
  const plane = await startStatus(t);
  const speak = async (startedAtMs: number): Promise<unknown> => {
    plane.at.nowMs += 250;
    await plane.beat('proxy-1', { ...healthy, started_at_ms: startedAtMs });
    const [proxy] = (await plane.look()).proxies;
    return proxy?.['instance_shared'];
  };
  const [first, second, third] = [start - 3_000, start - 5_000, start - 1_000];
  for (const startedAtMs of [first, first, second, second, third, third]) {
    t.equal(await speak(startedAtMs), false, 'a replaced process is not reported, for any clocks');
  }
  t.equal(await plane.metric('gateway_proxies_sharing_instance'), 0);
  t.equal(await speak(second), true, 'one that was replaced speaks again');
  t.equal(await speak(second), true, 'it is not forgotten at once');
  t.equal(await plane.metric('gateway_proxies_sharing_instance'), 1);
  t.match(await plane.look(), { converged: false, proxies: [{ converged: true }] }, 'two of a name are not well');
  for (let beat = 0; beat < 120; beat += 1) await speak(second);
  t.equal(await speak(second), false, 'until the other has been silent for long');
  t.equal(await plane.metric('gateway_proxies_sharing_instance'), 0);
});

await test('a proxy that has met another one of its name is believed, for as long as it lives', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, instance_shared: true });
  t.match(await plane.look(), { converged: false, proxies: [{ instance_shared: true }] });
  await plane.beat('proxy-3', { ...healthy, instance_shared: 'yes' });
  t.equal((await plane.look()).proxies.length, 1, 'what is no heartbeat is passed over');
  plane.at.nowMs += 3_500;
  await plane.beat('proxy-2');
  t.match(await plane.look(), { converged: true, proxies: [{ live: false, instance_shared: false }, {}] });
});

await test('the log says when a name begins to be shared, and when it ceases to be', async (t) => {
  const said: string[] = [];
  const log = {
    error: (text: string) => void said.push(`error ${text}`),
    info: (text: string) => void said.push(text),
  };
  const tell = createSharingWarnings(log);
  const view = (isShared: boolean) => ({
    instance: 'proxy-1',
    isLive: true,
    heardAtMs: start,
    body: healthy,
    isConverged: true,
    isShared,
  });
  for (const isShared of [false, true, true, false]) tell([view(isShared)]);
  t.match(said, [
    /^error several proxies run as instance "proxy-1".*GATEWAY_INSTANCE$/,
    /^one proxy runs as .* again$/,
  ]);
  t.equal(said.length, 2);
});
