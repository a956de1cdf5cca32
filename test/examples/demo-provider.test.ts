// The demo provider stands in for three APIs: what it says satisfies the official readers of chat completions and responses, and the
// published shapes of messages.
import OpenAI, { APIError } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming as Chat } from 'openai/resources/chat/completions';
import type { ResponseCreateParamsNonStreaming as Respond } from 'openai/resources/responses/responses';
import { t as suite, test } from 'tap';
import { startProcess } from '../support/process.ts';

const child = await startProcess({
  t: suite,
  entry: 'deploy/demo-provider/provider.ts',
  env: { DEMO_PROVIDER_PORT: '0', DEMO_TOKEN_INTERVAL_MS: '0' },
});
suite.teardown(() => child.stop());
const client = new OpenAI({ apiKey: 'anything', baseURL: `${child.address}/v1`, maxRetries: 0 });

type Members = Readonly<Record<string, unknown>>;
interface Block extends Members {
  readonly type: string;
}
interface Message extends Members {
  readonly content: readonly Block[];
  readonly usage: Members;
}

const model = 'demo-small';
const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'kelvin'] }, days: { type: 'integer' } },
  required: ['city', 'unit', 'days'],
  additionalProperties: false,
};
const clock = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const question = 'Use get_weather and get time for the next 3 days in New York, please.';
const inputs = [{ city: 'New York', unit: 'celsius', days: 3 }, { city: 'New York' }];
/** One pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const seen = 'I see 2 images: one of 70 bytes (image/png), 1 × 1 pixels; one at https://example.com/cat.png.';
const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 18 },
    likes: { type: 'array', items: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/thing' }] } },
  },
  required: ['name', 'age', 'likes'],
  $defs: { thing: { type: 'object', properties: { isNice: { type: 'boolean' } }, required: ['isNice'] } },
};
const described = 'Alice is 42 years old.';
const instance = { name: 'Alice', age: 42, likes: [{ isNice: true }] };

const chatTools = [
  { type: 'function' as const, function: { name: 'get_weather', parameters: weather, strict: true } },
  { type: 'function' as const, function: { name: 'get_time', parameters: clock } },
];
const flatTools = [
  { type: 'function' as const, name: 'get_weather', parameters: weather, strict: true },
  { type: 'function' as const, name: 'get_time', parameters: clock, strict: false },
];
const claudeTools = [
  { name: 'get_weather', input_schema: weather },
  { name: 'get_time', input_schema: clock },
];

const ask = (content: string) => [{ role: 'user' as const, content }];
const chat = (body: Partial<Chat>): Chat => ({ model, messages: ask(question), ...body });
const respond = (body: Partial<Respond>): Respond => ({ model, input: question, ...body });

async function post(path: string, body: object): Promise<Response> {
  const headers = { 'x-api-key': 'anything' };
  return fetch(`${child.address}${path}`, { method: 'POST', headers, body: JSON.stringify({ model, ...body }) });
}

async function say(body: object): Promise<Message> {
  return (await (await post('/v1/messages', { max_tokens: 2000, ...body })).json()) as Message;
}

/** The events of a streamed message; each has its type as a name. */
async function sayEvents(body: object): Promise<Block[]> {
  const response = await post('/v1/messages', { max_tokens: 2000, ...body, stream: true });
  const events = (await response.text()).split('\n\n').filter((text) => text !== '');
  return events.map((text) => {
    const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(text) ?? [];
    const event = JSON.parse(data ?? '') as Block;
    if (event.type !== name) throw new Error(`${event.type} is named ${name}`);
    return event;
  });
}

/** The blocks that deltas add up to, as a client would. */
function fold(events: readonly Block[]): Members[] {
  const blocks: Record<string, unknown>[] = [];
  for (const event of events) {
    const block = blocks[Number(event['index'])];
    if (event.type === 'content_block_start') blocks.push({ ...(event['content_block'] as Block), json: '' });
    if (event.type !== 'content_block_delta' || block === undefined) continue;
    for (const [name, piece] of Object.entries(event['delta'] as Members)) {
      const member = name === 'partial_json' ? 'json' : name;
      if (name !== 'type') block[member] = `${String(block[member])}${String(piece)}`;
    }
  }
  return blocks.map(({ json, ...block }) => (json === '' ? block : { ...block, input: JSON.parse(String(json)) }));
}

