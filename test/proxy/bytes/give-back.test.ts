// Memory that is given back before the collector comes: never while somebody needs the bytes, and never to be seen as somebody else's.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { type Test, test } from 'tap';
import { giveBack } from '../../../proxy/bytes/give-back.ts';
import { BodyBudget } from '../../../proxy/http/body-budget.ts';
import { openExchange } from '../../../proxy/http/exchange.ts';
import { readBody } from '../../../proxy/http/read-body.ts';
import { listen } from '../../support/ports.ts';

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
    const exchange = openExchange(request, response, { userPathHeader: 'x', trustedProxies: undefined }, 0);
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
