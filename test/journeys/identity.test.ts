// Tokens of a company's identity provider, on a fleet: on the data plane, as operators, in what is recorded, and revoked within a second.
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

const idp = await startIdentityProvider(suite);
const upstream = await startFakeUpstream({ t: suite });
const company = {
  issuer: idp.issuer,
  audience: 'model-gateway',
  user_path: '/{groups[0]}/{email}',
  labels: ['{department}'],
  allowed_models: ['fake/fake-small'],
  rights: [{ when: "'admins' in claims.groups", allowed_models: ['*'], dashboard: { role: 'admin', user_path: '/' } }],
};
/** Nobody answers there. */
const unreachable = { ...company, issuer: 'http://127.0.0.1:1' };
const identities = (more: object = {}) => ({
  'identities.yaml': { identities: { company: { ...company, ...more }, unreachable } },
});
const fleet = await shareFleet({
  store: 'sqlite',
  upstream,
  files: identities(),
  config: { rate_limits: { user_paths: [{ path: '/limited', limits: [{ period: 'day', max_requests: 1 }] }] } },
});
const [first] = fleet.proxies;
if (first === undefined) throw new Error('no proxy');
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

await test('a token is let in like a key: path, models, labels and limits are those of its claims', async (t) => {
  const token = await idp.issue();
  for (const proxy of fleet.proxies) {
    t.equal((await ask(proxy, '/', {}, as(token))).status, 200);
    t.equal((await ask(proxy, '/', { model: 'fake/fake-large' }, as(token))).status, 403);
  }
  t.match(await (await first.fetch('/v1/usage', as(token))).json(), { user_path: '/team-a/ann@example.com' });
  const limited = await idp.sign({ groups: ['limited'] });
  const answers = [await ask(first, '/', {}, as(limited)), await ask(first, '/', {}, as(limited))];
  t.same(
    answers.map(({ status }) => status),
    [200, 429],
  );
  await waitFor('the record of the caller', async () => {
    const text = await (await fleet.admin('/admin/audit/log')).text();
    return text.includes('"auth_key_id":"company:program"') && text.includes('"auth_method":"jwt"');
  });
  t.match(await (await fleet.admin('/admin/usage/labels')).text(), /research/);
  const line = /"key_id":"company:program".*"rights":\{"user_path":"groups\[0\], email"/;
  await waitFor('the line of the caller', () => line.test(first.process.stdout.join('\n')));
  t.notMatch(first.process.stdout.join('\n'), new RegExp(token.slice(-40)));
});

await test('each door refuses in its own envelope, and says which check failed', async (t) => {
  const expired = await idp.sign({ exp: 1_000_000_000 });
  const message = /The token is not valid: it has expired \(exp\)\./;
  const chat = await ask(first, '/', {}, as(expired));
  t.equal(chat.status, 401);
  t.match(JSON.parse(chat.text), { error: { code: 'invalid_token', type: 'authentication_error', message } });
  const claude = await first.fetch('/v1/messages', { method: 'POST', body: {}, ...as(expired) });
  t.match(await claude.json(), { type: 'error', error: { type: 'authentication_error', message } });
  for (const path of ['/v1/models', '/v1/usage', '/p/fake/models', '/admin/usage/summary', '/admin/explain?model=x'])
    t.equal((await first.fetch(path, as(expired))).status, 401, path);
  t.match(await (await first.fetch('/admin/usage/summary', as(expired))).json(), { code: 'invalid_token', message });
  const unreached = await ask(first, '/', {}, as(await idp.sign({ iss: unreachable.issuer })));
  t.match([unreached.status, unreached.headers.get('retry-after')], [503, '1']);
  t.match(unreached.text, /"identity_unavailable"/);
  const stranger = await idp.sign({ iss: 'https://elsewhere.example.com' });
  t.match((await ask(first, '/', {}, as(stranger))).text, /"invalid_api_key"/);
  const line = /"reason":"expired","identity":"company","check":"exp"/;
  await waitFor('the line of the refused token', () => line.test(first.process.stdout.join('\n')));
});

await test('claims open the admin API with a role and a scope, and the audit names the person', async (t) => {
  const plain = await idp.sign();
  const admin = await idp.sign({ sub: 'root', groups: ['admins'] });
  for (const path of ['/admin/auth-keys', '/admin/explain?model=fake/fake-small']) {
    t.equal((await first.fetch(path, as(plain))).status, 403, path);
    t.equal((await first.fetch(path, as(admin))).status, 200, path);
  }
  t.match(await (await first.fetch('/admin/session', as(admin))).json(), {
    kind: 'identity',
    key_id: 'company:root',
    user_path: '/',
  });
  const key = { name: 'made by a person', user_path: '/x' };
  const made = await first.fetch('/admin/auth-keys', { method: 'POST', body: key, ...as(admin) });
  t.equal(made.status, 201, await made.text());
  await waitFor('the record of the person', async () => {
    return (await (await fleet.admin('/admin/audit/log')).text()).includes('"auth_key_id":"company:root"');
  });
  const explained = await first.fetch('/admin/explain?model=fake/fake-small&key_id=company:root', as(admin));
  t.match(await explained.json(), {
    request: { key: { identity: 'company', rights: [{ right: 'user_path', claims: ['groups[0]', 'email'] }] } },
  });
});

await test('a denied subject is refused everywhere within a second, and its stream ends', async (t) => {
  const slowdown = watchSlowdown(fleet.controlPlane, ...fleet.proxies.map(({ process }) => process));
  const token = await idp.sign({ sub: 'leaver', groups: ['admins'] });
  const statusOf = async (proxy: typeof first): Promise<number> => {
    const response = await proxy.fetch('/v1/models', as(token));
    await response.body?.cancel();
    return response.status;
  };
  for (const proxy of fleet.proxies) t.equal(await statusOf(proxy), 200);
  const live = await first.fetch('/admin/live', as(token));
  t.equal(live.status, 200);
  const ended = live.text().then(
    () => true,
    () => true,
  );
  first.writeConfig(identities({ deny: { subjects: ['leaver'] } }));
  const gone = await delaysUntil(
    fleet.proxies,
    'the token to be refused',
    async (proxy) => (await statusOf(proxy)) === 401,
  );
  t.ok(Math.max(...gone) < 1_000 * slowdown(), `refused after ${gone.map(Math.round).join(' and ')} ms`);
  t.ok(await ended);
});

await test('metrics and the status tell of each identity', async (t) => {
  t.ok(((await first.metric('gateway_identity_tokens_total', { identity: 'company', outcome: 'ok' })) ?? 0) > 0);
  t.ok(((await first.metric('gateway_identity_tokens_total', { identity: 'company', outcome: 'exp' })) ?? 0) > 0);
  t.ok(((await first.metric('gateway_identity_tokens_remembered')) ?? 0) > 0);
  t.ok(((await first.metric('gateway_identity_keys_age_seconds', { identity: 'company' })) ?? -1) >= 0);
  t.match(await (await fleet.admin('/admin/status')).json(), {
    identities: [{ name: 'company', issuer: idp.issuer, keys: 1, usable: true, last_error: null }],
  });
});
