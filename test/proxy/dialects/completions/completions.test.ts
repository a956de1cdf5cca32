// Clients of the older text completions get the words of any answer, whole and in pieces.
import OpenAI from 'openai';
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import { completionsTranslation } from '../../../../proxy/dialects/completions/translate.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { AnswerContext } from '../../../../proxy/dialects/translation.ts';
import { contextOf, eventsOf, plain, recordedAnswer, recordedBytes } from '../chat/recorded.ts';

const context = (body: JsonObject = {}): AnswerContext => {
  return contextOf({}, completionsTranslation.readRequest({ prompt: 'Say', ...body }));
};

function streamed(name: string, body: JsonObject = {}): string {
  const writer = completionsTranslation.eventWriter(context(body));
  return eventsOf(recordedBytes(name))
    .flatMap((event) => [...writer.write(event)])
    .join('');
}

await test('a prompt becomes the words of a user', async (t) => {
  const body = { model: 'm', prompt: ['Once'], max_tokens: 5, temperature: 0, stop: '\n', n: 1, best_of: 1, user: 'a' };
  const request = completionsTranslation.readRequest(body);
  const lossless = { hint: (field: string) => void t.fail(field), meaning: (field: string) => void t.fail(field) };
  t.strictSame(plain(chatTranslation.writeRequest(request, { model: 'x', quirks: {} }, lossless)), {
    model: 'x',
    messages: [{ role: 'user', content: 'Once' }],
    temperature: 0,
    stop: ['\n'],
    max_tokens: 5,
    user: 'a',
  });
});

await test('what only text completions know is a meaning, and a prompt must be one text', async (t) => {
  const own = { suffix: '.', n: 2, best_of: 3, logprobs: 0, echo: true };
  const { ownMembers } = completionsTranslation.readRequest({ prompt: 'a', ...own, later: 1 });
  t.strictSame(
    ownMembers.map(({ path, value, isMeaning }) => [path[0], value, isMeaning]),
    [...Object.entries(own).map(([name, value]) => [name, value, true]), ['later', 1, false]],
  );
  t.same(completionsTranslation.readRequest({ prompt: 'a', suffix: '', echo: false, n: null }).ownMembers, []);
  for (const prompt of [undefined, null, 1, {}, [], ['a', 'b'], [1, 2], [[1], [2]]]) {
    const body = { prompt } as JsonObject;
    t.throws(() => completionsTranslation.readRequest(body), { name: 'InvalidRequest', param: 'prompt' });
  }
  t.throws(() => completionsTranslation.readRequest({ prompt: 'a', logprobs: true }), {
    name: 'InvalidRequest',
    param: 'logprobs',
  });
});

await test('an answer is its text', async (t) => {
  t.strictSame(plain(completionsTranslation.writeAnswer(recordedAnswer('deepseek-thinking'), context())), {
    id: '930c60df-bf64-41c9-a88e-3ec75f81e00e',
    object: 'text_completion',
    created: 1_705_651_092,
    model: 'deepseek-reasoner',
    choices: [{ text: '9.8 is greater.', index: 0, logprobs: null, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 16,
      completion_tokens: 30,
      total_tokens: 46,
      prompt_tokens_details: { cached_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
  });
  t.match(completionsTranslation.writeAnswer(recordedAnswer('length'), context()), {
    choices: [{ finish_reason: 'length' }],
  });
  t.match(completionsTranslation.writeAnswer(recordedAnswer('refusal'), context()), { choices: [{ text: /sorry/ }] });
});

await test('the official SDK reads the stream', async (t) => {
  const options = { stream: true, stream_options: { include_usage: true } };
  const text = streamed('deepseek-thinking', options);
  const answer = new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const client = new OpenAI({ apiKey: 'x', fetch: async () => answer, maxRetries: 0 });
  const said: string[] = [];
  const reasons: unknown[] = [];
  let total = 0;
  for await (const { choices, usage } of await client.completions.create({ model: 'm', prompt: 'a', stream: true })) {
    said.push(choices[0]?.text ?? '');
    reasons.push(choices[0]?.finish_reason);
    total = usage?.total_tokens ?? total;
  }
  t.equal(said.join(''), '9.8 is greater.');
  t.strictSame(reasons, [null, null, 'stop', undefined]);
  t.equal(total, 46);
});

await test('a failure ends the stream with an error, and usage is told when asked for', async (t) => {
  const broken = streamed('error-within');
  t.match(broken, /"text":"Par"[\s\S]*"error":\{"message":"Provider disconnected"/);
  t.notOk(broken.includes('[DONE]'));
  t.notOk(streamed('plain').includes('usage'));
});
