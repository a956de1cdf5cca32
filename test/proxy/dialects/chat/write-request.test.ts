// Requests of other clients are written as each server of chat understands them, and what it cannot be told is named.
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { ConversationRequest } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import type { Quirks } from '../../../../proxy/dialects/quirks.ts';
import { leastRequest } from '../least-request.ts';
import { plain } from './recorded.ts';

const asked: ConversationRequest = { ...leastRequest, dialect: 'messages' };

interface Written {
  readonly body: Readonly<Record<string, unknown>>;
  readonly messages: readonly unknown[];
  readonly losses: readonly string[];
}

function write(request: Partial<ConversationRequest>, quirks: Quirks = {}, model = 'm'): Written {
  const losses: string[] = [];
  const told = {
    hint: (field: string) => void losses.push(`hint ${field}`),
    meaning: (field: string) => void losses.push(`meaning ${field}`),
  };
  const written = plain(chatTranslation.writeRequest({ ...asked, ...request }, { model, quirks }, told));
  const { messages, model: _, ...body } = written as Record<string, unknown>;
  return { body, messages: messages as unknown[], losses };
}

const saying = (...parts: Part[]): Partial<ConversationRequest> => ({ turns: [{ role: 'user', parts }] });
const answering = (...parts: Part[]): Partial<ConversationRequest> => ({ turns: [{ role: 'assistant', parts }] });
const text = (said: string): Part => ({ kind: 'text', text: said });
const image: Part = { kind: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' } };
const shownImage = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const f = { kind: 'function', name: 'f' } as const;
const schema = { kind: 'schema', schema: { type: 'object' } } as const;
const inventor: Quirks = { isInventor: true };

const settings: readonly (readonly [Partial<ConversationRequest>, Quirks, string, object, readonly string[]])[] = [
  [{ maxTokens: 9 }, {}, 'gpt-5', { max_tokens: 9 }, []],
  [{ maxTokens: 9 }, inventor, 'gpt-4o', { max_tokens: 9 }, []],
  [{ maxTokens: 9 }, inventor, 'gpt-5-mini', { max_completion_tokens: 9 }, []],
  [{ maxTokens: 9 }, inventor, 'o3', { max_completion_tokens: 9 }, []],
  [{ maxTokens: 9 }, { ...inventor, maxTokens: 'max_tokens' }, 'o3', { max_tokens: 9 }, []],
  [{ stream: true }, {}, 'm', { stream: true, stream_options: { include_usage: true } }, []],
  [{ stream: true }, { without: ['stream_options'] }, 'm', { stream: true }, []],
  [{ thinking: { effort: 'max' } }, {}, 'm', { reasoning_effort: 'high' }, ['hint thinking']],
  [{ thinking: { effort: 'max' } }, inventor, 'gpt-5.2', { reasoning_effort: 'xhigh' }, ['hint thinking']],
  [{ thinking: { mode: 'on', budgetTokens: 12_000 } }, {}, 'm', { reasoning_effort: 'medium' }, ['hint thinking']],
  [{ thinking: { mode: 'adaptive' } }, {}, 'm', { reasoning_effort: 'medium' }, []],
  [{ thinking: { mode: 'off' } }, inventor, 'gpt-5.1', { reasoning_effort: 'none' }, []],
  [{ thinking: { mode: 'off' } }, inventor, 'gpt-5', { reasoning_effort: 'minimal' }, ['hint thinking']],
  [{ thinking: { mode: 'off' } }, inventor, 'gpt-4o', {}, []],
  [{ thinking: { effort: 'low' } }, inventor, 'gpt-4o', {}, ['hint thinking']],
  [{ thinking: { effort: 'low' } }, { thinking: 'none' }, 'm', {}, ['hint thinking']],
  [{ thinking: { mode: 'on', budgetTokens: 9 } }, { thinking: 'reasoning' }, 'm', { reasoning: { max_tokens: 9 } }, []],
  [{ thinking: { mode: 'off' } }, { thinking: 'reasoning' }, 'm', { reasoning: { enabled: false } }, []],
  [{ sampling: { temperature: 0.2, topK: 5 } }, {}, 'm', { temperature: 0.2 }, ['hint top_k']],
  [{ sampling: { temperature: 0.2 } }, inventor, 'o3', {}, ['hint temperature']],
  [{ sampling: { temperature: 1 } }, inventor, 'o3', { temperature: 1 }, []],
  [{ sampling: { seed: 1 } }, { without: ['seed'] }, 'm', {}, ['hint seed']],
  [{ sampling: { logprobs: true, topLogprobs: 2 } }, { without: ['logprobs'] }, 'm', {}, ['meaning logprobs']],
  [{ stop: ['a'] }, {}, 'm', { stop: ['a'] }, []],
  [{ stop: ['a'] }, { without: ['stop'] }, 'm', {}, ['meaning stop_sequences']],
  [{ output: { kind: 'json' } }, { without: ['response_format'] }, 'm', {}, ['meaning output_config.format']],
  [
    { output: schema },
    {},
    'm',
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } } },
    [],
  ],
  [
    { output: schema },
    { outputSchema: false },
    'm',
    { response_format: { type: 'json_object' } },
    ['meaning output_config.format'],
  ],
  [
    { user: 'a', metadata: { b: 'c' }, serviceTier: 'flex' },
    {},
    'm',
    { user: 'a' },
    ['hint metadata', 'hint service_tier'],
  ],
  [{ user: 'a'.repeat(65) }, {}, 'm', {}, ['hint metadata.user_id']],
  [{ verbosity: 'low' }, inventor, 'gpt-5', { verbosity: 'low' }, []],
  [{ toolChoice: { kind: 'none' }, parallelTools: false }, {}, 'm', {}, []],
  [
    { tools: [f], toolChoice: { kind: 'required' }, parallelTools: false },
    { without: ['tool_choice', 'parallel_tool_calls'] },
    'm',
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    ['meaning tool_choice', 'hint tool_choice.disable_parallel_tool_use'],
  ],
  [
    { tools: [{ kind: 'foreign', dialect: 'messages', name: 'web_search_20250305', value: {} }] },
    {},
    'm',
    {},
    ['meaning tools[0]'],
  ],
  [
    {
      ownMembers: [
        { path: ['a', 'b'], value: 1, isMeaning: false },
        { path: ['c'], value: 1, isMeaning: true },
      ],
    },
    {},
    'm',
    {},
    ['hint a.b', 'meaning c'],
  ],
  [{}, { adds: { version: '1' } }, 'm', { version: '1' }, []],
];

