// A client may leave, go silent or crawl: the provider is let go, used tokens are charged, and no other client notices.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { t as suite, test } from 'tap';
import { chatCall, chatHead, firstEvent } from '../support/chat-call.ts';
import { complaintsOf } from '../support/complaints.ts';
import { extent, isFull } from '../support/extent.ts';
import { createGate, fin, rst, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, readMetric, startGateway } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw } from '../support/raw-http.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';
import { charged, crawl, minus } from './client-tools.ts';

const path = '/v1/chat/completions';
const upstream = await startFakeUpstream({ t: suite });

const config = (timeouts: object = {}) => ({
  server: { timeouts },
  rate_limits: {
    user_paths: [
      {
        path: '/team',
        limits: [
          { period: 'concurrent', max_requests: 600 },
          // An answer without end costs as many tokens as came.
          { period: 'day', max_requests: 1_000_000, max_tokens: 1_000_000_000_000 },
        ],
      },
    ],
  },
});

const provider = { type: 'openai', base_url: upstream.url, models: upstream.models };
/** The same provider, which has little time to report the usage of a client that left. */
const drainMs = 300;
/** As `usage_drain` is without a setting: on a busy machine a provider needs it to report in time. */
const defaultDrainMs = 2_000;
const drained = { ...provider, models: ['drained'], timeouts: { usage_drain: `${drainMs}ms` } };

/** With more patience than the tests have. Coverage would keep what a request leaves behind. */
const gateway = await startGateway(suite, {
  config: { ...config(), providers: { fake: provider, drained } },
  env: { NODE_V8_COVERAGE: undefined },
});
/** It lives in a time zone whose days begin within a slice of 24 minutes of UTC. */
const strictZone = 'Asia/Kolkata';
const zonedLimits = ['minute', 'hour', 'day'].map((period) => ({ period, max_requests: 5, max_tokens: 100_000 }));
const strictConfig = config({ headers: '300ms', body: '300ms', write_idle: '300ms' });
strictConfig.rate_limits.user_paths.push({ path: '/zoned', limits: zonedLimits });
const strict = await startGateway(suite, {
  upstream,
  config: strictConfig,
  env: { NODE_V8_COVERAGE: undefined, TZ: strictZone },
});

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

const own = { 'X-Gateway-User-Path': '/team' };
const chatBytes = (stream = false, model = 'fake-small'): string =>
  chatCall({ model, stream, messages: [{ role: 'user', content: 'hello' }] }, own);
const headBytes = (length: number): string => chatHead(length, own);

/** How many requests the gateway holds slots for. */
async function slots(through: Gateway): Promise<number> {
  return (await through.metric('gateway_rate_limit_in_flight')) ?? Number.NaN;
}

async function untilFree(through: Gateway, deadlineMs = 5000): Promise<void> {
  await waitFor(
    'every slot to be free and no request open',
    async () => {
      const text = await through.metrics();
      return (
        readMetric(text, 'gateway_rate_limit_in_flight') === 0 && readMetric(text, 'gateway_requests_in_flight') === 0
      );
    },
    deadlineMs,
  );
}