async function refusal(asked: Promise<unknown>): Promise<APIError> {
  const error: unknown = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error('it was not refused');
}

await test('chat: tools are called at once, their results are quoted', async (t) => {
  const body = chat({ tools: chatTools });
  const whole = await client.chat.completions.create(body);
  const streamed = await client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion();
  t.match(streamed.choices, whole.choices, 'a stream says the same');
  t.match(whole.choices, [{ finish_reason: 'tool_calls', message: { content: null } }]);
  const calls = (whole.choices[0]?.message.tool_calls ?? []).filter((call) => call.type === 'function');
  t.strictSame(
    calls.map((call) => JSON.parse(call.function.arguments) as unknown),
    inputs,
  );
  const results = calls.map(({ id }, index) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: `result ${index}`,
  }));
  const message = whole.choices[0]?.message;
  if (message === undefined) throw new Error('no message');
  const after = await client.chat.completions.create({ ...body, messages: [...body.messages, message, ...results] });
  t.match(after.choices, [
    { finish_reason: 'stop', message: { content: 'get_weather says “result 0”. get_time says “result 1”.' } },
  ]);
  t.match(await refusal(client.chat.completions.create({ ...body, messages: [...body.messages, message] })), {
    status: 400,
    param: 'messages[1].role',
    message: new RegExp(`did not have response messages: ${calls[0]?.id}`),
  });
});

await test('chat: arguments are streamed in pieces', async (t) => {
  const pieces: string[] = [];
  for await (const { choices } of await client.chat.completions.create({
    ...chat({ tools: chatTools }),
    stream: true,
  })) {
    for (const call of choices[0]?.delta.tool_calls ?? [])
      if (call.index === 0) pieces.push(call.function?.arguments ?? '');
  }
  t.ok(pieces.length > 5);
  t.strictSame(JSON.parse(pieces.join('')), inputs[0]);
});

await test('chat: who chooses tools', async (t) => {
  const namesFor = async (body: Partial<Chat>): Promise<unknown> => {
    const { choices } = await client.chat.completions.create(chat({ tools: chatTools, ...body }));
    return choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.name);
  };
  const hello = ask('Hello');
  t.strictSame(await namesFor({ messages: hello }), undefined, 'none is named');
  t.strictSame(await namesFor({ messages: hello, tool_choice: 'required' }), ['get_weather']);
  const forced = { type: 'function', function: { name: 'get_time' } } as const;
  t.strictSame(await namesFor({ tool_choice: forced }), ['get_time']);
  t.strictSame(await namesFor({ tool_choice: 'none' }), undefined);
  t.strictSame(await namesFor({ parallel_tool_calls: false }), ['get_weather']);
});

await test('chat: a schema gives an instance, a limit and a stop their finish reasons, effort its thoughts', async (t) => {
  const format = { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } } as const;
  const parsed = await client.chat.completions.parse(chat({ messages: ask(described), response_format: format }));
  t.strictSame(parsed.choices[0]?.message.parsed, instance);
  const any = await client.chat.completions.create(chat({ response_format: { type: 'json_object' } }));
  t.match(JSON.parse(any.choices[0]?.message.content ?? ''), { answer: /New York/ });
  const stopped = await client.chat.completions.create(chat({ messages: ask('Hi'), stop: ['demo-'] }));
  t.match(stopped.choices, [{ finish_reason: 'stop', message: { content: /I am $/ } }]);
  const thinking = chat({ messages: ask('Hi'), reasoning_effort: 'low' });
  const thought = await client.chat.completions.create(thinking);
  t.match(thought.choices[0]?.message, { reasoning_content: /The user says “Hi”/, content: /You said: “Hi”/ });
  t.ok((thought.usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 5);
  const cut = await client.chat.completions.create({ ...thinking, max_completion_tokens: 3 });
  t.match(cut.choices, [{ finish_reason: 'length', message: { content: '', reasoning_content: 'The user says' } }]);
});

