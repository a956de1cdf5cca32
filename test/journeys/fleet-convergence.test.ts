// Proxies follow the changes of operators: the time until a change is in force everywhere, and the listing of all proxies.
import { t as suite, type Test, test } from 'tap';
import { firstEvent, lastEvent } from '../support/chat-call.ts';
import { ask, type RuleRow, usageOf } from '../support/consumer.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { delaysUntil, doorsOf, listRules } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
// Both stores at once: most of it is waiting.
suite.jobs = 2;

/** Whatever was changed is in force everywhere, and whatever was counted is listed, within this. */
const promisedMs = 1_000;
const edits = extent(50, 12);
const resets = extent(10, 4);
const rounds = extent(10, 4);
/** Three requests a round go to two proxies, each of which has these caps for itself. */
const sumCaps = { max_requests: 2.5 * rounds, max_tokens: 25 * rounds };
const minute = { period: 'minute' };

const find = (rows: readonly RuleRow[], subject: string): RuleRow | undefined =>
  rows.find((row) => row.subject === subject);

const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);

/** Says how long things took, and that none took longer than promised, and than other programs held it up. */
function judge(t: Test, what: string, delaysMs: readonly number[], slowdown: number): void {
  const sorted = delaysMs.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  const [p50, p99, most] = [at(0.5), at(0.99), at(1)].map(Math.round);
  t.comment(`${what}: p50 ${p50} ms, p99 ${p99} ms, longest ${most} ms, of ${sorted.length}`);
  t.ok(at(0.99) < promisedMs * slowdown, `${what}: 99 of 100 took less than ${p99} ms`);
}

