// /admin/auth-keys over real HTTP on a real store: the answers, the stored documents, and that the secret is in neither.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { authKeyKind } from '../../domain/keys/auth-key.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { type Answer, type Stand, startedAtMs, startKeyServer } from './auth-keys-server.ts';

const folder = join(import.meta.dirname, '../../schemas/admin');
const ajv = new Ajv2020({ strict: true, allErrors: true, formats: { 'date-time': true, uuid: /^[0-9a-f-]{36}$/ } });
for (const name of readdirSync(folder).filter((file) => file.startsWith('auth-key')))
  ajv.addSchema(JSON.parse(readFileSync(join(folder, name), 'utf8')) as object, name);

/** What is wrong with a body, by a schema of `schemas/admin`. */
function problems(name: string, body: unknown): unknown {
  return ajv.validate(`${name}.schema.json`, body) ? [] : ajv.errors;
}

const stored = async ({ store }: Stand) =>
  (await store.read()).documents.filter(({ kind }) => kind === authKeyKind).map(({ body }) => body);

const draft = {
  name: ' CI ',
  description: 'the pipeline',
  user_path: 'team//ci/',
  labels: ['build', ' build ', 'nightly'],
  allowed_models: ['openai/*', 'fast', 'Team/Chat', 'some-model'],
  dashboard_access: true,
  expires_at: '2026-07-01T00:00:00+02:00',
};

await test('a key is issued with its secret, this one time', async (t) => {
  const stand = await startKeyServer(t);
  t.same(problems('auth-key-write', draft), []);
  const { status, headers, body } = await stand.ask('POST', '/admin/auth-keys', draft);
  t.equal(status, 201);
  t.equal(headers.get('cache-control'), 'no-store');
  t.same(problems('auth-key-issued', body), []);
  const { id: issuedId, value, redacted_value, ...rest } = body;
  const id = String(issuedId);
  t.same(rest, {
    source: 'manual',
    name: 'CI',
    description: 'the pipeline',
    user_path: '/team/ci',
    any_user_path: false,
    labels: ['build', 'nightly'],
    allowed_models: ['openai/*', 'fast', 'Team/Chat', 'some-model'],
    dashboard_access: true,
    role: 'admin',
    enabled: true,
    expires_at: '2026-06-30T22:00:00.000Z',
    created_at: '2026-06-01T12:00:00.000Z',
    updated_at: '2026-06-01T12:00:00.000Z',
    created_by: 'master_key',
    active: true,
  });
  t.equal(redacted_value, `sk-gw-...${String(value).slice(-4)}`);
  const { value: _, ...shown } = body;
  t.same((await stand.ask('GET', `/admin/auth-keys/${id}`)).body, shown);
  t.same((await stand.ask('GET', '/admin/auth-keys')).body, [shown]);
});

await test('the least a key needs is a name', async (t) => {
  const stand = await startKeyServer(t);
  const { status, body } = await stand.ask('POST', '/admin/auth-keys', { name: 'x' });
  t.equal(status, 201);
  t.same(problems('auth-key-issued', body), []);
  for (const absent of ['description', 'user_path', 'labels', 'allowed_models', 'expires_at', 'deactivated_at'])
    t.notOk(absent in body, absent);
});

await test('no other answer holds the secret or the digest, and the disk does not hold the secret', async (t) => {
  const stand = await startKeyServer(t);
  const { id, value } = await stand.issue({ dashboard_access: true });
  const path = `/admin/auth-keys/${id}`;
  const answers: Answer[] = [];
  for (const [method, where, body] of [
    ['GET', '/admin/auth-keys', undefined],
    ['GET', path, undefined],
    ['PUT', `${path}/labels`, { labels: ['a'] }],
    ['PUT', `${path}/allowed-models`, { allowed_models: ['*'] }],
    ['PUT', `${path}/dashboard-access`, { dashboard_access: false }],
    ['PUT', `${path}/labels`, { labels: 7 }],
    ['GET', '/metrics', undefined],
    ['POST', `${path}/deactivate`, undefined],
  ] as const)
    answers.push(await stand.ask(method, where, body));
  for (const { text } of answers) {
    t.notMatch(text, value);
    t.notMatch(text, digestOf(value));
  }
  t.match(JSON.stringify(await stored(stand)), digestOf(value), 'the digest is what is stored');
  const files = readdirSync(stand.directory).map((name) => readFileSync(join(stand.directory, name), 'latin1'));
  t.ok(files.some((text) => text.includes(digestOf(value))));
  for (const text of files) t.notOk(text.includes(value.slice(6)));
});

