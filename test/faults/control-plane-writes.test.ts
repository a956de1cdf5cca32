// Writes to the admin API when control planes are killed in the middle of them, and when two write at once: none is lost, none is half done.
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { extent, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey } from '../support/gateway.ts';
import { underLoad } from '../support/load.ts';
import { type AdminAnswer, askAdmin, listRules, stateRevisionOf } from '../support/operator.ts';
import type { RunningProcess } from '../support/process.ts';
import { fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const config = {
  rate_limits: { user_paths: [{ path: '/', limits: [{ period: 'minute', max_requests: 1_000_000_000 }] }] },
};
const kills = extent(10, 1);
const writesOfEach = extent(200, 25);
const stepsOfEach = extent(25, 8);

async function start(store: 'sqlite' | 'redis'): Promise<Fleet> {
  const fleet = await startFleet(suite, { store, upstream, config, proxies: 1 });
  await fleet.recovered();
  return fleet;
}

/** A rule whose every member is made from one number. */
const ruleOf = (number: number) => ({
  user_path: `/killed/${number}`,
  limit_key: { period: 'day' },
  max_requests: number,
  max_tokens: number * 1_000,
  reason: `number ${number}`,
});

/** On a busy machine Redis may take longer than the deadline of a write: whether it happened, its client does not know. */
const isUnknown = ({ status, code }: Pick<AdminAnswer, 'status' | 'code'>): boolean =>
  status === 503 && code === 'store_unavailable';

const secondPlanes = new Map<Fleet, Promise<RunningProcess>>();

/** Another control plane of the fleet, the same one for every test. */
function secondPlane(fleet: Fleet): Promise<RunningProcess> {
  const second = secondPlanes.get(fleet) ?? fleet.startControlPlane();
  secondPlanes.set(fleet, second);
  return second;
}

const fleets = await Promise.all(scenarioStores.map(async (store) => ({ store, fleet: await start(store) })));

for (const { store, fleet } of fleets) {
  await test(`killed with -9 amid writes to ${store}: each rule is there as a whole or not at all`, async (t) => {
    const before = await stateRevisionOf(fleet);
    const acknowledged = new Set<number>();
    const unknown = new Set<number>();
    const etags = new Set<string | null>();
    await underLoad(t, fleet, async () => {
      let number = 0;
      const over = new AbortController();
      let isUp = true;
      const write = async (): Promise<void> => {
        while (!over.signal.aborted) {
          number += 1;
          const mine = number;
          const answer = await askAdmin({ fetch: (path, init) => fleet.admin(path, init) }, 'PUT', ruleOf(mine)).catch(
            () => undefined,
          );
          if (answer?.status === 200) {
            acknowledged.add(mine);
            etags.add(answer.etag);
          } else {
            unknown.add(mine);
            await waitFor('a control plane to write to', () => isUp, 30_000);
          }
        }
      };
      const writers = [write(), write(), write()];
      for (let count = 1; count <= kills; count += 1) {
        const enough = acknowledged.size + 3;
        await waitFor('writes', () => acknowledged.size >= enough);
        await setTimeout(Math.random() * 10);
        isUp = false;
        await fleet.controlPlane.kill();
        await fleet.restartControlPlane();
        isUp = true;
      }
      over.abort();
      await Promise.all(writers);
    });
    const rules = new Map((await listRules(fleet)).map((rule) => [rule.subject, rule]));
    const isWhole = (number: number): boolean => {
      const rule = rules.get(`/killed/${number}`) as { reason?: string; max_requests?: number; max_tokens?: number };
      return rule?.max_requests === number && rule.max_tokens === number * 1_000 && rule.reason === `number ${number}`;
    };
    const happened = [...unknown].filter((number) => rules.has(`/killed/${number}`));
    t.comment(`${acknowledged.size} acknowledged, ${unknown.size} not, of which ${happened.length} had happened`);
    t.ok(unknown.size > 0, 'some were cut off');
    t.same(
      [...acknowledged].filter((number) => !isWhole(number)),
      [],
      'none that was acknowledged is lost',
    );
    t.same(
      happened.filter((number) => !isWhole(number)),
      [],
      'none is half there',
    );
    const added = acknowledged.size + happened.length;
    t.equal([...rules.keys()].filter((subject) => subject.startsWith('/killed/')).length, added);
    t.equal((await stateRevisionOf(fleet)) - before, added, 'one revision for each: none was applied twice');
    t.equal(etags.size, acknowledged.size);
  });

  await test(`two control planes write the same rule in ${store} at once: no update is lost`, async (t) => {
    const second = await secondPlane(fleet);
    const before = await stateRevisionOf(fleet);
    const writes: { cap: number; answer: AdminAnswer }[] = [];
    await underLoad(t, fleet, async () => {
      const write = async (address: string, from: number): Promise<void> => {
        const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
        const plane: Pick<Gateway, 'fetch'> = {
          fetch: (path, init) =>
            fetch(`${address}${path}`, { method: 'PUT', headers, body: JSON.stringify(init?.body) }),
        };
        for (let cap = from; cap < from + writesOfEach; cap += 1) {
          const rule = { user_path: '/contended', limit_key: { period: 'day' }, max_requests: cap };
          writes.push({ cap, answer: await askAdmin(plane, 'PUT', rule) });
        }
      };
      const startedMs = performance.now();
      await Promise.all([write(fleet.controlPlane.address, 1), write(second.address, 1_001)]);
      t.comment(`${writes.length} writes in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    });
    t.comment(`the slowest took ${Math.max(...writes.map(({ answer }) => answer.tookMs)).toFixed(0)} ms`);
    const taken = writes.filter(({ answer }) => answer.status === 200);
    const unknown = writes.filter(({ answer }) => isUnknown(answer));
    t.equal(taken.length + unknown.length, 2 * writesOfEach, 'none is refused');
    t.ok(taken.length > unknown.length, `${unknown.length} of ${writes.length} were too slow for the store's deadline`);
    const revisions = taken.map(({ answer }) => Number(JSON.parse(answer.etag ?? '""')));
    t.equal(new Set(revisions).size, taken.length, 'each has a revision of its own');
    const revision = await stateRevisionOf(fleet);
    t.ok(Math.min(...revisions) > before && Math.max(...revisions) <= revision, 'the next ones');
    const happened = revision - before - taken.length;
    t.ok(happened >= 0 && happened <= unknown.length, `one for each write, and for ${happened} of unknown outcome`);
    const last = taken.filter(({ answer }) => answer.etag === `"${revision}"`);
    const [contended] = (await listRules(fleet)).filter(({ subject }) => subject === '/contended');
    const possible = (last.length > 0 ? last : unknown).map(({ cap }) => cap);
    t.ok(possible.includes(contended?.max_requests ?? 0), 'the last one is in force');
    for (const { cap, answer } of taken) {
      const shown = answer.rules.find(({ subject }) => subject === '/contended')?.max_requests;
      if (shown !== cap) t.fail(`the answer to ${cap} shows ${shown}`);
    }
  });

  await test(`two control planes raise the same cap in ${store}, each above the one it has read: every step counts`, async (t) => {
    const second = await secondPlane(fleet);
    const send = async (address: string, method: string, rule?: object, etag = '*'): Promise<AdminAnswer> => {
      const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json', 'if-match': etag };
      const body = rule === undefined ? null : JSON.stringify(rule);
      return askAdmin({ fetch: (path) => fetch(`${address}${path}`, { method, headers, body }) }, method);
    };
    const stair = (cap: number) => ({ user_path: '/stair', limit_key: { period: 'day' }, max_requests: cap });
    t.equal((await send(second.address, 'PUT', stair(1))).status, 200);
    const refusals: string[] = [];
    let unknown = 0;
    await underLoad(t, fleet, async () => {
      const climb = async (address: string): Promise<void> => {
        for (let step = 0; step < stepsOfEach; ) {
          const { rules, etag } = await send(address, 'GET');
          const cap = rules.find(({ subject }) => subject === '/stair')?.max_requests ?? 0;
          const { status, code } = await send(address, 'PUT', stair(cap + 1), etag ?? '');
          if (status === 200) step += 1;
          else if (isUnknown({ status, code })) unknown += 1;
          else refusals.push(`${status} ${code}`);
        }
      };
      await Promise.all([climb(fleet.controlPlane.address), climb(second.address)]);
    });
    t.comment(`${refusals.length} came too late and looked again`);
    t.same([...new Set(refusals)], ['412 precondition_failed'], 'they met');
    const [stairs] = (await listRules(fleet)).filter(({ subject }) => subject === '/stair');
    const unacknowledged = (stairs?.max_requests ?? 0) - (1 + 2 * stepsOfEach);
    t.ok(unacknowledged >= 0 && unacknowledged <= unknown, `${unacknowledged} of ${unknown} of unknown outcome count`);
  });
}
