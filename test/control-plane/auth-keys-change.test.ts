// PATCH of a managed key: what changes and what stays, and that an operator grants no more than its own key has.
import { type Test, test } from 'tap';
import { type Stand, startKeyServer } from './auth-keys-server.ts';

const path = '/admin/auth-keys';
const patch = (stand: Stand, id: string, body: unknown, token?: string) =>
  stand.ask('PATCH', `${path}/${id}`, body, token);
const revision = async ({ store }: Stand) => (await store.revision()).revision;

await test('a PATCH changes what it names and nothing else', async (t) => {
  const stand = await startKeyServer(t);
  const first = { name: 'first', description: 'a', user_path: '/team', labels: ['a'], allowed_models: ['fast'] };
  const { id } = await stand.issue(first);
  const issued = (await stand.ask('GET', `${path}/${id}`)).body;
  const steps: [change: object, shown: object][] = [
    [{ name: ' second ' }, { name: 'second' }],
    [{ description: null }, { description: undefined }],
    [{ user_path: 'team//b' }, { user_path: '/team/b' }],
    [{ labels: ['x', 'x', 'y'] }, { labels: ['x', 'y'] }],
    [{ labels: [] }, { labels: undefined }],
    [{ allowed_models: ['openai/*'] }, { allowed_models: ['openai/*'] }],
    [{ allowed_models: null }, { allowed_models: undefined }],
    [{ expires_in: '8h' }, { expires_at: '2026-06-01T20:00:00.000Z' }],
    [{ name: 'third' }, { name: 'third' }],
    [
      { expires_at: '2026-06-02T00:00:00Z', labels: ['z'] },
      { expires_at: '2026-06-02T00:00:00.000Z', labels: ['z'] },
    ],
    [{ expires_at: null }, { expires_at: undefined }],
    [{ user_path: null }, { user_path: undefined }],
  ];
  let expected: Record<string, unknown> = issued;
  for (const [change, shown] of steps) {
    const { status, body } = await patch(stand, id, change);
    expected = { ...expected, ...shown, updated_at: body['updated_at'] };
    t.equal(status, 200, JSON.stringify(change));
    t.same(body, JSON.parse(JSON.stringify(expected)), JSON.stringify(change));
    t.same((await stand.ask('GET', `${path}/${id}`)).body, body);
  }
  const before = await revision(stand);
  t.equal((await patch(stand, id, { name: 'third', labels: ['z'] })).status, 200);
  t.equal((await patch(stand, id, {})).status, 200);
  t.equal(await revision(stand), before, 'what changes nothing stores nothing');
  const writes = stand.logged.map((said) => (said as [{ method: string; about?: string }])[0]);
  t.match(writes.at(-1), { method: 'PATCH', about: id, operator: 'master_key', outcome: 'done' });
});

await test('a user path ends any_user_path, for the root too', async (t) => {
  const stand = await startKeyServer(t);
  for (const user_path of ['/team', null]) {
    const { id } = await stand.issue({ any_user_path: true });
    t.match((await patch(stand, id, { name: 'still free' })).body, { any_user_path: true });
    t.match((await patch(stand, id, { user_path })).body, { any_user_path: false });
  }
});

await test('a PATCH that cannot be is refused by the name of its member', async (t) => {
  const stand = await startKeyServer(t);
  const { id } = await stand.issue();
  const before = await revision(stand);
  const rows: [change: unknown, param: string | undefined][] = [
    [{ name: ' ' }, 'name'],
    [{ name: null }, 'name'],
    [{ user_path: '/a/../b' }, 'user_path'],
    [{ allowed_models: ['nobody/x'] }, 'allowed_models'],
    [{ labels: null }, 'labels'],
    [{ labels: Array.from({ length: 51 }, (_, index) => `l${index}`) }, 'labels'],
    [{ expires_at: '2026-05-31T00:00:00Z' }, 'expires_at'],
    [{ expires_in: '8 hours' }, 'expires_in'],
    [{ expires_in: '8h', expires_at: '2026-07-01T00:00:00Z' }, 'expires_in'],
    [{ expires_in: '8h', expires_at: null }, 'expires_in'],
    [{ dashboard_access: true }, 'dashboard_access'],
    [{ enabled: false }, 'enabled'],
    [[], undefined],
  ];
  for (const [change, param] of rows) {
    const { body } = await patch(stand, id, change);
    t.match(body, { status_code: 400, ...(param === undefined ? {} : { param }) }, JSON.stringify(change));
  }
  t.match((await patch(stand, 'nobody', { name: 'x' })).body, { status_code: 404, code: 'auth_key_not_found' });
  t.equal(await revision(stand), before, 'and nothing is stored');
});

/** An operator of `/team` that may use one model, until tomorrow. */
async function startLead(t: Test) {
  const stand = await startKeyServer(t);
  const expires_at = '2026-06-02T00:00:00Z';
  const lead = await stand.issue({ user_path: '/team', dashboard_access: true, allowed_models: ['fast'], expires_at });
  return { stand, lead, within: { user_path: '/team/dev', allowed_models: ['fast'], expires_at } };
}