await test('settings are written as the server has them, and losses are named as the client does', async (t) => {
  for (const [request, quirks, model, expected, lost] of settings) {
    const { body, losses } = write(request, quirks, model);
    t.strictSame([body, losses], [expected, lost], JSON.stringify([request, quirks, model]));
  }
  const inPath = chatTranslation.writeRequest(
    asked,
    { model: 'm', quirks: { isModelInPath: true } },
    { hint() {}, meaning() {} },
  );
  t.notOk('model' in inPath);
});

await test('texts are one text, and lists are written where they must be', async (t) => {
  const system = [
    { kind: 'text', text: 'A.', cacheMark: { type: 'ephemeral' } },
    { kind: 'text', text: 'B.' },
  ] as const;
  const { messages, losses } = write({ system, ...saying(text('1'), text('2')) });
  t.strictSame(messages, [
    { role: 'system', content: 'A.\n\nB.' },
    { role: 'user', content: '1\n\n2' },
  ]);
  t.strictSame(losses, ['hint cache_control']);
  const shown = [{ role: 'user', content: [{ type: 'text', text: '1' }, shownImage] }];
  t.strictSame(write(saying(text('1'), image)).messages, shown);
  const only = write(saying(text('1'), image), { hasOnlyTextContent: true });
  t.strictSame([only.messages, only.losses], [[{ role: 'user', content: '1' }], ['meaning messages']]);
});

await test('the role of developers is told only where it is known', async (t) => {
  const said = chatTranslation.readRequest({
    messages: [
      { role: 'developer', content: 'A' },
      { role: 'user', content: 'Hi' },
    ],
  });
  t.match(write(said).messages[0], { role: 'developer' });
  t.match(write(said, { hasOnlySystemRole: true }).messages[0], { role: 'system' });
});

await test('results of tools come before the words of their turn, which show their images', async (t) => {
  const { messages, losses } = write(
    saying(
      text('Well?'),
      { kind: 'tool_result', callId: 'a', content: [{ kind: 'text', text: '1' }], isError: true, isFreeText: false },
      { kind: 'tool_result', callId: 'b', content: [image], isError: false, isFreeText: false },
    ),
  );
  t.strictSame(messages, [
    { role: 'tool', tool_call_id: 'a', content: '1' },
    { role: 'tool', tool_call_id: 'b', content: '' },
    { role: 'user', content: [shownImage, { type: 'text', text: 'Well?' }] },
  ]);
  t.strictSame(losses, ['hint messages.content.is_error']);
});

