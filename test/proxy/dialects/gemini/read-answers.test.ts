// What Gemini's models answer, as JSON and as streams, in the words of the conversation.
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'tap';
import type { ConversationAnswer } from '../../../../proxy/dialects/conversation/conversation.ts';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { geminiTranslation } from '../../../../proxy/dialects/gemini/translate.ts';
import { parseObject, writeJson } from '../../../../proxy/dialects/json/json.ts';
import { ServerEventSplitter } from '../../../../proxy/dialects/server-events.ts';
import { InvalidAnswer } from '../../../../proxy/dialects/translation.ts';

const folder = new URL('../../../fixtures/answers/gemini/', import.meta.url);
const bytesOf = (file: string): Buffer => readFileSync(new URL(file, folder));
const bodyOf = (text: string) => parseObject(text) ?? {};
const answerOf = (name: string): ConversationAnswer =>
  geminiTranslation.readAnswer(bodyOf(bytesOf(`${name}.json`).toString()));
const names = readdirSync(folder).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -5)] : []));

function eventsOf(...chunks: readonly Buffer[]): readonly StreamEvent[] {
  const splitter = new ServerEventSplitter();
  const reader = geminiTranslation.eventReader();
  const raw = [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
  return [...raw.flatMap((event) => reader.read(event)), ...reader.end()];
}

function folded(events: readonly StreamEvent[]): AnswerFold {
  const fold = new AnswerFold();
  for (const event of events) fold.add(event);
  return fold;
}

/** What breaks the order of events: started first, one part open at a time, numbered as they open, the end last. */
function disorder(events: readonly StreamEvent[]): string | undefined {
  let [open, next] = [-1, 0];
  for (const [at, event] of events.entries()) {
    if ((event.kind === 'started') !== (at === 0)) return `${event.kind} at ${at}`;
    if (event.kind === 'opened' && (open !== -1 || event.index !== next++)) return `opened ${event.index} at ${at}`;
    if (event.kind === 'opened') open = event.index;
    if ((event.kind === 'delta' || event.kind === 'closed') && event.index !== open) return `${event.kind} at ${at}`;
    if (event.kind === 'closed') open = -1;
    const isEnd = event.kind === 'finished' || event.kind === 'failed';
    if (isEnd && (open !== -1 || at !== events.length - 1)) return `${event.kind} at ${at}`;
  }
  return open === -1 ? undefined : 'a part stays open';
}

for (const name of names) {
  await test(`${name}: the stream tells the JSON answer`, async (t) => {
    const bytes = bytesOf(`${name}.sse`);
    const events = eventsOf(bytes);
    t.equal(disorder(events), undefined);
    t.equal(events.at(-1)?.kind, 'finished');
    t.equal(JSON.stringify(folded(events).answer()), JSON.stringify(answerOf(name)));
  });
}

await test('text, its id, its model and its usage', async (t) => {
  t.match(answerOf('plain'), {
    id: 'mAitaLmkHPPlz7IPvtfUqQ4',
    model: 'gemini-2.5-flash',
    parts: [{ kind: 'text', text: 'Grüße aus Zürich 🏔️.' }],
    finish: { reason: 'stop' },
    usage: { inputTokens: 8, outputTokens: 7, totalTokens: 15, cachedTokens: undefined, reasoningTokens: undefined },
  });
  t.match(answerOf('cached').usage, { inputTokens: 90210, outputTokens: 4, cachedTokens: 88000 });
  t.match(answerOf('citations').usage, { inputTokens: 42, outputTokens: 12, totalTokens: 54 });
});

await test('thoughts are reasoning and count as output; the proof behind a text stands behind it', async (t) => {
  const { parts, usage } = answerOf('thinking');
  t.match(parts, [
    { kind: 'reasoning', text: '**Adding**\n\nI add 2 and 3.', signature: undefined },
    { kind: 'text', text: 'The sum is 5.' },
    { kind: 'reasoning', text: '', signature: { family: 'google', value: 'CpUBAdHtim9zaWduYXR1cmU=' } },
  ]);
  t.match(usage, { inputTokens: 10, outputTokens: 47, totalTokens: 57, reasoningTokens: 41 });
});

await test('tool calls come whole, with exact numbers, proof and their ids', async (t) => {
  const { parts, finish } = answerOf('parallel-tools');
  t.match(parts, [
    { kind: 'text', text: 'Let me look.' },
    {
      id: '',
      name: 'get_weather',
      input: '{"city":"Zürich","days":1.5,"at":12345678901234567890}',
      signature: { family: 'google', value: 'CskBAdHtim9jYWxs' },
    },
    { id: '', input: '{"city":"Bern"}', signature: undefined },
    { id: 'fc-17', name: 'now', input: '{}' },
    { id: '', name: 'ping', input: '{}' },
  ]);
  t.same(finish, { reason: 'tool_calls' });
});

await test('what stops a model becomes a reason; blocked prompts say why', async (t) => {
  t.same(answerOf('length').finish, { reason: 'length' });
  t.same(answerOf('filtered').finish, { reason: 'filtered' });
  const { parts, finish, usage } = answerOf('blocked');
  t.same(parts, [{ kind: 'refusal', text: 'The provider blocked the prompt: PROHIBITED_CONTENT.' }]);
  t.same(finish, { reason: 'filtered' });
  t.equal(usage?.inputTokens, 14);
  const stopped = { OTHER: 'stop', RECITATION: 'stop', MALFORMED_FUNCTION_CALL: 'stop', BLOCKLIST: 'filtered' };
  for (const [reason, expected] of Object.entries({ ...stopped, IMAGE_SAFETY: 'filtered', SOMETHING_NEW: 'stop' })) {
    t.equal(geminiTranslation.readAnswer({ candidates: [{ finishReason: reason }] }).finish.reason, expected, reason);
  }
});

await test('sources become citations whose offsets count characters', async (t) => {
  const [text] = answerOf('citations').parts;
  if (text?.kind !== 'text') return t.fail('there is no text');
  const said = text.citations?.map(({ url, start, end }) => [url, text.text.slice(start, end)]);
  t.same(said, [
    ['https://example.org/zuerich', 'Zürich hat Hügel 🏔️.'],
    ['https://example.org/zuerich', 'Bern hat Bären.'],
    ['https://example.com/bern', 'Bern hat Bären.'],
  ]);
  const quoted = { citations: [{ startIndex: 1, endIndex: 2, uri: 'https://a.example', title: 'A', license: 'mit' }] };
  const elsewhere = {
    groundingChunks: [{ retrievedContext: { uri: 'gs://b/a', title: 'B', text: 'source' } }],
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 3, text: 'not' }, groundingChunkIndices: [0, 7] }],
  };
  const content = { parts: [{ text: 'abcd' }] };
  const candidates = [{ content, citationMetadata: quoted, groundingMetadata: elsewhere }];
  const [other] = geminiTranslation.readAnswer({ candidates }).parts;
  t.match(other, {
    citations: [
      { url: 'gs://b/a', title: 'B', citedText: 'source', start: undefined, end: undefined },
      { url: 'https://a.example', start: 1, end: 2, own: { members: { license: 'mit' } } },
    ],
  });
  return undefined;
});

