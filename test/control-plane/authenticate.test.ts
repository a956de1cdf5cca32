// Access to routes: every access, every kind of credential; a caller without a key learns nothing.
import { type Test, test } from 'tap';
import { type Access, accessOf, addressOf, who } from '../../control-plane/authenticate.ts';
import { signClientAddress } from '../../domain/keys/client-address.ts';
import { trustedProxies } from '../../plane/access/client-address.ts';
import { readMetric } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';
import { masterKey, type Stand, type StandOptions, startKeyServer } from './auth-keys-server.ts';

const accesses: readonly [string, Access][] = [
  ['public', 'public'],
  ['operator', { role: 'viewer', reach: 'subtree' }],
  ['admin', { role: 'viewer', reach: 'gateway' }],
];

/** A server with one route of each access; the answer names the operator. */
function startClasses(t: Test, options: StandOptions = {}): Promise<Stand> {
  return startKeyServer(t, {
    ...options,
    register(app) {
      for (const [name, access] of accesses)
        app.get(`/${name}`, { config: { access } }, (request) => ({
          who: who(request),
          scope: request.operator.userPath,
        }));
    },
  });
}

/** The status of each class for a token, and who it was: `200 master_key /`. */
async function verdicts(stand: Stand, token: string | null): Promise<string[]> {
  const said: string[] = [];
  for (const [name] of accesses) {
    const { status, body } = await stand.ask('GET', `/${name}`, undefined, token);
    said.push(
      status === 200
        ? `200 ${String(body['who'])} ${String(body['scope'])}`
        : `${status} ${String(body['type'])} ${String(body['code'])}`,
    );
  }
  return said;
}

await test('what each credential opens', async (t) => {
  const stand = await startClasses(t);
  const dashboard = { dashboard_access: true };
  const plain = await stand.issue();
  const whole = await stand.issue(dashboard);
  const rooted = await stand.issue({ ...dashboard, user_path: '/' });
  const scoped = await stand.issue({ ...dashboard, user_path: '/team' });
  const expired = await stand.issue({ ...dashboard, expires_at: '2026-06-01T12:00:01Z' });
  const revoked = await stand.issue(dashboard);
  await stand.ask('POST', `/admin/auth-keys/${revoked.id}/deactivate`);
  await stand.settled();
  stand.clock.nowMs += 1_000;

  const anybody = '200 anonymous /';
  const unknown = '401 authentication_error invalid_api_key';
  const closed = '403 permission_error dashboard_access_denied';
  const rows: [claim: string, token: string | null, operator: string, admin: string][] = [
    ['the master key', masterKey, '200 master_key /', '200 master_key /'],
    ['a dashboard key', whole.value, `200 ${whole.id} /`, `200 ${whole.id} /`],
    ['a dashboard key of the root', rooted.value, `200 ${rooted.id} /`, `200 ${rooted.id} /`],
    ['a scoped dashboard key', scoped.value, `200 ${scoped.id} /team`, '403 permission_error admin_scope_denied'],
    ['a key without dashboard access', plain.value, closed, closed],
    ['a key that expired', expired.value, unknown, unknown],
    ['a key that was revoked', revoked.value, unknown, unknown],
    ['an unknown key', 'sk-gw-unknown', unknown, unknown],
    ['no key', null, unknown, unknown],
  ];
  for (const [claim, token, operator, admin] of rows)
    t.same(await verdicts(stand, token), [anybody, operator, admin], claim);

  const scraped = await (await fetch(`http://127.0.0.1:${stand.port}/metrics`)).text();
  const reasons = ['missing', 'unknown', 'revoked', 'expired', 'denied'];
  t.strictSame(
    reasons.map((reason) => readMetric(scraped, 'gateway_auth_failures_total', { reason })),
    [2, 2, 2, 2, 2],
    'each refusal counts by its reason, a scope that is too small does not',
  );
});

await test('without a master key the admin API is open, and a key still has its own rights', async (t) => {
  const stand = await startClasses(t, { master: null });
  const scoped = await stand.issue({ dashboard_access: true, user_path: '/team' });
  const open = ['200 anonymous /', '200 anonymous /', '200 anonymous /'];
  t.same(await verdicts(stand, null), open);
  t.same(await verdicts(stand, 'anything'), open);
  t.same((await verdicts(stand, scoped.value)).slice(1), [
    `200 ${scoped.id} /team`,
    '403 permission_error admin_scope_denied',
  ]);
  t.equal((await stand.ask('GET', `/admin/auth-keys/${scoped.id}`)).body['created_by'], 'anonymous');
});

