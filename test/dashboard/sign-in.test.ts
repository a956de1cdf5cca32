// Signing in at an identity provider, without a browser: the whole way at both planes, and what attackers, broken providers and changed rights
// make of it.
import { t as suite, type Test, test } from 'tap';
import { masterKey } from '../support/gateway.ts';
import { ask, atProvider, begin, comeBack, problemOf, signIn } from '../support/sign-in.ts';
import { waitFor } from '../support/wait-for.ts';
import { secret, startSignInStand } from './sign-in-stand.ts';

suite.setTimeout(120_000);

const stand = await startSignInStand(suite);
const { fleet, gateway, proxy, doors, callbackOf, company, other, identityOf, both, configure } = stand;
company.next = { subject: 'ann' };
other.next = { subject: 'ann' };

for (const [name, door] of doors) {
  await test(`at ${name} a person signs in, writes under its own name, and signs out everywhere`, async (t) => {
    const { answer, session, read, write } = await signIn(door, 'company');
    t.match(answer, { status: 303, location: '/admin/dashboard' });
    t.match(answer.setCookies, [
      /^gateway_session=[\w-]{50,}; Path=\/admin; Max-Age=28800; HttpOnly; SameSite=Strict$/,
      /^gateway_sign_in=; Max-Age=0; Path=\/admin\/sign-in; HttpOnly; SameSite=Lax$/,
    ]);
    const person = { identity: 'company', subject: 'ann', name: 'ann@example.com' };
    t.match(session, { kind: 'person', key_id: null, key_name: person.name, person, role: 'admin', user_path: '/' });
    const body = JSON.stringify({ user_path: `/of/${name.length}`, period: 'day', max_requests: 5 });
    const url = `${door}/admin/rate-limits`;
    t.equal((await ask(url, { method: 'PUT', headers: { ...write, 'x-csrf-token': 'x' }, body })).status, 403);
    t.equal((await ask(url, { method: 'PUT', headers: write, body })).status, 200);
    await waitFor('the audit entry', async () => {
      const entries = await (await fleet.admin('/admin/audit/log?method=PUT')).text();
      return entries.includes('"auth_key_id":"company:ann"') && entries.includes('"operator_name":"ann@example.com"');
    });
    const left = await ask(`${door}/admin/session`, { method: 'DELETE', headers: write });
    t.equal(left.status, 204);
    for (const [where, each] of doors)
      await waitFor(`the session to be over at ${where}`, async () => {
        return (await ask(`${each}/admin/rate-limits`, { headers: read })).status === 401;
      });
  });
}

await test('a viewer reads its subtree and writes nothing', async (t) => {
  company.next = { subject: 'vic' };
  const { session, read, write } = await signIn(proxy, 'company');
  company.next = { subject: 'ann' };
  t.match(session, { role: 'viewer', user_path: '/team', scoped: true });
  t.equal((await ask(`${proxy}/admin/rate-limits`, { headers: read })).status, 200);
  t.equal((await ask(`${proxy}/admin/status`, { headers: read })).status, 403);
  const body = JSON.stringify({ user_path: '/team', period: 'day', max_requests: 5 });
  const put = await ask(`${proxy}/admin/rate-limits`, { method: 'PUT', headers: write, body });
  t.match(put, { status: 403, body: { code: 'role_denied' } });
});

/** What comes of a callback: no session, and this problem for the login page. */
async function refused(t: Test, what: string, [callback, cookie]: readonly [URL, string], code: string) {
  const answer = await comeBack(proxy, callback, cookie);
  t.match(answer, { status: 303, location: '/admin/dashboard' }, what);
  t.notOk(answer.cookies.has('gateway_session'), `${what}: no session`);
  const problem = await problemOf(proxy, answer);
  t.equal(problem.code, code, `${what}: ${problem.message}`);
  return problem.message;
}

/** A callback whose query has other values; null: without it. */
function changed(callback: URL, values: Readonly<Record<string, string | null>>): URL {
  const url = new URL(callback);
  for (const [name, value] of Object.entries(values))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  return url;
}

