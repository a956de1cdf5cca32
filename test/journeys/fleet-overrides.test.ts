// A manual rule overrides a rule of the configuration: its end, and edits of the configuration meanwhile.
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { ask, askEach, type RuleRow, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import { delaysUntil, listRules } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
// Both stores at once: most of it is waiting.
suite.jobs = 2;

const minute = { period: 'minute' };

/** The whole config: each path with its cap of requests a minute, or with its caps. */
const declare = (caps: Record<string, number | { max_requests: number; max_tokens: number }>) => ({
  'gateway.yaml': {
    rate_limits: {
      scope: 'replica',
      user_paths: Object.entries(caps).map(([path, cap]) => ({
        path,
        limits: [{ period: 'minute', ...(typeof cap === 'number' ? { max_requests: cap } : cap) }],
      })),
    },
  },
});
const declared = {
  '/edited': 3,
  '/unattended': 3,
  '/expiring': 3,
  '/reloaded': 3,
  '/dropped': 3,
  '/only-declared': 3,
  '/both': { max_requests: 100, max_tokens: 20 },
};

/** The rows of the listing about a subject: one, or the test is about why not. */
const of = (rows: readonly RuleRow[], subject: string): RuleRow[] => rows.filter((row) => row.subject === subject);

/** Cap and use of a consumer's only rule on each proxy, as `1 of 3`. */
async function standing({ proxies }: Fleet, userPath: string): Promise<string[]> {
  const rows = await Promise.all(proxies.map((proxy) => usageOf(proxy, userPath)));
  return rows.map((found) =>
    found.map(({ requests_used, max_requests }) => `${requests_used} of ${max_requests}`).join(', '),
  );
}

function untilStanding(fleet: Fleet, userPath: string, wanted: string): Promise<unknown> {
  return waitFor(`${wanted} for ${userPath}`, async () =>
    (await standing(fleet, userPath)).every((each) => each === wanted),
  );
}

function untilListed(fleet: Fleet, subject: string, isSo: (row: RuleRow) => boolean): Promise<RuleRow> {
  return waitFor(`the listing of ${subject}`, async () => {
    const [row, another] = of(await listRules(fleet), subject);
    if (another !== undefined) throw new Error(`${subject} is listed twice`);
    return row !== undefined && isSo(row) && row;
  });
}

/** Nothing is asked until then: what has gone too early is still gone. */
const untilShortlyBefore = (momentMs: number): Promise<void> => setTimeout(momentMs - 200 - Date.now());

for (const store of scenarioStores) {
  void test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({ store, upstream, files: declare(declared) });
    const [first] = fleet.proxies;
    if (first === undefined) throw new Error('no proxy');

    await group.test(
      'a manual rule stands in for the declared one and keeps its counters; its end restarts them',
      async (t) => {
        const rule = { user_path: '/edited', limit_key: minute };
        for (const status of [200, 200]) t.same(await askEach(fleet, '/edited'), [status, status]);
        await untilListed(fleet, '/edited', ({ requests_used }) => requests_used === 4);

        const rows = of(await fleet.write('PUT', { ...rule, max_requests: 2, reason: 'too much' }), '/edited');
        t.match(rows, [
          { source: 'manual', overrides_config: true, max_requests: 2, requests_used: 4, reason: 'too much' },
        ]);
        t.equal(rows.length, 1, 'one row for both');
        await fleet.settle();
        t.same(await standing(fleet, '/edited'), ['2 of 2', '2 of 2']);
        t.same(await askEach(fleet, '/edited'), [429, 429]);
        await fleet.write('PUT', { ...rule, max_requests: 3 });
        await fleet.settle();
        for (const status of [200, 429]) t.same(await askEach(fleet, '/edited'), [status, status]);

        const back = of(await fleet.write('DELETE', rule), '/edited');
        t.match(back, [{ source: 'config', overrides_config: false, max_requests: 3, requests_used: 0 }]);
        t.equal(back.length, 1);
        t.notOk('reason' in (back[0] ?? {}));
        await fleet.settle();
        t.same(await standing(fleet, '/edited'), ['0 of 3', '0 of 3']);
        for (const status of [200, 200, 200, 429]) t.same(await askEach(fleet, '/edited'), [status, status]);
      },
    );

    await group.test('a manual rule goes by itself when it expires, on every proxy and in the listing', async (t) => {
      // One stands in for a declared rule, the other is alone. In the same moment, so one write removes both.
      const paths = ['/expiring', '/expiring-too'];
      for (const user_path of paths) t.same(await askEach(fleet, user_path), [200, 200]);
      const expiresAtMs = Date.now() + 2_500;
      const expires_at = new Date(expiresAtMs).toISOString();
      for (const user_path of paths) {
        const rule = { user_path, limit_key: minute, max_requests: 1, expires_at };
        const [row] = of(await fleet.write('PUT', rule), user_path);
        t.match(row, { source: 'manual', expires_at, overrides_config: user_path === '/expiring' });
      }
      await fleet.settle();
      for (const user_path of paths) {
        await askEach(fleet, user_path);
        t.same(await askEach(fleet, user_path), [429, 429]);
      }
      const revision = async (): Promise<string | null> =>
        (await fleet.admin('/admin/rate-limits')).headers.get('etag');
      const before = await revision();

      for (const user_path of paths) t.same(await askEach(fleet, user_path), [429, 429], 'until then it refuses');
      await untilShortlyBefore(expiresAtMs);
      const slowdown = watchSlowdown(fleet.controlPlane, ...fleet.proxies.map(({ process }) => process));
      const isGone = ({ max_requests }: Partial<RuleRow>): boolean => max_requests !== 1;
      const gone = paths.map(async (user_path) => {
        await Promise.all([
          delaysUntil(fleet.proxies, 'the rule to expire', async (proxy) =>
            (await usageOf(proxy, user_path)).every(isGone),
          ),
          waitFor('the listing to know', async () => of(await listRules(fleet), user_path).every(isGone)),
        ]);
        return Date.now() - expiresAtMs;
      });
      for (const lateMs of await Promise.all(gone)) {
        t.ok(lateMs >= 0 && lateMs < 1_000 * slowdown(), `gone everywhere ${lateMs} ms after its time`);
      }
      t.same(await standing(fleet, '/expiring'), ['0 of 3', '0 of 3'], 'the declared rule is back, at nothing');
      t.match(of(await listRules(fleet), '/expiring'), [
        { source: 'config', overrides_config: false, max_requests: 3, requests_used: 0 },
      ]);
      t.same(await standing(fleet, '/expiring-too'), ['', '']);
      t.same(of(await listRules(fleet), '/expiring-too'), []);
      for (const user_path of paths) t.same(await askEach(fleet, user_path), [200, 200]);

      // The documents go a little later. What was counted since the expiry stays, or a rule would restart twice.
      await waitFor('the documents to be removed', async () => (await revision()) !== before, 3_000);
      await fleet.settle();
      t.same(await standing(fleet, '/expiring'), ['1 of 3', '1 of 3'], 'started anew once');
    });

    await group.test(
      'proxies drop an expired rule by themselves, whether or not there is a control plane',
      async (t) => {
        const expiresAtMs = Date.now() + 2_000;
        const expires_at = new Date(expiresAtMs).toISOString();
        await fleet.write('PUT', { user_path: '/unattended', limit_key: minute, max_requests: 1, expires_at });
        await fleet.settle();
        t.same(await askEach(fleet, '/unattended'), [200, 200]);
        t.same(await askEach(fleet, '/unattended'), [429, 429]);
        await fleet.controlPlane.kill();
        await untilShortlyBefore(expiresAtMs);
        const slowdown = watchSlowdown(...fleet.proxies.map(({ process }) => process));
        await untilStanding(fleet, '/unattended', '0 of 3');
        const lateMs = Date.now() - expiresAtMs;
        t.ok(lateMs >= 0 && lateMs < 500 * slowdown(), `${lateMs} ms after its time`);
        for (const status of [200, 200, 200, 429]) t.same(await askEach(fleet, '/unattended'), [status, status]);

        await fleet.restartControlPlane();
        const row = await untilListed(fleet, '/unattended', ({ requests_used }) => requests_used === 6);
        t.match(row, { source: 'config', overrides_config: false, max_requests: 3, requests_remaining: 0 });
        await fleet.settle();
        t.same(await standing(fleet, '/unattended'), ['3 of 3', '3 of 3'], 'started anew once');
      },
    );

    await group.test(
      'edits in git while an override is in force: it stays, and what comes back is the edited rule',
      async (t) => {
        const rule = { user_path: '/reloaded', limit_key: minute };
        await fleet.write('PUT', { ...rule, max_requests: 9 });
        await fleet.settle();
        for (const status of [200, 200]) t.same(await askEach(fleet, '/reloaded'), [status, status]);

        await first.applyConfig(declare({ ...declared, '/reloaded': 5, '/new': 7 }));
        await untilStanding(fleet, '/new', '0 of 7');
        await untilListed(fleet, '/new', ({ max_requests }) => max_requests === 7);
        t.same(await standing(fleet, '/reloaded'), ['2 of 9', '2 of 9'], 'cap and counters are those of the override');
        await untilListed(fleet, '/reloaded', (row) => row.max_requests === 9 && row.requests_used === 4);

        const back = of(await fleet.write('DELETE', rule), '/reloaded');
        t.match(back, [{ source: 'config', max_requests: 5, requests_used: 0 }]);
        await untilStanding(fleet, '/reloaded', '0 of 5');
      },
    );

    await group.test(
      'a declared rule that git drops while an override is in force: the override stays, alone',
      async (t) => {
        const rule = { user_path: '/dropped', limit_key: minute };
        await fleet.write('PUT', { ...rule, max_requests: 4 });
        await fleet.settle();
        t.same(await askEach(fleet, '/dropped'), [200, 200]);
        const { '/dropped': _, ...rest } = declared;
        await first.applyConfig(declare({ ...rest, '/new': 8 }));
        await untilStanding(fleet, '/new', '0 of 8');
        t.match(await untilListed(fleet, '/dropped', ({ overrides_config }) => !overrides_config), {
          source: 'manual',
        });
        t.same(await standing(fleet, '/dropped'), ['1 of 4', '1 of 4']);

        t.same(of(await fleet.write('DELETE', rule), '/dropped'), [], 'nothing is left to come back');
        await fleet.settle();
        t.same(await standing(fleet, '/dropped'), ['', '']);
        await first.applyConfig(declare({ ...declared, '/new': 9 }));
        await untilStanding(fleet, '/dropped', '0 of 3');
      },
    );

    await group.test('tightening requests leaves the tokens of git in force; null lifts them', async (t) => {
      const rule = { user_path: '/both', limit_key: minute, max_requests: 50 };
      t.match(of(await fleet.write('PUT', rule), '/both'), [
        { overrides_config: true, max_requests: 50, max_tokens: 20 },
      ]);
      await fleet.settle();
      const refused = await waitFor('the tokens to be used up', async () => {
        const answer = await ask(first, '/both');
        return answer.status === 429 && answer;
      });
      t.match(refused.text, /20 tokens per minute/);
      await fleet.write('PUT', { ...rule, max_tokens: null });
      await fleet.settle();
      t.equal((await ask(first, '/both')).status, 200);
    });

    await group.test('a block refuses until its end and says when that is', async (t) => {
      const rule = { user_path: '/both', limit_key: minute };
      const expiresAtMs = Date.now() + 7_200_000;
      const expires_at = new Date(expiresAtMs).toISOString();
      t.match(of(await fleet.write('PUT', { ...rule, max_requests: 0, expires_at }), '/both'), [
        { source: 'manual', max_requests: 0, requests_remaining: 0, max_tokens: 20 },
      ]);
      await fleet.settle();
      for (const proxy of fleet.proxies) {
        const askedMs = Date.now();
        const { status, headers, text } = await ask(proxy, '/both/app');
        t.equal(status, 429);
        t.match(text, /0 requests per minute/);
        const [soonest, latest] = [Date.now(), askedMs].map((ms) => Math.ceil((expiresAtMs - ms) / 1000));
        const wait = Number(headers.get('retry-after'));
        t.ok(wait >= (soonest ?? 0) && wait <= (latest ?? 0), `${wait} s`);
      }
      await fleet.write('DELETE', rule);
      await fleet.settle();
      t.same(await askEach(fleet, '/both'), [200, 200], 'git counts from nothing');
    });

    await group.test('a rule that only git declares cannot be deleted, and its counters can be reset', async (t) => {
      const body = { user_path: '/only-declared', limit_key: minute };
      t.same(await askEach(fleet, '/only-declared'), [200, 200]);
      await untilListed(fleet, '/only-declared', ({ requests_used }) => requests_used === 2);
      const refused = await fleet.admin('/admin/rate-limits', { method: 'DELETE', body });
      t.equal(refused.status, 409);
      t.match(await refused.json(), {
        code: 'rate_limit_config_owned',
        message: /^This rate limit is declared in gateway\.yaml:\d+\. Remove it there/,
        type: 'invalid_request_error',
        status_code: 409,
      });
      t.same(await standing(fleet, '/only-declared'), ['1 of 3', '1 of 3'], 'nothing has changed');

      const reset = { scope: 'user_path', subject: '/only-declared', period: 'minute' };
      t.match(of(await fleet.write('POST', reset, '/reset-one'), '/only-declared'), [
        { source: 'config', max_requests: 3, requests_used: 0 },
      ]);
      await untilStanding(fleet, '/only-declared', '0 of 3');
    });
  });
}
