// Realtime sessions under abuse: by clients, by providers, in crowds and at the end of the process. What is held comes back exactly once.
import { deepEqual } from 'node:assert/strict';
import { t as suite, test } from 'tap';
import type { WebSocket } from 'ws';
import { complaintsOf } from '../support/complaints.ts';
import { extent } from '../support/extent.ts';
import { speakAsOpenAi, startFakeRealtime } from '../support/fake-realtime.ts';
import { type Gateway, masterKey, readMetric, startGateway, untilIdle } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { openSession } from '../support/realtime-client.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
/** Sessions that open and close, half of them abruptly; so many at a time. */
const crowd = extent(10_000, 300);
const atATime = 50;

const upstream = await startFakeRealtime(suite);
const limits = [
  { period: 'concurrent', max_requests: 4_096 },
  { period: 'day', max_requests: 65_536 },
];
const start = (t: Teardown, server: object = {}): Promise<Gateway> =>
  startGateway(t, {
    config: {
      server,
      providers: {
        fake: {
          type: 'openai',
          base_url: upstream.url,
          models: ['gpt-realtime'],
          dialects: ['realtime'],
          circuit_breaker: false,
        },
      },
      rate_limits: {
        user_paths: [{ path: '/', limits }],
        providers: [{ name: 'fake', limits }],
        models: [{ model: 'gpt-realtime', limits }],
      },
    },
  });
const gateway = await start(suite, { realtime: { frame_limit: '1MiB', ping_interval: '500ms' } });
const strict = await start(suite, { realtime: { ping_interval: '50ms', session_max: '600ms' } });

suite.beforeEach(() => {
  upstream.greet('open');
  upstream.behave(speakAsOpenAi);
});
suite.afterEach(async () => {
  for (const each of [gateway, strict]) {
    await untilIdle(each);
    const left = { ...(await held(each)), complaints: complaintsOf(each.process) };
    deepEqual(left, { slots: 0, sessions: 0, complaints: [] });
  }
});

async function held(each: Gateway) {
  const metrics = await each.metrics();
  const slots = readMetric(metrics, 'gateway_rate_limit_in_flight');
  return { slots, sessions: readMetric(metrics, 'gateway_realtime_sessions') };
}

/** A request that comes behind another one, unasked. */
const next = 'GET /health HTTP/1.1\r\nhost: a\r\n\r\n';
const key = 'dGhlIHNhbXBsZSBub25jZQ==';
/** So many more headers. */
const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'a']));
const upgrade = (lines: Record<string, string> = {}): string => {
  const given = {
    host: 'gateway.test',
    authorization: `Bearer ${masterKey}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...lines,
  };
  const head = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\n${head.join('')}\r\n`;
};

/** A session whose frames the test writes itself. */
async function openRawSession(t: Teardown): Promise<RawConnection> {
  const connection = await openRaw(gateway.port, { t });
  await connection.send(upgrade());
  await connection.waitFor(({ raw }) => raw.includes('session.created'));
  return connection;
}

/** A frame of a client: masked with zeros. */
function frame(first: number, length: number, sent = length): Buffer {
  const size = length < 126 ? Buffer.from([0x80 | length]) : Buffer.alloc(9);
  if (length >= 126) {
    size[0] = 0xff;
    size.writeBigUInt64BE(BigInt(length), 1);
  }
  return Buffer.concat([Buffer.from([first]), size, Buffer.alloc(4), Buffer.alloc(sent, 0x61)]);
}

/** The code of the close frame at the end of what a server sent. */
function closeCode(raw: Buffer): number | undefined {
  const at = raw.lastIndexOf(0x88);
  return at === -1 || raw.length < at + 4 ? undefined : raw.readUInt16BE(at + 2);
}

await test('a handshake that RFC 6455 does not allow is 400, one with too much of a head 431', async (t) => {
  const cases: [string, string, number, string][] = [
    ['no key', upgrade({ 'sec-websocket-key': '' }), 400, 'invalid_upgrade'],
    ['a short key', upgrade({ 'sec-websocket-key': 'YQ==' }), 400, 'invalid_upgrade'],
    ['version 12', upgrade({ 'sec-websocket-version': '12' }), 400, 'invalid_upgrade'],
    ['a protocol twice', upgrade({ 'sec-websocket-protocol': 'realtime, realtime' }), 400, 'invalid_upgrade'],
    ['a body', upgrade({ 'content-length': '5' }), 400, 'unexpected_body'],
    ['101 headers', upgrade(headers(101)), 431, 'headers_too_large'],
    // More than Node keeps by default: the rest must not be dropped without a word.
    ['2,001 headers', upgrade(headers(2_001)), 431, 'headers_too_large'],
    ['another upgrade', upgrade({ upgrade: 'h2c' }), 426, 'upgrade_required'],
    ['a wrong key, and a request behind it', upgrade({ authorization: 'Bearer no' }) + next, 401, 'invalid_api_key'],
  ];
  for (const [name, bytes, status, code] of cases) {
    const connection = await openRaw(gateway.port, { t });
    await connection.send(bytes);
    const answer = await connection.waitFor(({ responses }) => responses.find(({ complete }) => complete));
    t.equal(answer.status, status, name);
    t.match(answer.json(), { error: { code } }, name);
    await connection.waitFor(({ closedByServer }) => closedByServer || status === 426);
    t.equal(connection.exchange().responses.length, 1, `${name}: nothing else is answered`);
    connection.close();
  }
  const connection = await openRaw(gateway.port, { t });
  await connection.send(next + upgrade());
  const both = await connection.waitFor(({ responses }) => responses.length === 2 && responses);
  t.same(
    both.map(({ status }) => status),
    [200, 426],
    'behind an open request it is none',
  );
  connection.close();
});

await test('frames that break the protocol end a session with the code for it', async (t) => {
  const cases: [string, (string | Buffer)[], number][] = [
    ['an HTTP request', [next], 1002],
    ['an unmasked frame', [Buffer.from([0x81, 1, 0x61])], 1002],
    ['a reserved opcode', [frame(0x83, 1)], 1002],
    ['a compressed frame without an agreement', [frame(0xc1, 1)], 1002],
    ['a frame of a reserved bit', [frame(0xa1, 1)], 1002],
    ['text that is not UTF-8', [Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff])], 1007],
    ['a frame beyond the limit', [frame(0x82, 100 * mebibyte, 1_000)], 1009],
    ['pieces beyond the limit', [frame(0x02, mebibyte), frame(0x80, 1)], 1009],
    ['a million pieces of a byte', [frame(0x02, 1), Buffer.alloc(7_000_000, frame(0x00, 1))], 1008],
  ];
  for (const [name, pieces, code] of cases) {
    const before = residentBytes(gateway.process);
    const connection = await openRawSession(t);
    await connection.send(...pieces);
    const found = await connection.waitFor(({ raw, closedByServer }) => closedByServer && closeCode(raw));
    t.equal(found, code, name);
    t.ok(residentBytes(gateway.process) - before < 64 * mebibyte, `${name}: memory`);
  }
});

