// Redis answers late, not at all, or with nonsense, and loses notifications: what is in force stays in force.
import { t as suite, test } from 'tap';
import { statusesOf } from '../support/consumer.ts';
import { extent, isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { checkUnharmed, describeLoad, measured, roomyConfig, underLoad, usualPerSecond } from '../support/load.ts';
import { askAdmin, dayRule, delaysUntilCap, manualCaps, untilDegraded } from '../support/operator.ts';
import { residentBytes } from '../support/process.ts';
import { createRandom } from '../support/random.ts';
import { startDetour, startRedis } from '../support/redis.ts';
import { watchSlowdown } from '../support/slowdown.ts';
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
  proxies: extent(2, 1),
  config: roomyConfig(),
  env: { REDIS_URL: detour.url },
});
const [first] = fleet.proxies as readonly [Gateway];
const planes = [...fleet.proxies.map(({ process }) => process), fleet.controlPlane];
const state = '{gateway}:state';
/** What a busy machine may add to what has to be done within a second. */
const graceMs = 500;

const put = (path: string, cap: number) => askAdmin(first, 'PUT', dayRule(path, cap));
const untilCap = (path: string, cap: number) => delaysUntilCap(fleet.proxies, path, cap);

const text = (delays: readonly number[]): string => delays.map((delay) => `${delay.toFixed(0)} ms`).join(', ');

await fleet.recovered();

