// Scoped operators and keys: they see only their part, and cannot grant more than they have.
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { authKeyKind } from '../../domain/keys/auth-key.ts';
import { stateFilePath } from '../../store/state/sqlite/file.ts';
import { openRaw } from '../support/raw-http.ts';
import { type Stand, startKeyServer } from './auth-keys-server.ts';

const path = '/admin/auth-keys';

/** A stand with keys in and around /team, and one that administers /team. */
async function startTeams(t: Test) {
  const stand = await startKeyServer(t);
  const admin = await stand.issue({ name: 'admin', user_path: '/team', dashboard_access: true });
  const inside = await stand.issue({ name: 'inside', user_path: '/team/app' });
  const outside = {
    sibling: await stand.issue({ user_path: '/team-alpha' }),
    above: await stand.issue({ user_path: '/' }),
    unbound: await stand.issue(),
  };
  const as = (token: string) => (method: string, below: string, body?: unknown) =>
    stand.ask(method, path + below, body, token);
  return { stand, admin, inside, outside, as, asAdmin: as(admin.value) };
}

const idsOf = (body: unknown): unknown[] => (body as { id: string }[]).map(({ id }) => id).sort();
const revision = async ({ store }: Stand) => (await store.revision()).revision;

await test('a scoped operator lists its own part', async (t) => {
  const { admin, inside, asAdmin } = await startTeams(t);
  const { status, body } = await asAdmin('GET', '');
  t.equal(status, 200);
  t.same(idsOf(body), [admin.id, inside.id].sort());
});

await test('keys outside the scope of an operator are answered as absent', async (t) => {
  const { stand, inside, outside, asAdmin } = await startTeams(t);
  const before = await revision(stand);
  const writes = [
    ['GET', '', undefined],
    ['DELETE', '', undefined],
    ['POST', '/deactivate', undefined],
    ['PATCH', '', { name: 'x' }],
    ['PUT', '/labels', { labels: ['x'] }],
    ['PUT', '/allowed-models', { allowed_models: ['fast'] }],
    ['PUT', '/dashboard-access', { dashboard_access: true }],
  ] as const;
  for (const [name, { id }] of Object.entries(outside)) {
    for (const [method, below, body] of writes) {
      const answer = await asAdmin(method, `/${id}${below}`, body);
      t.match(answer.body, { status_code: 404, code: 'auth_key_not_found' }, `${name}: ${method} ${below}`);
      t.match(answer.body, (await asAdmin(method, `/${id}${below}`, body)).body);
    }
  }
  t.equal(await revision(stand), before);
  for (const [method, below, body] of [...writes.slice(2), ...writes.slice(1, 2)])
    t.ok((await asAdmin(method, `/${inside.id}${below}`, body)).status < 300, `inside: ${method} ${below}`);
});