await test('every dialect: images are counted and measured, URLs are not fetched', async (t) => {
  const data = `data:image/png;base64,${pixel}`;
  const url = 'https://example.com/cat.png';
  const inChat = [data, url].map((value) => ({ type: 'image_url' as const, image_url: { url: value } }));
  const answer = await client.chat.completions.create(chat({ messages: [{ role: 'user', content: inChat }] }));
  const inResponses = [data, url].map((value) => ({
    type: 'input_image' as const,
    image_url: value,
    detail: 'auto' as const,
  }));
  const response = await client.responses.create(respond({ input: [{ role: 'user', content: inResponses }] }));
  const sources = [
    { type: 'base64', media_type: 'image/png', data: pixel },
    { type: 'url', url },
  ];
  const blocks = sources.map((source) => ({ type: 'image', source }));
  const message = await say({ messages: [{ role: 'user', content: blocks }] });
  for (const text of [answer.choices[0]?.message.content, response.output_text, message.content[0]?.['text']]) {
    t.match(text, seen);
  }
});

await test('responses: tools are called at once, their results are quoted, and a stream says the same', async (t) => {
  const body = respond({ tools: flatTools, reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] });
  const whole = await client.responses.create(body);
  const { output_text: _, ...members } = whole;
  t.match(await client.responses.stream({ ...body, stream: true }).finalResponse(), members);
  t.match(whole, { object: 'response', status: 'completed', store: false, incomplete_details: null });
  const [thought, ...calls] = whole.output;
  t.match(thought, { type: 'reasoning', summary: [{ type: 'summary_text', text: /get_weather and get_time/ }] });
  t.strictSame(
    calls.map((call) => call.type === 'function_call' && (JSON.parse(call.arguments) as unknown)),
    inputs,
  );
  const results = calls.flatMap((call, index) =>
    call.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: call.call_id, output: `result ${index}` }]
      : [],
  );
  const said = [{ role: 'user' as const, content: question }, ...whole.output] as OpenAI.Responses.ResponseInput;
  const after = await client.responses.create({ ...body, input: [...said, ...results] });
  t.equal(after.output_text, 'get_weather says “result 0”. get_time says “result 1”.');
  const { input_tokens: input = 0, output_tokens: output = 0, total_tokens: total } = after.usage ?? {};
  t.ok(input > 30 && output > 10 && total === input + output);

  const forged = said.map((item) => ('encrypted_content' in item ? { ...item, encrypted_content: 'gAAAAABm' } : item));
  t.match(await refusal(client.responses.create({ ...body, input: [...forged, ...results] })), {
    status: 400,
    code: 'invalid_encrypted_content',
  });
});

await test('responses: every event of a text, numbered', async (t) => {
  const types: string[] = [];
  for await (const event of await client.responses.create({ ...respond({ input: 'Hi' }), stream: true })) {
    t.equal(event.sequence_number, types.push(event.type) - 1);
  }
  t.strictSame(
    types.filter((type, index) => type !== types[index - 1]),
    [
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ].map((name) => `response.${name}`),
  );
});

await test('responses: a schema gives an instance, a limit an incomplete response, a free text tool text', async (t) => {
  const format = { type: 'json_schema', name: 'person', schema: person, strict: true } as const;
  const parsed = await client.responses.parse(respond({ input: described, text: { format } }));
  t.strictSame(parsed.output_parsed, instance);
  const body = respond({ input: 'Hi', max_output_tokens: 3 });
  const cut = await client.responses.create(body);
  t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  t.match(await client.responses.stream({ ...body, stream: true }).finalResponse(), { status: 'incomplete' });
  const tools = [{ type: 'custom' as const, name: 'apply_patch' }, { type: 'web_search' as const }];
  const patch = respond({ input: 'apply_patch now', tools });
  const expected = [{ type: 'custom_tool_call', name: 'apply_patch', input: 'apply_patch now' }];
  t.match((await client.responses.create(patch)).output, expected);
  t.match((await client.responses.stream({ ...patch, stream: true }).finalResponse()).output, expected);
});

await test('responses: nothing is kept', async (t) => {
  const { id } = await client.responses.create(respond({ input: 'Hi', store: true }));
  t.match(await refusal(client.responses.create(respond({ previous_response_id: id }))), {
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  });
  t.match(await refusal(client.responses.retrieve(id)), { status: 404, type: 'invalid_request_error' });
});