await test('an answer that this browser has not begun opens nothing', async (t) => {
  const { url, cookie } = await begin(proxy, 'company');
  const callback = await atProvider(url);
  const again = await begin(proxy, 'company');
  const elsewhere = await begin(proxy, 'other');
  await refused(t, 'no cookie: the answer of somebody else', [callback, ''], 'sign_in_not_begun');
  await refused(t, 'a cookie that was not sealed here', [callback, 'gateway_sign_in=x'], 'sign_in_not_begun');
  const session = cookie.replace('gateway_sign_in', 'gateway_session');
  t.equal((await ask(`${proxy}/admin/rate-limits`, { headers: { cookie: session } })).status, 401, 'it is no session');
  await refused(t, 'of another sign-in', [callback, again.cookie], 'sign_in_invalid');
  await refused(t, 'another state', [changed(callback, { state: 'x' }), cookie], 'sign_in_invalid');
  await refused(t, 'no state', [changed(callback, { state: null }), cookie], 'sign_in_invalid');
  await refused(t, 'of another issuer', [changed(callback, { iss: other.issuer }), cookie], 'sign_in_invalid');
  await refused(t, 'begun with another identity', [callback, elsewhere.cookie], 'sign_in_not_begun');
  const mixed = new URL(callbackOf('other') + callback.search);
  await refused(t, 'at the address of another identity', [mixed, cookie], 'sign_in_not_begun');
  const unknown = new URL(callbackOf('none') + callback.search);
  await refused(t, 'at the address of no identity', [unknown, cookie], 'sign_in_not_begun');
  // The code of this sign-in with the state of the other one: PKCE and nonce belong to the cookie.
  const stateOf = (of: string) => new URL(of).searchParams.get('state');
  const injected = changed(callback, { state: stateOf(again.url) });
  await refused(t, 'a code that was put in', [injected, again.cookie], 'sign_in_invalid');
});

await test('a code opens one session', async (t) => {
  const { url, cookie } = await begin(proxy, 'company');
  const callback = await atProvider(url);
  t.ok((await comeBack(proxy, callback, cookie)).cookies.get('gateway_session'));
  await refused(t, 'the same code again', [callback, cookie], 'sign_in_invalid');
});

await test('the words of a provider that refuses are told once, as they are', async (t) => {
  const description = '<script>alert(1)</script> not in the group';
  company.next = { error: 'access_denied', description };
  const { url, cookie } = await begin(proxy, 'company');
  const callback = await atProvider(url);
  company.next = { subject: 'ann' };
  const answer = await comeBack(proxy, callback, cookie);
  const problem = { cookie: `gateway_sign_in=${answer.cookies.get('gateway_sign_in')}` };
  const told = await ask(`${proxy}/admin/sign-in`, { headers: problem });
  t.match(told.body, {
    problem: { code: 'sign_in_denied' },
    identities: [{ name: 'company', title: 'Example Inc.' }, {}],
  });
  t.match(JSON.stringify(told.body), /access_denied: <script>/, 'JSON, which the page shows as text');
  t.match(told.setCookies, [/^gateway_sign_in=; Max-Age=0/]);
  t.notMatch((await ask(`${proxy}/admin/dashboard`, { headers: problem })).setCookies, [/session/]);
});

await test('a sign-in leads to a page of this dashboard and nowhere else', async (t) => {
  const pages = [
    ['/admin/dashboard/requests?user_path=%2Fa', '/admin/dashboard/requests?user_path=%2Fa'],
    ['https://evil.example/admin/dashboard', '/admin/dashboard'],
    ['//evil.example/admin/dashboard', '/admin/dashboard'],
    ['/\\evil.example/admin/dashboard', '/admin/dashboard'],
    ['/admin/dashboard/../../v1/models', '/admin/dashboard'],
    ['/admin/dashboard/%2e%2e/%2e%2e/v1/models', '/admin/dashboard'],
    ['/admin/dashboards', '/admin/dashboard'],
    ['javascript:alert(1)', '/admin/dashboard'],
  ] as const;
  for (const [page, shown] of pages) {
    const { url, cookie } = await begin(proxy, 'company', { page });
    t.equal((await comeBack(proxy, await atProvider(url), cookie)).location, shown, page);
  }
});

