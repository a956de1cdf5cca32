// A conversation of another client becomes what Anthropic accepts, and whatever that loses is told.
import { test } from 'tap';
import type { ConversationRequest, Turn } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part, ToolCallPart } from '../../../../proxy/dialects/conversation/parts.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../../proxy/dialects/messages/translate.ts';
import type { Quirks } from '../../../../proxy/dialects/quirks.ts';
import { leastRequest } from '../least-request.ts';

const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const system = (...parts: Part[]): Turn => ({ role: 'system', parts });
const text = (said: string): Part => ({ kind: 'text', text: said });
const call = (id: string, input = '{}'): ToolCallPart => ({
  kind: 'tool_call',
  id,
  name: 'f',
  input,
  isFreeText: false,
});
const result = (callId: string, said = 'r'): Part => ({
  kind: 'tool_result',
  callId,
  content: [{ kind: 'text', text: said }],
  isError: false,
  isFreeText: false,
});
const tool = { kind: 'function', name: 'f', parameters: { type: 'object' } } as const;

interface Written {
  readonly body: JsonObject;
  readonly lost: readonly string[];
}

function write(request: Partial<ConversationRequest>, model = 'claude-sonnet-4-5', quirks: Quirks = {}): Written {
  const lost: string[] = [];
  const losses = {
    hint: (field: string) => lost.push(field),
    meaning: (field: string, because: string) => lost.push(`${field}: ${because}`),
  };
  return { body: messagesTranslation.writeRequest({ ...leastRequest, ...request }, { model, quirks }, losses), lost };
}

await test('the least is a model, a most of tokens and messages', (t) => {
  const { body, lost } = write({});
  t.same(body, { model: 'claude-sonnet-4-5', max_tokens: 4096, messages: [{ role: 'user', content: 'hi' }] });
  t.same(lost, []);
  t.end();
});

await test('a path may name the model, and a cloud may want a version', (t) => {
  const quirks = { isModelInPath: true, adds: { anthropic_version: 'vertex-2023-10-16' } };
  t.same(Object.keys(write({}, 'claude-sonnet-4@20250514', quirks).body), [
    'max_tokens',
    'messages',
    'anthropic_version',
  ]);
  const own = { path: ['anthropic_version'], value: 'mine', isMeaning: false };
  t.match(write({ dialect: 'messages', ownMembers: [own] }, 'm', quirks).body, { anthropic_version: 'mine' });
  t.end();
});

await test('results of tools stand in one message, in front of what the user says', (t) => {
  const turns = [
    user(text('a')),
    assistant(call('c1', '{"x":1}'), call('c2', '')),
    user(result('c1')),
    user(text('and'), result('c2')),
  ];
  const block = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'r' });
  t.same(write({ turns }).body['messages'], [
    { role: 'user', content: 'a' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'c1', name: 'f', input: { x: 1 } },
        { type: 'tool_use', id: 'c2', name: 'f', input: {} },
      ],
    },
    { role: 'user', content: [block('c1'), block('c2'), { type: 'text', text: 'and' }] },
  ]);
  t.end();
});

await test('instructions that lead go to the beginning; later ones keep their place', (t) => {
  const turns = [
    system(text('first')),
    user(text('a')),
    system(text('then')),
    assistant(text('b')),
    system(text('last')),
  ];
  const older = write({ system: [{ kind: 'text', text: 'S' }], turns }).body;
  t.equal(older['system'], 'S\n\nfirst');
  t.same(older['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'then' },
      ],
    },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'last' },
  ]);
  const newest = write({ turns }, 'claude-opus-4-8').body;
  t.equal(newest['system'], 'first');
  const roles = (body: JsonObject) => (body['messages'] as JsonObject[]).map(({ role }) => role);
  t.same(roles(newest), ['user', 'system', 'assistant', 'user']);
  const between = [user(text('a')), assistant(call('c', '')), user(result('c')), system(text('then')), user(text('b'))];
  t.same(roles(write({ turns: between }, 'claude-opus-4-8').body), ['user', 'assistant', 'user'], 'not between words');
  const marked = write({ system: [{ kind: 'text', text: 'S', cacheMark: { type: 'ephemeral' } }] }).body;
  t.same(marked['system'], [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }]);
  const alone = write({ system: [{ kind: 'text', text: 'S' }], turns: [] }).body;
  t.same([alone['system'], alone['messages']], [undefined, [{ role: 'user', content: 'S' }]]);
  const opened = { role: 'user', content: 'Begin.' };
  t.same(write({ turns: [user(text(' '))] }).body['messages'], [opened]);
  const last = write({ turns: [user(text('a')), assistant(text('b'))] }, 'claude-opus-4-6').body['messages'];
  t.same((last as JsonObject[]).at(-1), { role: 'user', content: 'Continue.' }, 'a model that takes no beginning');
  t.same(write({ turns: [assistant(text('Hi!'))] }).body['messages'], [opened, { role: 'assistant', content: 'Hi!' }]);
  t.end();
});