function ms(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

await test('a reset before the body is there: no provider is asked, nothing is charged', async (t) => {
  const before = await charged(gateway);
  const asked = upstream.ledger.length;
  const whole = chatBytes();
  for (const bytes of [whole.slice(0, 40), headBytes(500), whole.slice(0, -1)]) {
    for (let time = 0; time < 7; time += 1) {
      const connection = await openRaw(gateway.port, { t });
      await connection.send(bytes, rst);
    }
  }
  // Connections are taken in the order in which they came: when a later one is answered, all before it were read.
  const later = await openRaw(gateway.port, { t });
  await later.send(chatBytes());
  await later.waitFor(({ responses }) => responses[0]?.complete);
  t.equal(later.exchange().responses[0]?.status, 200);
  t.equal(upstream.ledger.length, asked + 1);
  // What was taken for one is given back when it is cut.
  await waitFor('only the later request to be charged', async () => {
    await untilFree(gateway);
    return minus(await charged(gateway), before).requests === 1;
  });
  t.equal(minus(await charged(gateway), before).partial, 0);
  t.equal(upstream.ledger.length, asked + 1);
});

async function upstreamCall(through: Gateway = gateway): Promise<{ status: number; ms: number }> {
  const startedAtMs = performance.now();
  const response = await through.fetch(path, {
    method: 'POST',
    headers: { 'x-gateway-user-path': '/team' },
    body: { model: 'fake-small', messages: [{ role: 'user', content: 'hello' }] },
    signal: AbortSignal.timeout(5000),
  });
  await response.text();
  return { status: response.status, ms: performance.now() - startedAtMs };
}

await test('a client that leaves while the provider thinks: the provider is let go within 100 ms', async (t) => {
  await upstream.behave({ kind: 'hang' });
  const leavings = extent(20, 4);
  const delays: number[] = [];
  const slowdown = watchSlowdown(gateway.process);
  const before = await charged(gateway);
  for (const ending of Array.from({ length: leavings }, (_, time) => (time % 2 === 0 ? fin : rst))) {
    const asked = upstream.ledger.length;
    const connection = await openRaw(gateway.port, { t });
    await connection.send(chatBytes());
    await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
    t.equal(await slots(gateway), 1);
    const leftAtMs = performance.now();
    await connection.send(ending);
    delays.push((await upstream.waitFor((ledger) => ledger[asked]?.clientClosedAtMs)) - leftAtMs);
    await untilFree(gateway);
    connection.close();
  }
  t.comment(`let go after ${ms(delays, 0.5).toFixed(1)} ms, at most ${Math.max(...delays).toFixed(1)} ms`);
  const factor = slowdown();
  t.ok(ms(delays, 0.5) <= 100 * factor, 'as a rule within 100 ms');
  t.ok(Math.max(...delays) <= 500 * factor, 'and never much later');
  const cost = minus(await charged(gateway), before);
  t.equal(cost.requests, leavings);
  t.equal(cost.reported, 0);
  t.ok(
    cost.partial >= leavings && cost.partial <= 20 * leavings,
    `the question was taken, so it costs: ${cost.partial}`,
  );
  t.equal(cost.tokens, cost.partial);
});

await test('a client that leaves amid a stream pays what came: as reported, else in part', async (t) => {
  const words = 8;
  const event = (word: string) => `data: {"choices":[{"index":0,"delta":{"content":"${word}"}}]}\n\n`;
  const events = Array.from({ length: words }, (_, index) => event(`word${index} `));
  const usage = { prompt_tokens: 1234, completion_tokens: 4321, total_tokens: 5555 };
  const usageEvent = `data: {"choices":[],"usage":${JSON.stringify(usage)}}\n\n`;
  for (const ending of [fin, rst]) {
    for (const reports of [false, true]) {
      const before = await charged(gateway);
      const gate = createGate();
      await upstream.behave([{ kind: 'sse', chunks: [...events, ...(reports ? [usageEvent] : []), gate] }]);
      const asked = upstream.ledger.length;
      const connection = await openRaw(gateway.port, { t });
      await connection.send(chatBytes(true));
      await connection.waitFor(({ responses }) => responses[0]?.text().includes(`word${words - 1} `));
      await waitFor('the provider to have said all', () => gate.waiting === 1);
      // The usage event is not passed on; when a later call is answered, it was read.
      t.equal((await upstreamCall()).status, 200);
      const middle = minus(await charged(gateway), before);
      t.equal(middle.requests, 2);
      t.equal(middle.tokens, middle.reported, 'nothing is charged for what is under way');

      await connection.send(ending);
      await waitFor('the provider to be let go', () => upstream.ledger[asked]?.clientClosedAtMs);
      await untilFree(gateway);
      const cost = minus(await charged(gateway), before);
      const late = { tokens: cost.tokens - middle.tokens, reported: cost.reported - middle.reported };
      if (reports) t.same({ ...late, partial: cost.partial }, { tokens: 5555, reported: 5555, partial: 0 });
      else {
        t.equal(late.reported, 0);
        t.equal(late.tokens, cost.partial);
        t.ok(cost.partial >= words && cost.partial <= 4 * words, `${words} events cost ${cost.partial}`);
      }
      connection.close();
    }
  }
});

await test('a client that leaves behind the last words pays what the provider reports within usage_drain', async (t) => {
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\n';
  const usageEvent = 'data: {"choices":[],"usage":{"prompt_tokens":1234,"completion_tokens":4321}}\n\n';
  const leave = async (ending: typeof fin, words: string, model = 'drained/drained') => {
    const before = await charged(gateway);
    const [gate, more] = [createGate(), createGate()];
    await upstream.behave([{ kind: 'sse', chunks: [firstEvent, words, gate, usageEvent, more] }]);
    const asked = upstream.ledger.length;
    const connection = await openRaw(gateway.port, { t });
    await connection.send(chatBytes(true, model));
    await connection.waitFor(({ responses }) => responses[0]?.text().endsWith(words));
    const leftAtMs = performance.now();
    await connection.send(ending);
    const entry = await upstream.waitFor((ledger) => ledger[asked]);
    const cost = async () => {
      await untilFree(gateway);
      const closedAtMs = await waitFor('the provider to be let go', () => entry.clientClosedAtMs);
      return { ...minus(await charged(gateway), before), ms: closedAtMs - leftAtMs };
    };
    return { gate, cost, entry };
  };
  for (const ending of [fin, rst]) {
    const reporting = await leave(ending, end, 'fake-small');
    await waitFor('the client to be gone', async () => (await slots(gateway)) === 1);
    t.equal(reporting.entry.clientClosedAtMs, undefined, 'the provider is still asked, and the slot still held');
    reporting.gate.release();
    const { ms: reportedMs, ...reported } = await reporting.cost();
    t.same(reported, { requests: 1, tokens: 5555, reported: 5555, partial: 0 });
    t.ok(reportedMs < defaultDrainMs, 'the provider is let go when it has reported');

    const slowdown = watchSlowdown(gateway.process);
    const { ms: silentMs, ...silent } = await (await leave(ending, end)).cost();
    t.match(silent, { requests: 1, reported: 0 });
    t.equal(silent.tokens, silent.partial, 'usage that is not reported is that of a part');
    const mostMs = drainMs * 4 * slowdown();
    t.ok(silentMs >= drainMs * 0.8 && silentMs < mostMs, `let go after ${silentMs.toFixed(0)} ms of ${drainMs}`);

    const { ms: amidMs } = await (await leave(ending, firstEvent, 'fake-small')).cost();
    t.ok(amidMs < defaultDrainMs * 0.8, `amid the words the provider is let go at once: ${amidMs.toFixed(0)} ms`);
  }
});

await test('a client that stops reading a stream is cut after write_idle, and little is kept for it', async (t) => {
  await upstream.behave({ kind: 'endless-body' });
  const resting = residentBytes(strict.process);
  for (const stream of [true, false]) {
    const asked = upstream.ledger.length;
    const connection = await openRaw(strict.port, { t });
    await connection.send(chatBytes(stream));
    await connection.waitFor(({ responses }) => responses[0]?.body.length);
    connection.pause();
    const stoppedAtMs = performance.now();
    t.equal(await slots(strict), 1);
    const closed = upstream.waitFor((ledger) => ledger[asked]?.clientClosedAtMs);
    await untilFree(strict);
    const tookMs = performance.now() - stoppedAtMs;
    t.ok(tookMs >= 150 && tookMs <= 5000, `its slot is back after ${tookMs.toFixed(0)} ms of 300`);
    t.ok((await closed) >= stoppedAtMs, 'the provider is let go');
    connection.resume();
    await connection.waitFor(({ closedByServer }) => closedByServer);
    t.equal(connection.exchange().responses[0]?.complete, false, 'what it has does not look like a whole answer');
    connection.close();
  }
  const grown = residentBytes(strict.process) - resting;
  t.comment(`grown by ${(grown / 2 ** 20).toFixed(1)} MiB`);
  t.ok(grown < 64 << 20);
});

await test('clients that read a byte a second do not slow others down', async (t) => {
  const normal = async (times: number): Promise<number[]> => {
    const taken: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const answer = await upstreamCall();
      if (answer.status !== 200) t.fail(`status ${answer.status}`);
      taken.push(answer.ms);
    }
    return taken;
  };
  const calls = extent(300, 40);
  await normal(calls / 2);
  const slowdown = watchSlowdown(gateway.process);
  const alone = await normal(calls);

  // Each fills the buffers of the kernel: megabytes.
  const crawlers = Array.from({ length: extent(20, 3) }, () => crawl(gateway.port, chatBytes(true)));
  t.teardown(() => {
    for (const { stop } of crawlers) stop();
  });
  await upstream.behave(Array.from({ length: crawlers.length }, () => ({ kind: 'endless-body' }) as const));
  for (const { begin } of crawlers) begin();
  await waitFor('all of them to be served', async () => (await slots(gateway)) === crawlers.length);
  await waitFor('all of them to have read', () => crawlers.every(({ bytes }) => bytes() >= 2));
  // Until the buffers of the kernel are full, they read as fast as other clients.
  const taken = () => upstream.ledger.slice(-crawlers.length).reduce((sum, { bytesSent }) => sum + bytesSent, 0);
  await waitForStandstill('the provider', taken);
  const beside = await normal(calls);
  t.comment(
    `p50 ${ms(alone, 0.5).toFixed(2)} → ${ms(beside, 0.5).toFixed(2)} ms, p99 ${ms(alone, 0.99).toFixed(2)} → ${ms(beside, 0.99).toFixed(2)} ms`,
  );
  const factor = slowdown();
  t.ok(ms(beside, 0.5) <= (3 * ms(alone, 0.5) + 5) * factor, 'as fast as before');
  t.ok(ms(beside, 0.95) <= (5 * ms(alone, 0.95) + 100) * factor, 'nearly always');
  t.equal(await slots(gateway), crawlers.length, 'clients that still wait keep them');
  t.ok(crawlers.every(({ bytes }) => bytes() < 100));
  for (const { stop } of crawlers) stop();
  await untilFree(gateway);

  const cut = crawl(strict.port, chatBytes(true));
  t.teardown(() => cut.stop());
  await upstream.behave([{ kind: 'endless-body' }]);
  cut.begin();
  await waitFor('it to be served', async () => (await slots(strict)) === 1);
  await untilFree(strict);
  t.pass('where write_idle is short, a crawler is cut like one that stopped');
});

