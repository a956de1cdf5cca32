// What the listing says of caps that hold for the whole fleet: the figures of the store, the part of each proxy, and how exact they are.
import { test } from 'tap';
import type { SharedLimits } from '../../control-plane/admin/rate-limits/store-figures.ts';
import { counterKey, type LimitView } from '../../domain/limits/exchange.ts';
import { sliceAt } from '../../domain/rules/slice.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';
import { find, type Item, start, startPlane } from './rate-limits-plane.ts';

const config = { key: 'user_path 60 /config', epoch: 0, periodSeconds: 60 };
const slots = { key: 'provider 0 openai', epoch: 0, periodSeconds: 0 };
const slice = sliceAt(start, 60);

const views: Readonly<Record<string, LimitView>> = {
  [counterKey(config, 'requests', '')]: {
    used: 7,
    held: 2,
    oldest: slice - 3,
    newest: slice,
    sessions: [
      ['proxy-1', 2, 0],
      ['gone', 0, 0],
    ],
  },
  [counterKey(slots, 'slots', '')]: {
    used: 0,
    held: 4,
    oldest: -1,
    newest: -1,
    sessions: [
      ['proxy-1', 1, 1],
      ['proxy-3', 3, 0],
    ],
  },
};
const nothing: LimitView = { used: 0, held: 0, oldest: -1, newest: -1, sessions: [] };
const look: SharedLimits['look'] = async (keys) => keys.map((key) => views[key] ?? nothing);
const limits: SharedLimits = { look, scope: () => 'fleet', onStoreLoss: () => 'share' };

const counters: Readonly<Record<string, HeartbeatBody['counters']>> = {
  'proxy-1': [
    [config.key, 0, 4, 0, 0],
    [slots.key, 0, 0, 0, 1],
  ],
  'proxy-2': [[config.key, 0, 2, 0, 0]],
};

type Scope = Pick<HeartbeatBody, 'limit_scope' | 'limit_store'>;
const up: Scope = { limit_scope: 'fleet', limit_store: 'up' };

/** The rows of the two declared rules behind heartbeats of two proxies with these members. */
async function rowsOf(
  t: Parameters<typeof startPlane>[0],
  said: readonly Scope[],
  parts: SharedLimits = limits,
): Promise<{ readonly minute: Item; readonly slots: Item; readonly template: Item }> {
  const plane = await startPlane(t, { parts: { limits: parts } });
  for (const [index, members] of said.entries()) {
    const instance = `proxy-${index + 1}`;
    const body = sampleHeartbeat({ counters: counters[instance] ?? [], ...members });
    await plane.store.writeHeartbeat({ instance, atMs: plane.at.nowMs, body });
  }
  const listed = await plane.list();
  const row = (subject: string): Item => find(listed, subject) ?? {};
  return { minute: row('/config'), slots: row('OpenAI'), template: row('/children') };
}

await test('a rule that the fleet counts shows what the store has, and the part of each proxy', async (t) => {
  const { minute, slots: concurrent, template } = await rowsOf(t, [up, up]);
  t.match(minute, {
    requests_used: 7,
    requests_remaining: 3,
    counted: 'fleet',
    replicas: 2,
    exactness: 'exact',
    held: 2,
    window_start: new Date(start - 3_000).toISOString(),
    window_end: new Date(start + 61_000).toISOString(),
  });
  t.same(minute['proxies'], [
    { instance: 'proxy-1', requests_used: 4, tokens_used: 0, in_flight: 0, held: 2 },
    { instance: 'proxy-2', requests_used: 2, tokens_used: 0, in_flight: 0, held: 0 },
  ]);
  t.match(concurrent, { in_flight: 1, requests_remaining: 4, held: 3 }, 'a slot in use is not held in advance');
  t.same(concurrent['proxies'], [
    { instance: 'proxy-1', requests_used: 0, tokens_used: 0, in_flight: 1, held: 0 },
    { instance: 'proxy-3', requests_used: 0, tokens_used: 0, in_flight: 0, held: 3 },
  ]);
  t.match(template, { counted: 'fleet', exactness: 'exact' });
  t.notOk('held' in template || 'proxies' in template, 'a template has no figures as a whole');
});