await test('texts of blanks are left out, and turns of nothing', (t) => {
  const turns = [user(text('')), user(text('a'), text(' \n')), assistant(text('')), user(text('b'))];
  const content = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ];
  t.same(write({ turns }).body['messages'], [{ role: 'user', content }]);
  const begun = write({ turns: [user(text('a')), assistant(text('{ \n'))] }).body['messages'] as JsonObject[];
  t.same(begun.at(-1), { role: 'assistant', content: '{' }, 'nor may the last words of the model end with some');
  t.end();
});

await test('images and documents', (t) => {
  const base64 = (mediaType: string, data: string) => ({ kind: 'base64', mediaType, data }) as const;
  const turns = [
    user(
      { kind: 'image', source: { kind: 'url', url: 'https://a/b.png' }, detail: 'high' },
      { kind: 'image', source: base64('image/tiff', 'AA==') },
      { kind: 'file', source: base64('application/pdf', 'JVBERi0='), name: 'a.pdf' },
      { kind: 'file', source: base64('text/csv', Buffer.from('a,b').toString('base64')) },
      { kind: 'file', source: base64('application/zip', 'AA==') },
      { kind: 'file', source: { kind: 'id', id: 'file-1' } },
      { kind: 'audio', source: base64('audio/wav', 'AA==') },
    ),
  ];
  const { body, lost } = write({ turns });
  t.same((body['messages'] as JsonObject[])[0]?.['content'], [
    { type: 'image', source: { type: 'url', url: 'https://a/b.png' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
  ]);
  t.same(lost, [
    'detail',
    'messages: it reads images that are JPEG, PNG, GIF or WebP',
    'messages: it reads documents that are PDF or plain text',
    'messages: it does not have the files of another provider',
    'messages: it does not hear',
  ]);
  t.end();
});

await test('thinking: an effort for newer models, a budget for older ones', (t) => {
  const cases: readonly [ConversationRequest['thinking'], string, JsonObject][] = [
    [{ effort: 'low' }, 'claude-sonnet-4-5', { thinking: { type: 'enabled', budget_tokens: 5000 }, max_tokens: 6024 }],
    [{ effort: 'medium' }, 'claude-3-7-sonnet-20250219', { thinking: { type: 'enabled', budget_tokens: 10_000 } }],
    [{ effort: 'high' }, 'claude-opus-4-20250514', { thinking: { budget_tokens: 20_000 }, max_tokens: 21_024 }],
    [{ mode: 'on', budgetTokens: 12 }, 'claude-haiku-4-5', { thinking: { budget_tokens: 1024 }, max_tokens: 4096 }],
    [{ effort: 'minimal' }, 'claude-opus-4-6', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    [{ effort: 'xhigh' }, 'anthropic.claude-opus-4-6-v1', { output_config: { effort: 'high' } }],
    [{ effort: 'xhigh' }, 'claude-opus-4-7', { output_config: { effort: 'xhigh' }, max_tokens: 4096 }],
    [{ budgetTokens: 16_000 }, 'claude-new', { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
    [{ effort: 'high', summary: 'auto' }, 'claude-opus-4-7', { thinking: { type: 'adaptive', display: 'summarized' } }],
  ];
  for (const [thinking, model, expected] of cases) t.match(write({ thinking }, model).body, expected, model);
  t.notOk('thinking' in write({ thinking: { mode: 'off' } }, 'claude-opus-4-7').body);
  const off = { mode: 'off', effort: 'max' } as const;
  t.match(write({ thinking: off }, 'claude-sonnet-5'), {
    body: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    lost: [],
  });
  t.match(write({ thinking: off }, 'claude-sonnet-5-5').body, { thinking: { type: 'between_tools' } });
  t.same(write({ thinking: off }, 'claude-opus-5-5').lost, ['reasoning_effort']);
  const between = { dialect: 'messages', thinking: { mode: 'off', betweenTools: true } } as const;
  t.match(write(between, 'claude-sonnet-5-5').body, { thinking: { type: 'between_tools' } });
  t.notOk('thinking' in write({ thinking: { summary: 'auto' } }).body);
  t.end();
});

await test('no thoughts where a tool is forced, or where those before its call are gone', (t) => {
  const thinking = { effort: 'low' } as const;
  t.same(write({ thinking, tools: [tool], toolChoice: { kind: 'required' } }).lost, ['reasoning_effort']);
  const signature = { family: 'anthropic', value: 's' } as const;
  const thought: Part = { kind: 'reasoning', text: 'hm', summary: [], signature };
  const turns = (...before: Part[]) => [user(text('a')), assistant(...before, call('c1')), user(result('c1'))];
  t.same(write({ thinking, turns: turns() }).lost, ['reasoning_effort']);
  const kept = write({ thinking, turns: turns(thought) });
  t.match(kept, { lost: [], body: { thinking: { type: 'enabled' } } });
  t.match(kept.body['messages'], [{}, { content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, {}] }, {}]);
  t.match(write({ thinking, turns: turns() }, 'claude-opus-4-6').body, { thinking: { type: 'adaptive' } });
  const foreign: Part = { kind: 'reasoning', text: 'hm', summary: [], signature: { family: 'google', value: 's' } };
  t.same(write({ turns: turns(foreign) }).lost, ['messages.reasoning_content']);
  t.end();
});

await test('temperature and its kin, as the model lets others choose', (t) => {
  const hot = { temperature: 1.5, topP: 0.9, topK: 5 };
  const cases: readonly [string, Partial<ConversationRequest>, JsonObject, string[]][] = [
    ['claude-3-5-haiku', { sampling: hot }, { temperature: 1, top_p: 0.9, top_k: 5 }, ['temperature']],
    ['claude-sonnet-4-5', { sampling: { temperature: 0.2, topP: 0.9 } }, { temperature: 0.2 }, ['top_p']],
    ['claude-sonnet-4-5', { sampling: { temperature: 0.2, topP: 1 } }, { temperature: 0.2 }, []],
    ['claude-sonnet-4-5', { sampling: hot, thinking: { effort: 'low' } }, {}, ['temperature', 'top_p', 'top_k']],
    ['claude-sonnet-4-5', { sampling: { temperature: 1 }, thinking: { effort: 'low' } }, {}, []],
    ['claude-opus-4-7', { sampling: { temperature: 0, topP: 0.5 } }, {}, ['temperature', 'top_p']],
    ['claude-opus-4-7', { sampling: { temperature: 1, topP: 1 } }, {}, []],
  ];
  for (const [model, request, expected, lost] of cases) {
    const written = write(request, model);
    const { temperature, top_p, top_k } = written.body;
    t.same(JSON.parse(JSON.stringify({ temperature, top_p, top_k })), expected, model);
    t.same(written.lost, lost, `${model} loses`);
  }
  t.end();
});

await test('tools, and which of them must be called', (t) => {
  const choiceOf = (request: Partial<ConversationRequest>) => write({ tools: [tool], ...request }).body['tool_choice'];
  t.same(write({ tools: [{ kind: 'function', name: 'g', strict: true }] }), {
    body: { ...write({}).body, tools: [{ name: 'g', input_schema: { type: 'object', properties: {} } }] },
    lost: ['tools.function.strict'],
  });
  t.same(choiceOf({ toolChoice: { kind: 'required' } }), { type: 'any' });
  t.same(choiceOf({ toolChoice: { kind: 'none' }, parallelTools: false }), { type: 'none' });
  t.same(choiceOf({ toolChoice: { kind: 'tool', name: 'f' } }), { type: 'tool', name: 'f' });
  t.same(choiceOf({ parallelTools: false }), { type: 'auto', disable_parallel_tool_use: true });
  t.equal(choiceOf({ parallelTools: true }), undefined);
  t.equal(choiceOf({ tools: [], toolChoice: { kind: 'auto' } }), undefined);
  t.end();
});

await test('what cannot be said is told', (t) => {
  const schema = { kind: 'schema', name: 's', schema: { type: 'object', properties: {} } } as const;
  const self = { type: 'object', properties: { a: { $ref: '#' } } };
  const endless = { ...schema, schema: self } as const;
  const open = { ...schema, schema: { type: 'object' } } as const;
  const cases: readonly [Partial<ConversationRequest>, string[]][] = [
    [{ sampling: { seed: 1, presencePenalty: 0, logitBias: {} } }, ['seed']],
    [{ sampling: { frequencyPenalty: 0.5 } }, ['frequency_penalty: it has no penalties']],
    [{ sampling: { logitBias: { 5: 1 } } }, ['logit_bias: it has no bias of tokens']],
    [{ sampling: { logprobs: true, topLogprobs: 2 } }, ['logprobs: it has no log probabilities']],
    [{ output: { kind: 'json' } }, ['response_format: it has no JSON output without a schema']],
    [{ output: schema }, []],
    [{ output: open }, ['response_format.additionalProperties']],
    [{ output: endless }, ['response_format: its schemas may not refer to themselves']],
    [{ stop: ['\n', 'END'] }, ['stop: it does not stop at blanks']],
    [
      { metadata: { a: 'b' }, verbosity: 'low', serviceTier: 'flex', user: 'u' },
      ['service_tier', 'metadata', 'verbosity'],
    ],
    [{ turns: [{ ...user(text('a')), name: 'Ann' }] }, ['messages.name']],
    [{ tools: [tool, { kind: 'foreign', dialect: 'responses', name: 'file_search', value: {} }] }, ['tools[1]']],
    [{ tools: [{ ...tool, parameters: { type: 'array' } }] }, ['tools[0]: the input of its tools is an object']],
    [
      { turns: [user({ kind: 'foreign', dialect: 'responses', name: 'web_search_call', value: {} }, text('a'))] },
      ['messages: it has nothing like web_search_call'],
    ],
    [
      {
        ownMembers: [
          { path: ['n'], value: 2, isMeaning: true },
          { path: ['text', 'x'], value: 1, isMeaning: false },
        ],
      },
      ['n: it has no such member', 'text.x'],
    ],
    [{ turns: [user({ kind: 'text', text: 'a', citations: [{ url: 'https://a' }] })] }, ['citations']],
  ];
  for (const [request, lost] of cases) t.same(write(request).lost, lost, JSON.stringify(request));
  const { body } = write({ output: schema, stop: ['\n', 'END'], user: 'u', serviceTier: 'default', stream: true });
  t.match(body, {
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    stop_sequences: ['END'],
    metadata: { user_id: 'u' },
    service_tier: 'standard_only',
    stream: true,
  });
  t.same(write({ output: schema }, 'm', { outputSchema: false }).lost, ['response_format: it has no schemas']);
  const without = write({ user: 'u', tools: [tool] }, 'm', { without: ['metadata', 'tools', 'top_k'] });
  t.same(without.lost, ['metadata', 'tools: it has no tools']);
  t.same(Object.keys(without.body), ['model', 'max_tokens', 'messages']);
  t.end();
});

await test('what a guardrail changed is said in its new words', (t) => {
  const found = { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'secret' }] };
  const source = { type: 'content', content: 'secret' };
  const said = [{ role: 'user', content: [found, { type: 'document', source }] }];
  const request = messagesTranslation.readRequest({ max_tokens: 1, messages: said });
  t.same(write(request).body['messages'], said);
  const masked = (words: string) => words.replace('secret', '***');
  const parts = request.turns[0]?.parts.map((part): Part => {
    if (part.kind === 'text') return { ...part, text: masked(part.text) };
    const isText = part.kind === 'file' && part.source.kind === 'text';
    return isText ? { ...part, source: { kind: 'text', text: masked(part.source.text) } } : part;
  });
  const turns = [user(...(parts ?? []))];
  const [first] = write({ ...request, turns }).body['messages'] as JsonObject[];
  t.match(first?.['content'], [
    { type: 'text', text: 't\ns\n\n***' },
    { type: 'document', source: { type: 'text', data: '***' } },
  ]);
  t.notMatch(JSON.stringify(first), 'secret');
  t.end();
});