await test('no key grants more than the one it is made with', async (t) => {
  const { stand, asAdmin, as } = await startTeams(t);
  const free = { name: 'free', dashboard_access: true };
  const narrow = await stand.issue({ ...free, allowed_models: ['openai/*', 'fast'] });
  const brief = await stand.issue({ ...free, expires_at: '2026-06-02T00:00:00Z' });
  const root = await stand.issue({ ...free, user_path: '/' });
  const plain = await stand.issue(free);
  const rows: [who: string, ask: typeof asAdmin, draft: object, denied: string | undefined][] = [
    ['team', asAdmin, { user_path: '/team' }, undefined],
    ['team', asAdmin, { user_path: '/team/app', dashboard_access: true }, undefined],
    ['team', asAdmin, {}, 'user_path'],
    ['team', asAdmin, { any_user_path: true }, 'any_user_path'],
    ['team', asAdmin, { user_path: '/' }, 'user_path'],
    ['team', asAdmin, { user_path: '/team-alpha' }, 'user_path'],
    ['team', asAdmin, { user_path: '/other', dashboard_access: true }, 'user_path'],
    ['narrow', as(narrow.value), { allowed_models: ['openai/x', 'FAST'] }, undefined],
    ['narrow', as(narrow.value), { allowed_models: ['openai/*'] }, undefined],
    ['narrow', as(narrow.value), {}, 'allowed_models'],
    ['narrow', as(narrow.value), { allowed_models: ['*'] }, 'allowed_models'],
    ['narrow', as(narrow.value), { allowed_models: ['openai/x', 'local/x'] }, 'allowed_models'],
    ['narrow', as(narrow.value), { allowed_models: ['x'] }, 'allowed_models'],
    ['brief', as(brief.value), { expires_at: '2026-06-02T00:00:00Z' }, undefined],
    ['brief', as(brief.value), { expires_at: '2026-06-02T00:00:00.001Z' }, 'expires_at'],
    ['brief', as(brief.value), {}, 'expires_at'],
    ['root', as(root.value), {}, undefined],
    ['plain', as(plain.value), { user_path: '/anything', dashboard_access: true }, undefined],
    ['plain', as(plain.value), { any_user_path: true }, undefined],
  ];
  for (const [who, ask, draft, denied] of rows) {
    const before = await revision(stand);
    const { status, body } = await ask('POST', '', { name: 'made', ...draft });
    const said = `${who}: ${JSON.stringify(draft)}`;
    if (denied === undefined) t.equal(status, 201, said);
    else {
      t.match(body, { status_code: 403, type: 'permission_error', code: 'admin_scope_denied', param: denied }, said);
      t.equal(await revision(stand), before, 'and nothing is stored');
    }
  }
});

await test('a key does not widen itself', async (t) => {
  const { stand, as } = await startTeams(t);
  const narrow = await stand.issue({ user_path: '/team', dashboard_access: true, allowed_models: ['openai/*'] });
  const ask = as(narrow.value);
  for (const models of [[], ['*'], ['local/x'], ['openai/x', 'fast']])
    t.match((await ask('PUT', `/${narrow.id}/allowed-models`, { allowed_models: models })).body, {
      code: 'admin_scope_denied',
    });
  t.equal((await ask('PUT', `/${narrow.id}/allowed-models`, { allowed_models: ['openai/x'] })).status, 200);
});

await test('no change gives a key more than the key it is made with has', async (t) => {
  const { stand, as } = await startTeams(t);
  const expires_at = '2026-06-02T00:00:00Z';
  const lead = { user_path: '/team', dashboard_access: true, allowed_models: ['fast'], expires_at };
  const ask = as((await stand.issue(lead)).value);
  const within = { user_path: '/team/dev', allowed_models: ['fast'], expires_at };
  const [open, models] = ['dashboard-access', 'allowed-models'];
  const later = '2026-06-02T00:00:00.001Z';
  const rows: [key: object, what: string, body: object, denied?: string][] = [
    [within, open, { dashboard_access: true }],
    [{ ...within, allowed_models: [] }, open, { dashboard_access: true }, 'allowed_models'],
    [{ ...within, allowed_models: ['*'] }, open, { dashboard_access: true }, 'allowed_models'],
    [{ ...within, allowed_models: ['fast', 'openai/x'] }, open, { dashboard_access: true }, 'allowed_models'],
    [{ ...within, expires_at: null }, open, { dashboard_access: true }, 'expires_at'],
    [{ ...within, expires_at: later }, open, { dashboard_access: true }, 'expires_at'],
    [{ ...within, allowed_models: ['openai/x'], expires_at: null }, models, { allowed_models: ['fast'] }, 'expires_at'],
    // Every operator may grant less than it has, and may repeat what is granted already.
    [{ user_path: '/team/dev' }, models, { allowed_models: ['fast'] }],
    [{ user_path: '/team/dev', dashboard_access: true }, open, { dashboard_access: false }],
    [{ user_path: '/team/dev', dashboard_access: true }, open, { dashboard_access: true }],
    [{ user_path: '/team/dev' }, 'labels', { labels: ['x'] }],
  ];
  for (const [key, what, body, denied] of rows) {
    const { id } = await stand.issue(key);
    const before = await revision(stand);
    const answer = await ask('PUT', `/${id}/${what}`, body);
    const said = `${JSON.stringify(key)} ${what} ${JSON.stringify(body)}`;
    if (denied === undefined) t.match(answer, { status: 200, body }, said);
    else {
      t.match(answer.body, { status_code: 403, code: 'admin_scope_denied', param: denied }, said);
      t.equal(await revision(stand), before, 'and nothing is stored');
    }
  }
});

