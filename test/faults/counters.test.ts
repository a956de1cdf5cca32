// Counters survive: whatever ends the process or takes the store away, what was counted is there again, and nothing is counted twice.
import { mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { t as suite, type Test, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import type { Exit } from '../support/process.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const path = '/v1/chat/completions';
const upstream = await startFakeUpstream({ t: suite });
// Some of it is waiting for windows and intervals.
suite.setTimeout(110_000);
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

/** A random number generator whose seed is printed: a failure can be run again. */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
suite.comment(`SEED=${seed}`);
const random = mulberry(seed);

/** Numbers from 0 to 1. */
function mulberry(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Limit {
  period?: string;
  period_seconds?: number;
  max_requests?: number;
  max_tokens?: number;
}

const roomy: Limit = { period: 'hour', max_requests: 1_000_000, max_tokens: 1_000_000_000 };
const slots: Limit = { period: 'concurrent', max_requests: 500 };

function limits(...rules: Limit[]): { rate_limits: object } {
  return { rate_limits: { user_paths: [{ path: '/', limits: rules }] } };
}

function start(t: Teardown, rules: Limit[], options: GatewayOptions = {}): Promise<Gateway> {
  return startGateway(t, { upstream, config: limits(...rules), ...options });
}

/** One call to its end; the status, and what it has cost. */
async function ask(gateway: Gateway): Promise<{ status: number; tokens: number; retryAfter: number }> {
  const response = await gateway.fetch(path, { method: 'POST', body: { model: 'fake-small', messages: [] } });
  const { usage } = (await response.json()) as { usage?: { total_tokens: number } };
  const retryAfter = Number(response.headers.get('retry-after') ?? 0);
  return { status: response.status, tokens: usage?.total_tokens ?? 0, retryAfter };
}

interface Sum {
  requests: number;
  tokens: number;
}

/** So many calls, one after the other; what they have cost. */
async function askTimes(gateway: Gateway, times: number): Promise<Sum> {
  const sum = { requests: 0, tokens: 0 };
  for (let count = 0; count < times; count += 1) {
    const { status, tokens } = await ask(gateway);
    if (status !== 200) throw new Error(`request ${count} got ${status}`);
    sum.requests += 1;
    sum.tokens += tokens;
  }
  return sum;
}

interface Item {
  period_seconds: number;
  requests_used?: number;
  tokens_used?: number;
  in_flight: number;
}

async function items(gateway: Gateway): Promise<Item[]> {
  const response = await gateway.fetch('/v1/usage');
  return ((await response.json()) as { rate_limits: Item[] }).rate_limits;
}

/** What the window of that period has counted. */
async function used(gateway: Gateway, periodSeconds = 3_600): Promise<Sum> {
  const item = (await items(gateway)).find(({ period_seconds: seconds }) => seconds === periodSeconds);
  if (item === undefined) throw new Error(`no rule of ${periodSeconds} s`);
  return { requests: item.requests_used ?? 0, tokens: item.tokens_used ?? 0 };
}

async function inFlight(gateway: Gateway): Promise<number> {
  return (await items(gateway)).find(({ period_seconds: seconds }) => seconds === 0)?.in_flight ?? -1;
}

function stateFile({ dataDir }: Pick<Gateway, 'dataDir'>): string {
  return join(dataDir, 'state.sqlite');
}

/** Runs SQL on the state file as somebody else. */
function sql(gateway: Pick<Gateway, 'dataDir'>, text: string, ...values: (string | number)[]) {
  const database = new DatabaseSync(stateFile(gateway), { timeout: 1_000 });
  try {
    return database.prepare(text).all(...values);
  } finally {
    database.close();
  }
}

interface Stored {
  instance: string;
  child: string;
  rule: string;
  requests: [number, number][];
  tokens: [number, number][];
}

/** The rows of all instances. */
function storedRows(gateway: Pick<Gateway, 'dataDir'>): Stored[] {
  return sql(gateway, 'SELECT instance, rule_key, child, counts FROM counter').map((row) => {
    const counts = JSON.parse(String(row['counts'])) as Pick<Stored, 'requests' | 'tokens'>;
    return { instance: String(row['instance']), child: String(row['child']), rule: String(row['rule_key']), ...counts };
  });
}

function sumOf(pairs: readonly [number, number][]): number {
  return pairs.reduce((sum, [, count]) => sum + count, 0);
}

function plus(a: Sum, b: Sum): Sum {
  return { requests: a.requests + b.requests, tokens: a.tokens + b.tokens };
}

async function readiness(gateway: Gateway): Promise<{ http: number; status: string; reasons: string[] }> {
  const response = await gateway.fetch('/health/ready');
  return { http: response.status, ...((await response.json()) as { status: string; reasons: string[] }) };
}

const hasState = async (gateway: Gateway, status: string): Promise<boolean> =>
  (await readiness(gateway)).status === status;

/** Lets that much time pass, while `probe` must hold. */
async function during(ms: number, probe: () => boolean | Promise<boolean>): Promise<boolean> {
  const endMs = performance.now() + ms;
  return waitFor(`${ms} ms to pass`, async () => {
    if (!(await probe())) return 'no';
    return performance.now() > endMs && 'yes';
  }).then((verdict) => verdict === 'yes');
}

// --- the process ends

await test('kill -9 at any moment: at most the last 1.25 s are lost, and nothing is counted twice', async (t) => {
  const gateway = await start(t, [roomy, slots]);
  let before = await used(gateway);
  for (let round = 1; round <= 5; round += 1) {
    const firstEntry = upstream.ledger.length;
    const answered: { atMs: number; tokens: number }[] = [];
    let sent = 0;
    const end = new AbortController();
    const client = async (): Promise<void> => {
      while (!end.signal.aborted) {
        sent += 1;
        const answer = await ask(gateway).catch(() => undefined);
        if (answer?.status === 200) answered.push({ atMs: performance.now(), tokens: answer.tokens });
      }
    };
    const startedMs = performance.now();
    const lifeMs = 1_500 + Math.floor(random() * 1_000);
    const clients = [client(), client(), client()];
    // A machine that stalls us stalls the gateway's timer, too: that much later may its last write have been.
    let stalledMs = 0;
    let seenMs = startedMs;
    await waitFor('the moment of death', () => {
      const nowMs = performance.now();
      stalledMs = Math.max(stalledMs, nowMs - seenMs);
      seenMs = nowMs;
      return nowMs - startedMs > lifeMs;
    });
    gateway.process.signal('SIGKILL');
    const killedMs = performance.now();
    end.abort();
    await Promise.all([gateway.process.exited, ...clients]);

    await gateway.restart();
    const after = await used(gateway);
    const kept = answered.filter(({ atMs }) => atMs < killedMs - 1_250 - stalledMs);
    const known = upstream.ledger.slice(firstEntry).reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
    const counted = after.requests - before.requests;
    t.comment(
      `killed after ${lifeMs} ms: ${kept.length} ≤ ${counted} ≤ ${sent} requests; stalls of ${stalledMs.toFixed(0)} ms`,
    );
    t.ok(kept.length > 0, 'something had to be there');
    t.ok(counted >= kept.length, `at least ${kept.length}: ${counted}`);
    t.ok(counted <= sent, `at most ${sent}: ${counted}`);
    const tokens = after.tokens - before.tokens;
    t.ok(tokens >= kept.reduce((sum, each) => sum + each.tokens, 0), `tokens: ${tokens}`);
    t.ok(tokens <= known, `at most ${known} tokens: ${tokens}`);
    t.equal(await inFlight(gateway), 0);
    t.equal((await readiness(gateway)).status, 'ready');
    before = after;
  }
});

await test('SIGTERM: every count is there again, those of requests that ended during the drain too', async (t) => {
  const gateway = await start(t, [roomy, slots]);
  let expected = await askTimes(gateway, 20);
  t.same(await used(gateway), expected);
  await gateway.restart();
  t.same(await used(gateway), expected);

  const gate = createGate();
  const asked = upstream.ledger.length;
  await upstream.behave([{ kind: 'hold', gate }]);
  const open = ask(gateway);
  await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
  const stopped = gateway.process.stop();
  await gateway.process.waitForLine('draining');
  gate.release();
  const { status, tokens } = await open;
  t.equal(status, 200);
  t.match(await stopped, { code: 0 });
  await gateway.restart();
  expected = plus(expected, { requests: 1, tokens });
  t.same(await used(gateway), expected);
  await gateway.restart();
  t.same(await used(gateway), expected, 'and once more');
});

for (const second of ['SIGTERM', 'SIGINT'] as const) {
  await test(`a second signal while draining, ${second}: gone within a second, counters exact`, async (t) => {
    const gateway = await start(t, [roomy, slots]);
    const expected = await askTimes(gateway, 5);
    const gate = createGate();
    t.teardown(() => gate.release());
    const asked = upstream.ledger.length;
    await upstream.behave([{ kind: 'hold', gate }]);
    const open = ask(gateway).then(
      () => 'answered',
      () => 'cut',
    );
    await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
    t.equal(await inFlight(gateway), 1);
    gateway.process.signal('SIGTERM');
    await gateway.process.waitForLine('draining');
    const signalledMs = performance.now();
    gateway.process.signal(second);
    const exit: Exit = await gateway.process.exited;
    const tookMs = performance.now() - signalledMs;
    t.same(exit, { code: 0, signal: null });
    t.ok(tookMs < 1_000, `${tookMs.toFixed(0)} ms`);
    t.equal(await open, 'cut');
    await upstream.behave({ kind: 'openai' });
    await gateway.restart();
    t.same(await used(gateway), plus(expected, { requests: 1, tokens: 0 }), 'the open request was admitted');
    t.equal(await inFlight(gateway), 0);
  });
}

await test('slots that were taken when the process was killed are free', async (t) => {
  const gateway = await start(t, [roomy, { period: 'concurrent', max_requests: 2 }]);
  const gate = createGate();
  t.teardown(() => gate.release());
  const asked = upstream.ledger.length;
  await upstream.behave({ kind: 'hold', gate });
  const open = [1, 2].map(() => ask(gateway).catch(() => undefined));
  await upstream.waitFor((ledger) => ledger[asked + 1]?.bodyComplete);
  t.equal((await ask(gateway)).status, 429);
  await gateway.process.kill();
  await Promise.all(open);
  await upstream.behave({ kind: 'openai' });
  await gateway.restart();
  t.equal(await inFlight(gateway), 0);
  await askTimes(gateway, 3);
});

// --- flush interval 0

await test('flush interval 0: written at SIGTERM and only then, read at the start', async (t) => {
  const gateway = await start(t, [roomy], { env: { RATE_LIMITS_FLUSH_INTERVAL: '0' } });
  const first = await askTimes(gateway, 5);
  t.ok(await during(1_500, () => storedRows(gateway).length === 0), 'nothing is written while it runs');
  await gateway.process.stop();
  t.same(
    storedRows(gateway).map(({ requests, tokens }) => [sumOf(requests), sumOf(tokens)]),
    [[first.requests, first.tokens]],
  );
  await gateway.restart();
  t.same(await used(gateway), first);
  const second = await askTimes(gateway, 3);
  t.ok(await during(1_200, () => sumOf(storedRows(gateway)[0]?.requests ?? []) === 5), 'nor in the next run');
  await gateway.process.kill();
  await gateway.restart();
  t.same(await used(gateway), first, 'kill -9 loses what that run has counted');
  await askTimes(gateway, 3);
  await gateway.restart();
  t.same(await used(gateway), plus(first, second));
});

// --- rules change

await test('a reload changes no count', async (t) => {
  const gateway = await start(t, [roomy]);
  const expected = await askTimes(gateway, 7);
  for (const max_requests of [8, 500, 2, 1_000]) {
    await gateway.applyConfig({ 'gateway.yaml': limits({ ...roomy, max_requests }) });
    t.same(await used(gateway), expected, `cap ${max_requests}`);
  }
  const reloads = await gateway.metric('gateway_config_reload_total', { result: 'success' });
  gateway.process.signal('SIGHUP');
  t.ok(await during(300, async () => (await used(gateway)).requests === 7));
  t.ok(reloads);
  const more = await askTimes(gateway, 2);
  t.same(await used(gateway), plus(expected, more));
  await gateway.restart();
  t.same(await used(gateway), plus(expected, more));
});

await test('a restart with another cap keeps the use, with another period or subject it starts anew', async (t) => {
  const gateway = await start(t, [roomy]);
  const expected = await askTimes(gateway, 4);
  const restartWith = async (config: object): Promise<void> => {
    await gateway.process.stop();
    gateway.writeConfig({ 'gateway.yaml': config });
    await gateway.restart();
  };
  await restartWith(limits({ period: 'hour', max_requests: 4, max_tokens: 7_000_000 }));
  t.same(await used(gateway), expected);
  const refused = await ask(gateway);
  t.equal(refused.status, 429, 'the cap is the new one');
  await restartWith(limits(roomy));
  t.same(await used(gateway), expected);

  await restartWith(limits({ ...roomy, period: 'day' }));
  t.same(await used(gateway, 86_400), { requests: 0, tokens: 0 });
  await restartWith(limits(roomy));
  t.same(await used(gateway), { requests: 0, tokens: 0 }, 'the old period does not come back either');

  const again = await askTimes(gateway, 2);
  await restartWith({ rate_limits: { providers: [{ name: 'fake', limits: [roomy] }] } });
  await restartWith(limits(roomy));
  t.same(await used(gateway), { requests: 0, tokens: 0 }, 'nor does the old subject');
  t.equal(again.requests, 2);
});

// --- what lies in the store is odd

/** Moves every stored slice by that many milliseconds, as if the clock had been wrong. */
function shiftSlices(gateway: Gateway, byMs: number): void {
  for (const row of sql(gateway, 'SELECT instance, rule_key, child, counts FROM counter')) {
    const counts = JSON.parse(String(row['counts'])) as Record<string, unknown> &
      Pick<Stored, 'requests' | 'tokens'> & {
        period_seconds: number;
      };
    const slices = Math.round((byMs * 3) / (50 * counts.period_seconds));
    const moved = (pairs: [number, number][]) => pairs.map(([slice, count]) => [slice + slices, count]);
    const text = JSON.stringify({ ...counts, requests: moved(counts.requests), tokens: moved(counts.tokens) });
    sql(
      gateway,
      'UPDATE counter SET counts = ?, expires_at_ms = expires_at_ms + ? WHERE instance = ? AND rule_key = ? AND child = ?',
      text,
      byMs,
      String(row['instance']),
      String(row['rule_key']),
      String(row['child']),
    );
  }
}

const hour = 3_600_000;

await test('rows from the future count as now: they block for one period and a slice, and not again', async (t) => {
  const minute: Limit = { period: 'minute', max_requests: 3 };
  const short: Limit = { period_seconds: 3, max_requests: 3 };
  const gateway = await start(t, [minute]);
  await askTimes(gateway, 3);
  await gateway.process.stop();
  shiftSlices(gateway, 2 * hour);
  await gateway.restart();
  t.equal((await used(gateway, 60)).requests, 3);
  const refused = await ask(gateway);
  t.equal(refused.status, 429);
  t.ok(refused.retryAfter >= 59 && refused.retryAfter <= 61, `Retry-After ${refused.retryAfter}`);
  const nowSlice = Math.floor(Date.now() / 1000);
  await waitFor('the rows to be written as of now', () =>
    storedRows(gateway).every(({ requests }) => requests.every(([slice]) => slice <= nowSlice + 5)),
  );
  await gateway.process.kill();
  await waitFor('some seconds of that minute to pass', () => Date.now() / 1000 > nowSlice + 2);
  await gateway.restart();
  const later = await ask(gateway);
  t.ok(later.retryAfter < refused.retryAfter, `moved once: ${later.retryAfter} < ${refused.retryAfter}`);

  // The same, waited for.
  await gateway.applyConfig({ 'gateway.yaml': limits(short) });
  await askTimes(gateway, 3);
  await gateway.process.stop();
  shiftSlices(gateway, 2 * hour);
  await gateway.restart();
  const startedMs = performance.now();
  t.equal((await ask(gateway)).status, 429);
  await waitFor('the period to pass', async () => (await ask(gateway)).status === 200);
  const blockedMs = performance.now() - startedMs;
  t.ok(blockedMs < 3_050 + 250, `free after ${blockedMs.toFixed(0)} ms`);
});

await test('rows of long ago and rows of garbage do no harm to the rest', async (t) => {
  const gateway = await start(t, [roomy, { period: 'day', max_requests: 1_000 }]);
  const expected = await askTimes(gateway, 4);
  await gateway.process.stop();
  const instance = storedRows(gateway)[0]?.instance ?? '';
  const [hourRow] = storedRows(gateway).filter(({ rule }) => rule.includes(' 3600 '));
  sql(gateway, "DELETE FROM counter WHERE rule_key LIKE '% 3600 %'");
  const put = (rule: string, child: string, counts: string, expires = 9e15): void => {
    sql(gateway, 'INSERT OR REPLACE INTO counter VALUES (?, ?, ?, ?, ?)', instance, rule, child, counts, expires);
  };
  const rule = hourRow?.rule ?? '';
  const pairs = (slice: number, count: number) => ({ requests: [[slice, count]], tokens: [[slice, count]] });
  const row = { epoch: 0, period_seconds: 3_600 };
  const yearAgo = Math.floor((Date.now() - 365 * 24 * hour) / 60_000);
  put(rule, '', JSON.stringify({ ...row, ...pairs(yearAgo, 1_000_000) }));
  for (const [index, counts] of [
    '',
    'oops',
    '[]',
    'null',
    '{}',
    '{"epoch":0,"period_seconds":3600,"requests":[[1]],"tokens":[]}',
    JSON.stringify({ ...row, ...pairs(yearAgo, -5) }),
    JSON.stringify({ ...row, requests: 'many', tokens: [] }),
    '{"epoch":0,"period_seconds":0,"requests":[],"tokens":[]}',
    `{"epoch":0,"period_seconds":3600,"requests":[[1e400,1]],"tokens":[]}`,
  ].entries()) {
    put(rule, `/garbage/${index}`, counts);
  }
  const now = Math.floor(Date.now() / 60_000);
  put(rule, '/child-of-no-template', JSON.stringify({ ...row, ...pairs(now, 77) }));
  put('no such rule', '', JSON.stringify({ ...row, ...pairs(now, 77) }));
  put(`${rule} `, '', JSON.stringify({ ...row, ...pairs(now, 77) }));

  await gateway.restart();
  t.equal((await readiness(gateway)).status, 'ready');
  t.same(await used(gateway), { requests: 0, tokens: 0 }, 'a year ago is over');
  t.equal((await used(gateway, 86_400)).requests, expected.requests, 'the good row counts');
  const more = await askTimes(gateway, 3);
  await gateway.restart();
  t.same(await used(gateway), more);
  t.equal((await used(gateway, 86_400)).requests, expected.requests + more.requests);
});

// --- the store is away

/** Waits until the gateway says that the store is away, and that it serves all the same. */
async function untilDegraded(t: Test, gateway: Gateway): Promise<void> {
  await waitFor('the store to be missed', () => hasState(gateway, 'degraded'));
  t.same(await readiness(gateway), { http: 200, status: 'degraded', reasons: ['state_store_unavailable'] });
  t.equal(await gateway.metric('gateway_state_store_up'), 0);
}

async function untilReady(t: Test, gateway: Gateway): Promise<void> {
  await waitFor('the store to be back', () => hasState(gateway, 'ready'));
  t.equal(await gateway.metric('gateway_state_store_up'), 1);
}

await test('a store that is away at the start: served without it, and what is there later is added', async (t) => {
  const gateway = await start(t, [roomy]);
  const before = await askTimes(gateway, 5);
  await gateway.process.stop();
  const aside = `${stateFile(gateway)}.aside`;
  renameSync(stateFile(gateway), aside);
  mkdirSync(stateFile(gateway));

  await gateway.restart();
  await untilDegraded(t, gateway);
  const meanwhile = await askTimes(gateway, 3);
  t.same(await used(gateway), meanwhile);
  const said = gateway.process.logs().filter(({ msg }) => String(msg).includes('state store does not take them'));
  t.equal(said.length, 1, 'said once');

  rmdirSync(stateFile(gateway));
  renameSync(aside, stateFile(gateway));
  await untilReady(t, gateway);
  t.same(await used(gateway), plus(before, meanwhile));
  await waitFor('the sum to be written', () => sumOf(storedRows(gateway)[0]?.requests ?? []) === 8);
  await gateway.process.kill();
  await gateway.restart();
  t.same(await used(gateway), plus(before, meanwhile));
});

await test('a store that is away at the start and empty afterwards is made', async (t) => {
  const gateway = await start(t, [roomy], { env: { RATE_LIMITS_FLUSH_INTERVAL: '0' } });
  await gateway.process.stop();
  rmSync(stateFile(gateway));
  mkdirSync(stateFile(gateway));
  await gateway.restart();
  await untilDegraded(t, gateway);
  const expected = await askTimes(gateway, 3);
  rmdirSync(stateFile(gateway));
  await gateway.restart();
  t.same(await used(gateway), expected, 'without an interval the last write is the first that works');
  t.equal((await readiness(gateway)).status, 'ready');
});

await test('a store that is locked by somebody else while it runs: nothing that is counted meanwhile is lost', async (t) => {
  const gateway = await start(t, [roomy]);
  const before = await askTimes(gateway, 4);
  await waitFor('the first counts to be written', () => sumOf(storedRows(gateway)[0]?.requests ?? []) === 4);
  const intruder = new DatabaseSync(stateFile(gateway));
  t.teardown(() => intruder.isOpen && intruder.close());
  intruder.exec('BEGIN IMMEDIATE');
  let expected = plus(before, await askTimes(gateway, 2));
  await untilDegraded(t, gateway);
  expected = plus(expected, await askTimes(gateway, 3));
  t.same(await used(gateway), expected);
  intruder.exec('ROLLBACK');
  intruder.close();
  await untilReady(t, gateway);
  await waitFor('the sum to be written', () => sumOf(storedRows(gateway)[0]?.requests ?? []) === expected.requests);
  await gateway.process.kill();
  await gateway.restart();
  t.same(await used(gateway), expected);
});

// --- several instances

await test('two instances in one data directory: each its own rows', async (t) => {
  const a = await start(t, [roomy], { env: { GATEWAY_INSTANCE: 'a' } });
  const env = { GATEWAY_INSTANCE: 'b', GATEWAY_DATA: a.dataDir, GATEWAY_CONFIG: a.configDir };
  const b = await start(t, [roomy], { env });
  const [usedA, usedB] = await Promise.all([askTimes(a, 3), askTimes(b, 5)]);
  await waitFor('both to write', () => {
    const rows = storedRows(a).map(({ instance, requests }) => `${instance} ${sumOf(requests)}`);
    return rows.sort().join() === 'a 3,b 5';
  });
  await a.process.kill();
  await b.restart();
  await a.restart();
  t.same([await used(a), await used(b)], [usedA, usedB]);
  const more = await askTimes(b, 2);
  await Promise.all([a.process.stop(), b.process.stop()]);
  await Promise.all([a.restart(), b.restart()]);
  t.same([await used(a), await used(b)], [usedA, plus(usedB, more)]);
});

await test('the same instance twice: the second does not start; after a kill -9 of the first it starts at once', async (t) => {
  const first = await start(t, [roomy], { env: { GATEWAY_INSTANCE: 'only' } });
  const expected = await askTimes(first, 3);
  await waitFor('the counts to be written', () => sumOf(storedRows(first)[0]?.requests ?? []) === 3);
  const env = { GATEWAY_INSTANCE: 'only', GATEWAY_DATA: first.dataDir, GATEWAY_CONFIG: first.configDir };
  const second = await start(t, [roomy], { env, ready: 'spawned' });
  t.same(await second.process.exited, { code: 1, signal: null });
  t.same(second.process.stderr, [
    'proxy cannot start: another proxy runs as instance "only"; give each its own GATEWAY_INSTANCE',
  ]);
  t.same(await used(first), expected, 'the first goes on undisturbed');

  first.process.signal('SIGKILL');
  await first.process.exited;
  const startedMs = performance.now();
  const third = await start(t, [roomy], { env });
  const tookMs = performance.now() - startedMs;
  t.comment(`took over after ${tookMs.toFixed(0)} ms`);
  t.ok(tookMs < 5_000, `${tookMs.toFixed(0)} ms`);
  t.same(await used(third), expected);
});
