// The caller of a token, for every kind of token.
import { test } from 'tap';
import { readAuthKey } from '../../../domain/keys/auth-key.ts';
import { bearerToken, credentialsOf, identify } from '../../../domain/keys/credentials.ts';
import { digestOf, sameDigest } from '../../../domain/keys/secret.ts';

const now = Date.parse('2026-06-01T00:00:00Z');
const keyOf = (id: string, secret: string, more: object = {}) =>
  readAuthKey(id, {
    name: id,
    dashboard_access: false,
    digest: digestOf(secret),
    redacted_value: 'sk-gw-...',
    enabled: true,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    created_by: 'master_key',
    ...more,
  }) ?? [];
const keys = [
  keyOf('good', 'sk-gw-good'),
  keyOf('off', 'sk-gw-off', { enabled: false }),
  keyOf('past', 'sk-gw-past', { expires_at: '2026-06-01T00:00:00Z' }),
  keyOf('soon', 'sk-gw-soon', { expires_at: '2026-06-01T00:00:00.001Z' }),
].flat();
const closed = credentialsOf(digestOf('master'), keys);
const open = credentialsOf(undefined, keys);

await test('the caller of every kind of token', async (t) => {
  const who = (token: string | undefined, credentials = closed) => {
    const caller = identify(token, credentials, now);
    return caller && (caller.key?.id ?? caller.kind);
  };
  t.equal(who('master'), 'master_key');
  t.equal(who('sk-gw-good'), 'good');
  t.equal(who('sk-gw-soon'), 'soon');
  for (const refused of [
    undefined,
    '',
    'other',
    'sk-gw-off',
    'sk-gw-past',
    'sk-gw-goo',
    'sk-gw-good ',
    digestOf('master'),
  ])
    t.equal(who(refused), undefined, String(refused));
  t.equal(who(undefined, open), 'anonymous');
  t.equal(who('other', open), 'anonymous');
  t.equal(who('sk-gw-good', open), 'good', 'a key means what it says, also where none is needed');
  t.equal(who('sk-gw-off', open), undefined);
  t.ok(Object.isFrozen(closed));
});

await test('text of any kind and length is compared and never throws', async (t) => {
  for (const token of [
    '\u0000',
    'é',
    'e\u0301',
    '\ud800',
    '\xff'.repeat(50),
    'x'.repeat(100_000),
    '*?[a]',
    "' OR 1=1 --",
  ])
    t.equal(identify(token, closed, now), undefined);
  t.equal(sameDigest('', 'a'), false);
  t.equal(sameDigest('é', 'ee'), false, 'as many bytes, other text');
  t.equal(sameDigest('ab', 'ab'), true);
});

await test('a bearer token is what follows the scheme and its blanks', async (t) => {
  t.equal(bearerToken('Bearer x'), 'x');
  t.equal(bearerToken('bEARER x'), 'x');
  t.equal(bearerToken('Bearer   x'), 'x');
  t.equal(bearerToken('Bearer \tx'), '\tx', 'a tab is no blank');
  t.equal(bearerToken('Bearer x '), 'x ');
  t.equal(bearerToken('Bearer '), '');
  for (const other of [undefined, '', 'Bearer', 'Bearerx', 'Basic x', 'Token x', ' Bearer x', 'Bearer\tx'])
    t.equal(bearerToken(other), undefined, String(other));
});
