// Aliases with `rescue` for every dialect of clients and providers: the official SDKs read one answer, native or translated.
import Anthropic from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { t as suite, test } from 'tap';
import { brokenOff, goesOn, lastMessages, piecesOf, type Spoken, spokenIn, told } from '../support/broken-streams.ts';
import { rst, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, untilIdle } from '../support/gateway.ts';
import { createRandom } from '../support/random.ts';
import { shareGateway } from '../support/shared.ts';

suite.setTimeout(180_000);

const dialects: readonly Spoken[] = ['chat', 'messages', 'responses'];
const model = 'claude-3-haiku';
const [first, second] = await Promise.all(['a', 'b'].map(() => startFakeUpstream({ t: suite, models: [model] })));
if (first === undefined || second === undefined) throw new Error('no providers');
const places = { first, second };
const providers = Object.fromEntries(
  Object.entries(places).flatMap(([name, { url }]) =>
    dialects.map((dialect) => {
      const base = { base_url: url, models: [model], circuit_breaker: false };
      const own = dialect === 'messages' ? { type: 'anthropic' } : { type: 'openai', dialects: [dialect] };
      return [`${name}-${dialect}`, { ...base, ...own }];
    }),
  ),
);
const aliases = dialects.flatMap((from) =>
  dialects.map((to) => ({
    source: `${from}-then-${to}`,
    strategy: 'failover',
    retry: { budget: 1 },
    rescue: 'continue',
    targets: [{ model: `first-${from}/${model}` }, { model: `second-${to}/${model}` }],
  })),
);
const gateway = await shareGateway({ config: { providers, aliases, server: { stored_responses: { enabled: true } } } });
const openai = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 });
const text = 'Die Katze 🐈‍⬛ sitzt auf der Mauer. Die Katze schläft; 猫が眠る。\n\n- eins\n- zwei\nEnde.';
const pieces = piecesOf(text);
const question = [{ role: 'user' as const, content: 'Tell me of the cat.' }];

suite.afterEach(() => untilIdle(gateway));

/** The answer as the SDK of a client puts it together. */
const clients: Readonly<Record<Spoken, (alias: string) => Promise<{ said: string; whole: object; mark: unknown }>>> = {
  async chat(alias) {
    const stream = openai.chat.completions.stream({ model: alias, messages: question });
    let mark: unknown;
    stream.on('chunk', (chunk) => {
      mark ??= (chunk as { x_gateway?: unknown }).x_gateway;
    });
    const whole = await stream.finalChatCompletion();
    return { said: whole.choices[0]?.message.content ?? '', whole, mark };
  },
  async messages(alias) {
    const stream = anthropic.messages.stream({ model: alias, max_tokens: 500, messages: question });
    let mark: unknown;
    stream.on('streamEvent', (event) => {
      mark ??= (event as { x_gateway?: unknown }).x_gateway;
    });
    const whole = await stream.finalMessage();
    return { said: whole.content.map((block) => (block.type === 'text' ? block.text : '')).join(''), whole, mark };
  },
  async responses(alias) {
    const stream = openai.responses.stream({ model: alias, input: 'Tell me of the cat.' });
    const numbers: number[] = [];
    let mark: unknown;
    stream.on('event', (event) => {
      numbers.push(event.sequence_number);
      mark ??= (event as { x_gateway?: unknown }).x_gateway;
    });
    const whole = await stream.finalResponse();
    if (numbers.some((number, index) => number !== index)) throw new Error(`sequence numbers ${numbers.join(' ')}`);
    return { said: whole.output_text, whole, mark };
  },
};

const random = createRandom(44);

for (const client of dialects) {
  await test(`a client of ${client} reads one answer, whatever its providers speak`, async (t) => {
    await second.behave(goesOn(text));
    for (const alias of aliases.map(({ source }) => source)) {
      const after = 1 + Math.floor(random() * (pieces.length - 1));
      await first.behave((entry) => brokenOff(spokenIn(entry), pieces, after, [rst]));
      const { said, whole, mark } = await clients[client](alias);
      t.equal(said, text, `${alias} after ${after}`);
      t.match(JSON.stringify(whole), client === 'messages' ? /"end_turn"/ : /"stop"|"completed"/);
      t.same(mark, { rescued: 'continue' }, alias);
    }
  });
}

/** How a provider of each dialect says that it fails, without a code that is known everywhere. */
const failures: Readonly<Record<Spoken, readonly string[]>> = {
  chat: ['data: {"error":{"message":"boom"}}\n\n', 'data: {"error":{"message":"boom"},"choices":[]}\n\n'],
  messages: ['event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'],
  responses: [
    'event: response.failed\ndata: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"boom"},"output":[]}}\n\n',
    'event: error\ndata: {"type":"error","code":"server_error","message":"boom"}\n\n',
  ],
};

await test('an error that a provider tells in the middle is a break', async (t) => {
  await second.behave(goesOn(text));
  for (const from of dialects)
    for (const failure of failures[from]) {
      await first.behave(brokenOff(from, pieces, 5, [failure]));
      t.equal((await clients.chat(`${from}-then-chat`)).said, text, failure);
    }
});

await test('Claude up to 4.5 is given a prefill, whatever its client speaks', async (t) => {
  await first.behave((entry) => brokenOff(spokenIn(entry), pieces, 3, [rst]));
  await second.behave(goesOn(text));
  for (const client of dialects) {
    await clients[client]('chat-then-messages');
    t.same(
      lastMessages(second).map(({ role }) => role),
      ['user', 'assistant'],
      client,
    );
  }
});

await test('the blocks and items of a joined answer are numbered as one', async (t) => {
  await first.behave((entry) => brokenOff(spokenIn(entry), pieces, 4, [rst]));
  await second.behave((entry) => told(spokenIn(entry), piecesOf(text.slice(pieces.slice(0, 4).join('').length))));
  const message = (await clients.messages('messages-then-messages')).whole as Anthropic.Message;
  t.match(message.content, [{ type: 'text', text }]);
  for (const alias of ['chat-then-chat', 'responses-then-messages'])
    t.match(((await clients.messages(alias)).whole as Anthropic.Message).content, { length: 1 }, alias);
  t.match(message, { id: 'msg_first', model: 'first', stop_reason: 'end_turn' });
  const { whole } = await clients.responses('responses-then-chat');
  t.match(whole, { output: [{ type: 'message', content: [{ type: 'output_text', text }] }], status: 'completed' });
});

await test('a joined response is kept as the client has read it, and can be continued', async (t) => {
  await first.behave((entry) => brokenOff(spokenIn(entry), pieces, 4, [rst]));
  await second.behave(goesOn(text));
  const { whole } = await clients.responses('responses-then-responses');
  const { id } = whole as OpenAI.Responses.Response;
  const kept = await openai.responses.retrieve(id);
  t.equal(kept.output_text, text);
  await first.behave((entry) => told(spokenIn(entry), ['Yes.']));
  await openai.responses.create({ model: 'chat-then-chat', input: 'And the dog?', previous_response_id: id });
  t.match(JSON.stringify(lastMessages(first)[1]?.content), /Katze/);
});
