// An alias that an operator sets: in force on every proxy within a second, for those who may use it, until it is removed.
import { t as suite, test } from 'tap';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';

suite.setTimeout(240_000);
suite.jobs = 2;

const files = {
  'aliases.yaml': {
    aliases: [
      { source: 'chat', target: 'fake/fake-small' },
      { source: 'team', target: 'fake/fake-small', user_paths: ['/team-a'] },
      { source: 'eu/*', target: 'fake/*' },
    ],
  },
};

/** The model that a request for `name` was executed by; else the error code. */
async function executed(proxy: Gateway, name: string, userPath = '/'): Promise<string> {
  const response = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body: { model: name, messages: [{ role: 'user', content: 'Hello' }] },
  });
  const body = (await response.json()) as { model?: string; error?: { code: string } };
  return body.error?.code ?? body.model ?? '';
}

async function listed(proxy: Gateway, userPath = '/'): Promise<Set<string>> {
  const response = await proxy.fetch('/v1/models', { headers: { 'x-gateway-user-path': userPath } });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return new Set(data.map(({ id }) => id));
}

const untilExecuted = ({ proxies }: Fleet, name: string, wanted: string): Promise<number[]> =>
  delaysUntil(proxies, `${name} to lead to ${wanted}`, async (proxy) => (await executed(proxy, name)) === wanted);

async function write(fleet: Fleet, method: 'PUT' | 'DELETE', body: object): Promise<number> {
  const response = await fleet.admin('/admin/virtual-models', { method, body });
  await response.body?.cancel();
  return response.status;
}

for (const store of scenarioStores) {
  void test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({ store, upstream, files });
    const [first] = fleet.proxies as readonly [Gateway];

    await group.test('a write is in force everywhere within a second, and so is its removal', async (t) => {
      t.equal(await executed(first, 'chat'), 'fake-small');
      t.equal(await write(fleet, 'PUT', { source: 'chat', target: 'fake/fake-large' }), 200);
      const put = await untilExecuted(fleet, 'chat', 'fake-large');
      t.equal(await write(fleet, 'PUT', { source: 'new', target: 'chat' }), 200);
      await untilExecuted(fleet, 'new', 'fake-large');
      t.ok((await listed(first)).has('new'));
      t.equal(await write(fleet, 'DELETE', { source: 'chat' }), 200);
      const removed = await untilExecuted(fleet, 'chat', 'fake-small');
      await untilExecuted(fleet, 'new', 'fake-small');
      t.ok(Math.max(...put, ...removed) < 1_000, `${put.join()} ${removed.join()} ms`);
    });

    await group.test(
      'in another letter case it replaces the alias of the configuration, under every spelling',
      async (t) => {
        t.equal(await write(fleet, 'PUT', { source: 'CHAT', target: 'Fake/Fake-Large' }), 200);
        for (const name of ['chat', 'CHAT', 'Chat']) await untilExecuted(fleet, name, 'fake-large');
        t.equal(await write(fleet, 'DELETE', { source: 'Chat' }), 200);
        await untilExecuted(fleet, 'chat', 'fake-small');
      },
    );

    await group.test('through a proxy, the answer says that it is enforced', async (t) => {
      const body = { source: 'here', target: 'fake/fake-large' };
      const response = await first.fetch('/admin/virtual-models', { method: 'PUT', body });
      t.equal(response.headers.get('x-gateway-enforced'), 'true');
      await response.body?.cancel();
      t.equal(await executed(first, 'here'), 'fake-large');
    });

    await group.test('an alias of a user path exists for this path and below it, not for other paths', async (t) => {
      for (const path of ['/team-a', '/team-a/app']) t.equal(await executed(first, 'team', path), 'fake-small', path);
      for (const path of ['/', '/team-alpha']) t.equal(await executed(first, 'team', path), 'model_not_found', path);
      t.ok((await listed(first, '/team-a')).has('team'));
      t.notOk((await listed(first)).has('team'));
      const one = (path: string) => first.fetch('/v1/models/team', { headers: { 'x-gateway-user-path': path } });
      const statuses = await Promise.all(['/team-a', '/'].map(async (path) => (await one(path)).status));
      t.same(statuses, [200, 404]);
    });

    await group.test('a family has every model of its provider', async (t) => {
      t.equal(await executed(first, 'eu/fake-large'), 'fake-large');
      t.equal(await executed(first, 'eu/other'), 'model_not_found');
      t.ok((await listed(first)).has('eu/fake-small'));
    });

    await group.test('a config without its target leaves it out, and the listing says why', async (t) => {
      await write(fleet, 'PUT', { source: 'chat', targets: [{ model: 'own/m' }] }).then((status) =>
        t.equal(status, 400, 'no such provider'),
      );
      const own = { own: { type: 'openai', base_url: upstream.url, models: ['fake-large'] } };
      await first.applyConfig({ 'own.yaml': { providers: own } });
      await delaysUntil([first], 'the control plane to know the provider', async () => {
        return (await write(fleet, 'PUT', { source: 'chat', target: 'own/fake-large' })) === 200;
      });
      await untilExecuted(fleet, 'chat', 'fake-large');
      await first.applyConfig({ 'own.yaml': null });
      await untilExecuted(fleet, 'chat', 'fake-small');
      const listing = async (): Promise<Record<string, unknown>[]> => {
        const response = await fleet.admin('/admin/virtual-models');
        return ((await response.json()) as { virtual_models: Record<string, unknown>[] }).virtual_models;
      };
      await delaysUntil([first], 'the listing to say so', async () =>
        (await listing()).some(({ source, enforced, unenforced_reason: reason }) => {
          return source === 'chat' && enforced === false && /there is no provider "own"/.test(String(reason));
        }),
      );
      t.ok(
        (await listing()).some(
          ({ source, managed_by: by, enforced }) => source === 'chat' && by === 'config' && enforced,
        ),
      );
    });
  });
}
