// Caps of a fleet of eight (of five in a short run) while its parts fail: three proxies and Redis are killed, Redis is silent, and no trailing
// period holds more than the cap.
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { type Answer, judge } from '../accuracy/oracle.ts';
import { extent } from '../support/extent.ts';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { type Gateway, readMetric } from '../support/gateway.ts';
import { type ClientSession, openSession, refusedSession } from '../support/realtime-client.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(180_000);

const period = { cap: 40, periodMs: 2_000 };
const slots = 8;
const leaseWaitMs = 250;
/** Of each proxy between two requests of a load: all of them ask for several times what the cap admits. */
const pauseMs = extent(20, 40);
const upstream = await startFakeUpstream({ t: suite });
const voices = await startFakeRealtime(suite);
const rule = (path: string, limit: object) => ({ path, limits: [limit] });
const window = { period_seconds: period.periodMs / 1000, max_requests: period.cap };
const fleet = await startFleet(suite, {
  store: 'redis',
  proxies: extent(8, 5),
  config: {
    providers: {
      fake: { type: 'openai', base_url: upstream.url, models: ['fake-small'] },
      voices: { type: 'openai', base_url: voices.url, models: ['gpt-realtime'], dialects: ['realtime'] },
    },
    rate_limits: {
      scope: 'fleet',
      user_paths: [
        rule('/window-closed', { ...window, on_store_loss: 'closed' }),
        rule('/window-share', { ...window, on_store_loss: 'share' }),
        rule('/slots', { period: 'concurrent', max_requests: slots }),
        rule('/closed', { period: 'hour', max_requests: 1_000_000, on_store_loss: 'closed' }),
        rule('/share', { period: 'hour', max_requests: 30, on_store_loss: 'share' }),
      ],
    },
  },
});
const { proxies } = fleet;
const [one, two] = proxies as readonly [Gateway, Gateway];
/** These are killed; all but the last start again at once. */
const victims = proxies.slice(-3) as [Gateway, Gateway, Gateway];
const [gone] = victims.slice(-1) as [Gateway];
const restarted = victims.slice(0, -1);

interface Asked {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly sentMs: number;
  readonly endMs: number;
}

/** 0: the proxy was gone. */
async function ask(proxy: Gateway, path: string, content: string = 'hello'): Promise<Asked> {
  const sentMs = performance.now();
  try {
    const response = await proxy.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-gateway-user-path': path },
      body: { model: 'fake-small', messages: [{ role: 'user', content }] },
      signal: AbortSignal.timeout(150_000),
    });
    const body = (await response.json()) as { error?: { code?: string } };
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, code: body.error?.code, retryAfter, sentMs, endMs: performance.now() };
  } catch {
    return { status: 0, code: undefined, retryAfter: null, sentMs, endMs: performance.now() };
  }
}

/** What the provider sees of requests: when each came there, by what it says. */
function arrivals(): ReadonlyMap<string, number> {
  return new Map(upstream.ledger.map((entry) => [contentOf(entry), entry.receivedAtMs]));
}

function contentOf(entry: { json(): unknown }): string {
  const { messages = [] } = (entry.json() ?? {}) as { messages?: readonly { content: string }[] };
  return messages[0]?.content ?? '';
}

/** Asks all proxies again and again under a path until told to end. */
function load(path: string) {
  const statuses: number[] = [];
  const sent = new Map<string, number>();
  const over = { is: false };
  const running = proxies.map(async (proxy) => {
    while (!over.is) {
      const content = `${path} ${sent.size}`;
      sent.set(content, performance.now());
      statuses.push((await ask(proxy, path, content)).status);
      await setTimeout(pauseMs);
    }
  });
  return {
    statuses,
    /** Resolves when so many more were answered. */
    go(more: number) {
      const wanted = statuses.length + more;
      return waitFor('the load to go on', () => statuses.length >= wanted);
    },
    /** The most that one period holds for sure: each was admitted after it was sent, and before the provider saw it. */
    async end(): Promise<number> {
      over.is = true;
      await Promise.all(running);
      const seen = arrivals();
      const admitted = [...sent].flatMap(([content, sentMs]): Answer[] => {
        const answeredMs = seen.get(content);
        return answeredMs === undefined ? [] : [{ sentMs, answeredMs, outcome: 'admitted' }];
      });
      return judge(admitted, period).surely;
    },
  };
}

/**
 * The longest that a request has waited for the store, beyond what the process itself was late since it was last asked. Milliseconds.
 */
async function longestWaits(of: readonly Gateway[]): Promise<number[]> {
  const texts = await Promise.all(of.map((proxy) => proxy.metrics()));
  return texts.map((text) => {
    const lateSeconds = readMetric(text, 'nodejs_eventloop_lag_max_seconds') ?? 0;
    const seconds = readMetric(text, 'gateway_rate_limit_longest_wait_seconds') ?? Number.NaN;
    return Math.round(1_000 * (seconds - lateSeconds));
  });
}

