// The table "States and transitions" of the spec, row by row: what each operation does to a rule and to its live counters.
import { t as suite, test } from 'tap';
import { firstEvent, lastEvent } from '../support/chat-call.ts';
import { ask, askEach, type RuleRow, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { createGate, type FakeUpstream, type Gate, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import { delaysUntil, listRules } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);

const minute = { period: 'minute' };
const concurrent = { period: 'concurrent' };

/** A rule of the fleet: the part of its key that the listing has. */
const isOf = (subject: string, seconds: number) => (row: RuleRow) =>
  row.subject === subject && row.period_seconds === seconds;

/** What each proxy has counted of a consumer under the rule on `subject`, in the order of proxies. */
async function counted(fleet: Fleet, userPath: string, subject = userPath, seconds = 60) {
  const rows = await Promise.all(fleet.proxies.map((proxy) => usageOf(proxy, userPath)));
  return rows.map((row) => row.find(isOf(subject, seconds))?.requests_used);
}

/** The row of the listing, once it says that so many requests are counted. */
function listed(fleet: Fleet, requests: number, subject: string, seconds = 60): Promise<RuleRow> {
  return waitFor(`${requests} requests of ${subject} in the listing`, async () => {
    const row = (await listRules(fleet)).find(isOf(subject, seconds));
    return row?.requests_used === requests && row;
  });
}

/** A stream through each proxy that the provider does not end before the gate opens. */
async function holdStreams({ proxies }: Fleet, upstream: FakeUpstream, userPath: string, gate: Gate) {
  const before = upstream.ledger.length;
  await upstream.behave({ kind: 'sse', chunks: [firstEvent, gate, lastEvent] });
  const streams = Promise.all(proxies.map((proxy) => ask(proxy, userPath, { stream: true })));
  await upstream.waitFor((ledger) => ledger.length === before + proxies.length && gate.waiting === proxies.length);
  await upstream.behave({ kind: 'openai' });
  return async (): Promise<number[]> => {
    gate.release();
    return (await streams).map(({ status }) => status);
  };
}

/** The slots that a consumer holds under a rule of requests in flight, on each proxy. */
async function slots({ proxies }: Fleet, userPath: string): Promise<(number | undefined)[]> {
  const rows = await Promise.all(proxies.map((proxy) => usageOf(proxy, userPath)));
  return rows.map((row) => row.find(({ period_seconds }) => period_seconds === 0)?.in_flight);
}

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({ store, upstream });

    await group.test('Write (PUT), only caps change: rule updated, counters kept', async (t) => {
      const rule = { user_path: '/caps', limit_key: minute };
      const created = (await fleet.write('PUT', { ...rule, max_requests: 2 })).find(isOf('/caps', 60));
      await fleet.settle();
      for (const status of [200, 200, 429]) t.same(await askEach(fleet, '/caps'), [status, status]);
      await listed(fleet, 4, '/caps');

      const updated = (await fleet.write('PUT', { ...rule, max_requests: 3 })).find(isOf('/caps', 60));
      // Each of the two proxies has one left.
      t.match(updated, { max_requests: 3, requests_used: 4, requests_remaining: 2, created_at: created?.created_at });
      t.ok((updated?.updated_at ?? '') > (created?.updated_at ?? ''), 'and it says when');
      await fleet.settle();
      t.same(await counted(fleet, '/caps'), [2, 2]);
      for (const status of [200, 429]) t.same(await askEach(fleet, '/caps'), [status, status], 'one more on each');

      await fleet.write('PUT', { ...rule, max_requests: 1, max_tokens: 9_000, mode: 'shadow' });
      await fleet.settle();
      t.same(await counted(fleet, '/caps'), [3, 3], 'lowered, another cap added, only watching: still counted');
    });

    await group.test('Write (PUT), key changed: recreated under the new key, counters restart', async (t) => {
      // Through the API a move is a DELETE of the old key and a PUT of the new one.
      const moves = [
        { scope: 'user_path', subject: '/moved', limit_key: minute },
        { scope: 'user_path', subject: '/moved/on', limit_key: minute },
        { scope: 'user_path', subject: '/moved/on', limit_key: { period_seconds: 61 } },
        { scope: 'provider', subject: 'fake', limit_key: { period_seconds: 61 } },
        { scope: 'model', subject: 'fake/fake-small', limit_key: { period_seconds: 61 } },
        { scope: 'user_path', subject: '/moved', limit_key: minute },
      ];
      for (const [index, rule] of moves.entries()) {
        const old = moves[index - 1];
        if (old !== undefined) await fleet.write('DELETE', old);
        const rows = await fleet.write('PUT', { ...rule, max_requests: 1 });
        const ours = rows.filter(({ scope, subject }) => scope !== 'user_path' || subject.startsWith('/moved'));
        t.match(ours, [{ scope: rule.scope, subject: rule.subject, requests_used: 0 }]);
        t.equal(ours.length, 1, 'the old key is gone');
        await fleet.settle();
        t.same(await askEach(fleet, '/moved/on/and-on'), [200, 200], `${rule.scope} ${rule.subject} starts at nothing`);
        t.same(await askEach(fleet, '/moved/on/and-on'), [429, 429]);
        await listed(fleet, 2, rule.subject, rule.limit_key === minute ? 60 : 61);
      }
    });

    await group.test('Delete: rule removed, counters reset', async (t) => {
      const rule = { user_path: '/deleted', limit_key: minute };
      await fleet.write('PUT', { ...rule, max_requests: 2 });
      await fleet.settle();
      for (const status of [200, 200, 429]) t.same(await askEach(fleet, '/deleted'), [status, status]);
      await listed(fleet, 4, '/deleted');

      const rows = await fleet.write('DELETE', rule);
      t.notOk(rows.some(isOf('/deleted', 60)));
      await fleet.settle();
      t.same(await askEach(fleet, '/deleted'), [200, 200], 'nothing refuses any more');
      t.same(await counted(fleet, '/deleted'), [undefined, undefined]);
      const again = await fleet.admin('/admin/rate-limits', { method: 'DELETE', body: rule });
      t.equal(again.status, 404);
      t.match(await again.json(), { code: 'rate_limit_not_found', status_code: 404 });

      const back = (await fleet.write('PUT', { ...rule, max_requests: 2 })).find(isOf('/deleted', 60));
      t.match(back, { requests_used: 0, requests_remaining: 4, effective_max_requests: 4 });
      await fleet.settle();
      t.same(await counted(fleet, '/deleted'), [0, 0]);
      for (const status of [200, 200, 429]) t.same(await askEach(fleet, '/deleted'), [status, status]);
    });

    await group.test('Reset one: rule stays, counters cleared for that rule', async (t) => {
      for (const user_path of ['/one', '/one/below']) {
        await fleet.write('PUT', { user_path, limit_key: minute, max_requests: 2 });
      }
      await fleet.settle();
      for (const status of [200, 200, 429]) t.same(await askEach(fleet, '/one/below'), [status, status]);
      const before = await listed(fleet, 4, '/one');
      await listed(fleet, 4, '/one/below');

      const body = { scope: 'user_path', subject: '/one', period: 'minute' };
      const rows = await fleet.write('POST', body, '/reset-one');
      t.match(rows.find(isOf('/one', 60)), { requests_used: 0, requests_remaining: 4, updated_at: before.updated_at });
      t.match(rows.find(isOf('/one/below', 60)), { requests_used: 4, requests_remaining: 0 });
      await fleet.settle();
      t.same(await counted(fleet, '/one'), [0, 0]);
      t.same(await counted(fleet, '/one/below'), [2, 2], 'the other one is not touched');
      t.same(await askEach(fleet, '/one/below'), [429, 429]);
      for (const status of [200, 200, 429]) t.same(await askEach(fleet, '/one'), [status, status]);
      const unknown = await fleet.admin('/admin/rate-limits/reset-one', {
        method: 'POST',
        body: { ...body, subject: '/two' },
      });
      t.equal(unknown.status, 404);
    });

    await group.test('Reset all: needs its confirmation; all rules stay, counters cleared for all rules', async (t) => {
      const kinds = [
        { scope: 'user_path', subject: '/all' },
        { scope: 'provider', subject: 'fake' },
        { scope: 'model', subject: 'fake-small' },
      ];
      for (const kind of kinds) {
        await fleet.write('PUT', { ...kind, limit_key: { period: 'hour' }, max_requests: 50, max_tokens: 5_000 });
      }
      await fleet.settle();
      t.same(await askEach(fleet, '/all'), [200, 200]);
      for (const { subject } of kinds) await listed(fleet, 2, subject, 3_600);
      const before = await listRules(fleet);

      for (const body of [{}, { confirmation: 'RESET' }, { confirmation: true }, { confirmation: 'reset', now: 1 }]) {
        const refused = await fleet.admin('/admin/rate-limits/reset', { method: 'POST', body });
        t.equal(refused.status, 400, JSON.stringify(body));
      }
      t.same(await counted(fleet, '/all', '/all', 3_600), [1, 1], 'nothing was cleared');

      const body = { confirmation: 'reset' };
      t.same(await (await fleet.admin('/admin/rate-limits/reset', { method: 'POST', body })).json(), { status: 'ok' });
      const after = await listRules(fleet);
      t.same(
        after.map(({ scope, subject, period_seconds }) => [scope, subject, period_seconds]),
        before.map(({ scope, subject, period_seconds }) => [scope, subject, period_seconds]),
      );
      t.same(
        after.filter(({ requests_used, tokens_used }) => requests_used + tokens_used > 0),
        [],
        'at once in the listing',
      );
      const left = await delaysUntil(fleet.proxies, 'no use at all', async (proxy) => {
        const metrics = await proxy.metrics();
        return !/^gateway_rate_limit_utilization_ratio\{.*\} (?!0$)/m.test(metrics);
      });
      t.equal(left.length, 2, 'and on every proxy');
      for (const kind of kinds) await fleet.write('DELETE', { ...kind, limit_key: { period: 'hour' } });
    });

    for (const operation of ['Reset', 'Delete'] as const) {
      await group.test(
        `${operation} of a per-child template: windows of all children cleared, slots released later`,
        async (t) => {
          const subject = `/customers-${operation.toLowerCase()}`;
          const children = ['a', 'b', 'c'].map((name) => `${subject}/${name}`);
          const [held = ''] = children;
          const template = { user_path: subject, per_child: true };
          const put = async (): Promise<void> => {
            await fleet.write('PUT', { ...template, limit_key: minute, max_requests: 2, max_tokens: 1_000 });
            await fleet.write('PUT', { ...template, limit_key: concurrent, max_requests: 1 });
            await fleet.settle();
          };
          await put();
          const release = await holdStreams(fleet, upstream, `${held}/deep`, createGate());
          for (const child of children.slice(1)) {
            t.same(await askEach(fleet, child), [200, 200]);
            t.same(await askEach(fleet, `${child}/deep`), [200, 200], 'whatever is below shares its counter');
            t.same(await askEach(fleet, child), [429, 429]);
          }
          t.same(await askEach(fleet, subject), [200, 200], 'the path of the template itself does not match');
          t.same(await slots(fleet, held), [1, 1]);
          t.same(await askEach(fleet, held), [429, 429], 'its only slot is taken');
          const row = (await listRules(fleet)).find(isOf(subject, 60));
          t.match(row, { per_child: true, requests_used: 0, tokens_used: 0, in_flight: 0 }, 'no figure of its own');
          t.notOk('requests_remaining' in (row ?? {}));

          if (operation === 'Reset') {
            for (const period of ['minute', 'concurrent']) {
              await fleet.write('POST', { scope: 'user_path', subject, period }, '/reset-one');
            }
            await fleet.settle();
            t.same(await slots(fleet, held), [1, 1], 'an active slot stays until its request has finished');
            t.same(await askEach(fleet, held), [429, 429]);
          } else {
            for (const limit_key of [minute, concurrent])
              await fleet.write('DELETE', { user_path: subject, limit_key });
            await fleet.settle();
            t.same(await counted(fleet, held, subject), [undefined, undefined], 'removed');
            t.same(await askEach(fleet, held), [200, 200], 'nothing holds it back any more');
            await put();
          }
          for (const child of children) t.same(await counted(fleet, child, subject), [0, 0], `${child} is cleared`);

          t.same(await release(), [200, 200], 'the streams end as if nothing had happened');
          await waitFor('the slots to be free', async () => (await slots(fleet, held)).every((each) => each === 0));
          t.same(await askEach(fleet, held), [200, 200]);
          await waitFor('the slots to be free', async () => (await slots(fleet, held)).every((each) => each === 0));

          // Given back once and not twice: there is room for one stream, and for one only.
          const releaseAgain = await holdStreams(fleet, upstream, held, createGate());
          t.same(await slots(fleet, held), [1, 1]);
          t.same(await askEach(fleet, held), [429, 429]);
          t.same(await releaseAgain(), [200, 200]);
        },
      );
    }

    await group.test('Request completes, slot held: slot released, in-flight count decremented', async (t) => {
      await fleet.write('PUT', { user_path: '/slots', limit_key: concurrent, max_requests: 1 });
      await fleet.settle();
      const inFlight = (count: number): Promise<RuleRow> =>
        waitFor(`${count} in flight in the listing`, async () => {
          const row = (await listRules(fleet)).find(isOf('/slots', 0));
          return row?.in_flight === count && row;
        });
      const release = await holdStreams(fleet, upstream, '/slots', createGate());
      t.match(await inFlight(2), { requests_used: 0, requests_remaining: 0, max_requests: 1 });
      for (const proxy of fleet.proxies) {
        const refused = await ask(proxy, '/slots');
        t.equal(refused.status, 429);
        t.equal(refused.headers.get('retry-after'), '1');
      }
      t.same(await release(), [200, 200]);
      await waitFor('the slots to be free', async () => (await slots(fleet, '/slots')).every((each) => each === 0));
      t.match(await inFlight(0), { requests_remaining: 2 });
      t.same(await askEach(fleet, '/slots'), [200, 200]);
    });
  });
}
