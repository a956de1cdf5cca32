// Events that are put together say what they said one by one.
import { isDeepStrictEqual } from 'node:util';
import { test } from 'tap';
import { compactEvents } from '../../../proxy/capture/compact-events.ts';
import { foldFor } from '../../../proxy/capture/folds.ts';
import { StreamCapture } from '../../../proxy/capture/stream-capture.ts';
import type { StreamFold } from '../../../proxy/capture/stream-fold.ts';
import { begun, ended, piece, streams, text } from './chat-streams.ts';

/** What is made of a stream that comes in one piece, or in several; `compacts`: by way of fewer events. */
function answerOf(pieces: readonly string[], compacts = false): object | undefined {
  const fold = foldFor('chat');
  if (fold === undefined) throw new Error('streams of chat make an answer');
  const plain: StreamFold = { add: (one) => fold.add(one), answer: (context) => fold.answer(context) };
  const capture = new StreamCapture(compacts ? fold : plain, 100_000);
  for (const bytes of pieces) capture.push(Buffer.from(bytes, 'latin1'));
  return capture.answer({ requestBody: undefined, model: 'm', nowMs: 0 });
}

await test('the answer is the same, wherever the events were cut', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const stream = Buffer.from(`${begun}${said}${ended}`).toString('latin1');
    const expected = answerOf([stream]);
    t.ok(expected, claim);
    t.same(answerOf([compactEvents(stream)]), expected, claim);
    for (let at = 0; at < stream.length; at += 7)
      if (compactEvents(compactEvents(stream.slice(0, at)) + stream.slice(at)) !== compactEvents(stream))
        t.same(
          answerOf([compactEvents(compactEvents(stream.slice(0, at)) + stream.slice(at))]),
          expected,
          `${claim} at ${at}`,
        );
  }
  t.end();
});

await test('words become one event', (t) => {
  const stream = `${begun}${['a', ' b', ' c'].map(text).join('')}${ended}`;
  t.equal(compactEvents(stream), `${begun}${text('a b c')}${ended}`);
  const wordy = (content: string): string => piece({ content, role: 'assistant', reasoning_content: null });
  t.equal(compactEvents(wordy('a') + wordy(' b')), wordy('a b'), 'whatever says nothing beside');
  t.equal(compactEvents(''), '');
  t.end();
});

await test('a stream that is read in portions makes the same answer', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const stream = Buffer.from(`${begun}${said.repeat(40)}${ended}`).toString('latin1');
    const different = Array.from({ length: 43 }, (_, more) => 16 * 1024 + 7 * more).filter((portion) => {
      const pieces = [stream.slice(0, portion), stream.slice(portion)];
      return !isDeepStrictEqual(answerOf(pieces, true), answerOf(pieces));
    });
    t.same(different, [], `${claim}: portions that change it`);
  }
  t.end();
});

await test('a text of many megabytes is no piece of another one', (t) => {
  const long = text('x'.repeat(9 * 2 ** 20));
  t.equal(compactEvents(long + long), long + long);
  t.end();
});
