// Redis answers late, loses notifications, takes no writes, forgets everything, or says nonsense: what is in force stays in force.
import { t as suite, test } from 'tap';
import { statusesOf, usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { checkUnharmed, describeLoad, measured, roomyConfig, underLoad, usualPerSecond } from '../support/load.ts';
import {
  askAdmin,
  dayRule,
  delaysUntil,
  listRules,
  manualCaps,
  reasonsOf,
  untilDegraded,
} from '../support/operator.ts';
import { residentBytes } from '../support/process.ts';
import { createRandom } from '../support/random.ts';
import { startDetour, startRedis } from '../support/redis.ts';
import { sealed } from '../support/sealed.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const redis = await startRedis(suite, { appendOnly: true });
const detour = await startDetour(suite, redis);
const client = redis.client();
const fleet = await startFleet(suite, {
  store: 'redis',
  redis,
  upstream,
  config: roomyConfig(),
  env: { REDIS_URL: detour.url },
});
const [first, second] = fleet.proxies as readonly [Gateway, Gateway];
const state = '{gateway}:state';
/** What a busy machine may add to what has to be done within a second. */
const graceMs = 500;

const put = (path: string, cap: number) => askAdmin(first, 'PUT', dayRule(path, cap));

/** The cap that a proxy enforces for a path by a rule of exactly that path. */
async function capOf(proxy: Gateway, path: string): Promise<number | undefined> {
  return (await usageOf(proxy, path)).find(({ subject }) => subject === path)?.max_requests;
}

/** Until the cap is in force everywhere, in milliseconds. */
const untilCap = (path: string, cap: number) =>
  delaysUntil(fleet.proxies, `${path} to have cap ${cap}`, async (proxy) => (await capOf(proxy, path)) === cap);

const text = (delays: readonly number[]): string => delays.map((delay) => `${delay.toFixed(0)} ms`).join(', ');

await fleet.recovered();

await test('answers 100 to 200 ms late: writes are taken, counters are written no more often, models do not notice', async (t) => {
  const sequence = async () => Number(await client.hget('{gateway}:counters:proxy-1', 'sequence'));
  t.teardown(() => {
    detour.delayMs = () => 0;
  });
  await underLoad(t, fleet, async (load) => {
    const calm = await measured(load, 600);
    const before = await sequence();
    const startedMs = performance.now();
    detour.delayMs = () => 100 + Math.random() * 80;
    load.look();
    const taken: number[] = [];
    const times: number[] = [];
    // Where a busy machine adds its own to each answer, the first write that is taken may come late.
    const isOver = (): boolean => performance.now() > startedMs + (taken.length > 0 ? 2_400 : 10_000);
    while (!isOver()) {
      const cap = taken.length + 1;
      const { status, tookMs } = await put('/slow', cap);
      times.push(tookMs);
      // Some five round trips, each with its delay, and what a busy machine adds.
      t.ok(tookMs < 4_000, `${status} after ${tookMs.toFixed(0)} ms`);
      if (status === 200) taken.push(cap);
    }
    const slow = load.look();
    const seconds = (performance.now() - startedMs) / 1000;
    detour.delayMs = () => 0;
    const writes = (await sequence()) - before;
    t.comment(`before: ${describeLoad(calm)}`);
    t.comment(
      `slow: ${describeLoad(slow)}; ${taken.length} writes taken (${text(times)}), counters written ${writes} times`,
    );
    t.ok(taken.length > 0);
    await untilCap('/slow', taken.at(-1) ?? 0);
    t.ok(writes <= seconds + 2);
    await waitFor('the counters to be written', async () => (await sequence()) > before);
    t.ok(slow.p50Ms < Math.max(100, 3 * calm.p50Ms));
    t.ok(slow.perSecond > usualPerSecond * 0.5);
  });
});

await test('connections of subscribers are killed again and again: a change is in force within a second', async (t) => {
  await underLoad(t, fleet, async () => {
    const delays: number[] = [];
    let killed = 0;
    for (let cap = 1; cap <= 3; cap += 1) {
      killed += Number(await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      t.equal((await put('/unheard', cap)).status, 200);
      killed += Number(await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      delays.push(...(await untilCap('/unheard', cap)));
    }
    const heard = async () => (await client.pubsub('NUMSUB', '{gateway}:changed'))[1];
    await waitFor('every plane to listen again', async () => Number(await heard()) === 3);
    t.equal((await put('/unheard', 4)).status, 200);
    delays.push(...(await untilCap('/unheard', 4)));
    t.comment(`${killed} connections killed; in force after ${text(delays)}`);
    t.ok(killed >= 3);
    t.ok(Math.max(...delays) < 1_000 + graceMs);
  });
});

await test('connections of subscribers are killed before they hear that they subscribed: no process ends', async (t) => {
  t.teardown(() => {
    detour.delayMs = () => 0;
  });
  await underLoad(t, fleet, async () => {
    detour.delayMs = () => 50;
    let killed = 0;
    await waitFor('enough kills', async () => {
      killed += Number(await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      return killed >= 30;
    });
    detour.delayMs = () => 0;
  });
  t.ok(fleet.controlPlane.running);
});

await test('subscribers stay connected and hear nothing: a change is in force within a second', async (t) => {
  t.teardown(() => {
    detour.isMuted = false;
  });
  await underLoad(t, fleet, async () => {
    detour.isMuted = true;
    const delays: number[] = [];
    for (let cap = 1; cap <= 4; cap += 1) {
      const { status } = await waitFor('a write that the store had time for', async () => {
        const answer = await put('/muted', cap);
        return answer.code !== 'store_unavailable' && answer;
      });
      t.equal(status, 200);
      delays.push(...(await untilCap('/muted', cap)));
    }
    t.comment(`in force after ${text(delays)}`);
    t.ok(Math.max(...delays) < 1_000 + graceMs);
    t.ok(Math.max(...delays) > 20, 'no notification came');
    detour.isMuted = false;
  });
});

await test('an answer is lost with its connection: the write happened once, and the operator is told that it may have', async (t) => {
  const revision = async () => Number(await client.hget(state, 'revision'));
  t.teardown(() => {
    detour.loses = () => false;
  });
  await underLoad(t, fleet, async () => {
    for (let cap = 1; cap <= 3; cap += 1) {
      const before = await revision();
      let lost = 0;
      // Only the first answer of a script that has written.
      detour.loses = (bytes) => {
        const isLost = lost === 0 && bytes.includes('\r\ndone\r\n');
        if (isLost) lost += 1;
        return isLost;
      };
      const { status, code, retryAfter } = await put('/unanswered', cap);
      t.same([status, code, retryAfter], [503, 'store_unavailable', '1']);
      t.equal(lost, 1);
      await untilCap('/unanswered', cap);
      t.equal(await revision(), before + 1, 'it was not tried again');
    }
  });
});

await test('connections on which nothing passes any more are given up, and others serve', async (t) => {
  await underLoad(t, fleet, async () => {
    detour.silence();
    const { status, code, retryAfter } = await put('/silent', 1);
    t.same([status, code, retryAfter], [503, 'store_unavailable', '1']);
    await untilDegraded(fleet);
  });
  t.equal((await put('/silent', 2)).status, 200);
  await untilCap('/silent', 2);
});

const floods: [what: string, flood: NonNullable<typeof detour.flood>][] = [
  ['a text of 600 MB', { head: '$600000000\r\n', tail: 'x' }],
  ['a list of 40 million values', { head: '*40000000\r\n', tail: ':1\r\n' }],
  ['lists in lists without end', { head: '', tail: '*1000000\r\n' }],
  ['a line without end', { head: '+', tail: 'x' }],
  ['a text of 600 MB among the values of a list', { head: '*2\r\n$1\r\n0\r\n', tail: '$600000000\r\nx' }],
  ['what is no Redis', { head: 'HTTP/1.1 400 Bad Request\r\n\r\n', tail: '<html>' }],
];

await test('absurd answers are not taken in: both planes stay small, say so, and go on', async (t) => {
  t.equal((await put('/absurd', 2)).status, 200);
  await untilCap('/absurd', 2);
  t.same(await statusesOf(first, '/absurd', 3), [200, 200, 429]);
  t.teardown(() => {
    detour.flood = undefined;
  });
  const planes = [...fleet.proxies.map(({ process }) => process), fleet.controlPlane];
  await underLoad(
    t,
    fleet,
    async () => {
      for (const [what, flood] of floods) {
        detour.flood = flood;
        const saidMs = await untilDegraded(fleet);
        t.same(await statusesOf(first, '/absurd', 1), [429], 'what is in force stays in force');
        const megabytes = planes.map((plane) => Math.round(residentBytes(plane, 'peak') / 1e6));
        t.comment(`${what}: said after ${saidMs.toFixed(0)} ms; at most ${megabytes.join(', ')} MB resident`);
        t.ok(Math.max(...megabytes) < 300, what);
        detour.flood = undefined;
        t.ok((await fleet.recovered()) < 5_000, `${what}: all is well soon after`);
      }
    },
    { perSecond: 50 },
  );
});

await test('answers are lost and connections stay: it is said within a second, and over within seconds', async (t) => {
  t.teardown(() => {
    detour.swallows = () => false;
  });
  const losses: [what: string, swallows: typeof detour.swallows][] = [
    ['those of writes', (bytes) => bytes.includes('_\r\n') || bytes.includes('done')],
    ['all', () => true],
  ];
  await underLoad(t, fleet, async () => {
    for (const [cap, [what, swallows]] of losses.entries()) {
      detour.swallows = swallows;
      const saidMs = await untilDegraded(fleet);
      t.ok(saidMs < 1_000 + 2 * graceMs, `${what}: said after ${saidMs.toFixed(0)} ms`);
      detour.swallows = () => false;
      const recoveredMs = await fleet.recovered();
      t.ok(recoveredMs < 5_000, `${what}: well again after ${recoveredMs.toFixed(0)} ms`);
      t.equal((await put('/lossy', cap + 1)).status, 200);
      await untilCap('/lossy', cap + 1);
    }
  });
});

await test('every tenth answer is lost: none is taken for that to another question', async (t) => {
  const random = createRandom(8);
  t.teardown(() => {
    detour.swallows = () => false;
  });
  const tried: [status: number, code: string | undefined][] = [];
  await underLoad(t, fleet, async () => {
    detour.swallows = () => random() < 0.1;
    for (let cap = 1; cap <= 15; cap += 1) {
      const { status, code } = await put('/mixed', cap);
      tried.push([status, code]);
    }
    detour.swallows = () => false;
  });
  t.comment(`${tried.filter(([status]) => status === 200).length} of ${tried.length} writes taken`);
  t.same(
    tried.filter(([status, code]) => status !== 200 && !(status === 503 && code === 'store_unavailable')),
    [],
  );
  const kept = (await manualCaps(fleet))['/mixed'] ?? 0;
  t.ok(kept > tried.findLastIndex(([status]) => status === 200), 'every write that was taken is there');
});

await test('a replica without its primary takes no writes: the admin API says so, reads work, limits hold', async (t) => {
  t.equal((await put('/replica', 2)).status, 200);
  await untilCap('/replica', 2);
  const before = await manualCaps(fleet);
  t.teardown(() => client.replicaof('NO', 'ONE'));
  await underLoad(t, fleet, async () => {
    await client.replicaof('127.0.0.1', '1');
    await untilDegraded(fleet);
    for (let count = 0; count < 3; count += 1) {
      const { status, code, retryAfter } = await put('/replica', 9);
      t.match([status, code, retryAfter], [503, /^store_(read_only|unavailable)$/, '1']);
    }
    await waitFor('the reason', async () => (await put('/replica', 9)).code === 'store_read_only');
    await waitFor('a listing', async () => (await askAdmin(first)).status === 200);
    t.same(await statusesOf(first, '/replica', 3), [200, 200, 429]);
    await client.replicaof('NO', 'ONE');
  });
  t.same(await manualCaps(fleet), before);
  t.equal((await put('/replica', 3)).status, 200);
});

await test('a full server: writes are refused as such, reads and deletions work, limits hold', async (t) => {
  t.equal((await put('/full', 2)).status, 200);
  t.equal((await put('/full/deleted', 2)).status, 200);
  await untilCap('/full', 2);
  const before = await manualCaps(fleet);
  t.teardown(() => client.config('SET', 'maxmemory', '0'));
  await underLoad(t, fleet, async () => {
    await client.config('SET', 'maxmemory', '1');
    t.ok((await untilDegraded(fleet)) < 2_000, 'it is said');
    for (let count = 0; count < 5; count += 1) {
      const { status, code, retryAfter } = await put('/full', 9);
      t.same([status, code, retryAfter], [503, 'store_full', '1']);
      t.equal((await askAdmin(first)).status, 200);
    }
    t.equal(
      (await askAdmin(first, 'DELETE', { user_path: '/full/deleted', limit_key: { period: 'day' } })).status,
      200,
    );
    t.same(await statusesOf(first, '/full', 3), [200, 200, 429]);
    await client.config('SET', 'maxmemory', '0');
  });
  const { '/full/deleted': _, ...left } = before;
  t.same(await manualCaps(fleet), left);
  t.equal((await put('/full', 3)).status, 200);
});

await test('emptied with FLUSHALL: rules stay in force, it is said, and everything is written back, counters too', async (t) => {
  t.equal((await put('/flushed', 2)).status, 200);
  await untilCap('/flushed', 2);
  t.same(await statusesOf(first, '/flushed', 3), [200, 200, 429]);
  const before = { caps: await manualCaps(fleet), storeId: await client.hget(state, 'store_id') };
  const emptied = async (value: number): Promise<boolean> => {
    const gauges = await Promise.all(fleet.proxies.map((proxy) => proxy.metric('gateway_state_store_emptied')));
    return gauges.every((gauge) => gauge === value);
  };
  const field = `${'user_path 86400 /flushed'.length}:user_path 86400 /flushed:`;
  const isCounted = async (): Promise<boolean> => (await client.hexists('{gateway}:counters:proxy-1', field)) === 1;
  await waitFor('the counter to be written', isCounted);
  t.ok(await emptied(0));
  t.teardown(() => fleet.controlPlane.signal('SIGCONT'));
  await underLoad(
    t,
    fleet,
    async () => {
      // While the process that could write the rules back cannot.
      fleet.controlPlane.signal('SIGSTOP');
      await client.flushall();
      await waitFor('the proxies to say so', () => emptied(1));
      t.ok((await reasonsOf(first)).includes('state_store_emptied'));
      await waitFor('the counter to be written again without the rules', isCounted);
      t.same(await statusesOf(first, '/flushed', 2), [429, 429]);
      t.equal(await client.hget(state, 'store_id'), null);
      fleet.controlPlane.signal('SIGCONT');
      await waitFor('the rules to be written back', () => emptied(0));
      t.same(await statusesOf(first, '/flushed', 2), [429, 429]);
      await first.process.kill();
      await first.restart();
      t.same(await statusesOf(first, '/flushed', 1), [429], 'also for a proxy that has forgotten everything');
    },
    { proxies: [second] },
  );
  t.same(await manualCaps(fleet), before.caps);
  t.equal(await client.hget(state, 'store_id'), before.storeId);
  t.equal((await put('/flushed', 3)).status, 200);
  await untilCap('/flushed', 3);
});

/** A document as the control plane writes it, its body changed. */
function documentOf(path: string, changes: object, more = ''): [field: string, value: string] {
  const moment = '2026-01-01T00:00:00.000Z';
  const rule = { scope: 'user_path', subject: path, per_child: false, period_seconds: 86_400, max_requests: 2 };
  const body = {
    ...rule,
    mode: 'enforce',
    created_at: moment,
    updated_at: moment,
    updated_by: 'master_key',
    ...changes,
  };
  return sealedDocument('rate_limit', `user_path 86400 ${path}`, body, more);
}

function sealedDocument(kind: string, id: string, body: object, more = ''): [field: string, value: string] {
  return [
    `document:${JSON.stringify([kind, id])}`,
    `{"revision":1,"body":${JSON.stringify(sealed({ kind, id }, body))}${more}}`,
  ];
}

const poisoned: [field: string, value: string][] = [
  ['document:["rate_limit","half"]', '{"revision":1,"body":{'],
  ['document:["rate_limit","binary"]', '\u0000\u0001\u00ff'],
  ['document:["rate_limit","empty"]', ''],
  ['document:["rate_limit","number"]', '7'],
  ['document:["rate_limit","no body"]', '{"revision":1}'],
  ['document:["rate_limit","no revision"]', '{"body":{}}'],
  ['document:["rate_limit"]', '{"revision":1,"body":{}}'],
  ['document:["rate_limit",5]', '{"revision":1,"body":{}}'],
  ['document:nothing', '{"revision":1,"body":{}}'],
  ['document:["rate_limit","null"]', '{"revision":1,"body":null}'],
  ['document:["rate_limit","list"]', '{"revision":1,"body":[]}'],
  ['document:["rate_limit","deep"]', `{"revision":1,"body":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ['document:["rate_limit","user_path 86400 /another"]', documentOf('/poison/elsewhere', {})[1]],
  documentOf('/poison/zero', { max_requests: 0 }),
  documentOf('/poison/infinite', { max_requests: 1e300 }),
  documentOf('/poison/text', { max_requests: '2' }),
  documentOf('/poison/scope', { scope: 'planet' }),
  documentOf('/poison/child', { per_child: 'yes' }),
  documentOf('/poison/mode', { mode: 'maybe' }),
  documentOf('/poison/moment', { updated_at: 'yesterday' }),
  sealedDocument('auth_key', 'garbage', { digest: 'x', enabled: true }),
  sealedDocument('reset_epoch', 'user_path 86400 /poison', { epoch: 'many' }),
  ['document:["of a kind to come","a"]', '{"revision":1,"body":{}}'],
  ['kind:of a kind to come', 'NaN'],
];

await test('poisoned documents, counters and heartbeats: each costs only itself, and the log names it', async (t) => {
  const before = await manualCaps(fleet);
  const lines = [first, second].map(({ process }) => process.stdout.length);
  await underLoad(t, fleet, async () => {
    await client.hset(state, ...poisoned.flat());
    await client.hset('{gateway}:counters:proxy-1', '24:user_path 86400 /poison:', 'garbage', 'garbage', '1');
    // In one step: a proxy writes its own keys at any moment.
    await client
      .multi()
      .del('{gateway}:counters:proxy-2', '{gateway}:counter-expiry:proxy-2', '{gateway}:heartbeat-times')
      .set('{gateway}:counters:proxy-2', 'a text')
      .rpush('{gateway}:counter-expiry:proxy-2', 'a', 'list')
      .sadd('{gateway}:heartbeat-times', 'a set')
      .exec();
    await client.hset('{gateway}:heartbeats', 'nobody', '{', 'proxy-1', 'garbage');
    t.equal((await put('/poison', 2)).status, 200);
    await untilCap('/poison', 2);
    t.same(await statusesOf(first, '/poison', 3), [200, 200, 429]);
    await client.hdel(state, ...poisoned.map(([field]) => field));
    await client.hincrby(state, 'revision', 1);
  });
  t.same(await manualCaps(fleet), { ...before, '/poison': 2 }, 'the others are there');
  for (const [index, { process }] of [first, second].entries()) {
    const said = process.stdout.slice(lines[index]).join('\n');
    for (const name of ['half', 'binary', 'empty', 'no body', '/poison/zero', '/poison/infinite', '/poison/child']) {
      t.match(said, new RegExp(`stored [a-z_]+ \\\\"([^"]* )?${name}\\\\" cannot be read`), `${name} is named`);
    }
    t.match(said, /the stored rate_limit \\"deep\\" has no good seal/);
  }
  await waitFor('counters of the right type', async () => (await client.type('{gateway}:counters:proxy-2')) === 'hash');
});

