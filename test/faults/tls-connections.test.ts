// What clients do at a port that speaks TLS: each abuse costs little, is counted, and others are served meanwhile.
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure, type TLSSocket } from 'node:tls';
import { t as suite, type Test, test } from 'tap';
import { firstEvent } from '../support/chat-call.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { mountListener } from '../support/listener-files.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, pause, rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const mount = mountListener(suite);
const { authority } = mount;
const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, {
  upstream,
  config: { server: { tls: mount.files, timeouts: { write_idle: '1s' } } },
  authority: authority.cert,
});
const tls = { ca: authority.cert };
const health = 'GET /health HTTP/1.1\r\nhost: a\r\n\r\n';
const body = JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'hello' }], stream: true });
const chat = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${masterKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

const handshakes = (outcome: string) => gateway.metric('gateway_tls_handshakes_total', { outcome });

/** How a handshake ends: the socket, or the code of the error. */
function handshake(options: ConnectionOptions = {}): Promise<TLSSocket | string> {
  return new Promise((resolve) => {
    const socket = connectSecure({ port: gateway.port, host: '127.0.0.1', ...tls, ...options });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

/** Connections that send these bytes and nothing else. */
async function openSilent(t: Test, count: number, bytes: Buffer): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    return socket;
  });
  await Promise.all(sockets.map((socket) => new Promise((done) => socket.write(bytes, done))));
  return sockets;
}

await test('the HTTP of the plain port: pipelining, broken requests, half a close, a body in pieces', async (t) => {
  const many = await rawRequest(gateway.port, health.repeat(20), { tls, until: 20 });
  t.same(
    many.responses.map(({ status }) => status),
    Array.from({ length: 20 }, () => 200),
  );
  const broken = await rawRequest(gateway.port, `${health}NONSENSE\r\n\r\n`, { tls, until: 'close' });
  t.same(
    broken.responses.map(({ status }) => status),
    [200, 400],
    'in order, and the last one ends the connection',
  );
  const [head, tail] = [chat.slice(0, -10), chat.slice(-10)];
  const slow = await rawRequest(gateway.port, [head, pause(30), tail], { tls });
  t.match(slow.responses, [{ status: 200, complete: true }]);
  const half = await openRaw(gateway.port, { t, tls });
  await half.send(health);
  half.halfClose();
  await half.waitFor(({ closedByServer }) => closedByServer);
  t.match(half.exchange().responses, [{ status: 200, complete: true }], 'it has ended its side, and gets its answer');
});

await test('a client that does not read is cut, as without TLS', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.release());
  const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(60_000) } }] })}\n\n`;
  await upstream.behave({ kind: 'sse', chunks: [firstEvent, ...Array.from({ length: 400 }, () => event), gate] });
  const client = await openRaw(gateway.port, { t, tls });
  await client.send(chat);
  client.pause();
  await waitFor(
    'the connection to be cut',
    async () => (await gateway.metric('gateway_connections_cut_total', { reason: 'unread' })) === 1,
    10_000,
  );
});

await test('who speaks no TLS is told so in clear text, or closed', async (t) => {
  const before = await handshakes('plain_http');
  const plain = await rawRequest(gateway.port, health, { until: 'close' });
  t.match(plain.responses, [{ status: 400 }]);
  t.match(plain.responses[0]?.text(), /Write https:\/\//);
  t.equal(await handshakes('plain_http'), (before ?? 0) + 1);
  const garbage = await rawRequest(gateway.port, Buffer.from([0, 1, 2, 3]), { until: 'close' });
  t.match(garbage, { closedByServer: true, raw: { length: 0 } });
  t.equal(await handshakes('no_tls'), 1);
});

await test('nonsense in a handshake is refused, and names of servers are not looked at', async (t) => {
  t.equal(
    await handshake({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  );
  t.equal(await handshake({ ALPNProtocols: ['h2'] }), 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL');
  const named = await handshake({ servername: 'x'.repeat(200), checkServerIdentity: () => undefined });
  if (typeof named === 'string') throw new Error(named);
  t.equal(named.alpnProtocol, false);
  named.destroy();
  const [cut] = await openSilent(t, 1, Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0]));
  await new Promise((closed) => cut?.resume().once('close', closed));
  t.ok(((await handshakes('failed')) ?? 0) >= 3);
});

await test('a connection cannot be negotiated anew', async (t) => {
  const socket = await handshake({ maxVersion: 'TLSv1.2' });
  if (typeof socket === 'string') throw new Error(socket);
  t.teardown(() => socket.destroy());
  const outcome = await new Promise((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.once('close', () => resolve('closed'));
    socket.renegotiate({}, (error) => resolve(error === null ? 'renegotiated' : error.message));
  });
  t.match(outcome, /NO_RENEGOTIATION|closed/);
});

await test('a session is resumed, and not across another certificate', async (t) => {
  const first = await handshake();
  if (typeof first === 'string') throw new Error(first);
  const session = await new Promise<Buffer>((resolve) => {
    first.once('session', resolve);
    first.write(health);
    first.resume();
  });
  first.destroy();
  const second = await handshake({ session });
  if (typeof second === 'string') throw new Error(second);
  t.ok(second.isSessionReused());
  second.destroy();
  mount.swapPair(mount.issue());
  await gateway.process.waitForLine('certificate of the listener renewed');
  const third = await handshake({ session });
  if (typeof third === 'string') throw new Error(third);
  t.notOk(third.isSessionReused(), 'a handshake as with a new client');
  third.destroy();
});

await test('connections that begin no handshake, or never end it, are few, and others are served at once', async (t) => {
  const before = residentBytes(gateway.process);
  const flood = 700;
  await openSilent(t, flood, Buffer.alloc(0));
  await openSilent(t, flood, Buffer.from([22, 3, 1, 2, 0, 1]));
  await waitFor('the oldest to be displaced', async () => ((await handshakes('displaced')) ?? 0) >= 2 * flood - 512);
  t.ok(((await gateway.metric('gateway_tls_handshakes_open')) ?? 0) <= 512);
  const started = performance.now();
  t.match((await rawRequest(gateway.port, health, { tls })).responses, [{ status: 200 }]);
  t.comment(`served in ${Math.round(performance.now() - started)} ms`);
  const grown = residentBytes(gateway.process) - before;
  t.ok(grown < 64 * 2 ** 20, `${Math.round(grown / 2 ** 20)} MiB more`);
});

await test('handshakes under way do not hold up the end of the process', async (t) => {
  await openSilent(t, 3, Buffer.from([22, 3, 1]));
  const started = performance.now();
  const exit = await gateway.process.stop();
  t.match(exit, { code: 0 });
  t.comment(`ended after ${Math.round(performance.now() - started)} ms`);
});