await test('keys are listed newest first, then by name, then by id', async (t) => {
  const stand = await startKeyServer(t);
  t.equal((await stand.ask('GET', '/admin/auth-keys')).text, '[]');
  for (const [name, afterMs] of [
    ['b', 0],
    ['a', 0],
    ['c', 1],
    ['a', 0],
    ['d', -1],
  ] as const) {
    stand.clock.nowMs = startedAtMs + afterMs;
    await stand.issue({ name });
  }
  const { body } = await stand.ask('GET', '/admin/auth-keys');
  const listed = body as unknown as { name: string; id: string }[];
  t.same(problems('auth-key-list', listed), []);
  t.equal(listed.map(({ name }) => name).join(''), 'caabd');
  t.ok((listed[1]?.id ?? '') < (listed[2]?.id ?? ''));
});

await test('labels, models and dashboard access are replaced as a whole', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue({ labels: ['a'], allowed_models: ['openai/x'] });
  const rows: [what: string, body: object, record: object, absent?: string][] = [
    ['labels', { labels: ['b', 'c'] }, { labels: ['b', 'c'] }],
    ['labels', { labels: [] }, {}, 'labels'],
    ['allowed-models', { allowed_models: ['local/*'] }, { allowed_models: ['local/*'] }],
    ['allowed-models', { allowed_models: [] }, {}, 'allowed_models'],
    ['dashboard-access', { dashboard_access: true }, { dashboard_access: true }],
    ['dashboard-access', { dashboard_access: false }, { dashboard_access: false }],
  ];
  for (const [what, body, record, absent] of rows) {
    stand.clock.nowMs += 1_000;
    t.same(problems(`auth-key-${what}`, body), []);
    const answer = await stand.ask('PUT', `/admin/auth-keys/${id}/${what}`, body);
    t.equal(answer.status, 200);
    t.same(problems('auth-key', answer.body), []);
    const moments = {
      created_at: new Date(startedAtMs).toISOString(),
      updated_at: new Date(stand.clock.nowMs).toISOString(),
    };
    t.match(answer.body, { id, ...record, ...moments });
    if (absent !== undefined) t.notOk(absent in answer.body);
    t.same((await stand.ask('GET', `/admin/auth-keys/${id}`)).body, answer.body);
  }
});

await test('a write that changes nothing stores nothing', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue({ labels: ['a'] });
  const before = await stand.store.revision();
  stand.clock.nowMs += 1_000;
  const { body } = await stand.ask('PUT', `/admin/auth-keys/${id}/labels`, { labels: ['a'] });
  t.equal(body['updated_at'], body['created_at']);
  t.same(await stand.store.revision(), before);
});

await test('a key that is switched off stays off, and can be deleted', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue();
  stand.clock.nowMs += 60_000;
  for (let time = 0; time < 2; time += 1) {
    const { status, text } = await stand.ask('POST', `/admin/auth-keys/${id}/deactivate`);
    t.equal(status, 204);
    t.equal(text, '');
    stand.clock.nowMs += 60_000;
  }
  const { body } = await stand.ask('GET', `/admin/auth-keys/${id}`);
  t.same(problems('auth-key', body), []);
  t.match(body, { enabled: false, active: false, deactivated_at: '2026-06-01T12:01:00.000Z' });
  const { status, text } = await stand.ask('DELETE', `/admin/auth-keys/${id}`);
  t.equal(status, 204);
  t.equal(text, '');
  t.equal((await stand.ask('DELETE', `/admin/auth-keys/${id}`)).status, 404);
  t.same(await stored(stand), []);
});

