// Memory that is given back before the collector comes: never while somebody needs the bytes, and never to be seen as somebody else's.
import { hash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Test, test } from 'tap';
import { giveBack } from '../../../proxy/bytes/give-back.ts';
import { BodyBudget } from '../../../proxy/http/body-budget.ts';
import { openExchange } from '../../../proxy/http/exchange.ts';
import { readBody } from '../../../proxy/http/read-body.ts';
import type { ClientPool } from '../../../proxy/upstream/client-pool.ts';
import { createDeadlines } from '../../../proxy/upstream/deadlines.ts';
import { authoritiesOf } from '../../../proxy/upstream/dial/trust.ts';
import { createPools } from '../../../proxy/upstream/pools.ts';
import { send } from '../../../proxy/upstream/send.ts';
import type { UpstreamAnswer } from '../../../proxy/upstream/upstream-answer.ts';
import { certificate } from '../../support/certificate.ts';
import { listen } from '../../support/ports.ts';
import { waitFor } from '../../support/wait-for.ts';
import { patience } from '../short-patience.ts';

await test('whoever still has bytes that were given back finds them empty; what shares a memory stays', async (t) => {
  const bytes = Buffer.allocUnsafeSlow(100_000).fill('a');
  const [part, other] = [bytes.subarray(10, 20), bytes.subarray()];
  giveBack(part);
  t.equal(bytes.length, 100_000);
  giveBack(bytes);
  giveBack(bytes);
  t.same([bytes.length, part.length, other.length], [0, 0, 0]);
  const pooled = Buffer.from('a short one');
  giveBack(pooled);
  t.equal(pooled.toString(), 'a short one');
});

/** Reads one body of so many bytes: it as it was read, and the pieces in which it came. */
async function readPieces(t: Test, sent: Buffer): Promise<{ body: Buffer; pieces: readonly Buffer[] }> {
  const limits = { bodyLimitBytes: sent.length, bodyBudgetBytes: undefined };
  const pieces: Buffer[] = [];
  const read = Promise.withResolvers<Buffer>();
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => pieces.push(piece));
    const exchange = openExchange(
      request,
      response,
      { userPathHeader: 'x', gatewayKeyHeader: 'x-gateway-key', trustedProxies: undefined },
      0,
    );
    const held = new BodyBudget(1).open('/', limits);
    read.resolve(readBody(exchange, { bytes: sent.length, setting: '' }, held));
  });
  t.teardown(() => server.close());
  const socket = connect(await listen(server), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${sent.length}\r\n\r\n`);
  socket.write(sent);
  return { body: await read.promise, pieces };
}

await test('the pieces of a body are given back when they are joined, and a single one is the body', async (t) => {
  const long = Buffer.alloc(1_000_000, 'words ');
  const joined = await readPieces(t, long);
  t.ok(joined.body.equals(long));
  t.ok(joined.pieces.length > 1);
  t.same(new Set(joined.pieces.map(({ length }) => length)), new Set([0]));
  const short = await readPieces(t, Buffer.from('{}'));
  t.equal(short.body.toString(), '{}');
});

/** A provider that reads and answers when it is told to: with the digest of what has come. */
async function startReader(
  t: Test,
  server: Server,
): Promise<{ port: number; mayRead: () => void; mayAnswer: () => void }> {
  const [read, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  server.on('request', (request, response) => {
    void read.promise
      .then(() => buffer(request))
      .then(async (body) => {
        await answer.promise;
        response.end(hash('sha256', body));
      });
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: await listen(server), mayRead: read.resolve, mayAnswer: answer.resolve };
}

/** Sends a body; `isOwn`: it was made for this call alone. */
function sendBody(pool: ClientPool, body: Buffer, isOwn = true): Promise<UpstreamAnswer> {
  const fixed = { needsEvent: false, isFresh: false, isStream: false, mostHeldBytes: 65_536 };
  const facts = { ...fixed, latestMs: Number.POSITIVE_INFINITY, ownBody: isOwn ? body : undefined };
  const patient = { ...patience, firstByteMs: 60_000, totalMs: 60_000 };
  const deadlines = createDeadlines(() => performance.now());
  const answer = send(pool, { path: '/', headers: [], body, facts }, patient, deadlines);
  return new Promise((resolve) => answer.whenReady(() => resolve(answer)));
}

await test('a body that the system has taken is given back before it is answered, and arrives as it was', async (t) => {
  const reader = await startReader(t, createServer());
  const pool = createPools(100).get({ origin: `http://127.0.0.1:${reader.port}`, connectTimeoutMs: 3_000 });
  t.teardown(() => pool.closeFree());
  const body = Buffer.allocUnsafeSlow(60_000).fill('what was asked ');
  const digest = hash('sha256', body);
  const answered = sendBody(pool, body);
  await waitFor('the body to be given back', () => body.length === 0);
  reader.mayRead();
  reader.mayAnswer();
  t.equal((await answered).body().toString(), digest);
});

await test('what a slow provider has not taken stays until it is answered; what others read stays for ever', async (t) => {
  const { key, cert } = certificate(2000, 2100);
  const plain = await startReader(t, createServer());
  const secret = await startReader(t, createTlsServer({ key, cert }));
  const pools = createPools(100, { resolve: (_name, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) });
  t.teardown(() => pools.closeFree());
  const connectTimeoutMs = 3_000;
  const ways = [
    { reader: plain, target: { origin: `http://127.0.0.1:${plain.port}`, connectTimeoutMs } },
    {
      reader: secret,
      target: {
        origin: `https://provider.test:${secret.port}`,
        connectTimeoutMs,
        allowsPrivate: true,
        authorities: authoritiesOf(cert),
      },
    },
  ];
  for (const { reader, target } of ways) {
    const own = Buffer.allocUnsafeSlow(32 << 20).fill('a long prompt ');
    const digest = hash('sha256', own);
    const shared = Buffer.from(own);
    const pool = pools.get(target);
    const answers = [sendBody(pool, own), sendBody(pool, shared, false)];
    await waitFor('both calls to be open', () => pool.open === 2);
    t.equal(own.length, 32 << 20);
    reader.mayRead();
    reader.mayAnswer();
    for (const answered of answers) t.equal((await answered).body().toString(), digest);
    t.same([own.length, shared.length], [0, 32 << 20], target.origin);
  }
});
