// Tokens of Azure, asked for by its own package at servers on loopback.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { t as suite, type Test, test } from 'tap';
import { azureSource } from '../../../proxy/cloud-identity/azure.ts';
import type { TokenSource } from '../../../proxy/cloud-identity/token-source.ts';
import type { AzureIdentity } from '../../../schemas/types.ts';
import { certificate } from '../../support/certificate.ts';
import { startTokenServer, type TokenServer } from '../../support/clouds/token-server.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const never = new AbortController().signal;
const scope = 'https://cognitiveservices.azure.com/.default';
const clientId = randomUUID();
const secret = 'canary~secret.of-the-application';
const assertion = 'token-of-the-service-account';

interface Stand {
  readonly folder: string;
  /** The environment of an application with this credential. */
  readonly application: Record<string, string>;
  readonly source: (variables: Record<string, string>, settings?: Partial<AzureIdentity>) => TokenSource;
}

/** One for all tests: the package keeps where it found the identity of the machine. */
const server = await startTokenServer(suite);
setDefaultCACertificates([...getCACertificates('default'), server.authority]);
process.env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] = server.url;

function stand(t: Test): Stand {
  const folder = temporaryDirectory(t, 'azure');
  writeFileSync(join(folder, 'token'), `${assertion}\n`);
  const { key, cert } = certificate(2020, 2050, 'application.test', 'rsa');
  writeFileSync(join(folder, 'certificate.pem'), cert + key);
  return {
    folder,
    application: { AZURE_AUTHORITY_HOST: server.tlsUrl, AZURE_TENANT_ID: 'contoso.test', AZURE_CLIENT_ID: clientId },
    source: (variables, settings = {}) => azureSource({ scope, ...settings }, { variables, wallMs: Date.now }),
  };
}

await test('each kind of identity gives a new token each time, with its end', async (t) => {
  const { folder, application, source } = stand(t);
  const kinds: readonly (readonly [string, Record<string, string>, string, object])[] = [
    ['secret', { ...application, AZURE_CLIENT_SECRET: secret }, clientId, { client_secret: secret }],
    [
      'workload',
      { ...application, AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token') },
      clientId,
      { client_assertion: assertion },
    ],
    [
      'certificate',
      { ...application, AZURE_CLIENT_CERTIFICATE_PATH: join(folder, 'certificate.pem') },
      clientId,
      { client_assertion: /^[\w-]+\.[\w-]+\.[\w-]+$/ },
    ],
    ['machine', {}, 'the system-assigned identity of this machine', {}],
    ['user-assigned machine', { AZURE_CLIENT_ID: clientId }, clientId, {}],
  ];
  for (const [name, variables, principal, sent] of kinds) {
    const one = source(variables);
    for (const _ of ['first', 'second']) {
      const issued = await one.fetch(never);
      t.strictSame(issued.credential, { kind: 'bearer', token: server.tokens.at(-1) }, name);
      const lifeMs = (issued.expiresAtMs ?? 0) - (issued.issuerNowMs ?? 0);
      t.ok(Math.abs(lifeMs - 3_600_000) < 3_000, `${name}: ${lifeMs} ms`);
      t.equal(issued.principal, principal, name);
    }
    t.match(Object.fromEntries(server.asked.at(-1)?.form ?? []), sent, name);
  }
  const [system, assigned] = [server.asked.at(-3), server.asked.at(-1)];
  t.equal(system?.headers['metadata'], 'true');
  t.equal(system?.query.get('client_id'), null);
  t.equal(assigned?.query.get('client_id'), clientId);
  t.equal(assigned?.query.get('resource'), 'https://cognitiveservices.azure.com');
});

await test('the settings come before the environment', async (t) => {
  const { folder, application, source } = stand(t);
  const other = randomUUID();
  const variables = {
    ...application,
    AZURE_CLIENT_SECRET: secret,
    AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'),
    AZURE_CLIENT_CERTIFICATE_PATH: join(folder, 'certificate.pem'),
  };
  const settings = { identity: 'workload', client_id: other, tenant_id: 'other.test' } as const;
  const one = source(variables, { ...settings, scope: 'https://ai.azure.com/.default' });
  t.equal(one.describe(), `Azure workload identity ${other}`);
  t.equal((await one.fetch(never)).principal, other);
  const asked = server.asked.at(-1);
  t.equal(asked?.path, '/other.test/oauth2/v2.0/token');
  t.equal(asked?.form.get('client_id'), other);
  t.equal(asked?.form.get('scope'), 'https://ai.azure.com/.default');
  t.equal(asked?.form.get('client_assertion'), assertion);
  t.equal(source(variables).describe(), `Azure application with a secret ${clientId}`);
});

await test('a life counts, whatever the clocks say', async (t) => {
  const { application, source } = stand(t);
  for (const one of [source({ ...application, AZURE_CLIENT_SECRET: secret }), source({})]) {
    server.aheadMs = 7_200_000;
    const { expiresAtMs = 0, issuerNowMs = 0 } = await one.fetch(never);
    t.ok(Math.abs(expiresAtMs - issuerNowMs - 3_600_000) < 3_000);
    t.ok(Math.abs(issuerNowMs - Date.now() - 7_200_000) < 5_000);
    server.aheadMs = 0;
  }
});

await test('what is missing is named', async (t) => {
  const { folder, application, source } = stand(t);
  const { AZURE_TENANT_ID: _, ...withoutTenant } = application;
  const before = server.asked.length;
  writeFileSync(join(folder, 'empty'), '\n');
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ ...withoutTenant, AZURE_CLIENT_SECRET: secret }, /needs the variable AZURE_TENANT_ID .*, or azure.tenant_id/],
    [{ ...application, AZURE_FEDERATED_TOKEN_FILE: '/nowhere' }, /names \/nowhere, which cannot be read \(ENOENT\)$/],
    [{ ...application, AZURE_FEDERATED_TOKEN_FILE: join(folder, 'empty') }, /which is empty$/],
    [
      { ...application, AZURE_CLIENT_CERTIFICATE_PATH: join(folder, 'token') },
      /must hold a certificate and its private key/,
    ],
    [{ ...application, AZURE_AUTHORITY_HOST: server.url, AZURE_CLIENT_SECRET: secret }, /must be an https address/],
  ];
  for (const [variables, expected] of cases) await t.rejects(source(variables).fetch(never), { message: expected });
  await t.rejects(source(application, { identity: 'client_secret' }).fetch(never), { message: /AZURE_CLIENT_SECRET/ });
  t.equal(server.asked.length, before);
});

