// Caps of a fleet while its parts fail: proxies and Redis are killed, Redis is silent, and no trailing period holds more than the cap.
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { extent, isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(180_000);

const periodSeconds = 2;
const cap = 20;
const upstream = await startFakeUpstream({ t: suite });
const rule = (path: string, limit: object) => ({ path, limits: [limit] });
const fleet = await startFleet(suite, {
  store: 'redis',
  proxies: 3,
  upstream,
  config: {
    rate_limits: {
      scope: 'fleet',
      user_paths: [
        rule('/window', { period_seconds: periodSeconds, max_requests: cap }),
        rule('/slots', { period: 'concurrent', max_requests: 4 }),
        rule('/closed', { period: 'hour', max_requests: 1_000_000, on_store_loss: 'closed' }),
        rule('/share', { period: 'hour', max_requests: 30, on_store_loss: 'share' }),
      ],
    },
  },
});
const proxies = fleet.proxies as readonly [Gateway, Gateway, Gateway];

interface Asked {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly sentMs: number;
  readonly endMs: number;
}

/** 0: the proxy was gone. */
async function ask(proxy: Gateway, path: string): Promise<Asked> {
  const sentMs = performance.now();
  try {
    const response = await proxy.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-gateway-user-path': path },
      body: { model: 'fake-small', messages: [{ role: 'user', content: 'hello' }] },
      signal: AbortSignal.timeout(10_000),
    });
    const body = (await response.json()) as { error?: { code?: string } };
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, code: body.error?.code, retryAfter, sentMs, endMs: performance.now() };
  } catch {
    return { status: 0, code: undefined, retryAfter: null, sentMs, endMs: performance.now() };
  }
}

/** The most requests that were surely admitted within one period: sent and answered in it. */
function worst(asked: readonly Asked[], periodMs: number): number {
  const admitted = asked.filter(({ status }) => status === 200);
  const counts = admitted.map(
    ({ sentMs }) => admitted.filter((other) => other.sentMs >= sentMs && other.endMs <= sentMs + periodMs).length,
  );
  return Math.max(0, ...counts);
}

/** Asks all proxies again and again until told to end. */
function load(path: string): { go: (more: number) => Promise<unknown>; end: () => Promise<Asked[]> } {
  const asked: Asked[] = [];
  const over = { is: false };
  const clients = proxies.flatMap((proxy) => [proxy, proxy]);
  const running = clients.map(async (proxy) => {
    while (!over.is) {
      asked.push(await ask(proxy, path));
      await setTimeout(20);
    }
  });
  return {
    /** Resolves when so many more were asked. */
    go(more) {
      const wanted = asked.length + more;
      return waitFor('the load to go on', () => asked.length >= wanted);
    },
    async end() {
      over.is = true;
      await Promise.all(running);
      return asked;
    },
  };
}

async function storeIs(state: 'lost' | 'there', of: Fleet['proxies']): Promise<void> {
  await waitFor(`the store to be ${state}`, async () => {
    const lost = await Promise.all(of.map((proxy) => proxy.metric('gateway_rate_limit_store_lost')));
    return lost.every((value) => value === (state === 'lost' ? 1 : 0));
  });
}

await test('proxies and Redis are killed: no trailing period holds more than the cap', async (t) => {
  const running = load('/window');
  await running.go(extent(300, 100));
  await proxies[2].process.kill();
  await running.go(extent(300, 100));
  await fleet.redis?.kill();
  await running.go(30);
  await fleet.redis?.restart();
  await proxies[2].restart();
  await running.go(extent(600, 200));
  const asked = await running.end();
  await storeIs('there', proxies);
  const admitted = asked.filter(({ status }) => status === 200).length;
  const most = worst(asked, periodSeconds * 1000);
  t.comment(`${asked.length} asked, ${admitted} admitted, at most ${most} of ${cap} in ${periodSeconds} s`);
  t.ok(most <= cap);
  t.ok(most > cap / 2, 'and the cap is used');
});

await test('a proxy that is killed and starts again has its slots back at once', async (t) => {
  await upstream.behave({ kind: 'hang' });
  const asked = upstream.ledger.length;
  const held = [
    ask(proxies[0], '/slots'),
    ask(proxies[0], '/slots'),
    ask(proxies[0], '/slots'),
    ask(proxies[1], '/slots'),
  ];
  await upstream.waitFor((ledger) => ledger.slice(asked).filter(({ bodyComplete }) => bodyComplete).length === 4);
  t.equal((await ask(proxies[2], '/slots')).status, 429, 'the cap holds over the fleet');
  await proxies[0].process.kill();
  await Promise.all(held.slice(0, 3));
  if (isFull) {
    await waitFor(
      'the slots to be free by themselves',
      async () => (await usage(proxies[2], '/slots'))?.in_flight === 1,
      12_000,
    );
  } else await proxies[0].restart();
  await upstream.behave({ kind: 'openai' });
  const free = await Promise.all([ask(proxies[1], '/slots'), ask(proxies[2], '/slots'), ask(proxies[2], '/slots')]);
  t.same(
    free.map(({ status }) => status),
    [200, 200, 200],
  );
  if (isFull) await proxies[0].restart();
  await proxies[1].process.kill();
  await proxies[1].restart();
  await held[3];
});

interface Usage {
  readonly in_flight: number;
  readonly requests_used: number;
}

/** What a proxy says of the use of a rule by all. */
async function usage(proxy: Gateway, path: string): Promise<Usage | undefined> {
  const response = await proxy.fetch('/v1/usage', { headers: { 'x-gateway-user-path': path } });
  return ((await response.json()) as { rate_limits: Usage[] }).rate_limits[0];
}

await test('while Redis is silent, each rule does what on_store_loss says', async (t) => {
  await upstream.behave({ kind: 'openai' });
  await Promise.all(proxies.map((proxy) => ask(proxy, '/share')));
  await storeIs('there', proxies);
  fleet.redis?.freeze();
  t.teardown(() => fleet.redis?.thaw());
  await storeIs('lost', proxies);
  const readiness = (await (await proxies[0].fetch('/health/ready')).json()) as { status: string; reasons: string[] };
  t.equal(readiness.status, 'degraded');
  t.ok(readiness.reasons.includes('shared_limits_unavailable'));
  // What was granted may be used for three seconds.
  await waitFor('nothing granted to be left', async () => (await ask(proxies[0], '/closed')).status === 503);
  const closed = await ask(proxies[0], '/closed');
  t.match(closed, { status: 503, code: 'rate_limit_store_unavailable', retryAfter: '1' });
  t.ok(closed.endMs - closed.sentMs < 1_000, 'no request waits once that is known');
  const shared = await Promise.all(proxies.flatMap((proxy) => Array.from({ length: 15 }, () => ask(proxy, '/share'))));
  const admitted = shared.filter(({ status }) => status === 200).length;
  t.equal(admitted, 30 - 3, 'each admits its part of the cap');
  fleet.redis?.thaw();
  await storeIs('there', proxies);
  t.equal((await ask(proxies[0], '/closed')).status, 200);
  await waitFor('all to know of the use', async () => {
    const known = await Promise.all(proxies.map((proxy) => usage(proxy, '/share')));
    return known.every((row) => row?.requests_used === 30);
  });
  t.same(
    (await Promise.all(proxies.map((proxy) => ask(proxy, '/share')))).map(({ status }) => status),
    [429, 429, 429],
    'what was admitted meanwhile counts',
  );
});
