// The role of a key: how it is given, and the ways in which somebody could try to get a higher one.
import { test } from 'tap';
import { startKeyServer } from './auth-keys-server.ts';

const path = '/admin/auth-keys';

await test('a role is given with a key, shown, kept by a rotation, and changed', async (t) => {
  const stand = await startKeyServer(t);
  const { body } = await stand.ask('POST', path, { name: 'a', dashboard_access: true, role: 'operator' });
  t.match(body, { dashboard_access: true, role: 'operator' });
  const put = async (below: string, wanted: object) => {
    const answer = await stand.ask('PUT', `${path}/${String(body['id'])}${below}`, wanted);
    return [answer.status, answer.body['dashboard_access'], answer.body['role'] ?? answer.body['code']];
  };
  t.same(await put('/dashboard-access', { dashboard_access: true }), [200, true, 'operator'], 'it keeps its role');
  t.same(await put('/dashboard-access', { dashboard_access: true, role: 'viewer' }), [200, true, 'viewer']);
  t.match(await stand.ask('PATCH', `${path}/${String(body['id'])}`, { name: 'b' }), { body: { role: 'viewer' } });
  t.match(await stand.ask('POST', `${path}/${String(body['id'])}/rotate`, { overlap: '1h' }), {
    body: { role: 'viewer' },
  });
  t.same(await put('/dashboard-access', { dashboard_access: false }), [200, false, undefined]);
  t.same(
    await put('/dashboard-access', { dashboard_access: true }),
    [200, true, 'admin'],
    'without a role: everything',
  );
  t.same(await put('/dashboard-access', { dashboard_access: false, role: 'viewer' }), [
    400,
    undefined,
    'invalid_member',
  ]);
  for (const wrong of [
    { role: 'viewer' },
    { dashboard_access: false, role: 'viewer' },
    { dashboard_access: true, role: 'owner' },
  ])
    t.match(await stand.ask('POST', path, { name: 'c', ...wrong }), { status: 400, body: { param: 'role' } });
  const listed = (await stand.ask('GET', path)).body as unknown as { role: string }[];
  t.same(listed.map(({ role }) => role).sort(), ['admin', 'viewer']);
});

await test('nobody below an admin gets a higher role, for itself or another key', async (t) => {
  const stand = await startKeyServer(t);
  const victim = await stand.issue({ name: 'victim', dashboard_access: true });
  for (const role of ['viewer', 'operator']) {
    const { id, value } = await stand.issue({ name: role, dashboard_access: true, role });
    const before = (await stand.store.revision()).revision;
    const open = { dashboard_access: true, role: 'admin' };
    const attacks: [method: string, below: string, body: unknown][] = [
      ['POST', '', { name: 'x', ...open }],
      ['POST', '', { name: 'x' }],
      ['POST', '/batch', { keys: [{ name: 'x' }, { name: 'y', ...open }] }],
      ['PATCH', `/${id}`, { role: 'admin' }],
      ['PATCH', `/${id}`, open],
      ['PUT', `/${id}/dashboard-access`, open],
      ['PUT', `/${id}/dashboard-access`, { dashboard_access: true }],
      ['PUT', `/${id}/labels`, { labels: [] }],
      ['PUT', `/${id}/allowed-models`, { allowed_models: [] }],
      ['POST', `/${id}/rotate`, {}],
      ['POST', `/${victim.id}/rotate`, { overlap: '1h' }],
      ['POST', `/${victim.id}/deactivate`, undefined],
      ['DELETE', `/${victim.id}`, undefined],
    ];
    for (const [method, below, body] of attacks)
      t.match(
        await stand.ask(method, path + below, body, value),
        {
          status: 403,
          body: { code: 'role_denied', message: `This needs the role admin; the caller has the role ${role}.` },
        },
        `${role}: ${method} ${below}`,
      );
    t.equal((await stand.store.revision()).revision, before);
  }
});

await test('a role that is taken away while a request is on its way counts as it is stored', async (t) => {
  const stand = await startKeyServer(t);
  const { id, value } = await stand.issue({ name: 'admin', dashboard_access: true });
  // This process may not have heard of it yet, when the next request comes.
  await stand.ask('PUT', `${path}/${id}/dashboard-access`, { dashboard_access: true, role: 'viewer' });
  t.match(await stand.ask('POST', path, { name: 'x' }, value), { status: 403, body: { code: 'role_denied' } });
  t.match(await stand.ask('GET', `${path}?hashes=true`, undefined, value), {
    status: 403,
    body: { code: 'role_denied' },
  });
  t.equal((await stand.ask('GET', path, undefined, value)).status, 200);
});
