// Aliases with `rescue`: a stream that breaks in the middle is told to its end by another target, and the client reads one answer.
import { OpenAI } from 'openai';
import { t as suite, test } from 'tap';
import { begunIn, brokenOff, eventsOf, goesOn, lastMessages, piecesOf, told } from '../support/broken-streams.ts';
import { fin, rst, silence, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, untilIdle } from '../support/gateway.ts';
import { recordOf } from '../support/journal.ts';
import { createRandom } from '../support/random.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(120_000);

const models = [{ id: 'm', pricing: { input_per_mtok: 1, output_per_mtok: 2 } }];
const [first, second, third] = await Promise.all(
  ['a', 'b', 'c'].map(() => startFakeUpstream({ t: suite, models: ['m'] })),
);
if (first === undefined || second === undefined || third === undefined) throw new Error('no providers');
const provider = { type: 'openai', models, circuit_breaker: false };
const usual = { strategy: 'failover', retry: { budget: 1 } };
const two = [{ model: 'first/m' }, { model: 'second/m' }];
const gateway = await shareGateway({
  config: {
    providers: {
      first: { ...provider, base_url: first.url, timeouts: { stream_idle: '300ms' } },
      second: { ...provider, base_url: second.url },
      third: { ...provider, base_url: third.url },
      mistral: { ...provider, type: 'mistral', base_url: second.url },
    },
    aliases: [
      { source: 'plain', ...usual, targets: two },
      { source: 'goes-on', ...usual, targets: two, rescue: 'continue' },
      { source: 'again', ...usual, targets: two, rescue: 'restart' },
      { source: 'three', ...usual, targets: [...two, { model: 'third/m' }], rescue: 'continue' },
      { source: 'prefixed', ...usual, targets: [{ model: 'first/m' }, { model: 'mistral/m' }], rescue: 'continue' },
    ],
    server: { access_log: 'all' },
  },
});
const openai = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const text =
  'Der schnelle braune Fuchs 🦊 springt über den faulen Hund — 狐狸跳過懶狗. Hello, hello world!\n\n1. a\n2. b';
const pieces = piecesOf(text);
const messages = [{ role: 'user' as const, content: 'Tell me of the fox.' }];

suite.afterEach(() => untilIdle(gateway));

/** What the client reads of a stream of chat; `error`: what its SDK throws. */
async function read(model: string, more: object = {}) {
  const { data: stream, response } = await openai.chat.completions
    .create({ model, messages, stream: true, stream_options: { include_usage: true }, ...more })
    .withResponse();
  const seen = { text: '', ids: new Set<string>(), models: new Set<string>(), roles: 0, finishes: [] as string[] };
  const id = response.headers.get('x-request-id') ?? '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  let mark: unknown;
  try {
    for await (const chunk of stream) {
      seen.ids.add(chunk.id);
      seen.models.add(chunk.model);
      usage ??= chunk.usage;
      mark ??= (chunk as { x_gateway?: unknown }).x_gateway;
      const [choice] = chunk.choices;
      if (choice?.delta.role !== undefined) seen.roles += 1;
      seen.text += choice?.delta.content ?? '';
      if (choice?.finish_reason) seen.finishes.push(choice.finish_reason);
    }
  } catch (error) {
    return { id, ...seen, usage, mark, error: String(error) };
  }
  return { id, ...seen, usage, mark, error: undefined };
}

await test('wherever the first provider breaks off, the client reads one answer, and both are counted', async (t) => {
  await second.behave(goesOn(text));
  const ends = [
    [rst],
    [fin],
    ['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'],
    ['data: {"id":"chat'],
  ];
  for (let after = 0; after <= pieces.length; after += 1) {
    await first.behave(brokenOff('chat', pieces, after, ends[after % ends.length] ?? []));
    const answer = await read('goes-on');
    t.equal(answer.error, undefined, `after ${after}`);
    t.equal(answer.text, text, `after ${after}`);
    t.same([answer.ids.size, answer.models.size, answer.roles, answer.finishes], [1, 1, 1, ['stop']]);
    if (after > 0) t.same(answer.mark, { rescued: 'continue' });
  }
});