await test('each write leaves a line that says who did it, and to which key', async (t) => {
  const stand = await startKeyServer(t);
  const admin = await stand.issue({ name: 'admin', dashboard_access: true });
  const { id, value } = await stand.issue();
  const route = '/admin/auth-keys';
  await stand.ask('PUT', `${route}/${id}/labels`, { labels: ['a'] }, admin.value);
  await stand.ask('PUT', `${route}/${id}/allowed-models`, { allowed_models: ['fast'] });
  await stand.ask('PUT', `${route}/${id}/dashboard-access`, { dashboard_access: false });
  await stand.ask('POST', `${route}/${id}/deactivate`);
  await stand.ask('DELETE', `${route}/${id}`, undefined, admin.value);
  t.equal((await stand.ask('DELETE', `${route}/${id}`)).status, 404);
  await stand.ask('GET', route);
  const line = (operator: string, method: string, below: string, facts: object = {}) => [
    { operator, method, route: `${route}${below}`, about: id, request_id: String, ...facts },
    'admin write',
  ];
  t.match(stand.logged, [
    line('master_key', 'POST', '', { about: admin.id, before: null, after: { enabled: true } }),
    line('master_key', 'POST', ''),
    line(admin.id, 'PUT', '/:id/labels'),
    line('master_key', 'PUT', '/:id/allowed-models'),
    line('master_key', 'PUT', '/:id/dashboard-access'),
    line('master_key', 'POST', '/:id/deactivate', {
      before: { enabled: true, active: true },
      after: { enabled: false, active: false },
    }),
    line(admin.id, 'DELETE', '/:id', { before: { enabled: false }, after: null }),
  ]);
  t.equal(stand.logged.length, 7);
  for (const secret of [value, admin.value, digestOf(value)]) t.notMatch(JSON.stringify(stand.logged), secret);
});

await test('active follows the clock', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue({ expires_at: '2026-06-01T12:00:01Z' });
  for (const [atMs, active] of [
    [999, true],
    [1_000, false],
  ] as const) {
    stand.clock.nowMs = startedAtMs + atMs;
    t.match((await stand.ask('GET', `/admin/auth-keys/${id}`)).body, { active, enabled: true });
  }
});

await test('a key expires in the year 9999 at the latest, so that it can be read again', async (t) => {
  const stand = await startKeyServer(t);
  const late = { name: 'x', expires_at: '9999-12-31T23:59:59-23:59' };
  t.match((await stand.ask('POST', '/admin/auth-keys', late)).body, { status_code: 400, param: 'expires_at' });
  const { id } = await stand.issue({ expires_at: '9999-12-31T23:59:59.999Z' });
  t.match((await stand.ask('GET', `/admin/auth-keys/${id}`)).body, { expires_at: '9999-12-31T23:59:59.999Z' });
});

await test('every operation on an absent key is answered 404', async (t) => {
  const stand = await startKeyServer(t);
  for (const id of ['7', '0b0e8f7a-0000-4000-8000-000000000000', '__proto__', '*', "'%20OR%201=1"]) {
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['POST', '/deactivate', undefined],
      ['PUT', '/labels', { labels: [] }],
      ['PUT', '/allowed-models', { allowed_models: [] }],
      ['PUT', '/dashboard-access', { dashboard_access: true }],
    ] as const) {
      const answer = await stand.ask(method, `/admin/auth-keys/${id}${path}`, body);
      t.equal(answer.status, 404, `${method} ${id}${path}`);
      t.match(answer.body, { code: 'auth_key_not_found', type: 'not_found_error', status_code: 404 });
    }
  }
});

