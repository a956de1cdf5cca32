// A writer without the master key changes the store: no forged document is in force, the log says so, and a change of the master key loses
// nothing.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { t as suite, type Test, test } from 'tap';
import { authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { ask, statusesOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey } from '../support/gateway.ts';
import { sampleKey } from '../support/managed-state.ts';
import { dayRule, readinessOf, untilDegraded } from '../support/operator.ts';
import type { RunningProcess } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const newKey = 'sk-test-the-next-master-key-0123456789';
/** Until something was sealed: a write to the store is tried again every second, and a busy machine needs some. */
const patienceMs = 30_000;
const unsealed = 'state_documents_unsealed';

/** What lies in a store, as a writer with access to it changes it: the bodies of documents by kind and id. */
interface Intruder {
  put(kind: string, id: string, body: object): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
  bodies(): Promise<readonly (readonly [kind: string, id: string, body: Record<string, unknown>])[]>;
}

function intruderOf({ redis, home }: Fleet): Intruder {
  return redis === undefined ? atFile(join(home, 'data/state.sqlite')) : atRedis(redis.client());
}

function atRedis(client: ReturnType<NonNullable<Fleet['redis']>['client']>): Intruder {
  const state = '{gateway}:state';
  const field = (kind: string, id: string): string => `document:${JSON.stringify([kind, id])}`;
  const raise = (kind: string) => client.multi().hincrby(state, `kind:${kind}`, 1).hincrby(state, 'revision', 1).exec();
  return {
    async put(kind, id, body) {
      await client.hset(state, field(kind, id), JSON.stringify({ revision: 1, body }));
      await raise(kind);
    },
    async remove(kind, id) {
      await client.hdel(state, field(kind, id));
      await raise(kind);
    },
    async bodies() {
      const fields = Object.entries(await client.hgetall(state)).filter(([name]) => name.startsWith('document:'));
      return fields.map(([name, text]) => {
        const [kind, id] = JSON.parse(name.slice('document:'.length)) as [string, string];
        return [kind, id, (JSON.parse(text) as { body: Record<string, unknown> }).body] as const;
      });
    },
  };
}

function atFile(path: string): Intruder {
  const use = <Result>(work: (database: DatabaseSync) => Result): Result => {
    const database = new DatabaseSync(path, { timeout: 2_000 });
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  const raise = (database: DatabaseSync, kind: string): void => {
    database.prepare('UPDATE kind SET revision = revision + 1 WHERE kind = ?').run(kind);
    database.exec('UPDATE store SET revision = revision + 1');
  };
  return {
    async put(kind, id, body) {
      use((database) => {
        database.prepare('INSERT OR REPLACE INTO document VALUES (?, ?, ?, 1)').run(kind, id, JSON.stringify(body));
        raise(database, kind);
      });
    },
    async remove(kind, id) {
      use((database) => {
        database.prepare('DELETE FROM document WHERE kind = ? AND id = ?').run(kind, id);
        raise(database, kind);
      });
    },
    bodies: async () =>
      use((database) =>
        database
          .prepare('SELECT kind, id, body FROM document')
          .all()
          .map(
            ({ kind, id, body }) =>
              [String(kind), String(id), JSON.parse(String(body)) as Record<string, unknown>] as const,
          ),
      ),
  };
}

interface Stand {
  readonly fleet: Fleet;
  readonly proxy: Gateway;
  readonly intruder: Intruder;
  /** The secret of a managed key that is in force, as a header. */
  readonly headers: { readonly authorization: string };
}

/** A fleet with a managed key and the rule that `/limited` may ask once a day, and has. */
async function start(t: Test, store: 'sqlite' | 'redis', provider: FakeUpstream): Promise<Stand> {
  const fleet = await startFleet(t, { store, upstream: provider, proxies: 1 });
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('no proxy');
  await fleet.write('PUT', dayRule('/limited', 1));
  const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'a key' } });
  const { value } = (await issued.json()) as { value: string };
  await fleet.settle();
  const headers = { authorization: `Bearer ${value}` };
  t.same(await statusesOf(proxy, '/limited', 2), [200, 429]);
  t.equal((await ask(proxy, undefined, {}, { headers })).status, 200);
  return { fleet, proxy, intruder: intruderOf(fleet), headers };
}

const linesWith = ({ stdout }: Pick<RunningProcess, 'stdout'>, what: RegExp): number =>
  stdout.filter((line) => what.test(line)).length;

/** Whether the managed key and the managed rule are in force. */
async function holds({ proxy, headers }: Stand, authorization = `Bearer ${masterKey}`): Promise<boolean> {
  const byKey = await ask(proxy, undefined, {}, { headers });
  const limited = await ask(proxy, '/limited', {}, { headers: { authorization } });
  return byKey.status === 200 && limited.status === 429;
}