await test('what goes wrong at Azure is told without secrets', async (t) => {
  const { application, source } = stand(t);
  const one = source({ ...application, AZURE_CLIENT_SECRET: secret });
  const told = async (fault: TokenServer['fault'], who = one): Promise<string> => {
    server.fault = fault;
    const error = await who.fetch(AbortSignal.timeout(5_000)).catch((failure: unknown) => failure);
    server.fault = undefined;
    return (error as Error).message;
  };
  const unknown = {
    error: 'unauthorized_client',
    error_description: `AADSTS700016: Application with identifier '${clientId}' was not found. Trace ID: ${randomUUID()} Timestamp: 2026`,
    error_codes: [700016],
  };
  const message = await told({ status: 400, body: JSON.stringify(unknown) });
  t.match(message, `Application with identifier '${clientId}' was not found.`);
  t.notMatch(message, 'Trace ID');
  const echo = JSON.stringify({ error: 'invalid_client', error_description: `The secret ${secret} is wrong.` });
  t.match(await told({ status: 401, body: echo }), 'The secret … is wrong.');
  t.match(await told({ status: 200, body: '<html>' }), 'HTTP 200 without a JSON object');
  t.match(await told({ status: 200, body: '{}' }), /Azure/);
  t.match(
    await told({ status: 200, body: '{"access_token":"two\\r\\nlines","expires_in":3600,"token_type":"Bearer"}' }),
    'Azure answered without a token that can be sent',
  );
  t.match(await told('cut'), /fetch failed/);
  // A refusal is not kept: the next question is sent.
  t.match(await told({ status: 429, body: '{"error":"throttled"}' }), /throttled/);
  t.equal((await one.fetch(never)).principal, clientId);

  const none = JSON.stringify({ error: 'invalid_request', error_description: 'Identity not found' });
  t.match(await told({ status: 400, body: none }, source({})), /Identity not found.*Assign a managed identity/);
  t.match(await told({ status: 200, body: 'no' }, source({})), 'HTTP 200 without a JSON object');
});

await test('a question ends with its signal, and leaves no request', async (t) => {
  const { application, source } = stand(t);
  t.teardown(() => {
    server.fault = undefined;
  });
  for (const one of [source({ ...application, AZURE_CLIENT_SECRET: secret }), source({})]) {
    server.fault = 'hang';
    const count = server.asked.length;
    const ending = new AbortController();
    const asked = one.fetch(ending.signal).catch((error: unknown) => error);
    await waitFor('the question', () => server.asked.length > count);
    ending.abort(new Error('no answer within 10 s'));
    t.match(((await asked) as Error).message, /no answer within 10 s/);
    await waitFor('its connection to end', () => server.pending() === 0);
  }
});