await test('messages: tools and thoughts, at once and streamed, and their way back', async (t) => {
  const body = {
    tools: claudeTools,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    messages: ask(question),
  };
  const whole = await say(body);
  const events = await sayEvents(body);
  t.strictSame(fold(events), whole.content, 'the deltas add up');
  t.match(whole, {
    id: /^msg_/,
    type: 'message',
    role: 'assistant',
    model,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens_details: Object },
  });
  const [thought, ...calls] = whole.content;
  t.match(thought, { type: 'thinking', thinking: /get_weather and get_time/, signature: /.{40}/ });
  t.strictSame(
    calls.map(({ type, name, input }) => ({ type, name, input })),
    ['get_weather', 'get_time'].map((name, index) => ({ type: 'tool_use', name, input: inputs[index] })),
  );
  const results = calls.map(({ id }, index) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: `result ${index}`,
    is_error: index === 1,
  }));
  const go = (content: readonly Members[]): Promise<Message> =>
    say({
      ...body,
      messages: [...body.messages, { role: 'assistant', content }, { role: 'user', content: results }],
    });
  t.match((await go(whole.content)).content.at(-1), {
    type: 'text',
    text: 'get_weather says “result 0”. get_time failed and says “result 1”.',
  });
  t.match(await go([{ ...thought, signature: 'EqoBCkgIARAB' }, ...calls]), {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    },
    request_id: /^req_/,
  });
});

await test('messages: the events of a text, with usage at both ends', async (t) => {
  const events = await sayEvents({ messages: ask('Hi'), stop_sequences: ['demo-'] });
  const types = events.map(({ type }) => type);
  t.strictSame(
    types.filter((type, index) => type !== types[index - 1]),
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  );
  const { usage } = await say({ messages: ask('Hi'), stop_sequences: ['demo-'] });
  t.match(events[0]?.['message'], {
    content: [],
    stop_reason: null,
    usage: { input_tokens: usage['input_tokens'], output_tokens: 1 },
  });
  t.match(events.at(-2), {
    delta: { stop_reason: 'stop_sequence', stop_sequence: 'demo-' },
    usage: { output_tokens: usage['output_tokens'] },
  });
});

await test('messages: forced tools, an instance of a schema, a limit, tokens counted', async (t) => {
  const forced = { tools: claudeTools, messages: ask('Hello'), tool_choice: { type: 'tool', name: 'get_time' } };
  t.match(await say(forced), { content: [{ type: 'tool_use', name: 'get_time', input: { city: 'Hello' } }] });
  const format = { type: 'json_schema', schema: person };
  const structured = await say({ messages: ask(described), output_config: { format } });
  t.strictSame(JSON.parse(String(structured.content[0]?.['text'])), instance);
  t.match(await say({ messages: ask('Hi'), max_tokens: 3 }), {
    stop_reason: 'max_tokens',
    usage: { output_tokens: 3 },
  });
  const counted = await post('/v1/messages/count_tokens', { tools: claudeTools, messages: ask('Hello') });
  const { usage } = await say({ tools: claudeTools, messages: ask('Hello') });
  t.strictSame(await counted.json(), { input_tokens: usage['input_tokens'] });
});

await test('messages: refusals have the form of that API', async (t) => {
  const refused: [body: object, status: number, type: string, message: RegExp][] = [
    [{ model: 'gpt-9', messages: ask('Hi') }, 404, 'not_found_error', /gpt-9/],
    [{ messages: ask('Hi'), max_tokens: undefined }, 400, 'invalid_request_error', /^max_tokens: Field required/],
    [{ messages: [] }, 400, 'invalid_request_error', /^messages: at least one/],
    [{ messages: [{ role: 'tool', content: 'a' }] }, 400, 'invalid_request_error', /^messages\.0: Unexpected role/],
    [{ messages: [{ role: 'user', content: 'a'.repeat(33 * 2 ** 20) }] }, 413, 'request_too_large', /32 MiB/],
  ];
  for (const [body, status, type, message] of refused) {
    const response = await post('/v1/messages', { max_tokens: 9, ...body });
    t.equal(response.status, status);
    t.match(await response.json(), { type: 'error', error: { type, message }, request_id: /^req_/ });
  }
  const response = await fetch(`${child.address}/v1/messages`);
  t.equal(response.status, 405);
  t.match(await response.json(), { type: 'error', error: { type: 'invalid_request_error' } });
});
