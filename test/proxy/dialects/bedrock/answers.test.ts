// Recorded answers of Bedrock: the stream and the JSON of a case tell the same.
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'tap';
import { bedrockTranslation } from '../../../../proxy/dialects/bedrock/translate.ts';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { parseObject } from '../../../../proxy/dialects/json/json.ts';
import { InvalidAnswer } from '../../../../proxy/dialects/translation.ts';
import { converseFrame, recordedFrames } from '../../../support/aws-frames.ts';

const folder = new URL('../../../fixtures/answers/bedrock/', import.meta.url);
const fixtureText = (file: string): string => readFileSync(new URL(file, folder), 'utf8');
const cases = readdirSync(folder).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -5)] : []));
const answerOf = (name: string) => bedrockTranslation.readAnswer(parseObject(fixtureText(`${name}.json`)) ?? {});
const framesOf = (name: string): Buffer => recordedFrames(fixtureText(`${name}.jsonl`));

function eventsOf(...chunks: Buffer[]): StreamEvent[] {
  const splitter = bedrockTranslation.eventSplitter();
  const reader = bedrockTranslation.eventReader();
  const events = chunks.flatMap((chunk) => splitter.push(chunk).flatMap((event) => [...reader.read(event)]));
  return [...events, ...splitter.end().flatMap((event) => [...reader.read(event)]), ...reader.end()];
}

/** Events as names, for their order. */
const kinds = (events: readonly StreamEvent[]): string => events.map(({ kind }) => kind).join(' ');

for (const name of cases) {
  await test(`${name}: the stream folds to the JSON answer`, async (t) => {
    const events = eventsOf(framesOf(name));
    const fold = new AnswerFold();
    for (const event of events) fold.add(event);
    // A stream does not repeat the tier.
    const { serviceTier: _, ...answer } = answerOf(name);
    t.same(JSON.parse(JSON.stringify(fold.answer())), JSON.parse(JSON.stringify(answer)));
    t.equal(fold.isFinished, true);
  });
}

await test('answers mean what they say', async (t) => {
  t.match(answerOf('plain'), { id: '', model: '', finish: { reason: 'stop' } });
  t.match(answerOf('tools'), {
    finish: { reason: 'tool_calls' },
    parts: [{ kind: 'text' }, { input: '{"city":"Paris","days":3}', isFreeText: false }, { input: '{}' }],
  });
  t.match(answerOf('thinking').parts, [
    { kind: 'reasoning', signature: { family: 'anthropic', value: 'EqMDCkYIBxgCKkC7vAOO/6d9' } },
    { kind: 'reasoning', text: '', encrypted: { family: 'anthropic', value: 'RXJZQkNrWUlDeGdDS2tB' } },
    { kind: 'text' },
  ]);
  t.match(answerOf('cached'), {
    finish: { reason: 'stop_sequence', stopSequence: ' three' },
    serviceTier: 'default',
    usage: { inputTokens: 1910, outputTokens: 5, totalTokens: 1915, cachedTokens: 1500, cacheWriteTokens: 400 },
  });
  t.match(answerOf('filtered').finish, { reason: 'filtered' });
  t.match(answerOf('length').finish, { reason: 'length' });
  t.match(answerOf('citations').parts[1], {
    text: 'sales rose',
    citations: [{ title: 'Report', citedText: 'Sales rose by 4 percent.', url: undefined }],
  });
});

await test('events keep their order: usage before the end, and one part open at a time', async (t) => {
  t.equal(
    kinds(eventsOf(framesOf('tools'))),
    'started opened delta closed opened delta delta closed opened delta closed usage finished',
  );
  t.equal(
    kinds(eventsOf(framesOf('thinking'))),
    'started opened delta delta delta closed opened closed opened delta closed usage finished',
  );
});

await test('an exception ends the stream, and so does one that comes first', async (t) => {
  const events = eventsOf(framesOf('error'));
  t.equal(kinds(events), 'started opened delta closed failed');
  t.same(events.at(-1), {
    kind: 'failed',
    failure: { message: 'The model had an unexpected error.', code: null, type: 'modelStreamErrorException' },
  });
  for (const name of ['internalServer', 'throttling', 'validation', 'serviceUnavailable']) {
    const failed = eventsOf(converseFrame(`${name}Exception`, { message: 'no' }), framesOf('plain'));
    t.equal(kinds(failed), 'started failed', name);
    t.match(failed[1], { failure: { message: 'no', type: `${name}Exception` } });
  }
});

await test('a stream that stops too early is not finished', async (t) => {
  const start = converseFrame('messageStart', { role: 'assistant' });
  const text = converseFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'a' } });
  t.equal(kinds(eventsOf(start, text)), 'started opened delta');
  const stop = converseFrame('messageStop', { stopReason: 'end_turn' });
  t.equal(kinds(eventsOf(start, text, stop)), 'started opened delta closed finished', 'without usage');
});

await test('a model that calls tools has stopped for them, and words of tomorrow are no failure', async (t) => {
  const call = { toolUse: { toolUseId: 'a', name: 'f', input: {} } };
  const read = (content: object[], stopReason: string) =>
    bedrockTranslation.readAnswer(parseObject(JSON.stringify({ output: { message: { content } }, stopReason })) ?? {});
  t.equal(read([call], 'end_turn').finish.reason, 'tool_calls');
  t.equal(read([], 'something_new').finish.reason, 'stop');
  t.match(read([{ hologram: { a: 1 } }], 'end_turn').parts, [
    { kind: 'foreign', dialect: 'bedrock', name: 'hologram' },
  ]);
  const image = { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } };
  t.match(read([image], 'end_turn').parts, [
    { kind: 'image', source: { mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
  ]);
});

await test('what is no answer is refused', async (t) => {
  t.throws(() => bedrockTranslation.readAnswer({}), InvalidAnswer);
  t.throws(() => bedrockTranslation.readAnswer({ output: { message: { content: ['a'] } } }), InvalidAnswer);
  const nameless = { output: { message: { content: [{ toolUse: { toolUseId: 'c' } }] } } };
  t.throws(() => bedrockTranslation.readAnswer(nameless), InvalidAnswer);
  t.throws(() => bedrockTranslation.eventReader().read({ event: 'messageStop', data: 'no' }), InvalidAnswer);
  const input = { event: 'contentBlockDelta', data: '{"delta":{"toolUse":{"input":"{"}}}' };
  t.throws(() => bedrockTranslation.eventReader().read(input), InvalidAnswer);
});

await test('errors of Bedrock in every shape', async (t) => {
  const read = (body: object | string) =>
    bedrockTranslation.readError(typeof body === 'string' ? body : JSON.stringify(body));
  t.match(read({ message: 'no access' }), { message: 'no access', type: null, code: null });
  t.match(read({ Message: 'not signed' }), { message: 'not signed' });
  t.match(read({ __type: 'com.amazon.coral.service#UnrecognizedClientException', message: 'bad token' }), {
    message: 'bad token',
    type: 'UnrecognizedClientException',
  });
  t.match(read({ __type: 'ThrottlingException' }), { message: 'ThrottlingException', type: 'ThrottlingException' });
  t.match(read({ message: 'x', originalStatusCode: 500 }), { further: { originalStatusCode: 500 } });
  t.match(read({ error: { message: 'of a gateway', code: 'c' } }), { message: 'of a gateway', code: 'c' });
  t.match(read('<html>'), { message: '<html>' });
});
