// What chat can say of a request passes through the conversation and comes out again.
import * as fc from 'fast-check';
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { runs } from '../../../support/extent.ts';
import { plain } from './recorded.ts';

const lossless = {
  hint: (field: string) => {
    throw new Error(`hint ${field}`);
  },
  meaning: (field: string) => {
    throw new Error(`meaning ${field}`);
  },
};

function again(body: JsonObject): unknown {
  const request = chatTranslation.readRequest(body);
  return plain(chatTranslation.writeRequest(request, { model: 'm', quirks: {} }, lossless));
}

const word = fc.string({ minLength: 1, maxLength: 8 });
const name = fc.stringMatching(/^[a-z_]{1,8}$/);
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => ({ type: 'object', properties: { a: { default: value } } }));
const marks = { cache_control: fc.constant({ type: 'ephemeral', ttl: '1h' }), later: word };
const withMarks = (model: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> => {
  const all: Record<string, fc.Arbitrary<unknown>> = { ...model, ...marks };
  return fc.record(all, { requiredKeys: Object.keys(model) });
};
const textPart = withMarks({ type: fc.constant('text'), text: word });
const imagePart = withMarks({
  type: fc.constant('image_url'),
  image_url: fc.record(
    {
      url: fc.constantFrom('https://example.com/a.png', 'data:image/png;base64,iVBORw0KGgo='),
      detail: fc.constantFrom('low', 'high'),
    },
    { requiredKeys: ['url'] },
  ),
});
const soundPart = fc.constant({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'mp3' } });
const filePart = fc.constantFrom(
  { type: 'file', file: { file_id: 'file-1' } },
  { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } },
);
const foreignPart = fc.constant({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } });
/** A list of one bare text is written as that text, so lists have two parts at least. */
const list = (...parts: fc.Arbitrary<object>[]): fc.Arbitrary<object[]> => {
  return fc.array(fc.oneof(...parts), { minLength: 2, maxLength: 4 });
};
const texts = fc.oneof(word, list(textPart));

const call = fc.oneof(
  fc.record({ name, input: word }).map(({ name: called, input }) => ({
    type: 'function',
    function: { name: called, arguments: JSON.stringify({ input }) },
  })),
  fc.record({ name, input: word }).map((custom) => ({ type: 'custom', custom })),
  fc.record({ name }).map(({ name: called }) => ({
    type: 'function',
    function: { name: called, arguments: '{}' },
    extra_content: { google: { thought_signature: 'CpUB' } },
  })),
);
const thoughts = fc.constantFrom<object[]>(
  {},
  { reasoning_content: 'Let me see.' },
  { extra_content: { anthropic: { thinking_blocks: [{ type: 'redacted_thinking', data: 'EmwK' }] } } },
  {
    reasoning_content: 'Hm.',
    extra_content: { anthropic: { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'ErUB' }] } },
  },
  {
    reasoning_content: 'So.',
    extra_content: {
      openai: {
        reasoning: [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: 'So.' }],
            encrypted_content: 'gAAA',
          },
        ],
      },
    },
  },
);
const user = fc
  .record(
    { content: fc.oneof(word, list(textPart, imagePart, soundPart, filePart, foreignPart)), name, later: word },
    { requiredKeys: ['content'] },
  )
  .map((message) => [{ role: 'user', ...message }])
  .filter(([message]) => message !== undefined && (message.later === undefined || hasKnownPart(message.content)));
/** What only one server knows keeps no members of its message. */
function hasKnownPart(content: string | readonly object[]): boolean {
  return typeof content === 'string' || content.some((part) => !('video_url' in part));
}
const instructions = fc
  .record({ role: fc.constantFrom('system', 'developer'), content: texts, name }, { requiredKeys: ['role', 'content'] })
  .map((message) => [message]);
const spoken = fc
  .tuple(texts, thoughts, fc.constantFrom({}, { refusal: 'No.' }, { audio: { id: 'audio_1' } }))
  .map(([content, thought, more]) => [{ role: 'assistant', content, ...thought, ...more }]);
const called = fc
  .tuple(fc.array(call, { minLength: 1, maxLength: 3 }), thoughts, texts)
  .map(([calls, thought, content]) => {
    const numbered = calls.map((one, index) => ({ id: `call_${index}`, ...one }));
    const results = numbered.map(({ id }) => ({ role: 'tool', tool_call_id: id, content }));
    return [{ role: 'assistant', content: null, ...thought, tool_calls: numbered }, ...results];
  });
const messages = fc
  .tuple(
    fc.array(instructions, { maxLength: 2 }),
    user,
    fc.array(fc.oneof(user, instructions, spoken, called), { maxLength: 5 }),
  )
  .map(([system, first, others]) => [...system, first, ...others].flat());