await test('log probabilities have the form of OpenAI', async (t) => {
  const [text] = answerOf('logprobs').parts;
  const entries = text?.kind === 'text' ? (text.logprobs ?? []) : [];
  t.equal(entries.length, 3);
  t.match(entries[2], {
    token: ' é',
    logprob: -0.25,
    bytes: [32, 195, 169],
    top_logprobs: [
      { token: ' é', logprob: -0.25 },
      { token: 'Ja', logprob: -2.5, bytes: [74, 97] },
    ],
  });
});

await test('images are parts; what Gemini alone knows is foreign', async (t) => {
  t.match(answerOf('image-and-code').parts, [
    { kind: 'text', text: 'Here it is:' },
    { kind: 'image', source: { kind: 'base64', mediaType: 'image/png' } },
    { kind: 'reasoning', text: '', signature: { family: 'google', value: 'CiQB0e2Kb2ltYWdl' } },
    { kind: 'foreign', name: 'executableCode', value: { executableCode: { language: 'PYTHON' } } },
    { kind: 'foreign', name: 'codeExecutionResult' },
    { kind: 'text', text: 'Done.' },
  ]);
});

await test('a stream that fails or breaks off does not count as finished', async (t) => {
  const failed = eventsOf(bytesOf('error-in-the-middle.sse'));
  t.equal(disorder(failed), undefined);
  t.same(folded(failed).failure, {
    message: 'The model is overloaded. Please try again later.',
    code: '503',
    type: 'UNAVAILABLE',
  });
  const bytes = bytesOf('plain.sse');
  const cut = eventsOf(bytes.subarray(0, bytes.lastIndexOf('data: ')));
  t.equal(disorder(cut), undefined);
  t.equal(folded(cut).isFinished, false);
  t.equal(folded(cut).usage?.outputTokens, 4);
});

await test('what is no answer is refused', async (t) => {
  for (const text of [
    '{}',
    '{"candidates":[]}',
    '{"candidates":null}',
    '{"error":{"code":500}}',
    '{"promptFeedback":{}}',
  ]) {
    t.throws(() => geminiTranslation.readAnswer(bodyOf(text)), InvalidAnswer, text);
  }
  t.throws(() => geminiTranslation.eventReader().read({ event: undefined, data: '<html>' }), InvalidAnswer);
  t.same(geminiTranslation.eventReader().read({ event: undefined, data: '[DONE]' }), []);
  const odd = '{"candidates":[{"content":{"parts":[null,7,{"text":5},{"__proto__":{"a":1}}]}}]}';
  t.equal(writeJson(geminiTranslation.readAnswer(bodyOf(odd)).parts.length), '2', 'odd parts are foreign');
});
