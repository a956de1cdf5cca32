// A stream of chat becomes the same answer wherever its bytes are cut.
import { test } from 'tap';
import { foldFor } from '../../../proxy/capture/folds.ts';
import { StreamCapture } from '../../../proxy/capture/stream-capture.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { begun, ended, streams } from './chat-streams.ts';

function answerOf(pieces: readonly Buffer[]): JsonObject | undefined {
  const fold = foldFor('chat');
  if (fold === undefined) throw new Error('streams of chat make an answer');
  const capture = new StreamCapture(fold, 100_000);
  for (const bytes of pieces) capture.push(bytes);
  return capture.answer({ requestBody: undefined, model: 'm', nowMs: 0 });
}

await test('the answer is the same, wherever the stream is cut', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const stream = Buffer.from(`${begun}${said}${ended}`);
    const expected = answerOf([stream]);
    t.ok(expected, claim);
    for (const size of [1, 7, 100]) {
      const count = Math.ceil(stream.length / size);
      const pieces = Array.from({ length: count }, (_, at) => stream.subarray(at * size, (at + 1) * size));
      t.same(answerOf(pieces), expected, `${claim}, in pieces of ${size} bytes`);
    }
  }
  t.end();
});

await test('what is no chunk of an answer ends it, and what came before is kept', (t) => {
  const answer = answerOf([Buffer.from(`${begun}${streams['an escape that JSON does not know']}${ended}`)]);
  t.match(answer, { choices: [{ message: { content: 'a' }, finish_reason: null }] });
  t.end();
});
