// GET /admin/status over a real socket and a real store: which proxies are converged, behind or gone.
import { test } from 'tap';
import { createSharingWarnings } from '../../control-plane/fleet.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { healthy, start, startStatus } from './status-plane.ts';

const hour = 3_600_000;

await test('without a proxy nothing is converged, and nothing is behind', async (t) => {
  const plane = await startStatus(t);
  t.strictSame(await plane.look(), {
    server_time: '2026-06-01T00:00:00.000Z',
    converged: false,
    lag_seconds: 0,
    degraded: [{ where: 'control-plane', reason: 'no_proxy_is_live', since: '2026-06-01T00:00:00.000Z' }],
    desired: { config_revision: 'c1', state_revision: 4, environment: 'e1' },
    proxies: [],
    drained_targets: [],
    config_pin: null,
    last_rejected_config: null,
    secret_problems: [],
    identities: [],
    store: {
      engine: 'sqlite',
      status: 'up',
      source: 'store',
      store_id: 's1',
      trouble: null,
      evicts: null,
      write_backs: 0,
    },
    records: null,
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
      heard_from: 'store',
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
      refused_keys: [],
      discovered_models: [],
      probes: [],
      cloud_identities: [],
    },
  ]);
});

await test('where the caps of a proxy hold, and how the store answers for them, is shown as it says it', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, limit_scope: 'fleet', limit_store: 'lost' });
  await plane.beat('proxy-2', { ...healthy, limit_scope: 'replica' });
  const said = (await plane.look()).proxies.map(({ limit_scope, limit_store }) => [limit_scope, limit_store]);
  t.same(said, [
    ['fleet', 'lost'],
    ['replica', undefined],
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

await test('targets that a proxy asks last are shown with the reason', async (t) => {
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
  await test(`a proxy whose clock is an hour ${claim} is live by its heartbeats`, async (t) => {
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

await test('a heartbeat that no proxy can have written is left out, and the others are shown', async (t) => {
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
    directory: 'c2',
    rejected: { revision: 'c2', sinceMs: start - 1_000 },
  };
  await plane.beat('proxy-1');
  t.match(await plane.look(), {
    converged: false,
    proxies: [{ converged: true }],
    last_rejected_config: {
      revision: 'c2',
      since: '2026-05-31T23:59:59.000Z',
      problems: [/limits\.yaml.*is not a map/],
    },
  });
});

await test('a fleet is not converged while a proxy rejects what lies on its disk', async (t) => {
  const plane = await startStatus(t);
  const rejecting = { config_problems: ['a.yaml:1:1  bad'], config_rejected: ['c2', start - 500] as const };
  await plane.beat('proxy-1', { ...healthy, ...rejecting });
  t.match(await plane.look(), {
    converged: false,
    proxies: [
      {
        converged: true,
        last_config_error: ['a.yaml:1:1  bad'],
        rejected_config: { revision: 'c2', since: '2026-05-31T23:59:59.500Z' },
      },
    ],
  });
});

await test('a key that a provider refuses is shown with its place and since when', async (t) => {
  const plane = await startStatus(t);
  const refused = [['openai', 2, 3, 'key_refused', start - 1_000]] as const;
  const unusable = [['openai', 'm', 'key_refused', start, start - 1_000]] as const;
  await plane.beat('proxy-1', { ...healthy, refused_keys: refused, unusable_targets: unusable });
  const since = '2026-05-31T23:59:59.000Z';
  t.match(await plane.look(), {
    degraded: [{ reason: 'provider_key_refused', cause: `openai refuses key 2 of 3, since ${since}` }],
    proxies: [
      {
        refused_keys: [{ provider: 'openai', key: 2, keys: 3, reason: 'key_refused', since }],
        unusable_targets: [{ reason: 'key_refused', since }],
      },
    ],
  });
});

await test('a cloud identity is shown with its end, and why it has no credential', async (t) => {
  const plane = await startStatus(t);
  const source = 'AWS default chain';
  await plane.beat('proxy-1', {
    ...healthy,
    ready: ['degraded', ['provider_credential_missing']],
    cloud_identities: [
      ['good', source, 'account 1', start + 60_000, start, null, true, 3],
      ['bad', source, null, null, null, 'STS is down', false, 0],
    ],
  });
  t.match(await plane.look(), {
    degraded: [{ reason: 'provider_credential_missing', cause: 'bad: STS is down' }],
    proxies: [
      {
        cloud_identities: [
          {
            provider: 'good',
            source,
            principal: 'account 1',
            valid: true,
            expires_at: '2026-06-01T00:01:00.000Z',
            sessions: 3,
          },
          {
            provider: 'bad',
            principal: null,
            valid: false,
            expires_at: null,
            renewed_at: null,
            last_error: 'STS is down',
          },
        ],
      },
    ],
  });
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
    trouble: undefined,
    storeId: undefined,
    revision: 0,
    source: 'copy',
    isUp: true,
    standing: 'emptied',
    evicts: undefined,
    writeBacks: 0,
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

await test('a proxy that reports another one of its name is believed while it is live', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, instance_shared: true });
  t.match(await plane.look(), { converged: false, proxies: [{ instance_shared: true }] });
  await plane.beat('proxy-3', { ...healthy, instance_shared: 'yes' });
  t.equal((await plane.look()).proxies.length, 1, 'an invalid heartbeat is left out');
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
    heardFrom: 'store' as const,
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