await test('answers 100 to 200 ms late: writes are taken, counters are written no more often, models do not notice', async (t) => {
  const sequence = async () => Number(await client.hget('{gateway}:counters:proxy-1', 'sequence'));
  t.teardown(() => {
    detour.delayMs = () => 0;
  });
  await underLoad(t, fleet, async (load) => {
    const calm = await measured(load, extent(600, 400));
    const before = await sequence();
    const startedMs = performance.now();
    const slowdown = watchSlowdown(...planes);
    detour.delayMs = () => 100 + Math.random() * 80;
    load.look();
    const taken: number[] = [];
    const times: number[] = [];
    // Where a busy machine adds its own to each answer, the first write that is taken may come late.
    const isOver = (): boolean => performance.now() > startedMs + (taken.length > 0 ? extent(2_400, 1_200) : 10_000);
    while (!isOver()) {
      const cap = taken.length + 1;
      const { status, tookMs } = await put('/slow', cap);
      times.push(tookMs);
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
    // Some five round trips, each with its delay, and what a busy machine adds.
    t.ok(Math.max(...times) < 4_000 * slowdown());
    await untilCap('/slow', taken.at(-1) ?? 0);
    t.ok(writes <= seconds + 2);
    await waitFor('the counters to be written', async () => (await sequence()) > before);
    t.ok(slow.p50Ms < Math.max(100, 3 * calm.p50Ms) * slowdown());
    t.ok(slow.perSecond > usualPerSecond * 0.5);
  });
});

await test('connections of subscribers are killed again and again: a change is in force within a second', async (t) => {
  await underLoad(t, fleet, async () => {
    const delays: number[] = [];
    const slowdown = watchSlowdown(...planes);
    let killed = 0;
    for (let cap = 1; cap <= 3; cap += 1) {
      killed += Number(await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      t.equal((await put('/unheard', cap)).status, 200);
      killed += Number(await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      delays.push(...(await untilCap('/unheard', cap)));
    }
    const heard = async () => (await client.pubsub('NUMSUB', '{gateway}:changed'))[1];
    await waitFor('every plane to listen again', async () => Number(await heard()) === planes.length);
    t.equal((await put('/unheard', 4)).status, 200);
    delays.push(...(await untilCap('/unheard', 4)));
    t.comment(`${killed} connections killed; in force after ${text(delays)}`);
    t.ok(killed >= planes.length);
    t.ok(Math.max(...delays) < (1_000 + graceMs) * slowdown());
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
      return killed >= extent(10, 5) * planes.length;
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
    const slowdown = watchSlowdown(...planes);
    for (let cap = 1; cap <= extent(4, 2); cap += 1) {
      const { status } = await waitFor('a write that the store had time for', async () => {
        // At the control plane itself: a proxy answers a write only when it enforces it.
        const answer = await askAdmin({ fetch: fleet.admin }, 'PUT', dayRule('/muted', cap));
        return answer.code !== 'store_unavailable' && answer;
      });
      t.equal(status, 200);
      delays.push(...(await untilCap('/muted', cap)));
    }
    t.comment(`in force after ${text(delays)}`);
    t.ok(Math.max(...delays) < (1_000 + graceMs) * slowdown());
    t.ok(detour.muted > 0, 'notifications were sent, and none came');
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

type Flood = NonNullable<typeof detour.flood>;

const floods: [what: string, flood: Flood][] = [
  ['a text of 600 MB', { head: '$600000000\r\n', tail: 'x' }],
  ['a list of 40 million values', { head: '*40000000\r\n', tail: ':1\r\n' }],
  ['lists in lists without end', { head: '', tail: '*1000000\r\n' }],
  ['a line without end', { head: '+', tail: 'x' }],
  ['a text of 600 MB among the values of a list', { head: '*2\r\n$1\r\n0\r\n', tail: '$600000000\r\nx' }],
  ['what is no Redis', { head: 'HTTP/1.1 400 Bad Request\r\n\r\n', tail: '<html>' }],
];

/** In a full run one after the other, each with a recovery; in a short run each connection gets another one, again and again. */
const mixtures: (typeof floods)[] = isFull ? floods.map((flood) => [flood]) : [floods];

/** Gives each connection the next of the floods; `given` counts how many connections got one. */
function inTurn(mixture: typeof floods): { readonly flood: Flood; readonly given: () => number } {
  let given = 0;
  const current = (): Flood => mixture[(given - 1) % mixture.length]?.[1] ?? { head: '', tail: '' };
  const flood = {
    // The head is read once for each connection, before the tail.
    get head() {
      given += 1;
      return current().head;
    },
    get tail() {
      return current().tail;
    },
  };
  return { flood, given: () => given };
}

await test('absurd answers are not taken in: both planes stay small, say so, and go on', async (t) => {
  t.equal((await put('/absurd', 2)).status, 200);
  await untilCap('/absurd', 2);
  t.same(await statusesOf(first, '/absurd', 3), [200, 200, 429]);
  t.teardown(() => {
    detour.flood = undefined;
  });
  await underLoad(
    t,
    fleet,
    async () => {
      for (const mixture of mixtures) {
        const what = mixture.map(([name]) => name).join(', ');
        const { flood, given } = inTurn(mixture);
        detour.flood = flood;
        const saidMs = await untilDegraded(fleet);
        // Each plane has two connections.
        await waitFor('each flood on several connections', () => given() >= 2 * mixture.length);
        t.same(await statusesOf(first, '/absurd', 1), [429], 'what is in force stays in force');
        const megabytes = planes.map((plane) => Math.round(residentBytes(plane, 'peak') / 1e6));
        t.comment(
          `${what}: on ${given()} connections; said after ${saidMs.toFixed(0)} ms; at most ${megabytes.join(', ')} MB resident`,
        );
        t.ok(Math.max(...megabytes) < 300, what);
        detour.flood = undefined;
        t.ok((await fleet.recovered()) < 5_000, `${what}: all is well soon after`);
      }
    },
    { perSecond: extent(50, 20) },
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
      const slowdown = watchSlowdown(...planes);
      const saidMs = await untilDegraded(fleet);
      t.ok(saidMs < (1_000 + 2 * graceMs) * slowdown(), `${what}: said after ${saidMs.toFixed(0)} ms`);
      detour.swallows = () => false;
      const recoveredMs = await fleet.recovered();
      t.ok(recoveredMs < 5_000 * slowdown(), `${what}: well again after ${recoveredMs.toFixed(0)} ms`);
      t.equal((await put('/lossy', cap + 1)).status, 200);
      await untilCap('/lossy', cap + 1);
    }
  });
});

await test('every tenth answer is lost: no answer is taken for that to another question', async (t) => {
  const random = createRandom(8);
  t.teardown(() => {
    detour.swallows = () => false;
  });
  const tried: [status: number, code: string | undefined][] = [];
  await underLoad(t, fleet, async () => {
    detour.swallows = () => random() < 0.1;
    for (let cap = 1; cap <= extent(15, 6); cap += 1) {
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

await test('no process logged an unexpected failure, and none ended', async (t) => {
  checkUnharmed(t, fleet, upstream);
});
