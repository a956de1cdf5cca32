// Clients that identify themselves by certificates (mTLS): who is let in, as whom, and how soon a certificate no longer counts.
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { t as suite, type Test, test } from 'tap';
import { settingsOf, stagesOf } from '../../deploy/image/dockerfile.ts';
import { createAuthority, type Pair } from '../support/certificate.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { mountListener } from '../support/listener-files.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const partner = createAuthority('Partner CA');
const mount = mountListener(suite, (issuer) => ({
  'clients.crt': issuer.cert + partner.cert,
  'clients.crl': issuer.revoke([77]) + partner.revoke([]),
}));
const { authority } = mount;
const issuer = new X509Certificate(authority.cert).subject.replace('CN=', '');
const spiffe = 'spiffe://acme.test/search';
const ann = authority.issue({
  subject: { CN: 'ann', O: 'Acme', OU: 'search' },
  alternatives: [['email', 'ann@acme.test']],
});
const service = authority.issue({ subject: { CN: 'x', O: 'Acme' }, alternatives: [['uri', spiffe]], serial: 1234 });
const nameless = authority.issue({ subject: { CN: 'nobody' } });
const expired = authority.issue({ subject: { CN: 'ann', O: 'Acme' }, toMs: Date.now() - 1_000 });
const revoked = authority.issue({ subject: { CN: 'ann', O: 'Acme' }, serial: 77 });
const unknown = createAuthority('Another one').issue({ subject: { CN: 'ann', O: 'Acme' } });

const upstream = await startFakeUpstream({ t: suite });
const clients = {
  ca_file: mount.path('clients.crt'),
  crl_file: mount.path('clients.crl'),
  user_path: '/{o}/{cn}',
  labels: ['{ou?}'],
  rights: [{ when: `claims.sub == '${spiffe}'`, user_path: '/services/search', allowed_models: ['fake-large'] }],
};
const config = (more: object = {}) => ({
  server: { access_log: 'all', tls: { ...mount.files, client_certificates: { ...clients, ...more } } },
});
const gateway = await startGateway(suite, { upstream, config: config(), authority: authority.cert });

const tls = (pair: Pair | undefined) => ({ ca: authority.cert, ...pair });
const chat = (model = 'fake-small', key?: string) => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] });
  const bearer = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n${bearer}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

/** The status, and the code of the error. */
async function ask(pair: Pair | undefined, request = chat()) {
  const [response] = (await rawRequest(gateway.port, request, { tls: tls(pair) })).responses;
  const { error } = (response?.json() ?? {}) as { error?: { code: string; message: string } };
  return { status: response?.status, code: error?.code, message: error?.message };
}

/** Until an access line says this. */
const untilSaid = (text: string) => gateway.process.waitForLine(text);

await test('a verified certificate lets in, with the path, labels and models that its claims give', async (t) => {
  t.match(await ask(ann), { status: 200 });
  t.match(await untilSaid(`"certificate:${issuer}:ann"`), /"user_path":"\/Acme\/ann"/i);
  t.match(await ask(partner.issue({ subject: { CN: 'ann', O: 'Acme' } })), { status: 200 });
  t.match(await untilSaid('"certificate:Partner CA:ann"'), /"user_path":"\/Acme\/ann"/i, 'of another authority');
  t.match(await ask(service, chat('fake-large')), { status: 200 });
  t.match(await untilSaid(`"certificate:${issuer}:${spiffe}"`), /"user_path":"\/services\/search"/);
  t.match(await ask(service, chat('fake-small')), { status: 403, code: 'model_access_denied' });
});

await test('without a certificate a key is needed, and a key beside one is what counts', async (t) => {
  t.match(await ask(undefined), { status: 401, code: 'invalid_api_key' });
  t.match(await ask(undefined, chat('fake-small', masterKey)), { status: 200 });
  t.match(await ask(service, chat('fake-small', masterKey)), { status: 200 }, 'the models of the key');
  t.match(await ask(ann, chat('fake-small', 'sk-wrong')), { status: 401, code: 'invalid_api_key' });
  t.match(await gateway.fetch('/health'), { status: 200 }, 'a probe shows none');
});