await test('only an operator of the whole gateway may delete an unreadable key', async (t) => {
  const { stand, asAdmin } = await startTeams(t);
  const database = new DatabaseSync(stateFilePath(stand.directory), { timeout: 1_000 });
  const insert = database.prepare('INSERT INTO document (kind, id, body, revision) VALUES (?, ?, ?, 1)');
  insert.run(authKeyKind, 'half', JSON.stringify({ name: 'half', user_path: '/team' }));
  insert.run(authKeyKind, 'broken', '{"name":');
  insert.run('other', 'none', '{"name":');
  database.close();
  const lying = async () => {
    const { documents, skipped } = await stand.store.read();
    return [...documents, ...skipped].map(({ id }) => id).filter((id) => ['half', 'broken', 'none'].includes(id));
  };
  for (const id of ['half', 'broken', 'none']) {
    t.equal((await asAdmin('DELETE', `/${id}`)).status, 404, `${id}: its user path is unknown`);
    t.equal((await stand.ask('GET', `${path}/${id}`)).status, 404, `${id}: there is nothing to show`);
  }
  t.same((await lying()).sort(), ['broken', 'half', 'none']);
  for (const id of ['half', 'broken']) {
    t.equal((await stand.ask('DELETE', `${path}/${id}`)).status, 204, id);
    t.equal((await stand.ask('DELETE', `${path}/${id}`)).status, 404, id);
  }
  t.equal((await stand.ask('DELETE', `${path}/none`)).status, 404, 'what is no key is not touched');
  t.same(await lying(), ['none']);
});

await test('a key records who made it', async (t) => {
  const { admin, asAdmin } = await startTeams(t);
  const { body } = await asAdmin('POST', '', { name: 'made', user_path: '/team' });
  t.equal(body['created_by'], admin.id);
});

await test('an operator whose key has just lost its rights changes nothing, even where that is not known yet', async (t) => {
  const { stand, admin, inside } = await startTeams(t);
  // The other control plane writes; this one is asked at once, before it looks again.
  const other = await startKeyServer(t, { directory: stand.directory });
  const late = (method: string, below: string, body?: unknown) => stand.ask(method, path + below, body, admin.value);
  const verdicts = new Set(['401 invalid_api_key', '403 dashboard_access_denied']);
  for (const [method, below, body] of [
    ['PUT', `/${admin.id}/dashboard-access`, { dashboard_access: false }],
    ['POST', `/${admin.id}/deactivate`, undefined],
    ['DELETE', `/${admin.id}`, undefined],
  ] as const) {
    await other.ask(method, path + below, body);
    const before = await revision(stand);
    for (const answer of [
      await late('POST', '', { name: 'made', user_path: '/team' }),
      await late('DELETE', `/${inside.id}`),
      await late('GET', ''),
    ])
      t.ok(verdicts.has(`${answer.status} ${String(answer.body['code'])}`), `${method} ${below}: ${answer.text}`);
    t.equal(await revision(stand), before);
  }
});

