// A long text of a stream is told in pieces that say the same.
import { test } from 'tap';
import type { StreamEvent } from '../../../proxy/dialects/conversation/stream-event.ts';
import { inPieces } from '../../../proxy/translation/in-pieces.ts';

const textDelta = (text: string): StreamEvent => ({
  kind: 'delta',
  index: 3,
  delta: { kind: 'text', text, logprobs: [1] },
});

await test('a long text comes in pieces, no character cut, with what was said of its tokens once', async (t) => {
  for (const text of ['a'.repeat(200_000), '😀'.repeat(100_000), `a${'😀'.repeat(100_000)}`, 'é'.repeat(65_537)]) {
    const pieces = [...inPieces(textDelta(text))];
    const texts = pieces.map((piece) => (piece.kind === 'delta' && 'text' in piece.delta ? piece.delta.text : ''));
    t.equal(texts.join(''), text);
    t.ok(texts.every((piece) => piece.length <= 65_537 && piece.isWellFormed()));
    t.ok(pieces.every((piece) => piece.kind === 'delta' && piece.index === 3));
    t.equal(JSON.stringify(pieces).match(/logprobs/g)?.length, 1);
  }
});

await test('all else stays as it is', async (t) => {
  const closed: StreamEvent = { kind: 'closed', index: 1 };
  for (const event of [closed, textDelta('a'.repeat(65_536)), textDelta('')]) t.same([...inPieces(event)], [event]);
});
