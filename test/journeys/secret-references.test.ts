// Secrets by reference: read from files and from a vault, renewed while the gateway runs, kept while the vault is down, and shown nowhere.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { startFakeClouds } from '../support/fake-clouds.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFakeVault } from '../support/fake-vault.ts';
import { startGateway } from '../support/gateway.ts';
import { filesBelow } from '../support/stored-bytes.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const vault = await startFakeVault(suite);
vault.values.set('secret/data/openai', { api_key: 'canary-vault-one-0123', header: 'canary-header-0123' });
const clouds = await startFakeClouds(suite);
const inClouds = {
  'of-aws': 'aws-sm:prod/openai#api_key',
  'of-google': 'gcp-sm:projects/acme/secrets/openai',
  'of-azure': 'azure-kv:acme-vault/openai',
} as const;
clouds.secrets.set('prod/openai', '{"api_key":"canary-aws-0123"}');
clouds.secrets.set('/v1/projects/acme/secrets/openai/versions/latest:access', 'canary-google-0123');
clouds.secrets.set('/acme-vault/secrets/openai', 'canary-azure-0123');
const folder = temporaryDirectory(suite, 'secret-references');

/** A file of a secret as Kubernetes mounts it: a link into a directory that is itself a link, which is replaced. */
let mounted = 0;
function mount(secret: string): void {
  mounted += 1;
  mkdirSync(join(folder, `..${mounted}`));
  writeFileSync(join(folder, `..${mounted}`, 'key'), `${secret}\n`);
  symlinkSync(`..${mounted}`, join(folder, '..tmp'));
  renameSync(join(folder, '..tmp'), join(folder, '..data'));
}
mount('canary-file-one-0123');
symlinkSync(join('..data', 'key'), join(folder, 'key'));

const served = { type: 'openai', base_url: upstream.url, models: ['fake-small'] };
const inVault = {
  ...served,
  api_key: `\${vault:secret/data/openai#api_key}`,
  headers: { 'x-team': `\${TEAM} \${vault:secret/data/openai#header}` },
};
const inFile = { ...served, api_key: `\${file:${join(folder, 'key')}}` };
const ofClouds = Object.fromEntries(
  Object.entries(inClouds).map(([name, reference]) => [name, { ...served, api_key: `\${${reference}}` }]),
);
const providers = { 'of-vault': inVault, 'of-file': inFile, ...ofClouds };
const guard = {
  name: 'guard',
  user_paths: ['/guarded'],
  webhook: { url: `\${vault:secret/data/guard#url}`, secret: `\${vault:secret/data/guard#secret}` },
};

vault.mood = 'reset';
const gateway = await startGateway(suite, {
  config: { providers, guardrails: [guard] },
  env: {
    VAULT_ADDR: vault.url,
    VAULT_TOKEN: 'canary-root-token',
    GATEWAY_SECRET_REFRESH_MS: '200',
    TEAM: 'red',
    ...clouds.env,
  },
});

async function ask(provider: string, path = '/open') {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': path },
    body: { model: `${provider}/fake-small`, messages: [{ role: 'user', content: 'hello' }] },
  });
  const text = await response.text();
  const sent = upstream.ledger.at(-1);
  return { bearer: sent?.header('authorization'), team: sent?.header('x-team'), status: response.status, text };
}
const untilSent = (key: string, provider: string) =>
  waitFor('the new key', async () => (await ask(provider)).bearer === `Bearer ${key}`, 5_000);
const readiness = async (): Promise<unknown> => (await gateway.fetch('/health/ready')).json();
const said = (pattern: RegExp) => gateway.process.logs().filter(({ msg }) => pattern.test(String(msg)));
const unreadable = () => gateway.metric('gateway_secret_references_unreadable');

await test('a start while the vault is down leaves out only what needs it, which comes in when the vault answers', async (t) => {
  t.match(await ask('of-file'), { status: 200, bearer: 'Bearer canary-file-one-0123' });
  t.match(await ask('of-vault'), { status: 404 });
  t.match(await ask('of-file', '/guarded'), { status: 503 }, 'a guardrail that cannot judge refuses');
  t.match(await readiness(), { reasons: ['secret_reference_unreadable', 'guardrail_unusable'] });
  t.equal(await unreadable(), 4);
  const sentence =
    /providers\.of-vault\.api_key {2}refers to vault:secret\/data\/openai#api_key, which cannot be read: Vault does not answer \(ECONNRESET\), so the provider "of-vault" is left out until it can be read$/;
  t.equal(said(sentence).length, 1);
  vault.mood = 'fine';
  await untilSent('canary-vault-one-0123', 'of-vault');
  t.equal((await ask('of-vault')).team, 'red canary-header-0123', 'beside a variable');
  t.equal(await unreadable(), 2, 'those of the guardrail');
  vault.values.set('secret/data/guard', { url: 'http://127.0.0.1:1/check', secret: 'canary-guard-secret' });
  await waitFor('the guardrail', async () => (await unreadable()) === 0, 5_000);
  t.match(await readiness(), { status: 'ready' });
});

