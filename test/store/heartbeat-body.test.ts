// A heartbeat is read as a whole or not at all.
import { test } from 'tap';
import { readHeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';

await test('what a proxy says of discovered models is checked', async (t) => {
  const bodyWith = (found: unknown): object => ({ ...sampleHeartbeat(), discovered_models: found });
  const good = [
    [],
    [['p', 0, null]],
    [
      ['p', 7, 1],
      ['q', 1, 8.64e15],
    ],
  ];
  for (const found of good) t.ok(readHeartbeatBody(bodyWith(found)), JSON.stringify(found));
  const odd = [{}, [1], [['p']], [['p', -1, 1]], [['p', 1.5, 1]], [['p', 1, 9e15]], [['p', 1, '2026']], [[7, 1, null]]];
  for (const found of odd) t.notOk(readHeartbeatBody(bodyWith(found)), JSON.stringify(found));
});

await test('what a proxy says of the scope of its caps is checked, and older proxies say nothing', async (t) => {
  const good = [{}, { limit_scope: 'replica' }, { limit_scope: 'fleet', limit_store: 'recovering' }];
  for (const each of good) t.ok(readHeartbeatBody({ ...sampleHeartbeat(), ...each }), JSON.stringify(each));
  const odd = [{ limit_scope: 'town' }, { limit_scope: null }, { limit_scope: 'fleet', limit_store: true }];
  for (const each of odd) t.notOk(readHeartbeatBody({ ...sampleHeartbeat(), ...each }), JSON.stringify(each));
});

await test('what a proxy says of its troubles is checked, and older proxies say nothing', async (t) => {
  const good = {
    ready: ['degraded', ['config_rejected']],
    config_rejected: ['9f86d081', 1],
    store_trouble: 'it is full',
    refused_keys: [['p', 1, 2, 'key_refused', 3]],
    cloud_identities: [
      ['p', 'AWS default chain', 'account 1', 2, 1, null, true, 0],
      ['p', 'AWS default chain', null, null, null, 'STS is down', false, 0],
    ],
    unusable_targets: [
      ['p', 'm', 'resting', 1],
      ['p', 'm', 'key_refused', 1, 2],
    ],
  };
  t.ok(readHeartbeatBody({ ...sampleHeartbeat(), ...good }));
  const odd = [
    { ready: 'degraded' },
    { ready: ['degraded'] },
    { ready: ['degraded', [7]] },
    { config_rejected: ['9f86d081', 9e15] },
    { config_rejected: [7, 1] },
    { store_trouble: 7 },
    { refused_keys: {} },
    { cloud_identities: [['p', 'AWS default chain', null, null, null, null, 'yes', 0]] },
    { cloud_identities: [['p', 'AWS default chain', null, 9e15, null, null, true, 0]] },
    { refused_keys: [['p', 1, 2, 'key_refused', '2026']] },
    { refused_keys: [['p', '1', 2, 'key_refused', 3]] },
    { unusable_targets: [['p', 'm', 'key_refused', 1, '2026']] },
  ];
  for (const each of odd) t.notOk(readHeartbeatBody({ ...sampleHeartbeat(), ...each }), JSON.stringify(each));
});

await test('what a proxy says of targets that it has asked is checked', async (t) => {
  const bodyWith = (asked: unknown): object => ({ ...sampleHeartbeat(), asked_targets: asked });
  const good = ['p', 'm', 'closed', 3, 1, 12, null, [['tokens', 5, null]]];
  t.ok(readHeartbeatBody(bodyWith([good])));
  const changes: [at: number, value: unknown][] = [
    [0, 7],
    [2, 'ajar'],
    [3, -1],
    [4, 0.5],
    [5, '12'],
    [6, -1],
    [7, null],
    [7, [['wishes', 5, null]]],
    [7, [['tokens', 5]]],
  ];
  for (const [at, value] of changes)
    t.notOk(readHeartbeatBody(bodyWith([(good as unknown[]).with(at, value)])), JSON.stringify([at, value]));
  t.notOk(readHeartbeatBody(bodyWith([{}])));
});

await test('what a proxy says of its cache and its guardrails is checked', async (t) => {
  const cache = { entries: 1, bytes: 2, evicted: 0, dropped: 0, requests: [['chat', 1, 2, 3]], saved_tokens: 4 };
  const good = { cache: { ...cache, saved_nano_dollars: 5 }, verdicts: [['no-secrets', 'input', 'block', 7]] };
  t.ok(readHeartbeatBody({ ...sampleHeartbeat(), ...good }));
  const odd = [
    { cache },
    { cache: null },
    { cache: { ...good.cache, entries: -1 } },
    { cache: { ...good.cache, requests: [['chat', 1, 2]] } },
    { cache: { ...good.cache, requests: [['chat', 1, 2, '3']] } },
    { verdicts: {} },
    { verdicts: [['no-secrets', 'input', 'block']] },
    { verdicts: [['no-secrets', 'input', 7, 7]] },
  ];
  for (const each of odd) t.notOk(readHeartbeatBody({ ...sampleHeartbeat(), ...each }), JSON.stringify(each));
});

await test('a body is looked at once, however many ask for it', async (t) => {
  for (const counters of [[['user_path 60 /', 0, 1, 0, 0]], ['none']]) {
    let looks = 0;
    const body = {
      ...sampleHeartbeat(),
      get counters() {
        looks += 1;
        return counters;
      },
    };
    t.equal(readHeartbeatBody(body), readHeartbeatBody(body));
    t.equal(looks, 1);
  }
});
