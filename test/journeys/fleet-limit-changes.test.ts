// Changes of rules that a fleet counts together: a cap, a reset, a removal acts on what proxies hold in advance (design section 7).
import { test } from 'tap';
import { ask, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';

const minute = { limit_key: { period: 'minute' } };

type Write = Parameters<Fleet['write']>;

/** A rule for a path, and how many of the requests that go to the two proxies in turn are admitted: under it, and when it was changed. */
interface Change {
  readonly name: string;
  readonly rule: object;
  readonly before: readonly [asked: number, admitted: number];
  /** Writes, one after the other, or until when to wait. */
  readonly change: (path: string) => readonly Write[];
  readonly after: readonly [asked: number, admitted: number];
  /** What each proxy tells behind it. */
  readonly told: { readonly used: number; readonly remaining: number } | undefined;
}

const put = (path: string, more: object): Write => ['PUT', { user_path: path, ...minute, ...more }];
const remove = (path: string): Write => ['DELETE', { user_path: path, ...minute }];
const resetOne = (path: string): Write => ['POST', { user_path: path, ...minute }, '/reset-one'];
const resetAll: Write = ['POST', { confirmation: 'reset' }, '/reset'];

const changes: readonly Change[] = [
  {
    name: 'a cap below what is used admits nothing more and keeps the count',
    rule: { max_requests: 40 },
    before: [4, 4],
    change: (path) => [put(path, { max_requests: 3 })],
    after: [6, 0],
    told: { used: 4, remaining: 0 },
  },
  {
    name: 'a lower cap takes back what the proxies hold',
    rule: { max_requests: 200 },
    before: [4, 4],
    change: (path) => [put(path, { max_requests: 6 })],
    after: [8, 2],
    told: { used: 6, remaining: 0 },
  },
  {
    name: 'a higher cap admits at once where the former one refused',
    rule: { max_requests: 2 },
    before: [4, 2],
    change: (path) => [put(path, { max_requests: 5 })],
    after: [6, 3],
    told: { used: 5, remaining: 0 },
  },
  {
    name: 'a reset of one rule begins again with the whole cap',
    rule: { max_requests: 6 },
    before: [8, 6],
    change: (path) => [resetOne(path)],
    after: [9, 6],
    told: { used: 6, remaining: 0 },
  },
  {
    name: 'a reset of one rule forgets what the proxies hold',
    rule: { max_requests: 12 },
    before: [2, 2],
    change: (path) => [resetOne(path)],
    after: [15, 12],
    told: { used: 12, remaining: 0 },
  },
  {
    name: 'a reset of all rules begins again with the whole cap',
    rule: { max_requests: 3 },
    before: [5, 3],
    change: () => [resetAll],
    after: [5, 3],
    told: { used: 3, remaining: 0 },
  },
  {
    name: 'a deleted rule limits nothing',
    rule: { max_requests: 2 },
    before: [4, 2],
    change: (path) => [remove(path)],
    after: [5, 5],
    told: undefined,
  },
  {
    name: 'a rule that is set again after its removal begins at nothing',
    rule: { max_requests: 2 },
    before: [4, 2],
    change: (path) => [remove(path), put(path, { max_requests: 3 })],
    after: [5, 3],
    told: { used: 3, remaining: 0 },
  },
];

/** How many of the requests are admitted that go to the proxies in turn. */
async function admitted({ proxies }: Fleet, path: string, asked: number): Promise<number> {
  let count = 0;
  for (let time = 0; time < asked; time += 1) {
    const proxy = proxies[time % proxies.length];
    if (proxy !== undefined && (await ask(proxy, path)).status === 200) count += 1;
  }
  return count;
}

for (const store of scenarioStores) {
  await test(`on ${store}, changes of rules act on the whole fleet`, async (t) => {
    const upstream = await startFakeUpstream({ t });
    const limits = [{ period: 'minute', max_requests: 2 }];
    const config = { rate_limits: { scope: 'fleet', user_paths: [{ path: '/declared', limits }] } };
    const fleet = await shareFleet({ store, upstream, config });

    for (const [index, { name, rule, before, change, after, told }] of changes.entries()) {
      const path = `/case-${index}`;
      await fleet.write(...put(path, rule));
      await fleet.settle();
      t.equal(await admitted(fleet, path, before[0]), before[1], `before: ${name}`);
      for (const write of change(path)) await fleet.write(...write);
      await fleet.settle();
      t.equal(await admitted(fleet, path, after[0]), after[1], name);
      for (const proxy of fleet.proxies) {
        const [row] = (await usageOf(proxy, path)).filter(({ subject }) => subject === path);
        const said = row && { used: row.requests_used, remaining: row.requests_remaining };
        t.same(said, told, `each proxy tells it: ${name}`);
      }
    }

    await fleet.write(...put('/teams', { max_requests: 2, per_child: true }));
    await fleet.settle();
    t.equal(await admitted(fleet, '/teams/a', 4), 2, 'the first child has the cap');
    t.equal(await admitted(fleet, '/teams/b', 4), 2, 'the second child has a cap of its own');
    await fleet.write(...put('/teams', { max_requests: 3, per_child: false }));
    await fleet.settle();
    t.equal(await admitted(fleet, '/teams/a', 3), 3, 'a shared rule begins at nothing');
    t.equal(await admitted(fleet, '/teams/b', 2), 0, 'and all children share it');

    const expires_at = new Date(Date.now() + 3_000).toISOString();
    await fleet.write(...put('/declared', { max_requests: 4, expires_at }));
    await fleet.settle();
    t.equal(await admitted(fleet, '/declared', 6), 4, 'the override has its cap');
    await delaysUntil(fleet.proxies, 'the override to end', async (proxy) =>
      (await usageOf(proxy, '/declared')).some((row) => row.subject === '/declared' && row.max_requests === 2),
    );
    t.equal(await admitted(fleet, '/declared', 4), 2, 'the declared rule is back and begins at nothing');
  });
}