await test('a body with a mistake changes nothing, and the answer names the member', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue();
  const before = await stand.store.revision();
  const rows: [path: string, method: string, body: unknown, code: string, param?: string][] = [
    ['', 'POST', { name: 'x', nam: 'y' }, 'invalid_member', 'nam'],
    ['', 'POST', { name: 7 }, 'invalid_member', 'name'],
    ['', 'POST', '[]', 'invalid_json'],
    ['', 'POST', 'null', 'invalid_json'],
    ['', 'POST', '{', 'invalid_json'],
    [`/${id}/labels`, 'PUT', {}, 'invalid_member', 'labels'],
    [`/${id}/labels`, 'PUT', { labels: null }, 'invalid_member', 'labels'],
    [`/${id}/labels`, 'PUT', { labels: [], name: 'x' }, 'invalid_member', 'name'],
    [`/${id}/allowed-models`, 'PUT', {}, 'invalid_member', 'allowed_models'],
    [`/${id}/allowed-models`, 'PUT', { allowed_models: ['opneai/x'] }, 'invalid_member', 'allowed_models'],
    [`/${id}/dashboard-access`, 'PUT', {}, 'invalid_member', 'dashboard_access'],
    [`/${id}/dashboard-access`, 'PUT', { dashboard_access: 1 }, 'invalid_member', 'dashboard_access'],
  ];
  for (const [path, method, body, code, param] of rows) {
    const answer = await stand.ask(method, `/admin/auth-keys${path}`, body);
    t.match(answer.body, { status_code: 400, code, type: 'invalid_request_error' }, JSON.stringify(body));
    t.equal(answer.body['param'], param);
    t.equal(answer.status, 400);
  }
  t.same(await stand.store.revision(), before);
});

await test('a write that fails does not hold up the next one', async (t) => {
  const stand = await startKeyServer(t);
  const [broken, whole] = await Promise.all([
    stand.ask('DELETE', '/admin/auth-keys/7'),
    stand.ask('POST', '/admin/auth-keys', { name: 'x' }),
  ]);
  t.equal(broken.status, 404);
  t.equal(whole.status, 201);
});

await test('two control planes write at once, and nothing is lost or doubled', async (t) => {
  const one = await startKeyServer(t);
  const other = await startKeyServer(t, { directory: one.directory });
  const { id } = await one.issue();
  const jobs = Array.from({ length: 25 }, (_, count) => [
    one.ask('POST', '/admin/auth-keys', { name: `one ${count}` }),
    other.ask('POST', '/admin/auth-keys', { name: `other ${count}` }),
  ]).flat();
  const touched = [
    one.ask('PUT', `/admin/auth-keys/${id}/labels`, { labels: ['a'] }),
    other.ask('PUT', `/admin/auth-keys/${id}/allowed-models`, { allowed_models: ['fast'] }),
    one.ask('PUT', `/admin/auth-keys/${id}/dashboard-access`, { dashboard_access: true }),
    other.ask('POST', `/admin/auth-keys/${id}/deactivate`),
  ];
  const answers = await Promise.all(jobs);
  t.same([...new Set(answers.map(({ status }) => status))], [201]);
  for (const { status } of await Promise.all(touched)) t.ok(status === 200 || status === 204);
  const { body } = await other.ask('GET', '/admin/auth-keys');
  const listed = body as unknown as Record<string, unknown>[];
  t.equal(listed.length, 51);
  t.equal(new Set(listed.map(({ id: each }) => each)).size, 51);
  t.equal(new Set(answers.map(({ body: issued }) => issued['value'])).size, 50);
  const found = listed.find((key) => key['id'] === id);
  t.match(found, { labels: ['a'], allowed_models: ['fast'], dashboard_access: true, enabled: false });
});

await test('a store that cannot be used is answered 503 with Retry-After', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue();
  for (const name of readdirSync(stand.directory)) rmSync(join(stand.directory, name));
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['POST', '', { name: 'x' }],
    ['GET', `/${id}`, undefined],
    ['DELETE', `/${id}`, undefined],
  ] as const) {
    const { status, headers, body: said } = await stand.ask(method, `/admin/auth-keys${path}`, body);
    t.equal(status, 503, `${method} ${path}`);
    t.equal(headers.get('retry-after'), '1');
    t.match(said, { code: 'store_unavailable', type: 'provider_error', status_code: 503 });
    t.notMatch(said['message'], /may have happened/, 'what could not even be read was not written');
  }
});

