// Keys that the configuration declares, at the admin API: listed, never changed, and beside stored keys with the same secret.
import { test } from 'tap';
import { keyOverrides } from '../../control-plane/admin/drift/overrides.ts';
import { DocumentsInForce } from '../../control-plane/documents-in-force.ts';
import { notePathsOfPeople } from '../../control-plane/managed/key-index.ts';
import { createTwinWarnings } from '../../control-plane/twin-keys.ts';
import { managedKeys } from '../../domain/documents/kinds.ts';
import { dashboardPaths } from '../../domain/identities/dashboard-paths.ts';
import { authKey, authKeyBody } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import { credentialsOf, identify } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { managedYaml } from '../../gitops/cli/managed-yaml.ts';
import type { ConfigKey } from '../../schemas/types.ts';
import { componentProblems } from '../support/api-description.ts';
import { startKeyServer } from './auth-keys-server.ts';

const secret = 'sk-gw-of-the-configuration';
const entry = (name: string, more: Partial<ConfigKey> = {}): ConfigKey => ({
  name,
  hash: `sha256:${digestOf(`${secret}-${name}`)}`,
  any_user_path: false,
  dashboard_access: false,
  enabled: true,
  ...more,
});
const declared = [
  entry('ci', { user_path: 'team-a//ci/', allowed_models: ['fast'], labels: ['build'], description: 'the pipeline' }),
  entry('lead', { user_path: '/team-a', dashboard_access: true }),
  entry('ended', { expires_at: '2026-06-01T11:59:59Z' }),
];

await test('they are listed with their place and without hash, before those that were issued', async (t) => {
  const stand = await startKeyServer(t, { declared });
  const issued = await stand.issue();
  const { body, text } = await stand.ask('GET', '/admin/auth-keys');
  t.same(componentProblems('AuthKeyList', body), []);
  const rows = body as unknown as Record<string, unknown>[];
  t.same(
    rows.map(({ id, source, active }) => [id, source, active]),
    [
      ['config:ci', 'config', true],
      ['config:lead', 'config', true],
      ['config:ended', 'config', false],
      [issued.id, 'manual', true],
    ],
  );
  t.same(rows[0], {
    id: 'config:ci',
    source: 'config',
    name: 'ci',
    description: 'the pipeline',
    user_path: '/team-a/ci',
    any_user_path: false,
    labels: ['build'],
    allowed_models: ['fast'],
    dashboard_access: false,
    enabled: true,
    created_by: 'config',
    active: true,
    declared_at: 'keys.yaml:1',
  });
  t.notMatch(text, digestOf(`${secret}-ci`));
  t.same((await stand.ask('GET', '/admin/auth-keys/config:ci')).body, rows[0]);
});

await test('issued keys become entries with the same secrets and rights', async (t) => {
  const stand = await startKeyServer(t, { declared });
  const ofEditors = { name: 'Ann, editor', user_path: '/team-a/ann', allowed_models: ['fast'], labels: ['editors'] };
  const draft = { ...ofEditors, dashboard_access: true, role: 'operator' };
  const [ann, ci, gone] = [await stand.issue(draft), await stand.issue({ name: 'ci' }), await stand.issue()];
  await stand.ask('POST', `/admin/auth-keys/${gone.id}/deactivate`);
  const { body } = await stand.ask('GET', '/admin/auth-keys?hashes=true');
  t.same(componentProblems('AuthKeyList', body), []);
  const keys = () => ({ keys: configKeys(declared), places: new Map<string, string>() });
  const text = managedYaml(keyOverrides({ keys, nowMs: () => Date.UTC(2026, 5, 1, 12) }, await stand.store.read()));
  t.notMatch(text, /sk-gw-/);
  const { config, problems } = loadFiles([{ name: 'a.yaml', path: 'a.yaml', bytes: Buffer.from(text) }], {
    environment: {},
    variables: 'error',
    entitlements: new Set(),
  });
  t.same(problems, []);
  const credentials = credentialsOf(undefined, configKeys(config?.keys ?? []));
  t.match(identify(ann.value, credentials, 0)?.key, {
    id: 'config:Ann-editor',
    description: 'Ann, editor',
    userPath: '/team-a/ann',
    allowedModels: ['fast'],
    labels: ['editors'],
    role: 'operator',
  });
  t.match(identify(ci.value, credentials, 0)?.key, { id: 'config:ci-2', description: 'ci' });
  t.equal(identify(gone.value, credentials, 0)?.key, undefined);

  const scoped = await stand.ask('GET', '/admin/auth-keys?hashes=true', undefined, `${secret}-lead`);
  t.match(scoped, { status: 403, body: { code: 'admin_scope_denied' } });
  t.equal((await stand.ask('GET', '/admin/auth-keys?hashes=yes')).status, 400);
});

await test('no write changes one: 409 with its place', async (t) => {
  const stand = await startKeyServer(t, { declared });
  const writes = [
    ['PATCH', '', { name: 'other' }],
    ['DELETE', ''],
    ['POST', '/deactivate'],
    ['POST', '/rotate', {}],
    ['PUT', '/labels', { labels: [] }],
    ['PUT', '/allowed-models', { allowed_models: [] }],
    ['PUT', '/dashboard-access', { dashboard_access: true }],
  ] as const;
  for (const [method, below, body] of writes) {
    const { status, text } = await stand.ask(method, `/admin/auth-keys/config:ci${below}`, body);
    t.equal(status, 409, `${method} ${below}`);
    t.match(text, /auth_key_config_owned.*keys\.yaml:1|keys\.yaml:1.*auth_key_config_owned/);
  }
  t.equal((await stand.ask('DELETE', '/admin/auth-keys/config:other')).status, 404);
  t.same((await stand.store.read()).documents, []);
});