for (const store of scenarioStores) {
  await test(`forgeries in ${store}`, async (group) => {
    const stand = await start(group, store, upstream);
    const { fleet, proxy, intruder } = stand;

    await group.test(`a forged key is refused and a forged rule not enforced; all others stay in force`, async (t) => {
      const forged = sampleKey('sk-gw-forged', { role: 'admin', userPath: undefined });
      const asForger = { authorization: 'Bearer sk-gw-forged' };
      await intruder.put(authKeyKind, forged.id, { ...authKeyBody(forged), seal: `v1.${'A'.repeat(43)}` });
      const rule = (await intruder.bodies()).find(
        ([kind, , { subject }]) => kind === 'rate_limit' && subject === '/limited',
      );
      if (rule === undefined) throw new Error('no rule');
      await intruder.put(rule[0], rule[1], { ...rule[2], max_requests: 1_000 });
      await untilDegraded(fleet, unsealed);
      // It says so of the key already, and the rule may come later.
      const skipped = () => proxy.metric('gateway_state_documents_skipped', { reason: 'unsealed' });
      await waitFor('both to be skipped', async () => (await skipped()) === 2);
      t.equal((await ask(proxy, undefined, {}, { headers: asForger })).status, 401);
      t.equal((await fleet.admin('/admin/status', { headers: asForger })).status, 401);
      t.equal((await ask(proxy, undefined, {}, { headers: stand.headers })).status, 200, 'a good key is in force');
      t.equal((await ask(proxy, '/limited')).status, 200, 'its cap is not the forged one: it is no rule at all');
      t.equal(await skipped(), 2);

      await intruder.put('rate_limit', 'another', { any: 'thing' });
      await waitFor('the next', async () => (await proxy.metric('gateway_state_documents_skipped')) === 3);
      for (const plane of [proxy.process, fleet.controlPlane]) {
        t.equal(linesWith(plane, new RegExp(`the stored auth_key \\\\"${forged.id}\\\\" has no good seal`)), 1);
        t.equal(linesWith(plane, /GATEWAY_ADOPT_UNSIGNED=true/), 1);
      }
      await intruder.remove(authKeyKind, forged.id);
      await intruder.remove('rate_limit', 'another');
      await fleet.write('PUT', dayRule('/limited', 1));
      await waitFor('all to be well', async () => (await readinessOf(proxy)).status === 'ready');
      t.same(await statusesOf(proxy, '/limited', 2), [200, 429], 'the API puts a forged rule right');
    });

    await group.test(`documents of a version before seals are taken over when that is asked for, once`, async (t) => {
      for (const [kind, id, { seal: _, ...body }] of await intruder.bodies()) await intruder.put(kind, id, body);
      await untilDegraded(fleet, unsealed);
      // The first of them makes it degraded.
      const statusOfKey = async (): Promise<number> =>
        (await ask(proxy, undefined, {}, { headers: stand.headers })).status;
      await waitFor('none to be in force by itself', async () => (await statusOfKey()) === 401, patienceMs);
      await fleet.controlPlane.restart({
        GATEWAY_ADOPT_UNSIGNED: 'true',
        GATEWAY_ADMIN_PORT: new URL(fleet.controlPlane.address).port,
      });
      await waitFor('all to be in force', () => holds(stand), patienceMs);
      t.ok((await intruder.bodies()).every(([, , { seal }]) => typeof seal === 'string'));
      const forged = sampleKey('sk-gw-forged');
      await intruder.put(authKeyKind, forged.id, authKeyBody(forged));
      await untilDegraded(fleet, unsealed);
      const response = await ask(proxy, undefined, {}, { headers: { authorization: 'Bearer sk-gw-forged' } });
      t.equal(response.status, 401, 'what comes later is forged');
      await intruder.remove(authKeyKind, forged.id);
    });

    await group.test(`the master key is changed: everything stays in force, and is sealed anew`, async (t) => {
      const before = new Map((await intruder.bodies()).map(([kind, id, { seal }]) => [`${kind} ${id}`, seal]));
      const both = {
        GATEWAY_MASTER_KEY: newKey,
        GATEWAY_PREVIOUS_MASTER_KEY: masterKey,
        GATEWAY_ADOPT_UNSIGNED: undefined,
      };
      await proxy.restart(both);
      t.ok(await holds(stand, `Bearer ${newKey}`), 'before anything was sealed anew');
      await fleet.controlPlane.restart(both);
      await waitFor(
        'new seals',
        async () => (await intruder.bodies()).every(([kind, id, { seal }]) => seal !== before.get(`${kind} ${id}`)),
        patienceMs,
      );
      await waitFor('it to be said', () => linesWith(fleet.controlPlane, /were sealed with GATEWAY_MASTER_KEY/) === 2);
      await proxy.restart({ GATEWAY_MASTER_KEY: newKey, GATEWAY_PREVIOUS_MASTER_KEY: undefined });
      t.ok(await holds(stand, `Bearer ${newKey}`), 'without the former key');
      t.notMatch(
        [...proxy.process.stdout, ...fleet.controlPlane.stdout].join('\n'),
        new RegExp(`${newKey}|${masterKey}`),
      );
    });
  });
}