await test('a request behind the handshake in one packet is no request any more', async (t) => {
  const connection = await openRaw(gateway.port, { t });
  await connection.send(upgrade() + next);
  const { raw } = await connection.waitFor((exchange) => exchange.closedByServer && exchange);
  t.match(raw.toString('latin1'), /^HTTP\/1.1 101 /);
  t.equal(raw.toString('latin1').match(/HTTP\/1/g)?.length, 1);
  t.equal(closeCode(raw), 1002);
});

await test('a handshake in pieces of a byte opens a session; frames behind it are not lost', async (t) => {
  const connection = await openRaw(gateway.port, { t });
  for (const byte of upgrade()) await connection.send(byte);
  await connection.send(frame(0x82, 3));
  const echoed = Buffer.from([0x82, 3, 0x61, 0x61, 0x61]);
  await connection.waitFor(({ raw }) => raw.includes(echoed));
  t.match(connection.exchange().raw.toString('latin1'), /^HTTP\/1.1 101 /);
  connection.reset();
});

await test('clients that leave while the provider is dialled hold nothing afterwards', async (t) => {
  const leaving = extent(200, 50);
  upstream.greet('hang');
  const before = upstream.asked.length;
  const connections: RawConnection[] = [];
  for (let index = 0; index < leaving; index += 1) {
    const connection = await openRaw(gateway.port, { t });
    connections.push(connection);
    void connection.send(upgrade());
  }
  await waitFor('all to be dialled', () => upstream.asked.length === before + leaving);
  t.same(await held(gateway), { slots: 3 * leaving, sessions: leaving });
  for (const [index, connection] of connections.entries()) {
    if (index % 2 === 0) connection.reset();
    else connection.close();
  }
});

await test(`${crowd} sessions, half of them ended abruptly: each one request, all slots back, memory too`, async (t) => {
  upstream.behave((end) => {
    speakAsOpenAi(end);
    end.on('message', (data) => data.includes('"die"') && end.terminate());
  });
  const one = async (index: number): Promise<void> => {
    const { socket, said, say, closed } = await openSession(gateway);
    say({ type: 'response.create' });
    await waitFor('the response', () => said.length === 3);
    if (index % 4 === 0) socket.terminate();
    else if (index % 4 === 1) say({ type: 'die' });
    else socket.close(1000);
    await closed;
  };
  const some = async (from: number, to: number): Promise<void> => {
    const batch = [...Array.from({ length: atATime }).keys()];
    for (let index = from; index < to; index += atATime) await Promise.all(batch.map((at) => one(index + at)));
  };
  await some(0, extent(200, 100));
  await untilIdle(gateway);
  const count = async () => (await gateway.metric('gateway_requests_total', { endpoint: '/v1/realtime' })) ?? 0;
  const [before, memory] = [await count(), residentBytes(gateway.process)];
  await some(0, crowd);
  await untilIdle(gateway);
  t.equal(await count(), before + crowd);
  const grown = (residentBytes(gateway.process) - memory) / mebibyte;
  t.ok(grown < 32, `memory grew by ${grown.toFixed(1)} MiB`);
});