await test('a stall is a break, too, and the next target is given what was said', async (t) => {
  await first.behave(brokenOff('chat', pieces, 5, [silence]));
  await second.behave(goesOn(text));
  const answer = await read('goes-on');
  t.equal(answer.text, text);
  const said = pieces.slice(0, 5).join('');
  const sent = lastMessages(second);
  t.same(
    sent.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  );
  t.equal(sent[1]?.content, said);
  t.match(sent[2]?.content, /exactly the point/);
});

await test('the record, the line and the metrics tell of both attempts, and each is paid once', async (t) => {
  const metric = async (name: string, labels: Record<string, string>): Promise<number> =>
    (await gateway.metric(name, labels)) ?? 0;
  const counted = { provider: 'first', outcome: 'rescued' };
  const before = {
    rescued: await metric('gateway_stream_rescues_total', counted),
    tokens: await metric('gateway_tokens_total', { provider: 'first' }),
    cost: await metric('gateway_cost_dollars_total', {}),
  };
  await first.behave(brokenOff('chat', pieces, 8, [rst]));
  await second.behave(goesOn(text));
  const answer = await read('goes-on');
  await untilIdle(gateway);
  const { attempts, data, status_code } = await recordOf(gateway, answer.id);
  t.equal(status_code, 200);
  t.match(data, { rescued: 'continue', failover: { target_model: 'second/m' } });
  t.match(attempts, [
    { kind: 'primary', provider_name: 'first', success: false, error_code: 'stream_incomplete' },
    { kind: 'failover', provider_name: 'second', success: true },
  ]);
  const [one, other] = attempts.map(({ usage }) => usage);
  t.equal(one?.source, 'partial', 'what broke off is estimated');
  t.ok((one?.output_tokens ?? 0) > 0);
  t.equal(other?.input_tokens, 11);
  t.equal(answer.usage?.prompt_tokens, (one?.input_tokens ?? 0) + 11, 'the client is told the sum');
  t.equal(answer.usage?.completion_tokens, (one?.output_tokens ?? 0) + (other?.output_tokens ?? 0));
  t.equal(await metric('gateway_stream_rescues_total', counted), before.rescued + 1);
  t.equal(await metric('gateway_tokens_total', { provider: 'first' }), before.tokens + (one?.total_tokens ?? 0));
  const paid = attempts.reduce((sum, { usage }) => sum + (usage?.cost?.total ?? 0), 0) / 1e9;
  t.equal(((await metric('gateway_cost_dollars_total', {})) - before.cost).toFixed(9), paid.toFixed(9));
  const line = await waitFor('its line', () => gateway.process.stdout.find((each) => each.includes(answer.id)));
  t.match(line, /"rescued":"continue"/);
  t.match(line, /"attempts":\[\{"provider":"first".*"stream_incomplete"\},\{"provider":"second"/);
});

await test('two may break off one after the other; where none is left, the stream ends with the error', async (t) => {
  await first.behave(brokenOff('chat', pieces, 3, [rst]));
  const rest = pieces.slice(3);
  await second.behave(brokenOff('chat', rest, 4, [rst]));
  await third.behave(goesOn(text));
  const answer = await read('three');
  t.equal(answer.text, text);
  t.equal((await recordOf(gateway, answer.id)).attempts?.length, 3);
  const short = await read('goes-on');
  t.equal(short.text, pieces.slice(0, 7).join(''));
  t.match(short.error, /stopped in the middle/);
  t.equal(short.mark, undefined);
  t.equal((await recordOf(gateway, short.id)).data?.error_provider, 'second', 'the one that broke off last');
  const none = await read('plain');
  t.equal(none.text, pieces.slice(0, 3).join(''), 'without rescue nothing changes');
  t.ok(none.error);
});

await test('wherever two break off, the third one tells the rest', async (t) => {
  const random = createRandom(5);
  await third.behave(goesOn(text));
  for (let round = 0; round < 7; round += 1) {
    const [one = 0, other = 0] = [random(), random()]
      .map((share) => Math.floor(share * pieces.length))
      .toSorted((a, b) => a - b);
    await first.behave(brokenOff('chat', pieces, one, [rst]));
    await second.behave((entry) => {
      const rest = text.slice(begunIn(entry)?.length ?? 0);
      return brokenOff('chat', piecesOf(rest), other - one, [rst]);
    });
    t.equal((await read('three')).text, text, `${one} ${other}`);
  }
});

await test('what the next target repeats is cut', async (t) => {
  const said = pieces.slice(0, 9).join('');
  for (const repeated of [said, said.slice(-12), said.slice(said.lastIndexOf(' ') + 1)]) {
    await first.behave(brokenOff('chat', pieces, 9, [rst]));
    await second.behave(told('chat', piecesOf(repeated + text.slice(said.length))));
    t.equal((await read('goes-on')).text, text, JSON.stringify(repeated));
  }
  await first.behave(brokenOff('chat', pieces, 9, [rst]));
  await second.behave(told('chat', piecesOf(text)));
  t.equal((await read('prefixed')).text, text, 'a provider that begins with its prefix');
  const sent = lastMessages(second);
  t.match(sent.at(-1), { role: 'assistant', content: said.trimEnd(), prefix: true });
});

await test('restart: the same beginning is told once, another one ends with the error', async (t) => {
  await first.behave(brokenOff('chat', pieces, 6, [rst]));
  await second.behave(told('chat', [text]));
  const same = await read('again');
  t.equal(same.text, text);
  t.same(same.mark, { rescued: 'restart' });
  t.same(
    lastMessages(second).map(({ role }) => role),
    ['user'],
    'it is asked anew',
  );
  await second.behave(told('chat', ['Something else.']));
  const other = await read('again');
  t.equal(other.text, pieces.slice(0, 6).join(''));
  t.ok(other.error);
  t.equal(await gateway.metric('gateway_stream_rescues_total', { provider: 'first', outcome: 'differs' }), 1);
});

await test('a tool call that broke off is made anew by the next target, and the client gets it once', async (t) => {
  const call = (args: string, more: object = {}) =>
    `data: ${JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, function: { arguments: args }, ...more }] },
          finish_reason: null,
        },
      ],
    })}\n\n`;
  const end = (reason: string) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: reason }] })}\n\ndata: [DONE]\n\n`;
  const opened = (id: string) => call('', { id, type: 'function', function: { name: 'look', arguments: '' } });
  const spoken = ['Let me ', 'look.'];
  const saying = eventsOf.chat(spoken, 'first').slice(0, 3);
  await first.behave({ kind: 'sse', chunks: [...saying, opened('call_1'), call('{"city":"Ber'), rst] });
  await second.behave({
    kind: 'sse',
    chunks: [opened('call_2'), call('{"city":'), call('"Bonn"}'), end('tool_calls')],
  });
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  const stream = openai.chat.completions.stream({ model: 'goes-on', messages, tools });
  const answer = await stream.finalChatCompletion();
  t.match(answer.choices, [
    {
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look.',
        tool_calls: [{ id: 'call_2', function: { name: 'look', arguments: '{"city":"Bonn"}' } }],
      },
    },
  ]);
  t.equal(answer.choices[0]?.message.tool_calls?.length, 1);
});

await test('what cannot be joined is relayed as without rescue', async (t) => {
  await first.behave(brokenOff('chat', pieces, 6, [rst]));
  const before = second.ledger.length;
  for (const more of [
    { n: 2 },
    { logprobs: true },
    { response_format: { type: 'json_object' } },
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } } },
  ])
    t.ok((await read('goes-on', more)).error, JSON.stringify(more));
  t.equal(second.ledger.length, before, 'no other target is asked');
});
