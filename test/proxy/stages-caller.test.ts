// Who calls: the keys that let in, as whom, and what is said of those that do not.
import { Socket } from 'node:net';
import { test } from 'tap';
import { type AuthKey, readAuthKey } from '../../domain/keys/auth-key.ts';
import { type Credentials, credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { sealSession } from '../../domain/keys/session.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { authenticateAdmin } from '../../proxy/admin/authenticate-admin.ts';
import { authenticate, type Principal } from '../../proxy/stages/authenticate.ts';
import { exchangeOf, noCertificates, noTokens, open, refusedBy } from './stage-parts.ts';

// --- authenticate

const credentials = credentialsOf(digestOf('sk-master'), []);
const nobody = { keyId: undefined, userPath: '/', shownPath: '/', allowedModels: undefined };
const master = { ...nobody, kind: 'master_key', mayReadExplanations: true };
const anonymous = { ...master, kind: 'anonymous' };

const failedLogins = createFailedLogins();

/** Authenticates a request with these headers at this moment, as the first one of a connection unless given one. */
function showing(headers: Record<string, string>, known: Credentials, atMs = 0, socket = new Socket()) {
  const exchange = exchangeOf(headers, socket, atMs);
  const parts = { failedLogins, authorityMs: () => atMs, tokenKeys: noTokens, certificates: noCertificates };
  return authenticate(exchange, known, parts) as Principal;
}

function keyOf(id: string, more: object = {}): AuthKey {
  const key = readAuthKey(id, {
    name: id,
    dashboard_access: false,
    digest: digestOf(`sk-gw-${id}`),
    redacted_value: 'sk-gw-...',
    enabled: true,
    created_at: '1970-01-01T00:00:00Z',
    updated_at: '1970-01-01T00:00:00Z',
    created_by: 'master_key',
    ...more,
  });
  if (key === undefined) throw new Error('is no key');
  return key;
}

await test('the master key lets in, as bearer, x-api-key or api-key', async (t) => {
  const ways: Record<string, string>[] = [
    { Authorization: 'Bearer sk-master' },
    { authorization: 'bearer sk-master' },
    { Authorization: 'BEARER sk-master' },
    { 'x-api-key': 'sk-master' },
    { 'Api-Key': 'sk-master' },
    { Authorization: 'Bearer sk-master', 'X-Api-Key': 'sk-master' },
  ];
  for (const way of ways) {
    t.same(showing(way, credentials), master, JSON.stringify(way));
    t.same(showing(way, open), anonymous, 'without a master key everyone may');
  }
  t.same(showing({}, open), anonymous);
});

await test('a key with a user path is one caller on all connections, and another one once it is changed', async (t) => {
  const show = (key: AuthKey) =>
    showing({ 'x-api-key': 'sk-gw-a' }, credentialsOf(digestOf('sk-master'), [key]), 0, new Socket());
  const key = keyOf('a', { user_path: '/Team/App' });
  t.equal(show(key), show(key), 'made once');
  t.match(show(key), { userPath: '/team/app', shownPath: '/Team/App', labels: undefined });
  t.match(show(keyOf('a', { user_path: '/team/app', labels: ['new'] })), { labels: ['new'] });
  const free = keyOf('a', { any_user_path: true });
  t.not(show(free), show(free), 'a key that may name any path: each request says its own');
});

await test('an unknown key is not refused while the keys could not be read', async (t) => {
  const unread = credentialsOf(digestOf('sk-master'), [], false);
  const socket = new Socket();
  const show = (key: string) => showing({ 'x-api-key': key }, unread, 0, socket);
  for (let count = 0; count < 30; count += 1) {
    const refused = await refusedBy(() => show('sk-gw-of-somebody'));
    t.match(refused, { status: 503, code: 'store_unavailable', headers: { 'retry-after': '1' } });
  }
  t.match(show('sk-master'), { kind: 'master_key' });
  t.match(await refusedBy(() => showing({}, unread)), { status: 401 }, 'without a key there is nothing to wait for');
});

await test('every failure to show a key looks the same', async (t) => {
  const ways: Record<string, string>[] = [
    {},
    { Authorization: '' },
    { Authorization: 'Bearer' },
    { Authorization: 'Bearer ' },
    { Authorization: 'Bearer\tsk-master' },
    { Authorization: 'Bearersk-master' },
    { Authorization: 'Basic sk-master' },
    { Authorization: 'sk-master' },
    { Authorization: 'Bearer sk-maste' },
    { Authorization: 'Bearer sk-master1' },
    { Authorization: 'Bearer SK-MASTER' },
    { Authorization: 'Token x', 'x-api-key': 'sk-master' },
    { Authorization: 'Bearer sk-gw-off' },
    { Authorization: 'Bearer sk-gw-past' },
    { 'x-api-key': '' },
    { 'x-api-key': 'Bearer sk-master' },
    { 'x-apikey': 'sk-master' },
  ];
  const past = { expires_at: '1970-01-01T00:00:00Z' };
  const known = credentialsOf(digestOf('sk-master'), [keyOf('off', { enabled: false }), keyOf('past', past)]);
  const answers = new Set<string>();
  for (const way of ways) {
    const refused = await refusedBy(() => showing(way, known));
    t.match(
      refused,
      { status: 401, code: 'invalid_api_key', type: 'authentication_error', param: null, headers: {} },
      JSON.stringify(way),
    );
    answers.add(refused.message);
  }
  t.equal(answers.size, 1);
});

await test('two different keys are ambiguous, even when one of them is right', async (t) => {
  for (const known of [credentials, open]) {
    for (const other of ['sk-other', '']) {
      const way = { Authorization: 'Bearer sk-master', 'x-api-key': other };
      t.match(await refusedBy(() => showing(way, known)), { status: 400, code: 'ambiguous_credentials' });
    }
  }
});

await test('what a connection showed before counts for the same key and the same credentials only', async (t) => {
  const socket = new Socket();
  const right = { Authorization: 'Bearer sk-master' };
  for (let time = 0; time < 2; time += 1) t.same(showing(right, credentials, 0, socket), master);
  for (const wrong of [{ Authorization: 'Bearer sk-other' }, {}, { 'x-api-key': 'sk-other' }] as Record<
    string,
    string
  >[]) {
    const refused = await refusedBy(() => showing(wrong, credentials, 0, socket));
    t.match(refused, { code: 'invalid_api_key' }, JSON.stringify(wrong));
  }
  t.same(showing(right, credentials, 0, socket), master, 'a wrong key in between forgets nothing');
  const changed = credentialsOf(digestOf('sk-new'), []);
  t.match(await refusedBy(() => showing(right, changed, 0, socket)), { code: 'invalid_api_key' });
});

await test('a repeated key is not hashed again', async (t) => {
  const socket = new Socket();
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a')]);
  const way = { 'x-api-key': 'sk-gw-a', 'x-gateway-user-path': '/x' };
  const first = showing(way, known, 0, socket);
  t.equal(showing(way, known, 1, socket), first, 'the same principal, not an equal one');
  t.not(showing({ ...way, 'x-gateway-user-path': '/y' }, known, 2, socket), first);
});

await test('a managed key is its own consumer, and a path of its own always wins', async (t) => {
  const known = credentialsOf(digestOf('sk-master'), [
    keyOf('free', { any_user_path: true }),
    keyOf('plain', { any_user_path: false }),
    keyOf('bound', { user_path: '/team/app', allowed_models: ['p/*'] }),
    keyOf('rooted', { user_path: '/' }),
  ]);
  const as = (id: string, path?: string) =>
    showing({ Authorization: `Bearer ${id}`, ...(path === undefined ? {} : { 'x-gateway-user-path': path }) }, known);
  const keyHash = digestOf('sk-gw-free').slice(0, 16);
  const free = { kind: 'managed_key', keyId: 'free', userPath: '/', shownPath: '/', keyHash };
  t.same(as('sk-gw-free'), { ...free, mayReadExplanations: false });
  t.match(
    as('sk-gw-free', 'Team/X'),
    { userPath: '/team/x', shownPath: '/Team/X' },
    'compared in lower case, shown as sent',
  );
  t.equal(as('sk-master', 'team/x').userPath, '/team/x');
  for (const path of [undefined, '/other', '/team/app/deeper', '/a/../b', 'a:b', '\xff'])
    t.match(
      as('sk-gw-bound', path),
      { kind: 'managed_key', keyId: 'bound', userPath: '/team/app', allowedModels: new Set(['p/*']) },
      path ?? 'no header',
    );
  t.equal(as('sk-gw-rooted', '/other').userPath, '/');
  for (const path of [undefined, '/', '']) t.equal(as('sk-gw-plain', path).userPath, '/');
  t.match(await refusedBy(() => as('sk-gw-plain', '/team')), { status: 403, code: 'user_path_denied' });
  for (const id of ['sk-gw-free', 'sk-gw-plain', 'sk-master'])
    t.match(await refusedBy(() => as(id, '/a/../b')), { status: 400, code: 'invalid_user_path' });
});

await test('a key that expires or is revoked is refused on a connection that knows it', async (t) => {
  const socket = new Socket();
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a', { expires_at: '1970-01-01T00:00:01Z' })]);
  const way = { Authorization: 'Bearer sk-gw-a' };
  const { expired, revoked: revokedBefore } = { ...failedLogins.counts() };
  t.match(showing(way, known, 0, socket), { keyId: 'a' });
  t.match(showing(way, known, 999, socket), { keyId: 'a' });
  t.match(await refusedBy(() => showing(way, known, 1_000, socket)), { code: 'invalid_api_key' });
  const revoked = credentialsOf(digestOf('sk-master'), [keyOf('a', { enabled: false })]);
  t.match(showing(way, known, 5, socket), { keyId: 'a' });
  t.match(await refusedBy(() => showing(way, revoked, 6, socket)), { code: 'invalid_api_key' });
  t.match(failedLogins.counts(), { expired: expired + 1, revoked: revokedBefore + 1 });
});

await test('without a master key, what is no key hides neither a certificate nor a later token', (t) => {
  const socket = new Socket();
  const parts = { failedLogins, authorityMs: () => 0, tokenKeys: noTokens, certificates: noCertificates };
  const certificates = { ...noCertificates, judge: () => ({ key: keyOf('certificate:ann', { user_path: '/ann' }) }) };
  for (const way of [{}, { 'x-api-key': 'x' }, { Authorization: 'Basic x' }, {}] as Record<string, string>[]) {
    const caller = authenticate(exchangeOf(way, socket), open, { ...parts, certificates });
    t.match(caller, { kind: 'certificate', keyId: 'certificate:ann', userPath: '/ann' }, JSON.stringify(way));
  }
  const key = { 'x-api-key': 'sk-gw-a' };
  t.match(showing(key, open, 0, socket), { kind: 'anonymous' });
  const tokenKeys = { ...noTokens, known: () => keyOf('company:bob', { user_path: '/bob' }) };
  const caller = authenticate(exchangeOf(key, socket), open, { ...parts, tokenKeys });
  t.match(caller, { keyId: 'company:bob', userPath: '/bob' }, 'an identity that came later');
  t.end();
});

await test('on one connection every credential stands for its own caller, whatever came before it', async (t) => {
  const socket = new Socket();
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a', { user_path: '/a' })]);
  const token = (id: string): AuthKey => ({ ...keyOf(id, { user_path: `/${id}` }), token: {} as never });
  const tokens = new Map(['ann', 'bob'].map((id) => [digestOf(id), token(id)]));
  const parts = {
    failedLogins,
    authorityMs: () => 0,
    tokenKeys: {
      ...noTokens,
      known: (digest: string) => tokens.get(digest),
      now: (key: AuthKey) => tokens.get(digestOf(key.id)),
    },
    certificates: { ...noCertificates, judge: () => ({ key: token('certificate') }) },
  };
  const login = { Authorization: 'Bearer of-a-provider' };
  const callers: [Record<string, string>, caller: string | undefined][] = [
    [{ Authorization: 'Bearer sk-gw-a' }, 'a'],
    [{}, 'certificate'],
    [{ Authorization: 'Bearer ann' }, 'ann'],
    [{ Authorization: 'Bearer sk-master' }, undefined],
    [{ ...login, 'x-gateway-key': 'bob' }, 'bob'],
    [{ ...login, 'x-gateway-key': 'ann' }, 'ann'],
    [{ 'x-api-key': 'bob' }, 'bob'],
    [{ ...login, 'x-gateway-key': 'sk-gw-a' }, 'a'],
  ];
  for (const [first, own] of callers)
    for (const [second, other] of callers)
      for (const [headers, keyId] of [[first, own] as const, [second, other] as const]) {
        const principal = await authenticate(exchangeOf(headers, socket), known, parts);
        if (principal.keyId !== keyId) t.equal(principal.keyId, keyId, JSON.stringify({ first, second, headers }));
      }
  const ask = (headers: Record<string, string>) => authenticate(exchangeOf(headers, socket), known, parts) as Principal;
  t.match(ask({ 'x-api-key': 'ann' }), { userPath: '/ann' });
  tokens.set(digestOf('ann'), { ...token('ann'), userPath: '/moved' });
  t.match(ask({ 'x-api-key': 'ann' }), { userPath: '/moved' }, 'another mapping');
  tokens.delete(digestOf('ann'));
  t.match(await refusedBy(() => ask({ 'x-api-key': 'ann' })), { code: 'invalid_api_key' }, 'denied');
  t.match(await refusedBy(() => ask(login)), { code: 'invalid_api_key' }, 'a certificate vouches for no wrong key');
});

await test('a wrong key is always 401, however many were tried', async (t) => {
  const statuses = new Set<number>();
  for (let count = 0; count < 50; count += 1) {
    const guess = count === 0 ? '' : `guess-${count}`;
    statuses.add((await refusedBy(() => showing({ 'x-api-key': guess }, credentials))).status);
  }
  t.same([...statuses], [401]);
  t.same(showing({ 'x-api-key': 'sk-master' }, credentials), master);
});

// --- authenticate under /admin

await test('no session is let in while it is not known which ones were ended', async (t) => {
  const cookie = `gateway_session=${sealSession({ digest: digestOf('sk-master'), endsAtMs: 1_000 }, 'sk-master')}`;
  const exchange = exchangeOf({ cookie });
  Object.assign(exchange.request, { method: 'GET', headers: { cookie } });
  const at = (isComplete: boolean) =>
    authenticateAdmin(exchange, {
      credentials: credentialsOf(digestOf('sk-master'), [], isComplete),
      failedLogins,
      tokenKeys: noTokens,
      masterKey: 'sk-master',
      nowMs: 0,
    });
  t.match(at(true), { kind: 'master_key' });
  t.match(await refusedBy(() => at(false)), { status: 503, code: 'store_unavailable' });
});

await test('under /admin only a bearer key counts, and after twenty failures no key is looked at', async (t) => {
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a')]);
  const logins = createFailedLogins();
  const at = (headers: Record<string, string>, atMs = 0, among = known) =>
    authenticateAdmin(exchangeOf(headers, new Socket(), atMs), {
      credentials: among,
      failedLogins: logins,
      tokenKeys: noTokens,
      masterKey: undefined,
      nowMs: atMs,
    });
  t.match(at({ authorization: 'Bearer sk-master' }), { kind: 'master_key' });
  t.match(at({ authorization: 'Bearer sk-gw-a' }), { key: { id: 'a' } }, 'what it may do, the control plane decides');
  t.match(at({}, 0, open), { kind: 'anonymous' });
  for (const headers of [{}, { 'x-api-key': 'sk-master' }, { authorization: 'Basic x' }] as Record<string, string>[])
    t.match(await refusedBy(() => at(headers)), { status: 401, code: 'invalid_api_key' }, JSON.stringify(headers));
  const wrong = { authorization: 'Bearer wrong' };
  const unread = credentialsOf(digestOf('sk-master'), [], false);
  t.match(await refusedBy(() => at(wrong, 0, unread)), {
    status: 503,
    code: 'store_unavailable',
    headers: { 'retry-after': '1' },
  });
  for (let count = 0; count < 20; count += 1) t.match(await refusedBy(() => at(wrong, count)), { status: 401 });
  t.match(await refusedBy(() => at(wrong, 1_000)), {
    status: 429,
    code: 'too_many_failed_logins',
    headers: { 'retry-after': '60', 'x-should-retry': 'false' },
  });
  const right = { authorization: 'Bearer sk-master' };
  t.match(await refusedBy(() => at(right, 1_000)), { status: 429 }, 'nor is the right one');
  t.equal(logins.counts().paused, 2);
  t.match(await refusedBy(() => at({}, 1_000)), { status: 401 }, 'no key is no attempt');
  t.match(at(right, 60_019), { kind: 'master_key' });
  t.match(await refusedBy(() => at(wrong, 60_019)), { status: 401 });
});