await test('an operator cannot grant by a PATCH what its own key does not have', async (t) => {
  const { stand, lead, within } = await startLead(t);
  const later = '2026-06-02T00:00:00.001Z';
  const open = { user_path: '/team/dev' };
  const rows: [key: object, change: object, denied?: string][] = [
    [within, { user_path: '/team' }],
    [within, { user_path: '/other' }, 'user_path'],
    [within, { user_path: null }, 'user_path'],
    [within, { user_path: '/teams' }, 'user_path'],
    [within, { allowed_models: ['openai/x'] }, 'allowed_models'],
    [within, { allowed_models: null }, 'allowed_models'],
    [within, { expires_at: later }, 'expires_at'],
    [within, { expires_at: null }, 'expires_at'],
    [within, { expires_in: '13h' }, 'expires_at'],
    [within, { expires_in: '1h', labels: ['x'], name: 'renamed' }],
    // Others may have granted more to a key: it may be named and restricted, but not moved or extended.
    [open, { name: 'renamed', labels: ['x'] }],
    [open, { allowed_models: ['fast'] }],
    [open, { expires_in: '1h' }],
    [open, { user_path: '/team/other' }, 'allowed_models'],
    [{ ...within, expires_at: null }, { user_path: '/team/other' }, 'expires_at'],
    [{ ...open, expires_at: '2026-06-01T13:00:00Z' }, { expires_in: '2h' }, 'allowed_models'],
    [{ ...within, allowed_models: ['openai/x'], expires_at: null }, { allowed_models: ['fast'] }, 'expires_at'],
  ];
  for (const [key, change, denied] of rows) {
    const { id } = await stand.issue(key);
    const before = await revision(stand);
    const { status, body } = await patch(stand, id, change, lead.value);
    const said = `${JSON.stringify(key)} ${JSON.stringify(change)}`;
    if (denied === undefined) t.equal(status, 200, said);
    else {
      t.match(body, { status_code: 403, code: 'admin_scope_denied', param: denied }, said);
      t.equal(await revision(stand), before, 'and nothing is stored');
    }
  }
  for (const change of [{ expires_in: '13h' }, { allowed_models: ['*'] }, { user_path: '/' }])
    t.equal((await patch(stand, lead.id, change, lead.value)).status, 403, `itself: ${JSON.stringify(change)}`);
});

await test('a rotation issues a key in the place of another, which works for as long as it is told to', async (t) => {
  const stand = await startKeyServer(t);
  const draft = { name: 'app', user_path: '/team', labels: ['a'], allowed_models: ['fast'], expires_in: '30d' };
  const rotate = (id: string, body: object, token?: string) => stand.ask('POST', `${path}/${id}/rotate`, body, token);
  const rows: [body: object, old: object][] = [
    [{}, { active: false, enabled: false, deactivated_at: '2026-06-01T12:00:00.000Z' }],
    [{ overlap: null }, { active: false, enabled: false }],
    [{ overlap: '1d' }, { active: true, enabled: true, expires_at: '2026-06-02T12:00:00.000Z' }],
    [{ overlap: '90d' }, { active: true, expires_at: '2026-07-01T12:00:00.000Z' }],
  ];
  for (const [body, expected] of rows) {
    const old = await stand.issue(draft);
    const rotated = await rotate(old.id, body);
    t.equal(rotated.status, 201, JSON.stringify(body));
    const said = { name: 'app', user_path: '/team', labels: ['a'], allowed_models: ['fast'], active: true };
    t.match(rotated.body, { ...said, expires_at: '2026-07-01T12:00:00.000Z' });
    t.not(rotated.body['id'], old.id);
    t.not(rotated.body['value'], old.value);
    t.match((await stand.ask('GET', `${path}/${old.id}`)).body, expected);
    t.notMatch(JSON.stringify(stand.logged), String(rotated.body['value']), 'the secret is in no log');
  }
  const revoked = await stand.issue();
  await rotate(revoked.id, {});
  t.match((await rotate(revoked.id, {})).body, { status_code: 409, code: 'auth_key_inactive' });
  t.match((await rotate(revoked.id, { overlap: '8 hours' })).body, { status_code: 400, param: 'overlap' });
  t.match((await rotate('nobody', {})).body, { status_code: 404, code: 'auth_key_not_found' });
});

await test('an operator cannot get the secret of a key with more rights by rotating it', async (t) => {
  const { stand, lead, within } = await startLead(t);
  for (const [draft, code] of [
    [within, undefined],
    [{ user_path: '/team/dev' }, 'admin_scope_denied'],
    [{ ...within, expires_at: null }, 'admin_scope_denied'],
    [{ user_path: '/other' }, 'auth_key_not_found'],
  ] as const) {
    const { id } = await stand.issue(draft);
    const { body } = await stand.ask('POST', `${path}/${id}/rotate`, {}, lead.value);
    t.equal(body['code'], code, JSON.stringify(draft));
  }
});