await test('keys of a batch are issued in one change, each as if it were issued alone', async (t) => {
  const stand = await startKeyServer(t);
  const drafts = Array.from({ length: 100 }, (_, index) => ({
    name: ` key ${index}`,
    user_path: `team//user-${index}`,
  }));
  const before = (await stand.store.revision()).revision;
  const { status, body, headers } = await stand.ask('POST', '/admin/auth-keys/batch', { keys: drafts });
  t.equal(status, 201);
  t.equal(headers.get('cache-control'), 'no-store');
  const issued = body['keys'] as { id: string; name: string; user_path: string; value: string }[];
  t.same(
    issued.map(({ name, user_path }) => [name, user_path]),
    drafts.map(({ name }, index) => [name.trim(), `/team/user-${index}`]),
  );
  t.equal((await stand.store.revision()).revision, before + 1);
  t.equal(headers.get('x-gateway-state-revision'), String(before + 1));
  await stand.settled();
  const { body: listed } = await stand.ask('GET', '/admin/auth-keys');
  const byId = new Map((listed as unknown as { id: string }[]).map((key) => [key.id, key]));
  for (const { value: _, ...record } of issued) t.strictSame(byId.get(record.id), record);
  t.equal(new Set(issued.map(({ value }) => value)).size, 100);
  const admin = await stand.issue({ dashboard_access: true });
  const tried = await stand.ask('GET', '/admin/auth-keys', undefined, issued[7]?.value);
  t.equal(tried.status, 403, 'a secret is that of its key');
  t.equal((await stand.ask('GET', '/admin/auth-keys', undefined, admin.value)).status, 200);
  t.match(
    stand.logged.find((line) => JSON.stringify(line).includes('100 keys')),
    [{ about: '100 keys', before: null, after: issued.map(({ id, name }) => ({ id, name })), outcome: 'done' }],
  );
  t.notMatch(JSON.stringify(stand.logged), /sk-gw-[\w-]{32}/, 'and the log has no secret');
});

await test('of a batch with a mistake no key is issued, and the answer names the entry', async (t) => {
  const stand = await startKeyServer(t, { quotas: { max_keys: 5, max_keys_per_scope: 3 } });
  const team = await stand.issue({ user_path: '/team', dashboard_access: true });
  const good = { name: 'good', user_path: '/team/a' };
  const several = (length: number) => Array.from({ length }, () => good);
  const rows: [name: string, keys: unknown, wanted: object, token?: string][] = [
    ['no list', undefined, { status_code: 400, param: 'keys' }],
    ['an empty list', [], { status_code: 400, param: 'keys' }],
    ['101 keys', several(101), { status_code: 400, param: 'keys' }],
    ['an entry without a name', [good, {}], { status_code: 400, param: 'keys[1].name', message: /keys\[1\]\.name/ }],
    ['an unknown member', [{ ...good, x: 1 }], { status_code: 400, param: 'keys[0].x' }],
    [
      'a wrong path',
      [good, good, { name: 'x', user_path: '/..' }],
      { param: 'keys[2].user_path', message: /keys\[2\]/ },
    ],
    ['too long', [{ ...good, labels: Array(50).fill('x'.repeat(101)) }], { param: 'keys[0].labels' }],
    ['five more', several(5), { status_code: 409, code: 'too_many_auth_keys' }],
    ['three more in a scope', several(3), { status_code: 409, code: 'too_many_auth_keys' }, team.value],
    [
      'out of the scope',
      [good, { name: 'x', user_path: '/b' }],
      { status_code: 403, param: 'keys[1].user_path' },
      team.value,
    ],
  ];
  const before = (await stand.store.revision()).revision;
  for (const [name, keys, wanted, token] of rows)
    t.match((await stand.ask('POST', '/admin/auth-keys/batch', { keys }, token)).body, wanted, name);
  t.equal((await stand.store.revision()).revision, before);
  t.equal((await stand.ask('POST', '/admin/auth-keys/batch', { keys: [good, good] }, team.value)).status, 201);
});
