// All processes restart: manual rules, keys and counters are still there, after an orderly end and after a kill.
import { t as suite, test } from 'tap';
import { ask, askEach, type RuleRow, usageOf } from '../support/consumer.ts';
import { isFull, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { listRules } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
// Both stores at once: much of it is waiting.
suite.jobs = 2;

const minute = { period: 'minute' };

/** Windows move on, a proxy counts anew what it refuses, and a declared rule is as old as the process that read it. */
function still(row: Partial<RuleRow>): object {
  const moving =
    row.source === 'config' ? /^(window_|resets_|refused|created_at|updated_at)/ : /^(window_|resets_|refused)/;
  return Object.fromEntries(Object.entries(row).filter(([name]) => !moving.test(name)));
}

/** The rules and keys as the control plane lists them, and what each proxy enforces and counts of a consumer. */
async function everything(fleet: Fleet, userPath: string) {
  const listing = await fleet.admin('/admin/rate-limits');
  const { rate_limits } = (await listing.json()) as { rate_limits: RuleRow[] };
  return {
    etag: listing.headers.get('etag'),
    listed: rate_limits.map(still),
    keys: await (await fleet.admin('/admin/auth-keys')).json(),
    enforced: await enforcedBy(fleet, userPath),
  };
}

/** What each proxy enforces and counts of a consumer. */
async function enforcedBy({ proxies }: Fleet, userPath: string): Promise<object[][]> {
  const usage = await Promise.all(proxies.map((proxy) => usageOf(proxy, userPath)));
  return usage.map((rows) => rows.map(still));
}

/** The listing once it says that so many requests were counted on a path in a minute. */
function untilListed(fleet: Fleet, subject: string, requests: number): Promise<unknown> {
  return waitFor(`${requests} requests of ${subject} in the listing`, async () =>
    (await listRules(fleet)).some(
      (row) => row.subject === subject && row.period_seconds === 60 && row.requests_used === requests,
    ),
  );
}

interface Ending {
  readonly end: (fleet: Fleet) => Promise<unknown>;
  /** Whether the control plane starts before the proxies; if not, it starts when they have proved that they do without it. */
  readonly controlPlaneFirst: boolean;
}

const endings: Record<string, Ending> = {
  'is stopped in order': {
    async end({ proxies, controlPlane, redis }) {
      for (const { process } of proxies) await process.stop();
      await controlPlane.stop();
      await redis?.stop();
    },
    controlPlaneFirst: true,
  },
  'is killed, all at once': {
    end: ({ proxies, controlPlane, redis }) =>
      Promise.all([redis?.kill(), controlPlane.kill(), ...proxies.map(({ process }) => process.kill())]),
    controlPlaneFirst: false,
  },
};

/** In a short run the hard end alone; the orderly one, on SQLite, is in faults/store-sqlite. */
const shortEnding = 'is killed, all at once';

for (const store of scenarioStores) {
  void test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const limits = [{ period: 'hour', max_requests: 50 }];
    const config = { rate_limits: { user_paths: [{ path: '/team', limits }] } };
    const fleet = await startFleet(group, { store, upstream, config });
    const [first, second] = fleet.proxies;
    if (first === undefined || second === undefined) throw new Error('two proxies are needed');
    const issue = async (): Promise<{ id: string; headers: { authorization: string } }> => {
      const body = { name: 'a key', user_path: '/team/app' };
      const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body });
      const { id, value } = (await issued.json()) as { id: string; value: string };
      return { id, headers: { authorization: `Bearer ${value}` } };
    };
    const [kept, revoked] = [await issue(), await issue()];
    await fleet.admin(`/admin/auth-keys/${revoked.id}/deactivate`, { method: 'POST' });

    for (const [ending, { end, controlPlaneFirst }] of Object.entries(endings)) {
      if (!isFull && ending !== shortEnding) continue;
      await group.test(`that ${ending} is the same again: manual rules, keys, epochs and counters`, async (t) => {
        const expires_at = new Date(Date.now() + 3_600_000).toISOString();
        await fleet.write('PUT', { user_path: '/team', limit_key: minute, max_requests: 4, reason: ending });
        await fleet.write('PUT', { user_path: '/team', limit_key: { period: 'day' }, max_tokens: 9_000, expires_at });
        await fleet.write('PUT', { scope: 'provider', subject: 'fake', limit_key: minute, max_requests: 700 });
        await fleet.write('PUT', { user_path: '/alone', limit_key: minute, max_requests: 1 });
        await fleet.write('POST', { confirmation: 'reset' }, '/reset');
        await fleet.settle();
        t.same(await askEach(fleet, '/alone'), [200, 200]);
        // What is counted now belongs to epochs that must be there again, or it does not count.
        t.same(await askEach(fleet, '/', kept), [200, 200]);
        await fleet.write('POST', { user_path: '/team', ...minute }, '/reset-one');
        await fleet.settle();
        for (const proxy of [first, second, second]) {
          t.equal((await ask(proxy, '/', {}, kept)).status, 200);
        }
        await untilListed(fleet, '/team', 3);
        // Tokens are charged a moment after the answer.
        const tokens = upstream.ledger.slice(-5).reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
        await waitFor(`${tokens} tokens in the listing`, async () =>
          (await listRules(fleet)).some((row) => row.period_seconds === 86_400 && row.tokens_used === tokens),
        );
        const countedMs = Date.now();
        for (const proxy of fleet.proxies) {
          await waitFor('the counters to be written', async () => {
            const written = (await proxy.metric('gateway_counters_written_timestamp_seconds')) ?? 0;
            return written * 1000 > countedMs;
          });
        }
        const before = await everything(fleet, '/team/app');
        const of = ({ source, subject, period_seconds, requests_used }: RuleRow) =>
          `${source} ${subject} ${period_seconds}: ${requests_used}`;
        t.same((await listRules(fleet)).filter(({ subject }) => subject !== '/settled').map(of), [
          'manual fake 60: 7',
          'manual /alone 60: 2',
          'manual /team 60: 3',
          'config /team 3600: 5',
          'manual /team 86400: 0',
        ]);

        await end(fleet);
        await fleet.redis?.restart();
        if (controlPlaneFirst) await fleet.restartControlPlane();
        await Promise.all(fleet.proxies.map((proxy) => proxy.restart()));
        if (!controlPlaneFirst) {
          t.same(await enforcedBy(fleet, '/team/app'), before.enforced, 'without a control plane');
          t.same(await askEach(fleet, '/alone'), [429, 429]);
          t.same(await askEach(fleet, '/', revoked), [401, 401]);
          await fleet.restartControlPlane();
        }
        await waitFor('the listing to be as it was', async () => {
          const now = await everything(fleet, '/team/app');
          return JSON.stringify(now) === JSON.stringify(before);
        }).catch(() => undefined);
        t.same(await everything(fleet, '/team/app'), before);
        t.same(await askEach(fleet, '/', revoked), [401, 401]);
        for (const [proxy, ...statuses] of [
          [first, 200, 200, 200, 429],
          [second, 200, 200, 429],
        ] as const) {
          for (const status of statuses) t.equal((await ask(proxy, '/', {}, kept)).status, status);
        }
      });
    }
  });
}