// How soon an edit is in force on SQLite is in faults/store-sqlite, too.
for (const store of scenarioStores) {
  void test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({ store, upstream });
    const [first, second] = fleet.proxies as [(typeof fleet.proxies)[0], (typeof fleet.proxies)[0]];

    const slowdown = watchSlowdown(fleet.controlPlane, first.process, second.process);

    await group.test('an edited cap is enforced by every proxy within a second', async (t) => {
      const delays: number[] = [];
      for (let edit = 1; edit <= edits; edit += 1) {
        const cap = edit % 2 === 0 ? edit : 1_000_000 + edit;
        const body = { user_path: '/edited', limit_key: minute, max_requests: cap };
        // Through any door.
        const door = doorsOf(fleet)[edit % 3];
        if (door === undefined) throw new Error('there are three doors');
        let answer = await door('/admin/rate-limits', { method: 'PUT', body });
        // On a busy machine the store may take longer than its deadline: 503, and the client tries again.
        if (answer.status === 503) answer = await door('/admin/rate-limits', { method: 'PUT', body });
        const waiting = delaysUntil(
          fleet.proxies,
          `a cap of ${cap}`,
          async (proxy) => find(await usageOf(proxy, '/edited'), '/edited')?.max_requests === cap,
        );
        t.equal(answer.status, 200);
        const { rate_limits } = (await answer.json()) as { rate_limits: RuleRow[] };
        t.equal(find(rate_limits, '/edited')?.max_requests, cap, 'the answer shows it already');
        delays.push(...(await waiting));
      }
      judge(t, 'an edit', delays, slowdown());
    });

    await group.test('a reset empties the counters of every proxy within a second', async (t) => {
      const delays: number[] = [];
      await fleet.write('PUT', { user_path: '/reset', limit_key: minute, max_requests: 1 });
      await fleet.settle();
      for (let round = 1; round <= resets; round += 1) {
        for (const proxy of fleet.proxies) {
          t.equal((await ask(proxy, '/reset')).status, 200);
          t.equal((await ask(proxy, '/reset')).status, 429);
        }
        const rows =
          round % 2 === 0
            ? await fleet.write('POST', { scope: 'user_path', subject: '/reset', ...minute }, '/reset-one')
            : await fleet.write('POST', { confirmation: 'reset' }, '/reset');
        const waiting = delaysUntil(
          fleet.proxies,
          'an empty window',
          async (proxy) => find(await usageOf(proxy, '/reset'), '/reset')?.requests_used === 0,
        );
        if (round % 2 === 0) t.equal(find(rows, '/reset')?.requests_used, 0, 'the answer shows it already');
        t.equal(find(await listRules(fleet), '/reset')?.requests_used, 0, 'and so does the listing');
        delays.push(...(await waiting));
      }
      judge(t, 'a reset', delays, slowdown());
    });

    await group.test('the listing adds up what all proxies have counted, at most a second old', async (t) => {
      await fleet.write('PUT', { user_path: '/sum', limit_key: { period: 'hour' }, ...sumCaps });
      await fleet.settle();
      const delays: number[] = [];
      let [requests, most] = [0, 0];
      let tokens: readonly number[] = [0, 0];
      for (let round = 1; round <= rounds; round += 1) {
        const before = upstream.ledger.length;
        const statuses = [await ask(first, '/sum'), await ask(second, '/sum'), await ask(second, '/sum')];
        const sinceMs = performance.now();
        requests += statuses.filter(({ status }) => status === 200).length;
        const [ofFirst = 0, ...ofSecond] = upstream.ledger.slice(before).map(({ usage }) => usage?.total_tokens ?? 0);
        tokens = [ofFirst, sum(ofSecond)].map((own, index) => own + (tokens[index] ?? 0));
        const row = await waitFor(`${requests} requests in the listing`, async () => {
          const found = find(await listRules(fleet), '/sum');
          most = Math.max(most, found?.requests_used ?? 0);
          return found?.requests_used === requests && found.tokens_used === sum(tokens) && found;
        });
        delays.push(performance.now() - sinceMs);
        t.equal(most, requests, 'never more than there were');
        // What all have counted stands beside what all may admit.
        t.match(row, {
          counted: 'replica',
          replicas: 2,
          effective_max_requests: 2 * sumCaps.max_requests,
          effective_max_tokens: 2 * sumCaps.max_tokens,
          requests_remaining: 2 * sumCaps.max_requests - requests,
          tokens_remaining: sum(tokens.map((own) => Math.max(0, sumCaps.max_tokens - own))),
        });
      }
      t.ok(sum(tokens) > sumCaps.max_tokens, `${tokens.join(' and ')} tokens: more than the cap of one proxy`);
      judge(t, 'a count', delays, slowdown());

      // The part of each proxy is what that proxy itself says, to its clients and in an explanation.
      const { proxies: parts = [] } = find(await listRules(fleet), '/sum') ?? {};
      for (const [index, proxy] of fleet.proxies.entries()) {
        const { rules } = (await (await proxy.fetch(`/admin/explain?model=fake/fake-small&user_path=/sum`)).json()) as {
          rules: readonly RuleRow[];
        };
        const { requests_used, tokens_used } = find(rules, '/sum') ?? {};
        t.match(parts[index], { instance: `proxy-${index + 1}`, requests_used, tokens_used });
        t.match(find(await usageOf(proxy, '/sum'), '/sum'), { requests_used, tokens_used });
        t.equal(tokens_used, tokens[index]);
      }
      await fleet.write('PUT', { user_path: '/sum', limit_key: { period: 'hour' }, max_requests: rounds });
      const lowered = find(await listRules(fleet), '/sum');
      t.match(lowered, { requests_used: requests, requests_remaining: 0, tokens_used: 0 });
      t.notOk('tokens_remaining' in (lowered ?? {}), 'a cap that went takes its figures along');
    });

    await group.test('requests in flight add up, and go again', async (t) => {
      await fleet.write('PUT', { user_path: '/held', limit_key: { period: 'concurrent' }, max_requests: 2 });
      await fleet.settle();
      const gate = createGate();
      await upstream.behave({ kind: 'sse', chunks: [firstEvent, gate, lastEvent] });
      const asking = [first, second, second].map((proxy) => ask(proxy, '/held', { stream: true }));
      await upstream.waitFor((ledger) => ledger.filter(({ finished }) => !finished).length === 3);
      const sinceMs = performance.now();
      const row = await waitFor('three in flight', async () => {
        const found = find(await listRules(fleet), '/held');
        return found?.in_flight === 3 && found;
      });
      const delays = [performance.now() - sinceMs];
      t.match(row, { requests_used: 0, requests_remaining: 1, max_requests: 2, effective_max_requests: 4 });
      t.equal((await ask(second, '/held')).status, 429);
      gate.release();
      t.same(
        (await Promise.all(asking)).map(({ status }) => status),
        [200, 200, 200],
      );
      const endedAtMs = performance.now();
      await waitFor('none in flight', async () => find(await listRules(fleet), '/held')?.requests_remaining === 4);
      judge(t, 'a slot', [...delays, performance.now() - endedAtMs], slowdown());
      await upstream.behave({ kind: 'openai' });
    });
  });
}