await test('a scoped operator of the configuration sees and issues keys within its path alone', async (t) => {
  const stand = await startKeyServer(t, { declared });
  const token = `${secret}-lead`;
  const { body } = await stand.ask('GET', '/admin/auth-keys', undefined, token);
  t.same(
    (body as unknown as { id: string }[]).map(({ id }) => id),
    ['config:ci', 'config:lead'],
  );
  t.equal((await stand.ask('GET', '/admin/auth-keys/config:ended', undefined, token)).status, 404);
  t.equal((await stand.ask('DELETE', '/admin/auth-keys/config:ended', undefined, token)).status, 404);
  t.equal((await stand.ask('DELETE', '/admin/auth-keys/config:ci', undefined, token)).status, 409);
  const inside = await stand.ask('POST', '/admin/auth-keys', { name: 'ann', user_path: '/team-a/ann' }, token);
  t.match(inside, { status: 201, body: { created_by: 'config:lead' } });
  t.equal((await stand.ask('POST', '/admin/auth-keys', { name: 'bob', user_path: '/b' }, token)).status, 403);
});

await test('dashboard keys below the path of a declared one give it no further room', async (t) => {
  const stand = await startKeyServer(t, { declared, quotas: { max_keys_per_scope: 2 } });
  const lead = `${secret}-lead`;
  const issue = (draft: object, token: string) =>
    stand.ask('POST', '/admin/auth-keys', { name: 'a key', ...draft }, token);
  t.equal((await issue({ user_path: '/team-a/ann' }, lead)).status, 201);
  const { body } = await issue({ user_path: '/team-a/sub', dashboard_access: true }, lead);
  await stand.settled();
  const refused = await issue({ user_path: '/team-a/sub/bob' }, String(body['value']));
  t.match(refused, { status: 409, body: { code: 'too_many_auth_keys' } });
});

await test('dashboard keys below the path of a person give it no further room', async (t) => {
  const stand = await startKeyServer(t, { quotas: { max_keys_per_scope: 2 } });
  await stand.issue({ user_path: '/team/ann/other' });
  const { value } = await stand.issue({ user_path: '/Team/ann/sub', dashboard_access: true });
  const issue = () => stand.ask('POST', '/admin/auth-keys', { name: 'one', user_path: '/team/ann/sub/x' }, value);
  t.teardown(() => notePathsOfPeople(() => false));
  for (const [user_path, where] of [
    [undefined, '/Team/ann'],
    ['/{groups[0]}', '/Team'],
    ['/team', '/Team'],
    ['{+unit}', '/Team/ann'],
  ] as const) {
    const dashboard = { role: 'admin' as const, ...(user_path && { user_path }) };
    notePathsOfPeople(
      dashboardPaths({ company: { user_path: '/{groups[0]}/{sub}', rights: [{ when: 'true', dashboard }] } }),
    );
    const message = new RegExp(`2 keys at and below ${where} `);
    t.match((await issue()).body, { code: 'too_many_auth_keys', message }, String(user_path));
  }
  notePathsOfPeople(dashboardPaths({ company: { user_path: '/{sub}', rights: [{ when: 'true', labels: ['a'] }] } }));
  t.match(await issue(), { status: 201 }, 'nobody administers the paths above');
});

await test('a stored key with the same secret', (t) => {
  const [ofConfig] = configKeys([entry('ci', { user_path: '/config' })]);
  if (ofConfig === undefined) throw new Error('no key');
  const stored = (enabled: boolean) => {
    const key = authKey({ ...ofConfig, id: '3b241101-e2bb-4255-8caf-4136c566a962', userPath: '/stored', enabled });
    return [{ kind: managedKeys.kind, id: key.id, body: authKeyBody(key), revision: Number(enabled) }];
  };
  const warnings: string[] = [];
  const warn = createTwinWarnings({ warn: (_: unknown, text: string) => void warnings.push(text) } as never);
  const managed = new DocumentsInForce('the master key');
  const caller = () => {
    warn(managed);
    return identify(`${secret}-ci`, managed.credentials, 0)?.key;
  };

  managed.prepare(stored(true), true)();
  t.match(caller(), { userPath: '/stored' });
  managed.prepareConfigKeys([entry('ci', { user_path: '/config' })])();
  t.match(caller(), { id: 'config:ci', userPath: '/config' }, 'the entry of the configuration counts');
  managed.prepare(stored(false), true)();
  t.equal(caller(), undefined, 'a deactivated key is not let in by an entry');
  t.match(managed.configKeys, [{ id: 'config:ci', enabled: false }]);
  managed.prepare([], true)();
  t.match(caller(), { id: 'config:ci' });
  managed.prepareConfigKeys([])();
  t.equal(caller(), undefined, 'removed');
  t.equal(warnings.length, 2);
  t.match(warnings[0], /config:ci has the same secret as the stored key 3b241101.*delete that one/);
  t.match(warnings[1], /was deactivated/);
  t.end();
});