await test('500 uploads that are broken off at once leave nothing behind', async (t) => {
  const before = await charged(gateway);
  const asked = upstream.ledger.length;
  const part = Buffer.alloc(64 * 1024, ' ');
  // Collections come when the process finds time: more rounds may follow, until the share of them that is kept shows.
  const rounds = { fewest: extent(8, 4), most: extent(24, 16), done: 0 };
  const halfOfRound = 16 * 2 ** 20;
  const round = async (): Promise<void> => {
    const uploads = await Promise.all(Array.from({ length: 500 }, () => openRaw(gateway.port, { t })));
    await Promise.all(uploads.map((upload) => upload.send(headBytes(1_000_000), part)));
    await waitFor(
      'all of them to have begun',
      async () => (await gateway.metric('gateway_requests_in_flight')) === uploads.length,
    );
    t.equal(await slots(gateway), uploads.length, 'each holds its slot while its body comes');
    for (const upload of uploads) upload.reset();
    await untilFree(gateway);
    await waitFor('their descriptors to be closed', () => openFiles(gateway) <= resting.files, 5000);
  };
  // What answers `charged` and `metric` keeps its connections.
  t.equal((await upstreamCall()).status, 200);
  const resting = { files: openFiles(gateway) + 4, bytes: 0 };
  for (let time = 0; time < 2; time += 1) await round();
  resting.bytes = residentBytes(gateway.process);
  const grown = (): number => residentBytes(gateway.process) - resting.bytes;
  while (rounds.done < rounds.fewest || (rounds.done < rounds.most && grown() >= rounds.done * halfOfRound)) {
    await round();
    rounds.done += 1;
  }
  t.comment(
    `${openFiles(gateway)} descriptors; resident memory after ${rounds.done} more rounds of 32 MiB: ${(grown() / 2 ** 20).toFixed(1)} MiB`,
  );
  t.ok(grown() < rounds.done * halfOfRound, 'less is kept than half of what they sent');
  t.equal(upstream.ledger.length, asked + 1);
  t.equal(minus(await charged(gateway), before).requests, 1);
  t.equal((await upstreamCall()).status, 200, 'and the next one is served');
});