await test('tokens that open requests have set aside are told apart from those that are held in advance', async (t) => {
  const tokens = { key: 'user_path 60 /tokens', epoch: 0, periodSeconds: 60 };
  const view: LimitView = { ...nothing, used: 30, held: 50, sessions: [['proxy-1', 50, 40]] };
  const sees: SharedLimits['look'] = async (keys) =>
    keys.map((key) => (key === counterKey(tokens, 'tokens', '') ? view : nothing));
  const plane = await startPlane(t, { parts: { limits: { ...limits, look: sees } } });
  const heartbeat = { instance: 'proxy-1', atMs: plane.at.nowMs, body: sampleHeartbeat(up) };
  await plane.store.writeHeartbeat(heartbeat);
  const { items } = await plane.put({ user_path: '/tokens', period: 'minute', max_tokens: 100 });
  t.match(
    items.find(({ subject }) => subject === '/tokens'),
    {
      tokens_used: 30,
      tokens_reserved: 40,
      tokens_held: 10,
      tokens_remaining: 30,
      proxies: [{ tokens_reserved: 40, tokens_held: 10 }],
    },
  );
});

await test('a search for rules that are used up goes by what the store has', async (t) => {
  const found = async (view: Partial<LimitView>, said: Scope = up): Promise<unknown[]> => {
    const sees: SharedLimits['look'] = async (keys) =>
      keys.map((key) => (key === counterKey(config, 'requests', '') ? { ...nothing, ...view } : nothing));
    const plane = await startPlane(t, { parts: { limits: { ...limits, look: sees } } });
    const counted: HeartbeatBody['counters'] = [[config.key, 0, 10, 0, 0]];
    const body = sampleHeartbeat({ counters: counted, ...said });
    await plane.store.writeHeartbeat({ instance: 'proxy-1', atMs: plane.at.nowMs, body });
    const { items, body: answer } = await plane.list({}, '?state=used_up&limit=10');
    t.equal(answer['total'], items.length);
    return items.map(({ subject, requests_used }) => [subject, requests_used]);
  };
  t.same(await found({ used: 10 }), [['/config', 10]]);
  t.same(await found({ used: 9 }), [], 'though the live proxies have counted more');
  t.same(await found({ used: 9 }, { limit_scope: 'replica' }), [['/config', 10]], 'each proxy counts alone');
  const lost = await found({ used: 9 }, { limit_scope: 'fleet', limit_store: 'lost' });
  t.same(lost, [['/config', 10]], 'the store has not heard of all');
});

await test('the listing says how exact a count is', async (t) => {
  const lost: Scope = { limit_scope: 'fleet', limit_store: 'lost' };
  const cases: [name: string, said: readonly Scope[], expected: object, onStoreLoss?: 'closed' | 'open'][] = [
    ['one proxy is without the store', [up, lost], { counted: 'fleet', exactness: 'share', replicas: 2 }],
    ['the same where nothing is admitted', [lost], { exactness: 'closed' }, 'closed'],
    ['the same where everything is', [lost], { exactness: 'open' }, 'open'],
    ['the store recovers', [up, { limit_scope: 'fleet', limit_store: 'recovering' }], { exactness: 'recovering' }],
    ['older proxies do not share', [up, {}], { counted: 'fleet', replicas: 1, exactness: 'exact' }],
    ['no proxy says it, and the configuration does', [], { counted: 'fleet', replicas: 0 }],
    ['each proxy counts alone', [{ limit_scope: 'replica' }], { counted: 'replica', requests_used: 4 }],
  ];
  for (const [name, said, expected, onStoreLoss = 'share'] of cases) {
    const { minute } = await rowsOf(t, said, { ...limits, onStoreLoss: () => onStoreLoss });
    t.match(minute, expected, name);
  }
});

await test('the sum over the proxies is shown while the store does not say it', async (t) => {
  const silent = async () => {
    throw new StoreUnavailable('unreachable', 'gone');
  };
  const { minute } = await rowsOf(t, [up, up], { ...limits, look: silent });
  t.match(minute, { requests_used: 6, counted: 'fleet' });
  t.notOk('held' in minute || 'proxies' in minute);
});