async function storeIs(state: 'lost' | 'there'): Promise<void> {
  await waitFor(`the store to be ${state}`, async () => {
    const lost = await Promise.all(proxies.map((proxy) => proxy.metric('gateway_rate_limit_store_lost')));
    return lost.every((value) => value === (state === 'lost' ? 1 : 0));
  });
}

/** A realtime session that holds a slot. */
const talk = (proxy: Gateway): Promise<ClientSession> =>
  openSession(proxy, { headers: { 'x-gateway-user-path': '/slots' } });
/** One that the store answers late is refused: it may come again. */
const talkSoon = (proxy: Gateway) => waitFor('a free slot', () => talk(proxy).catch(() => undefined));

await test('three proxies and Redis are killed: caps hold, slots come back, and no request waits for long', async (t) => {
  // What a process was late at its start does not count.
  await longestWaits(proxies);
  await upstream.behave((entry) => (contentOf(entry) === 'stay' ? { kind: 'hang' } : undefined));
  const held = [...victims, one].map((proxy) => ask(proxy, '/slots', 'stay'));
  const talks = await Promise.all([...victims, one].map(talkSoon));
  await upstream.waitFor((ledger) => ledger.filter((entry) => contentOf(entry) === 'stay').length === held.length);
  t.equal((await ask(two, '/slots')).status, 429, 'requests and sessions of all fill the cap');
  t.equal((await refusedSession(two, { headers: { 'x-gateway-user-path': '/slots' } })).status, 429);

  const loads = [load('/window-closed'), load('/window-share')] as const;
  const go = (more: number) => Promise.all(loads.map((each) => each.go(more)));
  await go(extent(400, 200));
  const waits = await longestWaits(victims);
  await Promise.all(restarted.map((proxy) => proxy.process.kill()));
  await Promise.all(restarted.map((proxy) => proxy.restart()));
  t.equal((await usage(two, '/slots'))?.in_flight, 4, 'slots of those that start again are free at once');
  // Killed last, because its slots are its own for a few seconds only.
  await gone.process.kill();
  const more = await Promise.all([one, two, ...restarted].map(talkSoon));
  t.equal((await ask(two, '/slots')).status, 429, 'those of the one that is gone are not');
  await go(extent(200, 100));
  await fleet.redis?.kill();
  await go(40);
  await fleet.redis?.restart();
  await waitFor('the slots of the one that is gone', async () => (await usage(two, '/slots'))?.in_flight === 6, 12_000);
  const [closed, share] = await Promise.all([loads[0].end(), loads[1].end()]);
  waits.push(...(await longestWaits(proxies.slice(0, -1))));
  for (const { socket } of [...talks, ...more]) socket.terminate();
  upstream.dropConnections('rst');
  await Promise.all(held);
  await gone.restart();

  const counted = loads.map(({ statuses }) => statuses.filter((status) => status === 200).length);
  t.comment({ counted, closed, share, waits });
  t.ok(closed <= period.cap, 'closed: no period holds more than the cap');
  t.ok(share < 2 * period.cap, 'share: less than twice of it');
  t.ok(closed > period.cap / 2, 'and the cap is used');
  t.ok(Math.max(...waits) <= leaseWaitMs, 'no request waits for longer than lease_wait');
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
  await Promise.all(proxies.map((proxy) => ask(proxy, '/share')));
  await storeIs('there');
  fleet.redis?.freeze();
  t.teardown(() => fleet.redis?.thaw());
  await storeIs('lost');
  const readiness = (await (await one.fetch('/health/ready')).json()) as { status: string; reasons: string[] };
  t.equal(readiness.status, 'degraded');
  t.ok(readiness.reasons.includes('shared_limits_unavailable'));
  // What was granted may be used for three seconds.
  await waitFor('nothing granted to be left', async () => (await ask(one, '/closed')).status === 503);
  const closed = await ask(one, '/closed');
  t.match(closed, { status: 503, code: 'rate_limit_store_unavailable', retryAfter: '1' });
  t.ok(closed.endMs - closed.sentMs < 1_000, 'no request waits once that is known');
  const shared = await Promise.all(proxies.flatMap((proxy) => Array.from({ length: 6 }, () => ask(proxy, '/share'))));
  const admitted = shared.filter(({ status }) => status === 200).length;
  t.equal(admitted, 30 - proxies.length, 'each admits its part of the cap');
  fleet.redis?.thaw();
  await storeIs('there');
  t.equal((await ask(one, '/closed')).status, 200);
  await waitFor('all to know of the use', async () => {
    const known = await Promise.all(proxies.map((proxy) => usage(proxy, '/share')));
    return known.every((row) => row?.requests_used === 30);
  });
  t.same(
    (await Promise.all(proxies.map((proxy) => ask(proxy, '/share')))).map(({ status }) => status),
    proxies.map(() => 429),
    'what was admitted meanwhile counts',
  );
});