await test('free text is a function where tools take JSON alone', async (t) => {
  const request: Partial<ConversationRequest> = {
    tools: [{ kind: 'free_text', name: 'patch' }],
    toolChoice: { kind: 'tool', name: 'patch' },
    ...answering({ kind: 'tool_call', id: 'a', name: 'patch', input: 'x', isFreeText: true }),
  };
  const asFunction = write(request);
  t.match(asFunction.body, {
    tools: [{ type: 'function', function: { name: 'patch' } }],
    tool_choice: { type: 'function' },
  });
  t.match(asFunction.messages, [{ tool_calls: [{ type: 'function', function: { arguments: '{"input":"x"}' } }] }]);
  const custom = write(request, inventor);
  t.match(custom.body, { tools: [{ type: 'custom', custom: { name: 'patch' } }], tool_choice: { type: 'custom' } });
  t.match(custom.messages, [{ tool_calls: [{ type: 'custom', custom: { input: 'x' } }] }]);
});

await test('thoughts go back to the server that can take them', async (t) => {
  const bare: Part = { kind: 'reasoning', text: 'Hm.', summary: [] };
  const signed: Part = { ...bare, signature: { family: 'anthropic', value: 's' } };
  const turn = (quirks: Quirks, ...parts: Part[]): unknown => {
    const { messages, losses } = write(answering(...parts, text('So.')), quirks);
    return [messages[0], losses];
  };
  const words = { role: 'assistant', content: 'So.' };
  t.strictSame(turn({}, bare), [{ ...words, reasoning_content: 'Hm.' }, []]);
  t.strictSame(turn({ without: ['reasoning_content'] }, bare), [words, ['hint messages.thinking']]);
  t.strictSame(turn(inventor, bare), [words, ['hint messages.thinking']]);
  t.strictSame(turn({}, signed), [words, ['hint messages.thinking']]);
  const detail = { type: 'reasoning.text', text: 'Hm.', signature: 's', format: 'anthropic-claude-v1', index: 0 };
  t.strictSame(turn({ thinking: 'reasoning' }, signed), [{ ...words, reasoning_details: [detail] }, []]);
});

await test('proof that a model of Google thought goes back to Google, with its call or its words', async (t) => {
  const signature = { family: 'google', value: 's' } as const;
  const proof: Part = { kind: 'reasoning', text: '', summary: [], signature };
  const called = (id: string): Part => ({ kind: 'tool_call', id, name: 'f', input: '{}', isFreeText: false });
  const [first, second] = [called('a'), called('b')] as const;
  const write3 = (quirks: Quirks, model: string, ...parts: Part[]): unknown => {
    const { messages, losses } = write(answering(...parts), quirks, model);
    return [messages[0], losses];
  };
  const google: Quirks = { takesProof: true };
  const plainCall = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const withProof = (value: string) => ({ extra_content: { google: { thought_signature: value } } });
  const calls = (...tool_calls: object[]) => [{ role: 'assistant', content: null, tool_calls }, []];
  const signed: Part = { ...(first as Extract<Part, { kind: 'tool_call' }>), signature };
  for (const [quirks, model] of [
    [google, 'm'],
    [{}, 'models/gemini-3-flash-preview'],
  ] as const) {
    t.strictSame(
      write3(quirks, model, signed, second),
      calls({ ...plainCall('a'), ...withProof('s') }, plainCall('b')),
      model,
    );
  }
  t.strictSame(write3(google, 'm', proof, text('So.')), [{ role: 'assistant', content: 'So.', ...withProof('s') }, []]);
  const behind = { role: 'assistant', content: null, tool_calls: [{ ...plainCall('a'), ...withProof('s') }] };
  t.strictSame(write3(google, 'm', proof, first), [{ ...behind, ...withProof('s') }, []], 'of the call behind it');
  const unproved = withProof('skip_thought_signature_validator');
  const made = calls({ ...plainCall('a'), ...unproved }, plainCall('b'));
  t.strictSame(write3(google, 'gemini-3-pro-preview', first, second), made, 'calls that another model made');
  t.strictSame(write3(google, 'gemini-2.5-pro', first), calls(plainCall('a')));
  t.strictSame(write3({}, 'm', signed), calls(plainCall('a')), 'another server');
});

await test('parts that chat has no word for are lost by name', async (t) => {
  const parts: readonly Part[] = [
    { kind: 'foreign', dialect: 'messages', name: 'search_result', value: {} },
    { kind: 'image', source: { kind: 'id', id: 'file_1' } },
    { kind: 'file', source: { kind: 'url', url: 'https://example.com/a.pdf' } },
  ];
  for (const part of parts) {
    const { losses, messages } = write(saying(part, text('Hi')));
    t.strictSame([losses, messages], [['meaning messages'], [{ role: 'user', content: 'Hi' }]]);
  }
  const paper: Part = { kind: 'file', source: { kind: 'text', text: 'Words.' } };
  t.strictSame(write(saying(paper)).messages, [{ role: 'user', content: 'Words.' }]);
});