await test('a certificate that cannot be verified, or has no rights, is refused and told why', async (t) => {
  const refusals: [Pair, RegExp][] = [
    [expired, /it has expired/],
    [unknown, /its issuer is not among the authorities/],
    [revoked, /it was revoked/],
    [nameless, /claim o/],
  ];
  for (const [pair, message] of refusals)
    t.match(await ask(pair), { status: 401, code: 'client_certificate_refused', message });
  t.match(await ask(revoked, chat('fake-small', masterKey)), { status: 401 }, 'with a key, too');
  t.match(await ask(nameless, chat('fake-small', masterKey)), { status: 200 }, 'verified, and the key has the rights');
});

/** A connection that stays, and the status of a request over it. */
async function stay(t: Test, pair: Pair) {
  const connection = await openRaw(gateway.port, { t, tls: tls(pair) });
  return async (): Promise<number> => {
    const before = connection.exchange().responses.length;
    await connection.send(chat('fake-large'));
    await connection.waitFor(({ responses, closedByServer }) => closedByServer || responses[before]?.complete === true);
    return connection.exchange().responses[before]?.status ?? 0;
  };
}

await test('a denied certificate is refused within a second, also on a connection that is open', async (t) => {
  const request = await stay(t, service);
  t.equal(await request(), 200);
  await gateway.applyConfig({ 'gateway.yaml': config({ deny: { serials: ['04:D2'] } }) });
  t.equal(await request(), 401);
  const { fingerprint256 } = new X509Certificate(ann.cert);
  await gateway.applyConfig({ 'gateway.yaml': config({ deny: { fingerprints: [fingerprint256] } }) });
  t.equal(await request(), 200, 'and let in again');
  t.match(await ask(ann, chat('fake-small', masterKey)), { status: 401, message: /it is denied/ });
  await gateway.applyConfig({ 'gateway.yaml': config() });
});

await test('another list of revoked certificates ends connections that the former one let in', async (t) => {
  const request = await stay(t, service);
  t.equal(await request(), 200);
  mount.swap({ 'clients.crl': authority.revoke([77, 1234]) + partner.revoke([]) });
  await gateway.process.waitForLine('certificate of the listener renewed');
  t.equal(await request(), 0, 'the connection is closed');
  t.match(await ask(service, chat('fake-large')), { status: 401, message: /it was revoked/ });
  t.match(await ask(ann), { status: 200 });
});

await test('where a certificate is required, no other connection is served', async (t) => {
  gateway.writeConfig({ 'gateway.yaml': config({ mode: 'require' }) });
  const outcome = (pair: Pair | undefined) =>
    new Promise<string>((resolve) => {
      const socket = connect({ port: gateway.port, host: '127.0.0.1', ...tls(pair) });
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      socket.once('close', () => resolve('closed'));
      socket.once('data', () => resolve('served'));
      socket.write('GET /health HTTP/1.1\r\nhost: a\r\n\r\n');
    });
  await waitFor('it to be in force', async () => (await outcome(undefined)) !== 'served');
  t.match(await outcome(undefined), /CERTIFICATE_REQUIRED|closed|ECONNRESET/);
  t.match(await outcome(unknown), /closed|ECONNRESET/);
  t.equal(await outcome(ann), 'served');
  const { healthCheck } = settingsOf(stagesOf(readFileSync('deploy/Dockerfile', 'utf8')).at(-1) ?? []);
  const [, ...args] = healthCheck;
  const env = { ...process.env, GATEWAY_PORT: String(gateway.port), GATEWAY_ADMIN_PORT: '1' };
  t.equal(spawnSync(process.execPath, args, { env }).status, 0, 'the health check of the image');
  const seen = await rawRequest(
    gateway.port,
    `GET /metrics HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${masterKey}\r\n\r\n`,
    { tls: tls(ann) },
  );
  t.match(seen.responses[0]?.text(), /gateway_tls_handshakes_total\{outcome="client_certificate"\} [1-9]/);
});