await test('no header of a request says where the provider sends people', async (t) => {
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' };
  for (const [name, door] of doors) {
    const { url } = await begin(door, 'company', { headers });
    t.equal(new URL(url).searchParams.get('redirect_uri'), callbackOf('company'), name);
  }
  const { answer } = await begin(proxy, 'company', { headers: { 'sec-fetch-site': 'cross-site' } });
  t.match(answer, { status: 403, body: { code: 'csrf_refused' } }, 'another page begins none');
  t.match((await begin(proxy, 'none')).answer, { status: 404, body: { code: 'sign_in_not_found' } });
});

await test('who gets no access to the dashboard gets no session, and is told why', async (t) => {
  company.next = { subject: 'nora' };
  const { url, cookie } = await begin(proxy, 'company');
  const callback = await atProvider(url);
  company.next = { subject: 'ann' };
  const message = await refused(t, 'no right', [callback, cookie], 'sign_in_without_rights');
  t.match(message, /no entry of identities\.company\.rights/);
});

const part = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Record<string, unknown>;
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

const forgeries: readonly (readonly [string, (token: string) => string])[] = [
  [
    'other claims under the same signature',
    (token) => {
      const [header, , signature] = token.split('.');
      return [header, encoded({ ...part(token, 1), sub: 'root' }), signature].join('.');
    },
  ],
  ['no signature', (token) => `${encoded({ alg: 'none' })}.${token.split('.')[1]}.`],
  ['a signature with the secret', (token) => `${encoded({ alg: 'HS256' })}.${token.split('.').slice(1).join('.')}`],
  ['no token', () => ''],
];

await test('an ID token that the provider has not signed is refused', async (t) => {
  for (const [what, forge] of forgeries) {
    company.bend.set('/token', (body) => ({ ...body, id_token: forge(String(body['id_token'])) }));
    const { url, cookie } = await begin(proxy, 'company');
    await refused(t, what, [await atProvider(url), cookie], 'sign_in_invalid');
  }
  company.bend.set('/token', (body) => ({ ...body, more: 'x'.repeat(600_000) }));
  const { url, cookie } = await begin(proxy, 'company');
  const message = await refused(t, 'an answer of 600 KB', [await atProvider(url), cookie], 'sign_in_unavailable');
  t.match(message, /longer than 512 KiB/);
  company.bend.clear();
});

await test('addresses that a provider names are dialled by the rules for those of the configuration', async (t) => {
  const metadata = '/.well-known/openid-configuration';
  company.bend.set(metadata, (body) => ({ ...body, token_endpoint: 'https://169.254.169.254/token' }));
  await configure({ ...both, company: identityOf(company, { clock_skew: '29s' }) });
  const { url, cookie } = await begin(proxy, 'company');
  const message = await refused(t, 'metadata of a cloud', [await atProvider(url), cookie], 'sign_in_unavailable');
  t.match(message, /the address is not allowed/);
  company.bend.clear();
  await configure(both);
});

await test('claims of the userinfo endpoint count where they are asked for, for the same subject alone', async (t) => {
  const settings = { ...both.company.sign_in, user_info: true };
  await configure({ ...both, company: identityOf(company, { sign_in: settings }) });
  company.bend.set('/me', (body) => ({ ...body, groups: ['nobody'], department: 'x' }));
  t.match((await signIn(proxy, 'company')).session, { role: 'admin' }, 'the signed claims come first');
  company.bend.set('/me', (body) => ({ ...body, sub: 'root' }));
  const { url, cookie } = await begin(proxy, 'company');
  await refused(t, 'another subject', [await atProvider(url), cookie], 'sign_in_invalid');
  company.bend.clear();
  await configure(both);
});