function openFiles(of: Gateway): number {
  return readdirSync(`/proc/${of.process.pid}/fd`).length;
}

await test('the time zone of the machine changes nothing that clients see', async (t) => {
  // In minutes.
  const zones = { ...(isFull ? { UTC: 0, 'Europe/Warsaw': 60 } : {}), [strictZone]: 330 };
  const periods = { minute: 60, hour: 3600, day: 86_400 };
  const headers = { 'x-gateway-user-path': '/zoned' };
  for (const [zone, minutesEast] of Object.entries(zones)) {
    const offset = '0 - new Date(2026, 0, 1).getTimezoneOffset()';
    const zoned = execFileSync(process.execPath, ['-p', offset], { env: { TZ: zone }, encoding: 'utf8' });
    t.equal(Number(zoned), minutesEast, `this Node knows ${zone}`);
    const abroad =
      zone === strictZone ? strict : await startGateway(t, { upstream, config: strictConfig, env: { TZ: zone } });
    t.match(readFileSync(`/proc/${abroad.process.pid}/environ`, 'utf8'), `TZ=${zone}\0`);
    const response = await abroad.fetch(path, { method: 'POST', headers, body: { model: 'fake-small', messages: [] } });
    await response.text();
    t.equal(response.status, 200);
    // The least remaining is the same for all; the shortest period comes first in the order of rules.
    const reset = Number(response.headers.get('x-ratelimit-reset-requests'));
    t.ok(reset >= 60 && reset <= 61, `resets in ${reset} s`);

    const usage = (await (await abroad.fetch('/v1/usage', { headers })).json()) as {
      server_time: string;
      rate_limits: { period_label: keyof typeof periods; window_start: string; window_end: string; requests_used: 1 }[];
    };
    t.match(usage.server_time, /Z$/);
    t.ok(Math.abs(Date.parse(usage.server_time) - Date.now()) < 5000, `${zone}: ${usage.server_time}`);
    t.equal(usage.rate_limits.length, 3);
    for (const rule of usage.rate_limits) {
      const seconds = periods[rule.period_label];
      const startMs = Date.parse(rule.window_start);
      const slice = seconds / 60;
      t.match(rule.window_start, /Z$/);
      t.equal(startMs % (1000 * slice), 0, `${zone}: the slices of a ${rule.period_label} begin with those of UTC`);
      // The tokens may have been charged in the slice after that of the request.
      const slices = (Date.parse(rule.window_end) - startMs) / 1000 / slice;
      t.ok([61, 62].includes(slices), `${zone}: a ${rule.period_label} of ${slices} slices`);
      t.ok(startMs <= Date.parse(usage.server_time) && Date.parse(usage.server_time) < Date.parse(rule.window_end));
      t.equal(rule.requests_used, 1);
    }
  }
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same(upstream.malformed, []);
  for (const { process } of [gateway, strict]) {
    t.same(complaintsOf(process), []);
    t.ok(process.running);
  }
});
