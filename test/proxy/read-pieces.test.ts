// The pieces of one read of a socket become one piece.
import { test } from 'tap';
import { ReadPieces } from '../../proxy/bytes/read-pieces.ts';

function joined(pieces: readonly Buffer[]): string {
  const read = new ReadPieces();
  for (const piece of pieces) read.add(piece);
  return read.take().toString();
}

await test('pieces of one read are joined in its memory, and nothing behind them changes', async (t) => {
  const read = Buffer.from('5\r\nfirst\r\n6\r\nsecond\r\nHTTP/1.1 200 OK');
  const pieceOf = (text: string): Buffer => read.subarray(read.indexOf(text), read.indexOf(text) + text.length);
  t.equal(joined([pieceOf('first'), pieceOf('second')]), 'firstsecond');
  t.ok(read.toString().endsWith('\r\nHTTP/1.1 200 OK'));
});

await test('pieces of several memories, or in another order, are copied', async (t) => {
  const memory = Buffer.from('abcd');
  t.equal(joined([memory.subarray(2), memory.subarray(0, 2)]), 'cdab');
  t.equal(memory.toString(), 'abcd');
  t.equal(joined([Buffer.alloc(3, 'x'), Buffer.alloc(5_000, 'y')]), `xxx${'y'.repeat(5_000)}`);
});

await test('a single piece stays where it is, and nothing is held afterwards', async (t) => {
  const piece = Buffer.from('one');
  const read = new ReadPieces();
  read.add(piece);
  t.equal(read.take(), piece);
  t.equal(read.take().length, 0);
});
