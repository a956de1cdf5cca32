// The document of a managed key: which bodies are read, which are rejected, when a key is active, and that no secret is stored.
import { test } from 'tap';
import { authKeyBody, isActive, readAuthKey } from '../../../domain/keys/auth-key.ts';
import { digestOf, newSecret, redacted } from '../../../domain/keys/secret.ts';

const secret = newSecret();
const whole = {
  name: 'ci',
  description: 'for the pipeline',
  user_path: '/team/ci',
  any_user_path: false,
  labels: ['build'],
  allowed_models: ['openai/*'],
  dashboard_access: true,
  digest: digestOf(secret),
  redacted_value: redacted(secret),
  enabled: true,
  expires_at: '2030-01-01T00:00:00.000Z',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-02T00:00:00.000Z',
  created_by: 'master_key',
};
const least = {
  name: 'x',
  any_user_path: false,
  dashboard_access: false,
  digest: digestOf(''),
  redacted_value: 'sk-gw-...abcd',
  enabled: true,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  created_by: 'master_key',
};

await test('a document is read and written back as it was', async (t) => {
  for (const body of [whole, least, { ...least, enabled: false, deactivated_at: '2026-02-01T00:00:00.000Z' }]) {
    const key = readAuthKey('id', body);
    t.ok(key && Object.isFrozen(key));
    t.same(key && authKeyBody(key), body);
  }
  t.match(readAuthKey('id', { ...least, later: 1 }), { id: 'id' }, 'members of a later version are left alone');
  t.match(readAuthKey('id', { ...least, user_path: 'team//ci/' }), { userPath: '/team/ci' });
});

await test('a key without a role may do everything, and versions without roles give one below admin no access', async (t) => {
  const roleOf = (body: object): unknown => readAuthKey('id', { ...least, ...body })?.role;
  t.equal(roleOf({ dashboard_access: true }), 'admin');
  t.equal(roleOf({ dashboard_access: false }), undefined);
  for (const role of ['viewer', 'operator']) {
    t.equal(roleOf({ dashboard_access: true, role }), role);
    const key = readAuthKey('id', { ...least, dashboard_access: false, role });
    t.match(key && authKeyBody(key), { dashboard_access: false, role });
  }
  for (const role of ['Admin', 'root', '', null, 1, ['admin']])
    t.equal(readAuthKey('id', { ...whole, role }), undefined, JSON.stringify(role));
});

await test('a key from before it could be said names any path, unless it has its own', async (t) => {
  const { any_user_path: _, ...older } = least;
  t.match(readAuthKey('id', older), { anyUserPath: true, userPath: undefined });
  t.match(readAuthKey('id', { ...older, user_path: '/a' }), { anyUserPath: false, userPath: '/a' });
  t.match(readAuthKey('id', { ...least, any_user_path: true }), { anyUserPath: true });
});

await test('what is not a key in every member is no key', async (t) => {
  const wrong: Record<string, unknown[]> = {
    name: [undefined, null, 7],
    description: [null, 7],
    user_path: [null, 7, '/a/../b', '/a:b'],
    any_user_path: [null, 'true', 1, true],
    labels: [null, 'a', [7], {}],
    allowed_models: [null, 'a', [null]],
    dashboard_access: [undefined, null, 'true', 1],
    digest: [undefined, '', 'abc', whole.digest.toUpperCase(), `${whole.digest}0`],
    redacted_value: [undefined, 7],
    enabled: [undefined, null, 'true', 1],
    expires_at: [null, '', 'never', 1_900_000_000_000, '2030-02-30T00:00:00Z'],
    deactivated_at: [null, 'x'],
    created_at: [undefined, null, 'x'],
    updated_at: [undefined, 0],
    created_by: [undefined, 7],
  };
  for (const [member, values] of Object.entries(wrong)) {
    for (const value of values)
      t.equal(readAuthKey('id', { ...whole, [member]: value }), undefined, `${member}: ${JSON.stringify(value)}`);
  }
  for (const body of [undefined, null, 7, 'x', [], {}]) t.equal(readAuthKey('id', body), undefined);
});

await test('a key counts until the exact millisecond it expires, and never when it is switched off', async (t) => {
  const end = Date.parse(whole.expires_at);
  const key = readAuthKey('id', whole);
  const off = readAuthKey('id', { ...whole, enabled: false });
  const endless = readAuthKey('id', least);
  t.ok(key && off && endless);
  if (!key || !off || !endless) return;
  t.equal(isActive(key, end - 1), true);
  t.equal(isActive(key, end), false);
  t.equal(isActive(key, end + 1), false);
  t.equal(isActive(off, end - 1), false);
  t.equal(isActive(endless, Number.MAX_SAFE_INTEGER), true);
});

await test('a secret is 256 random bits behind a prefix, and only its end is shown', async (t) => {
  const secrets = Array.from({ length: 1000 }, newSecret);
  t.equal(new Set(secrets).size, 1000);
  for (const each of secrets.slice(0, 20)) {
    t.match(each, /^sk-gw-[A-Za-z0-9_-]{43}$/);
    t.equal(Buffer.from(each.slice(6), 'base64url').length, 32);
    t.equal(redacted(each), `sk-gw-...${each.slice(-4)}`);
  }
  t.equal(digestOf('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'SHA-256 of all of it');
});
