// Reading secrets of a Vault: as whom, what it may answer, and what is said when there is no secret, without a token or a secret.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { readVariables } from '../../../plane/environment.ts';
import { readVaultSettings } from '../../../plane/vaults/settings.ts';
import { openVaults } from '../../../plane/vaults/vaults.ts';
import type { Variables } from '../../../schemas/variables.ts';
import { certificate } from '../../support/certificate.ts';
import { account, startFakeVault } from '../../support/fake-vault.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

/** No cloud is asked here. */
const never = (): never => {
  throw new Error('a cloud was asked');
};
const noClouds = { token: never, signAws: never, refused: never };
const openai = { scheme: 'vault', name: 'secret/data/openai', field: 'api_key' } as const;

/** A Vault with one secret, and what reads it. The time passes by hand. */
async function startWorld(t: Test, variables: Variables = { VAULT_TOKEN: 'canary-root-token' }) {
  const vault = await startFakeVault(t);
  vault.values.set(openai.name, { api_key: 'canary-key-1', number: 5 });
  const now = { ms: 0 };
  const settings = readVaultSettings(readVariables({ VAULT_ADDR: `${vault.url}/`, ...variables }));
  const vaults = openVaults(settings, { access: noClouds, nowMs: () => now.ms, patienceMs: 2_000 });
  const read = async (reference: Parameters<typeof vaults.fetch>[0] = openai) => {
    const answer = await vaults.fetch(reference);
    return 'bytes' in answer ? answer.bytes.toString() : answer.trouble;
  };
  return { vault, now, read };
}

await test('a value of either KV engine is read, and every other answer says why there is none', async (t) => {
  const { vault, read } = await startWorld(t, { VAULT_TOKEN: 'canary-root-token', VAULT_NAMESPACE: 'team' });
  t.equal(await read(), 'canary-key-1');
  t.match(vault.asked.at(-1), { line: 'GET /v1/secret/data/openai', token: 'canary-root-token', namespace: 'team' });
  vault.values.set('kv/old', { api_key: 'canary-key-of-version-1', data: 'x' });
  vault.values.set('database/creds/app', { password: 'canary' });
  const sentences: [name: string, field: string, said: string][] = [
    ['kv/old', 'api_key', 'canary-key-of-version-1'],
    ['kv/none', 'api_key', 'is not in Vault (404)'],
    ['kv/old', 'other', 'has no member of this name'],
    ['kv/old', '__proto__', 'has no member of this name'],
    [openai.name, 'number', 'has a member of this name that is no text'],
    ['database/creds/app', 'password', 'is made anew at each read; only those of the KV engine can be referred to'],
  ];
  for (const [name, field, said] of sentences) t.equal(await read({ scheme: 'vault', name, field }), said, name);
  const moods = {
    reset: 'cannot be read: Vault does not answer (ECONNRESET)',
    sealed: 'cannot be read: Vault is sealed or has no leader (503)',
    huge: 'cannot be read: Vault answers with more than 256 KiB',
    garbage: 'cannot be read: Vault gives no values there',
  } as const;
  for (const mood of ['reset', 'sealed', 'huge', 'garbage'] as const) {
    vault.mood = mood;
    t.equal(await read(), moods[mood]);
  }
  vault.mood = 'silent';
  t.equal(await read(), 'cannot be read: Vault does not answer in time');
  vault.mood = 'fine';
  const before = vault.asked.length;
  await Promise.all([read(), read({ ...openai, field: 'number' }), read()]);
  t.equal(vault.asked.length - before, 1, 'members of one secret share a read');
  vault.mood = 'silent';
  const many = Array.from({ length: 40 }, (_, index) => read({ scheme: 'vault', name: `kv/${index}`, field: 'a' }));
  await waitFor('those that may ask', () => vault.asked.length - before >= 17);
  t.equal(vault.asked.length - before, 17, 'the others wait');
  vault.mood = 'fine';
  await Promise.all(many);
  t.equal(vault.asked.length - before, 41);
});

