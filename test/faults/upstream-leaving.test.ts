// A provider is let go when its client leaves, whenever that is; one whose certificate is no good is not spoken to.
import { writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { t as suite, test } from 'tap';
import { chatCall, firstEvent } from '../support/chat-call.ts';
import { extent } from '../support/extent.ts';
import {
  type Behaviour,
  createGate,
  fin,
  rst,
  type Step,
  silence,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { providerKey, startGateway, untilIdle } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { openRaw } from '../support/raw-http.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';
import { call, envelopeIn } from './upstream-cases.ts';

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.match(/.{1,64}/g)?.join('\n')}\n-----END ${label}-----\n`;
}

/** One key; certificates for another name, for the past, and one without a trusted issuer. All end in 2120 but the second. */
const tlsKey = pem(
  'EC PRIVATE KEY',
  'MHcCAQEEIKVdizLuBNOJmP/odCTUU/kIOXrdw15aOBgrXwiSt9cAoAoGCCqGSM49AwEHoUQDQgAE8WjyfWDroMyTOdF0QYyRV9SMXqHiTlO2SLnZWDDmN+hfuwaekLVcyyiFgXmNbptKfGmm+NF/va0dVO0u0zqLmQ==',
);
const certificates = {
  'is for another host': pem(
    'CERTIFICATE',
    'MIIBSjCB8qADAgECAgECMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBW90aGVyMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPFo8n1g66DMkznRdEGMkVfUjF6h4k5Ttki52Vgw5jfoX7sGnpC1XMsohYF5jW6bSnxppvjRf72tHVTtLtM6i5mjOzA5MBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUwHQYDVR0OBBYEFKi7KCTfF4h0BPkTp98TMx5YkDOiMAoGCCqGSM49BAMCA0cAMEQCIHo0Zx7PJ8Q94xqCv9cFJyWisgSB8DimRwLnTB1LyKH3AiAZmEvTM6PiLvW10FF1dhAvTWF+Vcs9n5HRZP8eQZo1Sw==',
  ),
  'has expired': pem(
    'CERTIFICATE',
    'MIIBPTCB46ADAgECAgEDMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA29sZDAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMA4xDDAKBgNVBAMMA29sZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPFo8n1g66DMkznRdEGMkVfUjF6h4k5Ttki52Vgw5jfoX7sGnpC1XMsohYF5jW6bSnxppvjRf72tHVTtLtM6i5mjMjAwMA8GA1UdEQQIMAaHBH8AAAEwHQYDVR0OBBYEFKi7KCTfF4h0BPkTp98TMx5YkDOiMAoGCCqGSM49BAMCA0kAMEYCIQDn8is0E6rXkzM7RLGmsOWMPbJSy2NP/YBhuICmdW+4twIhAPLenaQIgot/cOiQM4554VhadTkbBi7sU4YO6kXA/Y8z',
  ),
  'is self-signed': pem(
    'CERTIFICATE',
    'MIIBQDCB56ADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHNlbGYwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHNlbGYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATxaPJ9YOugzJM50XRBjJFX1IxeoeJOU7ZIudlYMOY36F+7Bp6QtVzLKIWBeY1um0p8aab40X+9rR1U7S7TOouZozIwMDAPBgNVHREECDAGhwR/AAABMB0GA1UdDgQWBBSouygk3xeIdAT5E6ffEzMeWJAzojAKBggqhkjOPQQDAgNIADBFAiAJUNmjwTOsEP8oWo7y0sVKEYs1nGOMpuWTgAp6jCfN5AIhAPpUFbfEYGQ/z+84hspaIyFHd9/kc+G/nb/yhEEOBYn5',
  ),
};

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, api_key: providerKey, models: upstream.models };
const patientConfig = { providers: { fake: provider } };
const authorities = join(temporaryDirectory(suite), 'authorities.pem');
writeFileSync(authorities, certificates['is for another host'] + certificates['has expired']);
/** With more patience than the tests have: what it frees it frees because the client left. */
const patient = await startGateway(suite, { config: patientConfig, env: { NODE_EXTRA_CA_CERTS: authorities } });

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));
suite.afterEach(() => untilIdle(patient));

interface AbortPoint {
  behaviour: Behaviour;
  /** What the client has sent when it leaves. */
  sent: string;
  /** How far the exchange must be by then. */
  until: 'sent' | 'taken' | 'asked' | 'headed' | 'relayed';
  /** The provider must have been asked, must not have been, or may have been. */
  asked: boolean | undefined;
}

const wholeCall = chatCall('{"model":"fake/fake-small"}');
const streamCall = chatCall('{"model":"fake/fake-small","stream":true}');
const sseHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const halfEvent: Step[] = [`${firstEvent}data: {"choices":[{"index":0,"del`, createGate()];
const longBody: Step[] = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n',
  `{"pad":"${'p'.repeat(500_000)}`,
  silence,
];
const abortPoints: Record<string, AbortPoint> = {
  'inside the headers': { behaviour: { kind: 'hang' }, sent: wholeCall.slice(0, 60), until: 'sent', asked: false },
  'inside the body': { behaviour: { kind: 'hang' }, sent: wholeCall.slice(0, -5), until: 'taken', asked: false },
  'right after the body': { behaviour: { kind: 'hang' }, sent: wholeCall, until: 'sent', asked: undefined },
  'awaiting the headers': { behaviour: { kind: 'hang' }, sent: wholeCall, until: 'asked', asked: true },
  'after the headers': {
    behaviour: { kind: 'raw', steps: [sseHead, silence] },
    sent: streamCall,
    until: 'headed',
    asked: true,
  },
  'amid an event': { behaviour: { kind: 'sse', chunks: halfEvent }, sent: streamCall, until: 'relayed', asked: true },
  'amid a long body': { behaviour: { kind: 'raw', steps: longBody }, sent: wholeCall, until: 'relayed', asked: true },
  'while connecting': { behaviour: { kind: 'full-backlog' }, sent: wholeCall, until: 'taken', asked: false },
};

const departures = Array.from({ length: extent(2, 1) }, () => ['FIN', 'RST']).flat();

for (const [name, point] of Object.entries(abortPoints)) {
  await test(`a client that leaves ${name}`, async (t) => {
    const delays: number[] = [];
    for (const how of departures) {
      await upstream.behave(point.behaviour);
      const before = upstream.ledger.length;
      const left = (await patient.metric('gateway_requests_total', { status: '499' })) ?? 0;
      const connection = await openRaw(patient.port, { t });
      await connection.send(point.sent);
      if (point.until === 'taken') {
        await waitFor('a request in flight', async () => (await patient.metric('gateway_requests_in_flight')) === 1);
      }
      if (point.until === 'asked') await upstream.waitFor((ledger) => ledger[before]?.bodyComplete);
      if (point.until === 'headed') await upstream.waitFor((ledger) => ledger[before]?.bytesSent);
      if (point.until === 'relayed') await connection.waitFor(({ responses }) => responses[0]?.body.length);
      const leftAtMs = performance.now();
      await connection.send(how === 'FIN' ? fin : rst);
      await untilIdle(patient);
      const freedMs = performance.now() - leftAtMs;
      t.ok(freedMs < 5000, `${how}: free again after ${freedMs.toFixed(0)} ms`);
      if (point.asked === true) {
        const closedAtMs = await upstream.waitFor((ledger) => ledger[before]?.clientClosedAtMs);
        delays.push(closedAtMs - leftAtMs);
        const counted = (await patient.metric('gateway_requests_total', { status: '499' })) ?? 0;
        t.equal(counted - left, 1, 'counted as a client that left');
      }
      await upstream.behave({ kind: 'openai' });
      const next = await call(patient, 'fake/fake-small');
      t.equal(next.status, 200, 'the next request works');
      const entries = upstream.ledger.slice(before, -1);
      if (point.asked === undefined) {
        await waitFor('every asked provider to be let go', () =>
          entries.every(({ finished, clientClosedAtMs }) => finished || clientClosedAtMs !== undefined),
        );
      } else t.equal(entries.length, point.asked ? 1 : 0, 'asked as often as the client had asked');
      connection.close();
    }
    if (delays.length === 0) return;
    const worst = Math.max(...delays);
    t.comment(`the provider saw it after at most ${worst.toFixed(1)} ms (target 100)`);
    t.ok(worst <= 500);
  });
}

await test('a client that leaves its answer unread is cut, and the provider let go', async (t) => {
  await patient.applyConfig({ 'gateway.yaml': { ...patientConfig, server: { timeouts: { write_idle: '300ms' } } } });
  t.teardown(() => patient.applyConfig({ 'gateway.yaml': patientConfig }));
  for (const [name, behaviour, more] of [
    ['a stream', { kind: 'endless-body' }, ',"stream":true'],
    ['a long answer', { kind: 'endless-body' }, ''],
    ['an answer that is complete', { kind: 'json', body: `{"pad":"${'p'.repeat(24 << 20)}"}` }, ''],
  ] as const) {
    await upstream.behave(behaviour);
    const asked = upstream.ledger.length;
    const connection = await openRaw(patient.port, { t });
    connection.pause();
    await connection.send(chatCall(`{"model":"fake/fake-small"${more}}`));
    await upstream.waitFor((ledger) => ledger[asked]?.bytesSent);
    await untilIdle(patient);
    const entry = upstream.ledger[asked];
    await waitFor('the provider to be let go', () => entry?.finished || entry?.clientClosedAtMs);
    connection.resume();
    await connection.waitFor(({ closedByServer }) => closedByServer);
    t.equal(connection.exchange().responses[0]?.complete, false, `${name} was cut`);
    connection.close();
  }
});

await test('a provider whose certificate is no good is not spoken to', async (t) => {
  let received = 0;
  const plain = createPlainServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'));
  });
  t.teardown(() => plain.close());
  const providers: Record<string, object> = {
    plain: { ...provider, base_url: `https://127.0.0.1:${await listen(plain)}/v1` },
  };
  for (const [name, cert] of Object.entries(certificates)) {
    const server = createServer({ key: tlsKey, cert }, (socket) => {
      socket.on('data', ({ length }) => {
        received += length;
      });
      socket.on('error', () => {});
    });
    server.on('tlsClientError', () => {});
    const port = await listen(server);
    t.teardown(() => server.close());
    providers[name.replaceAll(' ', '-')] = { ...provider, base_url: `https://127.0.0.1:${port}/v1` };
  }
  await patient.applyConfig({ 'gateway.yaml': { providers } });
  for (const [name, reason] of [
    ['is-for-another-host', 'its certificate is for another host'],
    ['has-expired', 'its certificate has expired'],
    ['is-self-signed', 'its certificate is self-signed'],
    ['plain', 'the handshake failed'],
  ] as const) {
    const { status, end } = await call(patient, `${name}/fake-small`);
    t.equal(status, 502, name);
    t.match(envelopeIn(end), { code: 'upstream_tls', type: 'provider_error', provider: name });
    t.match(envelopeIn(end).message, reason);
  }
  t.equal(received, 0, 'not a byte of a request was sent');
  await untilIdle(patient);
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same(upstream.malformed, []);
  const said = [...patient.process.stdout, ...patient.process.stderr].join('\n');
  t.notMatch(said, /unexpected failure|"level":"(error|fatal)"|Warning|sk-test/);
  t.ok(patient.process.running);
});