await test('a rule that a newer version wrote, with unknown members, is enforced by its known members', async (t) => {
  const [field, value] = documentOf(
    '/newer',
    { burst: 5, windows: [{ seconds: 1 }], max_images: null },
    ',"signed_by":"x"',
  );
  await underLoad(t, fleet, async () => {
    await client.hset(state, field, value);
    await client.hincrby(state, 'revision', 1);
    t.ok(Math.max(...(await untilCap('/newer', 2))) < 1_000 + graceMs);
    t.same(await statusesOf(second, '/newer', 3), [200, 200, 429]);
  });
  t.match(
    (await listRules(fleet)).find(({ subject }) => subject === '/newer'),
    { max_requests: 2, period_seconds: 86_400 },
  );
  t.equal((await put('/newer', 5)).status, 200);
  await untilCap('/newer', 5);
  t.same(await statusesOf(second, '/newer', 4), [200, 200, 200, 429], 'its counter went on');
});

await test('a store that a newer version has taken over is left alone, and used again when it is as before', async (t) => {
  const before = await manualCaps(fleet);
  const version = await client.hget(state, 'version');
  t.teardown(() => client.hset(state, 'version', version ?? ''));
  await underLoad(t, fleet, async () => {
    await client.hset(state, 'version', '99');
    const lying = await client.hgetall(state);
    for (const attempt of [put('/newer', 9), askAdmin(first), put('/newer/more', 9)]) {
      const { status, code, retryAfter } = await attempt;
      t.same([status, code, retryAfter], [503, 'store_unavailable', '1']);
    }
    t.same(await client.hgetall(state), lying, 'nothing was written');
    await untilDegraded(fleet);
    t.same(await statusesOf(second, '/newer', 1), [429], 'limits hold');
    t.same(await statusesOf(first, '/newer', 6), [200, 200, 200, 200, 200, 429]);
    await client.hset(state, 'version', version ?? '');
  });
  t.same(await manualCaps(fleet), before);
});

await test('no process logged an unexpected failure, and none ended', async (t) => {
  checkUnharmed(t, fleet, upstream);
});
