// Requests that break the rules of chat are refused with the member that is wrong; what only chat knows is kept.
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';

const user = { role: 'user', content: 'Hi' };
const tool = { type: 'function', function: { name: 'f' } };

const refusals: readonly (readonly [body: object, param: string])[] = [
  [{ messages: undefined }, 'messages'],
  [{ messages: 'Hi' }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: [user, 'Hi'] }, 'messages[1]'],
  [{ messages: [{ content: 'Hi' }] }, 'messages[0].role'],
  [{ messages: [{ role: 'robot', content: 'Hi' }] }, 'messages[0].role'],
  [{ messages: [{ role: 'user', content: 1 }] }, 'messages[0].content'],
  [{ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }, 'messages[0].content[0].type'],
  [{ messages: [user, user, { role: 'user', content: [user, 1] }] }, 'messages[2].content[0].type'],
  [{ messages: [{ role: 'user', content: [{ type: 'text', text: 1 }] }] }, 'messages[0].content[0].text'],
  [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0].image_url'],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
    'messages[0].content[0].image_url.url',
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '' } }] }] },
    'messages[0].content[0].input_audio.format',
  ],
  [{ messages: [{ role: 'user', content: [{ type: 'file', file: {} }] }] }, 'messages[0].content[0].file'],
  [
    { messages: [{ role: 'system', content: [{ type: 'file', file: { file_id: 'a' } }] }] },
    'messages[0].content[0].type',
  ],
  [{ messages: [{ role: 'function', content: 'ok' }] }, 'messages[0].name'],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ id: 7, function: { name: 'f' } }] }] },
    'messages[0].tool_calls[0].id',
  ],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }] },
    'messages[0].tool_calls[0].function.name',
  ],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] }] },
    'messages[0].tool_calls[0].custom',
  ],
  [{ tools: {} }, 'tools'],
  [{ tools: [{}] }, 'tools[0].type'],
  [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
  [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
  [{ tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }, 'tools[0].function.parameters'],
  [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name'],
  [{ functions: [{}] }, 'functions[0].name'],
  [{ tools: [tool], tool_choice: 'f' }, 'tool_choice'],
  [{ tools: [tool], tool_choice: 'toString' }, 'tool_choice'],
  [{ tools: [tool], tool_choice: { type: 'function', function: {} } }, 'tool_choice.function.name'],
  [
    { tools: [tool], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x' } } },
    'tool_choice.allowed_tools.mode',
  ],
  [{ temperature: '1' }, 'temperature'],
  [{ logprobs: 3 }, 'logprobs'],
  [{ logit_bias: [] }, 'logit_bias'],
  [{ stop: 1 }, 'stop'],
  [{ stop: ['a', null] }, 'stop[1]'],
  [{ max_tokens: 'many' }, 'max_tokens'],
  [{ n: 'two' }, 'n'],
  [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
  [{ response_format: {} }, 'response_format.type'],
  [{ reasoning: { max_tokens: 'x' } }, 'reasoning.max_tokens'],
  [{ thinking: { type: 'maybe' } }, 'thinking.type'],
  [{ stream: 1 }, 'stream'],
  [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
  [{ metadata: 'a' }, 'metadata'],
];

await test('a wrong member is refused by its path', async (t) => {
  for (const [body, param] of refusals) {
    const whole = { messages: [user], ...body } as JsonObject;
    t.throws(() => chatTranslation.readRequest(whole), { name: 'InvalidRequest', param }, param);
  }
});

await test('a member that only chat has is a meaning when the answer hangs on it', async (t) => {
  const { ownMembers } = chatTranslation.readRequest({
    messages: [user],
    n: 2,
    modalities: ['audio', 'text'],
    audio: { voice: 'alloy' },
    web_search_options: {},
    response_format: { type: 'grammar' },
    provider: 'openai',
    store: true,
    reasoning_effort: 'default',
    stream_options: { include_usage: true, include_obfuscation: false },
  });
  t.same(
    ownMembers.map(({ path, isMeaning }) => [path.join('.'), isMeaning]),
    [
      ['n', true],
      ['modalities', true],
      ['audio', true],
      ['web_search_options', true],
      ['response_format', true],
      ['reasoning_effort', false],
      ['stream_options.include_obfuscation', false],
      ['provider', false],
      ['store', false],
    ],
  );
});

await test('results of tools know their call and share a turn', async (t) => {
  const { turns, system } = chatTranslation.readRequest({
    messages: [
      { role: 'system', content: 'One.' },
      { role: 'developer', content: 'Two.' },
      user,
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: { x: 1 } } },
          { id: 'b', type: 'custom', custom: { name: 'g', input: 'text' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: '1' }] },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'system', content: 'Three.' },
    ],
  });
  t.same(
    system.map(({ text }) => text),
    ['One.', 'Two.'],
  );
  t.match(turns, [
    { role: 'user' },
    {
      role: 'assistant',
      parts: [
        { kind: 'tool_call', id: 'a', input: '{"x":1}', isFreeText: false },
        { kind: 'tool_call', id: 'b', input: 'text', isFreeText: true },
      ],
    },
    {
      role: 'user',
      parts: [
        { kind: 'tool_result', callId: 'a', name: 'f', isFreeText: false },
        { kind: 'tool_result', callId: 'b', name: 'g', isFreeText: true },
      ],
    },
    { role: 'system', parts: [{ text: 'Three.' }] },
  ]);
});

await test('numbers keep all of their digits', async (t) => {
  const seed = JSON.rawJSON('12345678901234567890');
  t.equal(chatTranslation.readRequest({ messages: [user], seed }).sampling.seed, seed);
});