await test('a route without an access cannot be registered', async (t) => {
  t.throws(() => accessOf('GET', '/x'), { message: /GET \/x needs a row/ });
  t.strictSame(accessOf('GET', '/x', 'public'), 'public');
  t.strictSame(accessOf('HEAD', '/admin/status'), { role: 'viewer', reach: 'gateway' });
  await t.rejects(
    startKeyServer(t, { register: (app) => void app.get('/forgotten', () => 'secret') }),
    /GET \/forgotten needs a row/,
  );
});

await test('every route but the public ones asks for a key', async (t) => {
  const routes: { method: string; url: string }[] = [];
  const stand = await startKeyServer(t, {
    register: (app) =>
      void app.addHook('onRoute', ({ method, url }) => {
        for (const each of [method].flat()) routes.push({ method: each, url });
      }),
  });
  t.ok(routes.length >= 8);
  for (const [index, { method, url }] of routes.entries()) {
    const from = `X-Gateway-Client-Address: ${signClientAddress(`192.0.2.${index}`, masterKey)}\r\n`;
    const line = `${method} ${url.replace(':id', '7')} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${from}`;
    const { responses } = await rawRequest(stand.port, `${line}Connection: close\r\n\r\n`, { head: method === 'HEAD' });
    t.equal(responses[0]?.status, 401, `${method} ${url}`);
  }
  for (const url of ['/health', '/health/ready', '/metrics'])
    t.equal((await stand.ask('GET', url, undefined, null)).status, 200, url);
});

const heads: [claim: string, lines: string][] = [
  ['no header', ''],
  ['an empty header', 'Authorization:\r\n'],
  ['the scheme alone', 'Authorization: Bearer\r\n'],
  ['the scheme and a blank', 'Authorization: Bearer \r\n'],
  ['another scheme', `Authorization: Basic ${masterKey}\r\n`],
  ['no scheme', `Authorization: ${masterKey}\r\n`],
  ['two tokens in one line', `Authorization: Bearer ${masterKey}, Bearer ${masterKey}\r\n`],
  ['a tab for a blank', `Authorization: Bearer\t${masterKey}\r\n`],
  ['more than the key', `Authorization: Bearer ${masterKey}0\r\n`],
  ['less than the key', `Authorization: Bearer ${masterKey.slice(0, -1)}\r\n`],
  ['a header of the model endpoints', `x-api-key: ${masterKey}\r\n`],
  ['a cookie', `Cookie: key=${masterKey}; authorization=${masterKey}\r\n`],
  ['bytes that are not text', 'Authorization: Bearer \xff\xfe\r\n'],
  ['look-alikes', `Authorization: Bearer ${masterKey.replace('s', '\u0455')}\r\n`],
  ['8 KB', `Authorization: Bearer ${'x'.repeat(8_000)}\r\n`],
  ['a pattern', 'Authorization: Bearer *\r\n'],
  ['a query', "Authorization: Bearer ' OR 1=1 --\r\n"],
];

await test('every failure is the same answer, byte for byte', async (t) => {
  const stand = await startKeyServer(t);
  const answers = new Set<string>();
  for (const [claim, lines] of heads) {
    const head = `GET /admin/auth-keys?key=${masterKey} HTTP/1.1\r\nHost: a\r\nX-Request-Id: r\r\n${lines}Connection: close\r\n\r\n`;
    const { responses } = await rawRequest(stand.port, Buffer.from(head, 'utf8'));
    const [response] = responses;
    t.equal(response?.status, 401, claim);
    t.equal(response?.header('www-authenticate'), 'Bearer');
    const said = response?.headers.filter(([name]) => name.toLowerCase() !== 'date');
    answers.add(JSON.stringify([said, response?.text()]));
  }
  t.equal(answers.size, 1);
  t.match([...answers][0], 'invalid_api_key');
});