await test('a token of the environment is renewed while it can be, and used as it is where it cannot', async (t) => {
  const { vault, now, read } = await startWorld(t);
  const renewals = () => vault.asked.filter(({ line }) => line === 'POST /v1/auth/token/renew-self').length;
  vault.lifeSeconds = 30;
  await Promise.all([read(), read({ scheme: 'vault', name: 'kv/none', field: 'a' })]);
  t.equal(renewals(), 1);
  now.ms = 19_000;
  await read();
  t.equal(renewals(), 1);
  now.ms = 21_000;
  t.equal(await read(), 'canary-key-1');
  t.equal(renewals(), 2);
  vault.tokens.clear();
  t.equal(await read(), 'cannot be read: Vault refuses its token, or the policy of that (403)');
});

await test('a role logs in with its service account, again before its token ends, and when that is refused', async (t) => {
  const jwt = join(temporaryDirectory(t, 'vault'), 'token');
  writeFileSync(jwt, account.jwt);
  const { vault, now, read } = await startWorld(t, { VAULT_ROLE: account.role, VAULT_JWT_FILE: jwt });
  vault.tokens.clear();
  const logins = () => vault.asked.filter(({ line }) => line === 'POST /v1/auth/kubernetes/login').length;
  t.equal(await read(), 'canary-key-1');
  t.equal(await read(), 'canary-key-1');
  t.equal(logins(), 1);
  now.ms = 2_500_000;
  t.equal(await read(), 'canary-key-1');
  t.equal(logins(), 2, 'two thirds of its life are over');
  vault.tokens.clear();
  t.equal(await read(), 'canary-key-1');
  t.equal(logins(), 3, 'it was revoked');
  vault.tokens.clear();
  writeFileSync(jwt, 'canary-of-another-account');
  t.equal(await read(), 'cannot be read: Vault refuses the login with VAULT_ROLE (403)');
});

await test('the file of a token is read before each use', async (t) => {
  const file = join(temporaryDirectory(t, 'vault'), 'token');
  const { read } = await startWorld(t, { VAULT_TOKEN_FILE: file });
  t.equal(await read(), 'cannot be read: VAULT_TOKEN_FILE names a file that does not exist');
  writeFileSync(file, 'canary-root-token\n');
  t.equal(await read(), 'canary-key-1');
});

await test('a certificate is checked, by the authorities of VAULT_CACERT where that is set', async (t) => {
  const tls = certificate(2000, 2100, 'localhost');
  const secure = await startFakeVault(t, tls);
  secure.values.set(openai.name, { api_key: 'canary-key-1' });
  const variables = { VAULT_ADDR: secure.url, VAULT_TOKEN: 'canary-root-token' };
  const { read } = await startWorld(t, variables);
  t.equal(await read(), 'cannot be read: Vault does not answer (DEPTH_ZERO_SELF_SIGNED_CERT)');
  const file = join(temporaryDirectory(t, 'vault'), 'ca.pem');
  const trusting = await startWorld(t, { ...variables, VAULT_CACERT: file });
  t.equal(await trusting.read(), 'cannot be read: VAULT_CACERT names a file that does not exist');
  writeFileSync(file, tls.cert);
  t.equal(await trusting.read(), 'canary-key-1');
});

await test('what is missing in the environment, or is too much, is said', async (t) => {
  const bare = await startWorld(t, {});
  t.equal(await bare.read(), 'cannot be read: none of VAULT_TOKEN, VAULT_TOKEN_FILE and VAULT_ROLE is set');
  const lost = await startWorld(t, { VAULT_ADDR: '' });
  t.equal(await lost.read(), 'cannot be read: VAULT_ADDR is not set');
  const reader = readVariables({
    VAULT_ADDR: 'https://user:canary@vault',
    VAULT_TOKEN: 'canary',
    VAULT_ROLE: 'a',
    GATEWAY_SECRET_REFRESH_MS: '10',
  });
  readVaultSettings(reader);
  t.strictSame(reader.problems, [
    'GATEWAY_SECRET_REFRESH_MS must be at least 100',
    'VAULT_ADDR must be an address such as https://vault.internal:8200, without credentials',
    'only one of VAULT_TOKEN, VAULT_TOKEN_FILE and VAULT_ROLE can be set: each is a way to log in',
  ]);
});
