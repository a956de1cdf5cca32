// Managed keys on a fleet: issued once, accepted by every proxy, and refused by every proxy within a second of their revocation.
import { setTimeout } from 'node:timers/promises';
import { t as suite, type Test, test } from 'tap';
import { firstEvent, lastEvent } from '../support/chat-call.ts';
import { ask, usageOf } from '../support/consumer.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchSlowdown } from '../support/slowdown.ts';

suite.setTimeout(100_000);

const promisedMs = 1_000;
const revocations = extent(8, 4);

interface IssuedKey {
  readonly id: string;
  /** The secret as a header. */
  readonly headers: { readonly authorization: string };
}

/** A new key, in force on every proxy. */
async function issue(t: Test, fleet: Fleet, body: object): Promise<IssuedKey> {
  const response = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'a key', ...body } });
  const issued = (await response.json()) as { id: string; value: string };
  t.equal(response.status, 201, JSON.stringify(issued));
  await fleet.settle();
  return { id: issued.id, headers: { authorization: `Bearer ${issued.value}` } };
}

/** With the connection that was let in before, which remembers that it was. A failed login each: 20 in a minute are too many. */
async function isRefused(proxy: Gateway, headers: Record<string, string>): Promise<boolean> {
  const response = await proxy.fetch('/v1/models', { headers });
  await response.body?.cancel();
  return response.status === 401;
}

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const limits = [{ period: 'minute', max_requests: 1_000 }];
    const paths = ['/bound', '/elsewhere'].map((path) => ({ path, limits }));
    const fleet = await shareFleet({ store, upstream, config: { rate_limits: { user_paths: paths } } });
    const revoke = {
      deactivated: (id: string) => fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' }),
      deleted: (id: string) => fleet.admin(`/admin/auth-keys/${id}`, { method: 'DELETE' }),
    };

    const slowdown = watchSlowdown(fleet.controlPlane, ...fleet.proxies.map(({ process }) => process));

    for (const how of ['deactivated', 'deleted'] as const) {
      await group.test(`a ${how} key is refused by every proxy within a second; open streams may finish`, async (t) => {
        const { id, headers } = await issue(t, fleet, {});
        const gate = createGate();
        await upstream.behave({ kind: 'sse', chunks: [firstEvent, gate, lastEvent] });
        const streams = fleet.proxies.map((proxy) => ask(proxy, '/', { stream: true }, { headers }));
        await upstream.waitFor((ledger) => ledger.filter(({ finished }) => !finished).length === fleet.proxies.length);
        await upstream.behave({ kind: 'openai' });
        for (const proxy of fleet.proxies) t.equal((await ask(proxy, '/', {}, { headers })).status, 200);

        t.equal((await revoke[how](id)).status, 204);
        const delays = await delaysUntil(fleet.proxies, 'the key to be refused', (proxy) => isRefused(proxy, headers));
        t.comment(`refused after ${delays.map(Math.round).join(' and ')} ms`);
        t.ok(Math.max(...delays) < promisedMs * slowdown());
        for (const proxy of fleet.proxies) {
          const refused = await ask(proxy, '/', {}, { headers });
          t.equal(refused.status, 401);
          t.match(JSON.parse(refused.text), { error: { code: 'invalid_api_key', type: 'authentication_error' } });
          t.equal((await ask(proxy, '/')).status, 200, 'others are not touched');
        }
        gate.release();
        for (const { status, text } of await Promise.all(streams)) {
          t.equal(status, 200);
          t.match(text, 'data: [DONE]', 'what was let in before is served to its end');
        }
      });
    }

    await group.test('revocation after revocation', async (t) => {
      const delays: number[] = [];
      for (let round = 0; round < revocations; round += 1) {
        const { id, headers } = await issue(t, fleet, {});
        for (const proxy of fleet.proxies) t.equal((await proxy.fetch('/v1/models', { headers })).status, 200);
        t.equal((await revoke[round % 2 === 0 ? 'deleted' : 'deactivated'](id)).status, 204);
        const refused = (proxy: Gateway) => isRefused(proxy, headers);
        delays.push(...(await delaysUntil(fleet.proxies, 'the key to be refused', refused)));
      }
      t.comment(`of ${delays.length}: ${delays.map(Math.round).join(' ')} ms`);
      t.ok(Math.max(...delays) < promisedMs * slowdown());
    });

    await group.test('the user path of a key beats the one that the client names', async (t) => {
      const { headers } = await issue(t, fleet, { user_path: '/bound' });
      for (const proxy of fleet.proxies) {
        t.equal((await ask(proxy, '/elsewhere', {}, { headers })).status, 200);
        t.equal((await ask(proxy, '/elsewhere', {}, { headers })).status, 200);
        const asked = await proxy.fetch('/v1/usage', {
          headers: { ...headers, 'x-gateway-user-path': '/elsewhere' },
        });
        t.match(await asked.json(), { user_path: '/bound', rate_limits: [{ subject: '/bound', requests_used: 2 }] });
        t.match(await usageOf(proxy, '/elsewhere'), [{ subject: '/elsewhere', requests_used: 0 }]);
      }
    });

    await group.test(
      'a changed key is another one for every proxy within a second, and keeps its secret',
      async (t) => {
        const { id, headers } = await issue(t, fleet, { user_path: '/bound' });
        const pathOf = async (proxy: Gateway): Promise<unknown> => {
          const response = await proxy.fetch('/v1/usage', { headers });
          return ((await response.json()) as { user_path?: string }).user_path;
        };
        for (const proxy of fleet.proxies) t.equal(await pathOf(proxy), '/bound');
        const body = { user_path: '/elsewhere', allowed_models: ['fake/fake-small'], expires_in: '1h' };
        const { status } = await fleet.admin(`/admin/auth-keys/${id}`, { method: 'PATCH', body });
        t.equal(status, 200);
        const delays = await delaysUntil(fleet.proxies, 'the key to be moved', async (proxy) => {
          return (await pathOf(proxy)) === '/elsewhere';
        });
        t.ok(Math.max(...delays) < promisedMs * slowdown());
        for (const proxy of fleet.proxies) {
          t.equal((await ask(proxy, '/', { model: 'fake/fake-large' }, { headers })).status, 403);
          t.equal((await ask(proxy, '/', {}, { headers })).status, 200);
        }
      },
    );

    await group.test('a restricted key gets its own models and no others, on every proxy', async (t) => {
      const { id, headers } = await issue(t, fleet, { allowed_models: ['fake/fake-small'] });
      for (const proxy of fleet.proxies) {
        t.equal((await ask(proxy, '/', {}, { headers })).status, 200);
        const refused = await ask(proxy, '/', { model: 'fake/fake-large' }, { headers });
        t.equal(refused.status, 403);
        t.match(JSON.parse(refused.text), { error: { code: 'model_access_denied', type: 'permission_error' } });
        const listed = (await (await proxy.fetch('/v1/models', { headers })).json()) as { data: { id: string }[] };
        t.same(
          listed.data.map((model) => model.id),
          ['fake/fake-small'],
        );
      }
      const body = { allowed_models: ['fake/fake-large'] };
      t.equal((await fleet.admin(`/admin/auth-keys/${id}/allowed-models`, { method: 'PUT', body })).status, 200);
      await fleet.settle();
      for (const proxy of fleet.proxies) {
        t.equal((await ask(proxy, '/', {}, { headers })).status, 403);
        t.equal((await ask(proxy, '/', { model: 'fake/fake-large' }, { headers })).status, 200);
      }
    });

    await group.test('a key that expires is refused from that moment on, by every proxy', async (t) => {
      const expiresAtMs = Date.now() + 1_500;
      const { headers } = await issue(t, fleet, { expires_at: new Date(expiresAtMs).toISOString() });
      for (const proxy of fleet.proxies) t.equal((await proxy.fetch('/v1/models', { headers })).status, 200);
      // Nothing is asked until shortly before: what is refused too early is refused then, too.
      await setTimeout(expiresAtMs - 200 - Date.now());
      await delaysUntil(fleet.proxies, 'the key to expire', (proxy) => isRefused(proxy, headers));
      t.ok(Date.now() >= expiresAtMs, 'not earlier');
      t.ok(Date.now() < expiresAtMs + 500 * slowdown(), `${Date.now() - expiresAtMs} ms too late`);
    });
  });
}