await test('a key that is revoked, or has a lesser role, while its body comes writes nothing', async (t) => {
  let admitted = Promise.withResolvers<void>();
  const stand = await startKeyServer(t, {
    register(app) {
      app.addHook('onRequest', async () => admitted.resolve());
      app.post('/admin/things', { config: { access: { role: 'admin', reach: 'subtree' } } }, () => ({ done: true }));
    },
  });
  const body = '{"a": "thing"}';
  const change: [method: string, below: string, body: object | undefined][] = [
    ['POST', '/deactivate', undefined],
    ['PUT', '/dashboard-access', { dashboard_access: true, role: 'viewer' }],
    ['PATCH', '', { name: 'the same rights' }],
  ];
  const answers: (number | undefined)[] = [];
  for (const [method, below, changed] of change) {
    const { id, value } = await stand.issue({ user_path: '/team', dashboard_access: true });
    const connection = await openRaw(stand.port, { t });
    const lines = [
      'POST /admin/things HTTP/1.1',
      'host: a',
      `authorization: Bearer ${value}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    admitted = Promise.withResolvers();
    await connection.send(`${lines.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
    await admitted.promise;
    const { status, text } = await stand.ask(method, `${path}/${id}${below}`, changed);
    t.ok(status < 300, text);
    await stand.settled();
    await connection.send(body.slice(5));
    await connection.waitFor(({ responses }) => responses[0]?.complete === true);
    answers.push(connection.exchange().responses[0]?.status);
  }
  t.same(answers, [401, 403, 200]);
});

await test('a scope and the gateway hold so many keys', async (t) => {
  const stand = await startKeyServer(t, { quotas: { max_keys: 4, max_keys_per_scope: 2 } });
  const admin = await stand.issue({ user_path: '/team', dashboard_access: true });
  const as = (token: string | undefined, user_path: string) =>
    stand.ask('POST', path, { name: 'another', user_path }, token);
  t.equal((await as(admin.value, '/team/a')).status, 201);
  const full = await as(admin.value, '/team/b');
  t.match(full.body, {
    status_code: 409,
    code: 'too_many_auth_keys',
    message: /^There are 2 keys at and below \/team /,
  });
  t.equal((await as(undefined, '/team/b')).status, 201, 'the bound of a scope is for those within it');
  t.equal((await as(undefined, '/other')).status, 201);
  t.match((await as(undefined, '/other')).body, { status_code: 409, message: /^There are 4 keys in all / });
  await stand.ask('DELETE', `${path}/${admin.id}`);
  t.equal((await as(undefined, '/other')).status, 201, 'a deleted key makes room');
});

await test('keys for paths below share the room of the scope above them', async (t) => {
  const stand = await startKeyServer(t, { quotas: { max_keys_per_scope: 3 } });
  const admin = await stand.issue({ user_path: '/team', dashboard_access: true });
  const issue = (token: string, draft: object) => stand.ask('POST', path, { name: 'another', ...draft }, token);
  const { status, body } = await issue(admin.value, { user_path: '/team/a', dashboard_access: true });
  t.equal(status, 201);
  await stand.settled();
  const below = String(body['value']);
  t.equal((await issue(below, { user_path: '/team/a/x' })).status, 201);
  t.match((await issue(below, { user_path: '/team/a/y' })).body, {
    code: 'too_many_auth_keys',
    message: /^There are 3 keys at and below \/team /,
  });
});

await test('a key that would be a large document is refused, naming its longest member', async (t) => {
  const stand = await startKeyServer(t);
  const models = Array.from({ length: 60 }, (_, index) => `openai/${'x'.repeat(300)}${index}`);
  const labels = Array.from({ length: 50 }, (_, index) => `${index}${'\u{1F600}'.repeat(90)}`);
  const { id } = await stand.issue({ allowed_models: models.slice(0, 40) });
  const before = await revision(stand);
  const rows: [method: string, below: string, body: object, param: string][] = [
    ['POST', '', { name: 'x', allowed_models: models }, 'allowed_models'],
    ['POST', '', { name: 'x', allowed_models: models.slice(0, 20), labels }, 'labels'],
    ['PUT', `/${id}/labels`, { labels }, 'labels'],
    ['PUT', `/${id}/allowed-models`, { allowed_models: models }, 'allowed_models'],
  ];
  for (const [method, below, body, param] of rows) {
    const { body: answer } = await stand.ask(method, path + below, body);
    t.match(answer, { status_code: 400, code: 'invalid_member', param, message: /16384/ }, `${method} ${below}`);
  }
  t.equal(await revision(stand), before, 'and nothing is stored');
});