await test('two Authorization lines are refused, even when both are right', async (t) => {
  const stand = await startKeyServer(t);
  for (const second of [masterKey, 'other']) {
    const lines = `Authorization: Bearer ${masterKey}\r\nauthorization: Bearer ${second}\r\n`;
    const { responses } = await rawRequest(stand.port, `GET /admin/auth-keys HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
    t.match(responses[0]?.json(), { status_code: 400, code: 'ambiguous_credentials' });
  }
});

/** The statuses of so many failing attempts with these header lines. */
async function failing({ port }: Stand, count: number, lines = ''): Promise<(number | undefined)[]> {
  const statuses: (number | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const { responses } = await rawRequest(
      port,
      `GET /admin/auth-keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer no\r\n${lines}Connection: close\r\n\r\n`,
    );
    statuses.push(responses[0]?.status);
  }
  return statuses;
}

/** With the master key, from another address. */
const elsewhere = `GET /admin/auth-keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${masterKey}\r\nX-Gateway-Client-Address: ${signClientAddress('203.0.113.1', masterKey)}\r\nConnection: close\r\n\r\n`;

const times = (status: number, count: number): number[] => Array.from({ length: count }, () => status);

await test('after too many failures no key of the address is looked at, for as long as the answer says', async (t) => {
  const stand = await startKeyServer(t);
  t.same(await failing(stand, 22), [...times(401, 20), 429, 429]);
  const { status, body, headers } = await stand.ask('GET', '/admin/auth-keys', undefined, 'no');
  t.equal(status, 429);
  t.match(body, { type: 'rate_limit_error', code: 'too_many_failed_logins', status_code: 429 });
  t.equal(headers.get('retry-after'), '60');
  t.equal(headers.get('x-should-retry'), 'false', 'an SDK does not wait for it');
  t.equal((await stand.ask('GET', '/admin/auth-keys')).status, 429, 'nor is the right one');
  const { responses } = await rawRequest(stand.port, elsewhere);
  t.equal(responses[0]?.status, 200, 'the right key from elsewhere');
  t.equal((await stand.ask('GET', '/admin/auth-keys', undefined, null)).status, 401, 'no key is no attempt');
  stand.clock.nowMs += 60_000;
  t.same(await failing(stand, 21), [...times(401, 20), 429]);
  const again = await stand.ask('GET', '/admin/auth-keys');
  t.same([again.status, again.headers.get('retry-after')], [429, '120'], 'the next pause is twice as long');
});

await test('the address of a client is believed when it is signed, and only then', async (t) => {
  const stand = await startKeyServer(t);
  const from = (address: string, key = masterKey): string =>
    `X-Gateway-Client-Address: ${signClientAddress(address, key)}\r\n`;
  t.same(await failing(stand, 21, from('192.0.2.1')), [...times(401, 20), 429]);
  t.same(await failing(stand, 1, from('192.0.2.2')), [401], 'another client of the same proxy');
  t.same(await failing(stand, 21, from('2001:db8::1')), [...times(401, 20), 429]);
  t.same(await failing(stand, 1, from('2001:db8::2')), [429], 'the same /64');
  for (let index = 0; index < 10; index += 1) {
    await failing(stand, 1, from(`198.51.100.${index}`, 'another key'));
    await failing(stand, 1, `X-Gateway-Client-Address: 198.51.100.${index}\r\n`);
  }
  t.same(await failing(stand, 1), [429], 'forged ones count for the socket they came from');
  t.same(await failing(stand, 1, from('192.0.2.3') + from('192.0.2.4')), [429], 'two are none');
});

await test('a load balancer in front of the control plane tells the address of its client where it is trusted', async (t) => {
  const from = (remoteAddress: string, forwarded: string, key = '') =>
    addressOf(
      {
        rawHeaders: ['X-Forwarded-For', forwarded, ...(key === '' ? [] : ['x-gateway-client-address', key])],
        socket: { remoteAddress },
      } as never,
      {
        masterKey,
        trustedProxies: () => trustedProxies(['10.0.0.0/8']),
      },
    );
  t.equal(from('::ffff:10.1.2.3', '198.51.100.9, 192.0.2.7'), '192.0.2.7');
  t.equal(from('203.0.113.1', '192.0.2.7'), '203.0.113.1', 'another one is not believed');
  t.equal(
    from('10.1.2.3', '192.0.2.7', signClientAddress('2001:db8::1', masterKey)),
    '2001:db8::1',
    'a proxy of the gateway knows better',
  );
});

await test('the address of a client has one form, whatever socket it came by', async (t) => {
  const from = (remoteAddress?: string) =>
    addressOf({ rawHeaders: [], socket: { remoteAddress } } as never, { masterKey });
  t.same([from('::ffff:192.0.2.7'), from('192.0.2.7'), from('2001:db8::1')], ['192.0.2.7', '192.0.2.7', '2001:db8::1']);
  t.equal(from(), undefined);
});