await test('an end that does not read makes the other end wait; the memory of the gateway stays the same', async (t) => {
  const piece = Buffer.alloc(64 * 1024, 0x61);
  let sent = 0;
  /** Sends without end, as long as the own buffers are not full. */
  const flood = (end: Pick<WebSocket, 'bufferedAmount' | 'readyState' | 'send'>) => {
    const timer = setInterval(() => {
      for (let index = 0; index < 64 && end.readyState === 1 && end.bufferedAmount < mebibyte; index += 1) {
        end.send(piece, { binary: true }, () => undefined);
        sent += piece.length;
      }
    }, 1);
    t.teardown(() => clearInterval(timer));
  };
  const still = async (what: string, socket: WebSocket, before: number): Promise<void> => {
    await waitForStandstill(what, () => sent, 300);
    const grown = residentBytes(gateway.process) - before;
    t.ok(grown < 48 * mebibyte, `${what}: ${(grown / mebibyte).toFixed(1)} MiB more after ${sent / mebibyte} MiB`);
    socket.terminate();
    upstream.sessions.at(-1)?.terminate();
    sent = 0;
  };
  upstream.behave(flood);
  const before = residentBytes(gateway.process);
  const silent = await openSession(gateway);
  silent.socket.pause();
  await still('a client that reads nothing', silent.socket, before);
  upstream.behave((end) => end.pause());
  const { socket } = await openSession(gateway);
  flood(socket);
  await still('a provider that reads nothing', socket, before);
});

await test('a flood of small frames passes whole, and others are served meanwhile', async (t) => {
  const { socket, said } = await openSession(gateway);
  const frames = extent(20_000, 5_000);
  for (let index = 0; index < frames; index += 1) socket.send(`{"n":${index}}`);
  const other = await openSession(gateway);
  other.say({ type: 'response.create' });
  await waitFor('the response', () => other.said.length === 3);
  await waitFor('all to come back', () => said.length === frames + 1);
  t.equal(said.at(-1), `{"n":${frames - 1}}`);
  socket.close();
  other.socket.close();
});

await test('an end that gives no sign of life ends the session, and so does its longest time', async (t) => {
  const mute = await openSession(strict, { autoPong: false });
  t.same(await mute.closed, { code: 1001, reason: '' });
  upstream.behave((end) => end.pause());
  const unheard = await openSession(strict);
  t.same(await unheard.closed, { code: 1011, reason: 'The provider does not answer.' });
  upstream.sessions.at(-1)?.terminate();
  upstream.behave(speakAsOpenAi);
  const long = await openSession(strict);
  t.match(await long.closed, { code: 1001, reason: 'The session has reached server.realtime.session_max.' });
  upstream.behave((end) => end.send(Buffer.alloc(2 * mebibyte)));
  const large = await openSession(gateway);
  t.match(await large.closed, { code: 1009, reason: /frame_limit/ });
});

await test('SIGTERM: no new sessions; open ones get 1001 when the grace is over, and the process ends', async (t) => {
  const draining = await start(t, { shutdown_grace: '400ms' });
  const open = await openSession(draining);
  const waiting = await openRaw(draining.port, { t });
  await waiting.send(upgrade().slice(0, 40));
  upstream.greet('hang');
  const dialled = openSession(draining).catch((error: Error) => error.message);
  await waitFor('it to be dialled', async () => (await held(draining)).sessions === 2);
  const startedMs = performance.now();
  draining.process.signal('SIGTERM');
  await draining.process.waitForLine('"draining"');
  await waiting.send(upgrade().slice(40));
  const refused = await waiting.waitFor(({ responses }) => responses.find(({ complete }) => complete));
  t.match([refused.status, refused.json()], [503, { error: { code: 'draining' } }]);
  open.say({ type: 'response.create' });
  t.same(await open.closed, { code: 1001, reason: 'The gateway is shutting down.' });
  t.ok(performance.now() - startedMs >= 390, 'not before');
  t.ok(
    open.said.some((text) => text.includes('response.done')),
    'it worked until then',
  );
  t.match(await dialled, /socket hang up|ECONNRESET/);
  t.match(await draining.process.exited, { code: 0 });
});
