// Keys that the configuration declares, on a fleet: in force with the edit, revoked by removing the entry, and nowhere in the open.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { digestOf, newSecret } from '../../domain/keys/secret.ts';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { Agent, fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

const promisedMs = 1_000;
const upstream = await startFakeUpstream({ t: suite });
const fleet = await shareFleet({ store: 'sqlite', upstream });
const [first, ...others] = fleet.proxies;
if (first === undefined) throw new Error('no proxy');

const dispatcher = new Agent();
suite.teardown(() => dispatcher.destroy());
const secret = newSecret();
const hash = digestOf(secret);
const headers = { authorization: `Bearer ${secret}` };
const entry = { name: 'ci', hash: `sha256:${hash}`, user_path: '/team/ci', allowed_models: ['fake/fake-small'] };

const statusOf = async (proxy: Gateway): Promise<number> => {
  const response = await proxy.fetch('/v1/models', { headers });
  await response.body?.cancel();
  return response.status;
};

await test('an entry is in force everywhere within a second, with its rights, and so is its removal', async (t) => {
  const slowdown = watchSlowdown(fleet.controlPlane, ...fleet.proxies.map(({ process }) => process));
  for (const proxy of fleet.proxies) t.equal(await statusOf(proxy), 401);
  first.writeConfig({ 'keys.yaml': { keys: [{ ...entry, dashboard_access: true }] } });
  const delays = await delaysUntil(fleet.proxies, 'the key', async (proxy) => (await statusOf(proxy)) === 200);
  t.ok(Math.max(...delays) < promisedMs * slowdown(), `in force after ${delays.map(Math.round).join(' and ')} ms`);
  for (const proxy of fleet.proxies) {
    t.equal((await ask(proxy, '/', {}, { headers })).status, 200);
    t.equal((await ask(proxy, '/', { model: 'fake/fake-large' }, { headers })).status, 403);
    const usage = await proxy.fetch('/v1/usage', { headers: { ...headers, 'x-gateway-user-path': '/other' } });
    t.match(await usage.json(), { user_path: '/team/ci' });
  }

  const session = await fleet.admin('/admin/session', { method: 'POST', body: { key: secret } });
  t.ok(session.ok, 'the key opens the dashboard');
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
  const withSession = () => fetch(`${fleet.controlPlane.address}/admin/auth-keys`, { dispatcher, headers: { cookie } });
  t.match(await (await withSession()).json(), [{ id: 'config:ci', source: 'config', declared_at: /^keys\.yaml:\d+$/ }]);
  t.equal((await fleet.admin('/admin/auth-keys/config:ci', { method: 'DELETE' })).status, 409);

  await waitFor('the records of the key', async () => {
    return (await (await fleet.admin('/admin/usage/log')).text()).includes('"auth_key_id":"config:ci"');
  });
  const shown = await Promise.all(
    ['config', 'config/files', 'config/differences', 'auth-keys', 'audit/log', 'usage/log'].map(async (path) => {
      return (await fleet.admin(`/admin/${path}`)).text();
    }),
  );
  const said = [...shown, ...fleet.controlPlane.stdout, ...fleet.proxies.flatMap(({ process }) => process.stdout)];
  t.notMatch(said.join('\n'), new RegExp(`${hash}|${secret}`));

  first.writeConfig({ 'keys.yaml': null });
  const gone = await delaysUntil(fleet.proxies, 'the key to be refused', async (proxy) => {
    return (await statusOf(proxy)) === 401;
  });
  t.ok(Math.max(...gone) < promisedMs * slowdown(), `refused after ${gone.map(Math.round).join(' and ')} ms`);
  await waitFor('the end of the session', async () => {
    const response = await withSession();
    await response.body?.cancel();
    return response.status === 401;
  });
  t.equal(others.length, 1);
});

await test('a secret in a file: read by every process, and again when it is replaced', async (t) => {
  const path = join(temporaryDirectory(t, 'client-key'), 'secret');
  const [old, next] = [newSecret(), newSecret()];
  const isLetIn = async (proxy: Gateway, value: string): Promise<boolean> => {
    const response = await proxy.fetch('/v1/models', { headers: { authorization: `Bearer ${value}` } });
    await response.body?.cancel();
    return response.status === 200;
  };
  const processes = [fleet.controlPlane, ...fleet.proxies.map(({ process }) => process)];
  // Each wrong key counts against its address, so nothing is asked before it is said.
  const untilRenewed = (times: number) =>
    waitFor('the secret of the file', () =>
      processes.every(
        ({ stdout }) => stdout.filter((line) => line.includes('key of a client renewed')).length === times,
      ),
    );
  await first.applyConfig({ 'keys.yaml': { keys: [{ name: 'mounted', value_file: path }] } });
  t.notOk(await isLetIn(first, old), 'without the file no client is let in');
  writeFileSync(path, `${old}\n`);
  await untilRenewed(1);
  for (const proxy of fleet.proxies) t.ok(await isLetIn(proxy, old));
  t.match(await (await fleet.admin('/admin/auth-keys')).json(), [{ id: 'config:mounted', active: true }]);
  writeFileSync(path, next);
  await untilRenewed(2);
  for (const proxy of fleet.proxies) t.same([await isLetIn(proxy, next), await isLetIn(proxy, old)], [true, false]);
  const said = processes.flatMap(({ stdout }) => stdout).join('\n');
  t.notMatch(said, new RegExp([old, next, digestOf(old), digestOf(next)].join('|')));
});

await test('a plain secret is refused and never told; what was in force stays', async (t) => {
  await first.applyConfig({ 'keys.yaml': { keys: [entry] } });
  t.equal(await statusOf(first), 200);
  const said = first.process.stdout.length;
  first.writeConfig({ 'keys.yaml': { keys: [{ ...entry, hash: secret }] } });
  await waitFor('the refusal', () => first.process.stdout.slice(said).some((line) => line.includes('keys[0].hash')));
  t.equal(await statusOf(first), 200);
  t.notMatch([...first.process.stdout, ...fleet.controlPlane.stdout].join('\n'), secret);
  const copies = readdirSync(first.dataDir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  t.notOk(copies.some((file) => readFileSync(join(file.parentPath, file.name)).includes(secret)));
});
