// Tokens of Google, asked for by its own package at servers on loopback.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { googleSource } from '../../../proxy/cloud-identity/google.ts';
import type { TokenSource } from '../../../proxy/cloud-identity/token-source.ts';
import { vendorFetch } from '../../../proxy/cloud-identity/vendor-fetch.ts';
import type { GoogleIdentity } from '../../../schemas/types.ts';
import { startTokenServer, type TokenServer } from '../../support/clouds/token-server.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const account = 'gateway@my-project.iam.gserviceaccount.com';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
const subject = 'subject-token-of-this-workload';
const never = new AbortController().signal;

const workload =
  'a workload of //iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster';
const machineOfAws = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE000000000',
  AWS_SECRET_ACCESS_KEY: 'example',
};

interface Stand {
  readonly server: TokenServer;
  /** A source whose credentials stand in a file; `undefined`: there is no file. */
  readonly source: (credentials: object | string | undefined, settings?: GoogleIdentity) => TokenSource;
  /** A file of credentials for a workload identity pool. */
  readonly pool: (more?: object) => object;
}

async function stand(t: Test): Promise<Stand> {
  const server = await startTokenServer(t);
  const folder = temporaryDirectory(t, 'google');
  writeFileSync(join(folder, 'subject'), subject);
  let files = 0;
  // The addresses of Google are fixed in the package.
  const fetch: typeof globalThis.fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return vendorFetch(url.hostname === 'localhost' ? url : `${server.url}${url.pathname}${url.search}`, init);
  };
  return {
    server,
    source(credentials, settings = {}) {
      const path = join(folder, `credentials-${++files}.json`);
      if (credentials !== undefined)
        writeFileSync(path, typeof credentials === 'string' ? credentials : JSON.stringify(credentials));
      const variables = credentials === undefined ? {} : { GOOGLE_APPLICATION_CREDENTIALS: path };
      return googleSource(settings, { variables, wallMs: Date.now, fetch });
    },
    pool: (more = {}) => ({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${server.url}/sts`,
      credential_source: { file: join(folder, 'subject') },
      ...more,
    }),
  };
}

const serviceAccount = { type: 'service_account', client_email: account, private_key: key, private_key_id: 'k1' };
const user = { type: 'authorized_user', client_id: 'id', client_secret: 'secret-of-gcloud', refresh_token: 'refresh' };

await test('each kind of identity gives a new token each time, with its end', async (t) => {
  const { server, source, pool } = await stand(t);
  process.env['GCE_METADATA_HOST'] = new URL(server.url).host;
  t.teardown(() => delete process.env['GCE_METADATA_HOST']);
  const url = `${server.url}/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  Object.assign(process.env, machineOfAws);
  t.teardown(() => {
    for (const name of Object.keys(machineOfAws)) delete process.env[name];
  });
  const kinds: readonly (readonly [string, TokenSource, string])[] = [
    ['service account', source(serviceAccount), account],
    ['user', source(user), 'a user, by a file that gcloud wrote'],
    ['workload by file', source(pool()), workload],
    [
      'workload by address',
      source(
        pool({
          credential_source: {
            url: `${server.url}/token`,
            format: { type: 'json', subject_token_field_name: 'access_token' },
          },
        }),
      ),
      workload,
    ],
    [
      'workload of AWS',
      source(
        pool({
          subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request',
          credential_source: {
            environment_id: 'aws1',
            regional_cred_verification_url:
              'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
          },
        }),
      ),
      workload,
    ],
    ['workload that impersonates', source(pool({ service_account_impersonation_url: url })), account],
    ['machine', source(undefined), 'the service account of this machine'],
    ['machine that impersonates', source(undefined, { service_account: account }), account],
  ];
  for (const [name, kind, principal] of kinds) {
    for (const _ of ['first', 'second']) {
      const issued = await kind.fetch(never);
      t.strictSame(issued.credential, { kind: 'bearer', token: server.tokens.at(-1) }, name);
      const lifeMs = (issued.expiresAtMs ?? 0) - (issued.issuerNowMs ?? 0);
      t.ok(Math.abs(lifeMs - 3_600_000) < 2_000, `${name}: ${lifeMs} ms`);
      t.equal(issued.principal, principal, name);
    }
  }
});

await test('Google is asked as its API says', async (t) => {
  const { server, source, pool } = await stand(t);
  process.env['GCE_METADATA_HOST'] = new URL(server.url).host;
  t.teardown(() => delete process.env['GCE_METADATA_HOST']);
  await source(pool()).fetch(never);
  t.equal(server.asked.at(-1)?.form.get('subject_token'), subject);
  t.equal(server.asked.at(-1)?.form.get('scope'), 'https://www.googleapis.com/auth/cloud-platform');
  await source(undefined, { service_account: account }).fetch(never);
  const [metadata, impersonation] = server.asked.slice(-2);
  t.equal(metadata?.headers['metadata-flavor'], 'Google');
  t.equal(impersonation?.headers.authorization, `Bearer ${server.tokens.at(-2)}`);
  t.match(JSON.parse(impersonation?.body ?? ''), { scope: ['https://www.googleapis.com/auth/cloud-platform'] });
});

await test('a life counts, whatever the clocks say', async (t) => {
  const { server, source, pool } = await stand(t);
  server.aheadMs = 7_200_000;
  const url = `${server.url}/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  for (const one of [source(pool()), source(pool({ service_account_impersonation_url: url }))]) {
    const { expiresAtMs = 0, issuerNowMs = 0 } = await one.fetch(never);
    t.ok(Math.abs(expiresAtMs - issuerNowMs - 3_600_000) < 2_000);
    t.ok(Math.abs(issuerNowMs - Date.now() - 7_200_000) < 5_000);
  }
});

await test('a file that is not taken is named, and nothing of it', async (t) => {
  const { server, source, pool } = await stand(t);
  const secret = 'canary-of-a-credentials-file';
  const cases: readonly (readonly [object | string, RegExp])[] = [
    [`{"private_key": "${secret}`, /must be a JSON object/],
    [{ type: secret }, /must have a type that is one of service_account, external_account, authorized_user$/],
    [{ type: 'service_account', private_key: secret }, /has the type service_account and no client_email$/],
    [{ ...serviceAccount, private_key: secret }, /^Google gave no token for the credentials in /],
    [pool({ credential_source: { executable: { command: `/bin/${secret}` } } }), /and no executable$/],
    [pool({ credential_source: { certificate: { trust_chain_path: secret } } }), /must have a file, a url or/],
    [pool({ credential_source: { file: '/nowhere' } }), /The file at \/nowhere does not exist/],
  ];
  for (const [credentials, expected] of cases) {
    const error = await source(credentials)
      .fetch(never)
      .catch((failure: unknown) => failure);
    t.match((error as Error).message, expected);
    t.notMatch((error as Error).message, secret);
  }
  t.strictSame(server.asked, []);
  const missing = googleSource({}, { variables: { GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' }, wallMs: Date.now });
  await t.rejects(missing.fetch(never), { message: /names \/nowhere, which cannot be read \(ENOENT\)$/ });
});

await test('what goes wrong at Google is told without secrets', async (t) => {
  const { server, source, pool } = await stand(t);
  const jwt = `${'a'.repeat(40)}.${'b'.repeat(60)}.${'c'.repeat(50)}`;
  const told = async (fault: TokenServer['fault'], credentials: object = pool()): Promise<string> => {
    server.fault = fault;
    const error = await source(credentials)
      .fetch(AbortSignal.timeout(5_000))
      .catch((failure: unknown) => failure);
    return (error as Error).message;
  };
  const refused = JSON.stringify({ error: 'invalid_grant', error_description: `The token ${jwt} is not known.` });
  t.match(await told({ status: 400, body: refused }), /invalid_grant.*The token …/);
  t.notMatch(await told({ status: 400, body: refused }), 'bbbb');
  const timeframe = JSON.stringify({
    error: 'invalid_grant',
    error_description: 'Token must be in a reasonable timeframe',
  });
  t.match(await told({ status: 400, body: timeframe }, serviceAccount), /Check the clock of this machine$/);
  const echo = JSON.stringify({ error: 'invalid_client', error_description: `secret-of-gcloud is wrong` });
  t.notMatch(await told({ status: 401, body: echo }, user), 'secret-of-gcloud');
  t.match(await told({ status: 200, body: '<html>' }), /^Google (answered without a token|gave no token)/);
  t.match(await told({ status: 200, body: '{}' }), 'Google answered without a token that can be sent');
  const broken = JSON.stringify({ access_token: 'two\r\nlines', expires_in: 3600 });
  t.match(await told({ status: 200, body: broken }), 'Google answered without a token that can be sent');
  t.match(await told({ status: 200, body: '{"access_token":"abc"}' }), 'Google did not say when its token ends');
  t.match(await told({ status: 200, body: 'x'.repeat(2 << 20) }), 'is longer than 1048576 bytes');
  t.match(await told({ status: 302, body: '' }), /^Google gave no token/);
  t.match(await told({ status: 503, body: '' }), /: HTTP 503$/);
  t.match(await told('cut'), /Google gave no token .*fetch failed/);
});

await test('a question ends with its signal, and leaves no request', async (t) => {
  const { server, source, pool } = await stand(t);
  process.env['GCE_METADATA_HOST'] = new URL(server.url).host;
  t.teardown(() => delete process.env['GCE_METADATA_HOST']);
  server.fault = 'hang';
  for (const one of [source(pool()), source(undefined), source(serviceAccount)]) {
    const count = server.asked.length;
    const ending = new AbortController();
    const asked = one.fetch(ending.signal).catch((error: unknown) => error);
    await waitFor('the question', () => server.asked.length > count);
    ending.abort(new Error('no answer within 10 s'));
    t.match(((await asked) as Error).message, /no answer within 10 s/);
    await waitFor('its connection to end', () => server.pending() === 0);
  }
});