const tool = fc.oneof(
  fc
    .record({ name, description: word, parameters: json, strict: fc.boolean() }, { requiredKeys: ['name'] })
    .map((described) => ({ type: 'function', function: described })),
  fc.constant({
    type: 'function',
    function: { name: 'f', later: 1 },
    cache_control: { type: 'ephemeral' },
    lazy: true,
  }),
  fc.constant({
    type: 'custom',
    custom: { name: 'patch', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'a' } } },
  }),
  fc.constant({ type: 'web_search', filters: { domains: ['example.com'] } }),
);
const tooled = fc.record(
  {
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: fc.constantFrom('auto', 'none', 'required', { type: 'function', function: { name: 'f' } }),
    parallel_tool_calls: fc.boolean(),
  },
  { requiredKeys: ['tools'] },
);
const settings = fc.record(
  {
    temperature: fc.constantFrom(0, 0.7, 1),
    top_p: fc.constantFrom(0.1, 1),
    top_k: fc.nat(50),
    seed: fc.integer(),
    presence_penalty: fc.constantFrom(-1, 0.5),
    frequency_penalty: fc.constantFrom(0, 2),
    logit_bias: fc.constant({ '50256': -100 }),
    logprobs: fc.boolean(),
    top_logprobs: fc.nat(20),
    stop: fc.array(word, { minLength: 1, maxLength: 4 }),
    max_tokens: fc.nat(),
    n: fc.integer({ min: 2, max: 4 }),
    modalities: fc.constant(['text', 'audio']),
    audio: fc.constant({ voice: 'alloy', format: 'wav' }),
    response_format: fc.oneof(
      fc.constantFrom<object>({ type: 'text' }, { type: 'json_object' }, { type: 'grammar', value: 'a' }),
      json.map((schema) => ({
        type: 'json_schema',
        json_schema: { name: 'a', description: 'b', schema, strict: true },
      })),
    ),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'default'),
    verbosity: fc.constantFrom('low', 'high'),
    user: word,
    metadata: fc.dictionary(name, word),
    service_tier: fc.constantFrom('auto', 'flex'),
    store: fc.boolean(),
    prediction: fc.constant({ type: 'content', content: 'a' }),
    web_search_options: fc.constant({ search_context_size: 'low' }),
    later_member: fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null),
  },
  { requiredKeys: [] },
);
const streamed = fc.constantFrom<object[]>(
  {},
  { stream: true, stream_options: { include_usage: true } },
  { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
);

await test('a request of chat comes out as it was', async (t) => {
  const bodies = fc
    .tuple(messages, fc.oneof(fc.constant({}), tooled), settings, streamed)
    .map(([said, chosen, set, stream]) => {
      const { audio, ...others } = set;
      const voice = others.modalities === undefined || audio === undefined ? {} : { audio };
      return { model: 'm', messages: said, ...chosen, ...others, ...voice, ...stream };
    });
  fc.assert(
    fc.property(bodies, (body) => {
      t.strictSame(again(body as never), plain(body));
      return t.passing();
    }),
    runs(200),
  );
});

await test('other forms of the same come out in one form', async (t) => {
  const said = [{ role: 'user', content: 'Hi' }];
  const written = (body: JsonObject): unknown => again({ messages: said, ...body });
  const f = { name: 'f', parameters: { type: 'object' } };
  const tools = [{ type: 'function', function: f }];
  const forms: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ tools: [{ type: 'function', ...f }] }, { tools }],
    [
      { tools: [{ function: f }], tool_choice: 'any' },
      { tools, tool_choice: 'required' },
    ],
    [
      { functions: [f], function_call: { name: 'f' } },
      { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    [
      { tools, tool_choice: { type: 'function', name: 'f' } },
      { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    [
      {
        tools: [...tools, { type: 'function', function: { name: 'g' } }],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
        },
      },
      { tools, tool_choice: 'required' },
    ],
    [{ stop: 'x', n: 1, modalities: ['text'], user: null }, { stop: ['x'] }],
    [{ max_completion_tokens: 5, max_tokens: 9 }, { max_tokens: 5 }],
    [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
    [{ thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
    [{ thinking: { type: 'between_tools' } }, { thinking: { type: 'between_tools' } }],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
      { messages: [{ role: 'user', content: 'Hi' }] },
    ],
    [
      {
        messages: [
          { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
          { role: 'function', name: 'f', content: '1' },
        ],
      },
      {
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_0_f', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'call_0_f', content: '1' },
        ],
      },
    ],
  ];
  for (const [body, form] of forms) t.strictSame(written(body), { model: 'm', messages: said, ...form });
});

await test('members named like those of every object are members', async (t) => {
  const body = JSON.parse(
    '{"messages":[{"role":"user","content":"Hi"}],"__proto__":{"n":2},"constructor":1}',
  ) as JsonObject;
  const written = chatTranslation.writeRequest(chatTranslation.readRequest(body), { model: 'm', quirks: {} }, lossless);
  t.strictSame(Object.keys(written).sort(), ['__proto__', 'constructor', 'messages', 'model']);
  t.equal(Object.getPrototypeOf(written), Object.prototype);
  t.equal(written['n'], undefined);
});