await test('the vaults of clouds are read as the identity of this machine', async (t) => {
  for (const name of ['aws', 'google', 'azure'])
    t.match(await ask(`of-${name}`), { status: 200, bearer: `Bearer canary-${name}-0123` });
  clouds.secrets.set('/acme-vault/secrets/openai', 'canary-azure-4567');
  await untilSent('canary-azure-4567', 'of-azure');
});

await test('another value is in force within a second of its being fetched, and the ones before it are taken out of answers', async (t) => {
  const revision = async () => /gateway_config_info.*/.exec(await gateway.metrics())?.[0];
  const before = await revision();
  vault.values.set('secret/data/openai', { api_key: 'canary-vault-two-0123', header: 'canary-header-0123' });
  const started = performance.now();
  await untilSent('canary-vault-two-0123', 'of-vault');
  t.comment(`from the vault after ${Math.round(performance.now() - started)} ms`);
  mount('canary-file-two-0123');
  await untilSent('canary-file-two-0123', 'of-file');
  await upstream.behave({ kind: 'error', status: 401, message: 'No: canary-vault-one-0123, canary-vault-two-0123' });
  t.match((await ask('of-vault')).text, 'No: [redacted], [redacted]');
  await upstream.behave({ kind: 'openai' });
  t.equal(await revision(), before, 'the revision is the same');
  t.ok(said(/^secret renewed$/).length >= 2);
});

await test('while a vault is down, or gives what cannot be used, the last value stays in force, with one warning', async (t) => {
  const age = () => gateway.metric('gateway_secret_age_seconds', { reference: 'vault:secret/data/openai#api_key' });
  vault.mood = 'sealed';
  await waitFor('the trouble', async () => (await unreadable()) === 4, 5_000);
  t.match(await ask('of-vault'), { status: 200, bearer: 'Bearer canary-vault-two-0123' });
  t.equal(said(/api_key {2}.* Vault is sealed .*; the last value stays in force$/).length, 1);
  await waitFor('the age', async () => ((await age()) ?? 0) > 0.5);
  t.match(await readiness(), { status: 'degraded', reasons: ['secret_reference_unreadable'] });
  vault.mood = 'fine';
  await waitFor('the vault', async () => (await unreadable()) === 0, 5_000);
  vault.values.set('secret/data/openai', { api_key: 'canary with blanks', header: 'canary-header-0123' });
  await waitFor('what is no key', async () => (await unreadable()) === 1, 5_000);
  vault.values.set('secret/data/guard', { url: 'ftp://canary', secret: 'canary-guard-secret' });
  await waitFor('what is no address', async () => (await unreadable()) === 2, 5_000);
  t.match(await ask('of-vault'), { bearer: 'Bearer canary-vault-two-0123' });
  t.equal(
    said(/guard#url, which holds what cannot be used: with it the text must be an http or https address/).length,
    1,
  );
});

await test('an edit waits for a secret that is not there, and ends nothing', async (t) => {
  const edited = { ...inVault, api_key: `\${vault:secret/data/new#api_key}` };
  gateway.writeConfig({ 'gateway.yaml': { providers: { ...providers, 'of-vault': edited } } });
  await waitFor('the rejection', async () => (await gateway.metric('gateway_config_last_reload_successful')) === 0);
  t.match(await ask('of-vault'), { status: 200, bearer: 'Bearer canary-vault-two-0123' });
  t.ok(said(/refers to vault:secret\/data\/new#api_key, which is not in Vault \(404\)$/).length > 0);
  vault.values.set('secret/data/new', { api_key: 'canary-vault-new-0123' });
  await untilSent('canary-vault-new-0123', 'of-vault');
});

await test('no secret stands in a log, a metric, a file or an answer; the copy of the configuration has the references', async (t) => {
  const onDisk = () => [...filesBelow(gateway.dataDir).values()];
  // The copy of the last good config is base64.
  const decoded = () => onDisk().flatMap((content) => (content.match(/[A-Za-z0-9+/=]{40,}/g) ?? []).map(atob));
  await waitFor('the copy', () => decoded().some((copy) => copy.includes('vault:secret/data/new#api_key')));
  const { stdout, stderr } = gateway.process;
  const everywhere = [
    ...onDisk(),
    ...decoded(),
    ...stdout,
    ...stderr,
    await gateway.metrics(),
    JSON.stringify(await readiness()),
  ];
  t.notMatch(everywhere.join('\n'), /canary/);
});

await test('check-config asks no vault and reads no file, and says what it did not read', async (t) => {
  const config = temporaryDirectory(t, 'check-references');
  writeFileSync(join(config, 'a.yaml'), JSON.stringify({ providers, guardrails: [guard] }, null, 1));
  const other = await startFakeVault(t);
  const { code, output } = await checkConfig([config, '--strict'], { TEAM: 'red', VAULT_ADDR: other.url });
  t.equal(code, 0);
  t.match(
    output,
    /note: .*a\.yaml:\d+:\d+ {2}providers\.of-vault\.api_key {2}refers to vault:secret\/data\/openai#api_key, which only a proxy reads/,
  );
  t.equal(other.asked.length, 0);
});
