// Counters when their store is away, locked, or holds garbage: counting goes on, and its valid rows count.
import { mkdirSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { t as suite, type Test, test } from 'tap';
import type { Pair } from '../../domain/rules/counter-row.ts';
import { encodeCounts } from '../../domain/rules/counter-text.ts';
import { laneOf } from '../support/counter-rows.ts';
import {
  askOnce,
  askTimes,
  countsIn,
  limits,
  nothing,
  plus,
  roomy,
  type Sum,
  sql,
  stateFileOf,
  storedCounters,
  sumOf,
  usedOf,
} from '../support/counters.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { readinessOf } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
suite.setTimeout(240_000);

/** One for all: each test declares the rules it counts on, and starts it again. */
const gateway = await startGateway(suite, { upstream, config: limits(roomy) });

// --- the store is away

/** Waits until the gateway says that the store is away, and that it serves all the same. */
async function untilDegraded(t: Test): Promise<void> {
  await waitFor('the store to be missed', async () => (await readinessOf(gateway)).status === 'degraded');
  t.same(await readinessOf(gateway), { http: 200, status: 'degraded', reasons: ['state_store_unavailable'] });
  t.equal(await gateway.metric('gateway_state_store_up'), 0);
}

async function untilReady(t: Test): Promise<void> {
  await waitFor('the store to be back', async () => (await readinessOf(gateway)).status === 'ready');
  t.equal(await gateway.metric('gateway_state_store_up'), 1);
}

/** What is stored: read at the next start, as other tests prove. Of each rule whose key contains the text; rows of children do not count. */
function storedSums(rule = ''): Sum[] {
  return sql(gateway, "SELECT counts FROM counter WHERE child = '' AND instr(rule_key, ?) > 0", rule).map((row) => {
    const counts = countsIn(row);
    return { requests: sumOf(counts.requests), tokens: sumOf(counts.tokens) };
  });
}

/** A request is written before its tokens are, where a write falls between the two. */
async function untilStored(sum: Sum): Promise<void> {
  await waitFor(`the stored counts to be ${JSON.stringify(sum)}`, () => isDeepStrictEqual(storedSums(), [sum]));
}

await test('a store that is away at the start: served without it, and what is there later is added', async (t) => {
  const before = await askTimes(gateway, 5);
  await gateway.process.stop();
  const aside = `${stateFileOf(gateway)}.aside`;
  renameSync(stateFileOf(gateway), aside);
  // A link can be replaced in one step: between two, the gateway would make a store of its own.
  symlinkSync(tmpdir(), stateFileOf(gateway));

  await gateway.restart();
  await untilDegraded(t);
  const meanwhile = await askTimes(gateway, 3);
  t.same(await usedOf(gateway), meanwhile);
  const said = gateway.process.logs().filter(({ msg }) => String(msg).includes('state store does not take them'));
  t.equal(said.length, 1, 'said once');

  renameSync(aside, stateFileOf(gateway));
  await untilReady(t);
  t.same(await usedOf(gateway), plus(before, meanwhile));
  await untilStored(plus(before, meanwhile));
});

await test('a store that another program locks for a while: nothing that is counted meanwhile is lost', async (t) => {
  const before = plus(await usedOf(gateway), await askTimes(gateway, 4));
  await untilStored(before);
  const intruder = new DatabaseSync(stateFileOf(gateway));
  t.teardown(() => intruder.isOpen && intruder.close());
  intruder.exec('BEGIN IMMEDIATE');
  let expected = plus(before, await askTimes(gateway, 2));
  await untilDegraded(t);
  expected = plus(expected, await askTimes(gateway, 3));
  t.same(await usedOf(gateway), expected);
  intruder.exec('ROLLBACK');
  intruder.close();
  await untilReady(t);
  await untilStored(expected);
});

// --- what lies in the store is odd

/** Moves every stored slice by that many milliseconds, as if the clock had been wrong. */
function shiftSlices(byMs: number): void {
  for (const row of sql(gateway, 'SELECT instance, rule_key, child, counts FROM counter')) {
    const counts = countsIn(row);
    const slices = Math.round((byMs * 3) / (50 * counts.periodSeconds));
    const moved = (pairs: readonly Pair[]) => pairs.map(([slice, count]) => [slice + slices, count] as const);
    const text = encodeCounts(counts, laneOf(moved(counts.requests)), laneOf(moved(counts.tokens)));
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
  const user_paths = [
    { path: '/minute', limits: [{ period: 'minute', max_requests: 3 }] },
    { path: '/short', limits: [{ period_seconds: 3, max_requests: 3 }] },
  ];
  await gateway.applyConfig({ 'gateway.yaml': { rate_limits: { user_paths } } });
  for (const { path } of user_paths) await askTimes(gateway, 3, path);
  await gateway.process.stop();
  shiftSlices(2 * hour);
  await gateway.restart();
  const startedMs = performance.now();
  t.equal((await usedOf(gateway, 60, '/minute')).requests, 3);
  const refused = await askOnce(gateway, '/minute');
  t.equal(refused.status, 429);
  t.ok(refused.retryAfter >= 59 && refused.retryAfter <= 61, `Retry-After ${refused.retryAfter}`);
  const nowSlice = Math.floor(Date.now() / 1000);

  t.equal((await askOnce(gateway, '/short')).status, 429);
  await waitFor('the short period to pass', async () => (await askOnce(gateway, '/short')).status === 200);
  const blockedMs = performance.now() - startedMs;
  // Again would be another three seconds.
  t.ok(blockedMs < 3_050 + 1_500, `free after ${blockedMs.toFixed(0)} ms`);

  const minutes = () => storedCounters(gateway).filter(({ rule }) => rule.includes(' 60 '));
  await waitFor('the rows to be written as of now', () =>
    minutes().every(({ requests }) => requests.every(([slice]) => slice <= nowSlice + 5)),
  );
  t.equal(minutes().length, 1);
  await gateway.process.kill();
  await waitFor('some seconds of that minute to pass', () => Date.now() / 1000 > nowSlice + 2);
  await gateway.restart();
  const later = await askOnce(gateway, '/minute');
  t.equal(later.status, 429);
  t.ok(later.retryAfter < refused.retryAfter, `moved once: ${later.retryAfter} < ${refused.retryAfter}`);
});

await test('rows of long ago and rows of garbage do no harm to the rest', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': limits(roomy, { period: 'day', max_requests: 1_000 }) });
  const expected = await askTimes(gateway, 4);
  await gateway.process.stop();
  const instance = storedCounters(gateway)[0]?.instance ?? '';
  const [hourRow] = storedCounters(gateway).filter(({ rule }) => rule.includes(' 3600 '));
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
  t.equal((await readinessOf(gateway)).status, 'ready');
  t.same(await usedOf(gateway), nothing, 'a year ago is over');
  t.equal((await usedOf(gateway, 86_400)).requests, expected.requests, 'the good row counts');
  const more = await askTimes(gateway, 3);
  await gateway.process.stop();
  sql(gateway, 'DELETE FROM counter WHERE rule_key IN (?, ?)', 'no such rule', `${rule} `);
  t.same(storedSums(' 3600 '), [more], 'the good row is written over the old one');
  t.match(storedSums(' 86400 '), [{ requests: expected.requests + more.requests }]);
});

// --- the store is away and empty afterwards

await test('a store that is away at the start and empty afterwards is made', async (t) => {
  await gateway.process.stop();
  rmSync(stateFileOf(gateway));
  mkdirSync(stateFileOf(gateway));
  await gateway.restart({ RATE_LIMITS_FLUSH_INTERVAL: '0' });
  await untilDegraded(t);
  const expected = await askTimes(gateway, 3);
  rmdirSync(stateFileOf(gateway));
  await gateway.restart();
  t.same(await usedOf(gateway), expected, 'without an interval the last write is the first that works');
  t.equal((await readinessOf(gateway)).status, 'ready');
});