await test('a session ends with the rights that it was given', async (t) => {
  const changes = [
    ['denied', { company: identityOf(company, { deny: { subjects: ['ann'] } }), other: both.other }],
    ['other rights', { company: identityOf(company, { rights: [] }), other: both.other }],
    ['removed', { other: both.other }],
  ] as const;
  for (const [what, identities] of changes) {
    const { read } = await signIn(proxy, 'company');
    const elsewhere = await signIn(proxy, 'other');
    await configure(identities);
    for (const [name, door] of doors) {
      const after = await ask(`${door}/admin/rate-limits`, { headers: read });
      t.match(after, { status: 401, body: { code: 'session_ended' } }, `${what}, at ${name}`);
      t.equal((await ask(`${door}/admin/rate-limits`, { headers: elsewhere.read })).status, 200, 'others go on');
    }
    await configure(both);
  }
});

await test('while the provider says nothing, a sign-in ends in time and a key opens the dashboard', async (t) => {
  const { url, cookie } = await begin(proxy, 'company');
  const callback = await atProvider(url);
  // Another client, so that what is known of the provider does not count.
  await configure({ ...both, company: identityOf(company, { clock_skew: '31s' }) });
  company.state = 'hangs';
  const [{ answer }] = await Promise.all([
    begin(proxy, 'company'),
    refused(t, 'a code that cannot be exchanged', [callback, cookie], 'sign_in_unavailable'),
  ]);
  t.match(answer, { status: 503, body: { code: 'sign_in_unavailable', message: /did not answer in time/ } });
  const key = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: masterKey }),
  };
  t.equal((await ask(`${proxy}/admin/session`, key)).status, 200);
  company.state = 'fails';
  t.match((await begin(proxy, 'company')).answer, { status: 503, body: { code: 'sign_in_unavailable' } });
  company.state = 'well';
  t.equal((await signIn(proxy, 'company')).answer.status, 303, 'it is back');
  await configure(both);
});

await test('an address whose answers are refused again and again is put off', async (t) => {
  const from = { 'x-forwarded-for': '192.0.2.9' };
  const { url, cookie } = await begin(proxy, 'company');
  const wrong = changed(await atProvider(url), { state: 'x' });
  const codes: string[] = [];
  for (let count = 0; count < 21; count += 1) {
    const answer = await ask(`${proxy}${wrong.pathname}${wrong.search}`, { headers: { ...from, cookie } });
    codes.push((await problemOf(proxy, answer)).code);
  }
  t.same([codes[0], codes[19], codes[20]], ['sign_in_invalid', 'sign_in_invalid', 'too_many_failed_logins']);
  t.equal((await begin(proxy, 'company', { headers: from })).answer.status, 429);
  t.equal((await begin(proxy, 'company')).answer.status, 200, 'others are not');
});

await test('the secret of the client is in no answer, no log and no record', async (t) => {
  const { read } = await signIn(proxy, 'company');
  const paths = ['config', 'config/files?file=identities.yaml', 'config/differences', 'status', 'audit/log', 'session'];
  const answers = await Promise.all(
    paths.map(
      async (path) =>
        (await (await fleet.admin(`/admin/${path}`)).text()) +
        JSON.stringify((await ask(`${proxy}/admin/${path}`, { headers: read })).body),
    ),
  );
  const logs = [fleet.controlPlane, gateway.process].flatMap(({ stdout, stderr }) => [...stdout, ...stderr]);
  t.ok(
    logs.some((line) => line.includes('session begun') && line.includes('identities.company.rights[0].dashboard')),
    'the log says which entry gave the role',
  );
  for (const text of [...answers, ...logs]) t.notMatch(text, /CANARY/);
  const typed = await fleet.admin('/admin/rate-limits', {
    method: 'PUT',
    body: { user_path: `/${secret}`, period: 'day', max_requests: 1 },
  });
  t.match(await typed.json(), { code: 'secret_in_request' });
});
