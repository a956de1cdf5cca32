// What other dialects are told of tools and items that only the Responses format has, and how the calls of such tools come back.
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { ToolCallPart } from '../../../../proxy/dialects/conversation/parts.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { isObject, type JsonObject, parseObject, textOf, writeJson } from '../../../../proxy/dialects/json/json.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';
import { InvalidRequest } from '../../../../proxy/dialects/translation.ts';
import { answerContext } from './answer-context.ts';

const lookup = { type: 'function', name: 'lookup', description: 'Looks.', parameters: { type: 'object' } };
const namespace = { type: 'namespace', name: 'mcp__demo', description: 'A demo.', tools: [lookup] };
const user = { role: 'user', content: 'go' };

interface Told {
  readonly body: JsonObject;
  readonly hints: readonly string[];
  readonly meanings: readonly string[];
}

/** The request as a server of chat gets it. */
function told(body: JsonObject): Told {
  const hints: string[] = [];
  const meanings: string[] = [];
  const losses = {
    hint: (field: string) => void hints.push(field),
    meaning: (field: string, because: string, place = field) => void meanings.push(`${place} ${because}`),
  };
  const { request } = answerContext(body);
  const written = chatTranslation.writeRequest(request, { model: 'm', quirks: {} }, losses);
  return { body: JSON.parse(writeJson(written)) as JsonObject, hints, meanings };
}

function listIn(body: JsonObject, key: string): readonly JsonObject[] {
  const list = body[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function functionNames({ body }: Told): readonly unknown[] {
  return listIn(body, 'tools').map((tool) => (isObject(tool['function']) ? tool['function']['name'] : undefined));
}

/** The messages behind the first one: role, text, calls with their inputs, the call that is answered. */
function messages({ body }: Told): readonly unknown[] {
  return listIn(body, 'messages')
    .slice(1)
    .map(({ role, content, tool_calls: calls = [], tool_call_id: id }) => {
      const made = (Array.isArray(calls) ? calls : []).filter(isObject).map((call) => {
        const { name, arguments: input } = isObject(call['function']) ? call['function'] : {};
        return [call['id'], name, input].map(textOf).join(' ');
      });
      return [role, content, ...made, ...(id === undefined ? [] : [id])];
    });
}

function after(...items: readonly JsonObject[]): Told {
  return told({ input: [user, ...items] });
}

await test('tools of a namespace are functions with its name in front of theirs', async (t) => {
  const twice = { type: 'namespace', name: 'crm_', tools: [lookup, { type: 'custom', name: 'query' }] };
  const clash = { type: 'function', name: 'crm_lookup', parameters: { type: 'object' } };
  const said = told({ input: 'x', tools: [namespace, twice, clash] });
  t.same(functionNames(said), ['mcp__demo__lookup', 'crm_lookup_', 'crm_query', 'crm_lookup']);
  t.match(said.body['tools'], [{ function: { description: 'About all tools of mcp__demo: A demo.\n\nLooks.' } }]);
  t.same([said.hints, said.meanings], [[], []]);
  t.throws(() => told({ input: 'x', tools: [{ ...namespace, tools: [{ type: 'function' }] }] }), {
    name: 'InvalidRequest',
    param: 'tools[0].tools[0].name',
  });
  t.throws(() => told({ input: 'x', tools: [{ type: 'namespace', tools: [] }] }), InvalidRequest);
});

await test('tools that come with an item of the input are tools like those before, each once', async (t) => {
  const items = [
    { type: 'additional_tools', role: 'developer', id: 'at_1', tools: [lookup, namespace] },
    { role: 'developer', content: 'Be brief.' },
    user,
    { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'demo' } },
    { type: 'tool_search_output', call_id: 'c1', execution: 'client', tools: [namespace, { ...lookup, name: 'more' }] },
  ];
  const tools = [{ type: 'tool_search', execution: 'client', description: 'Finds.', parameters: { type: 'object' } }];
  const said = told({ input: items, tools });
  t.same(functionNames(said), ['tool_search', 'lookup', 'mcp__demo__lookup', 'more']);
  t.match(listIn(said.body, 'messages')[0], { role: 'system', content: 'Be brief.' });
  t.same(messages(said).slice(1), [
    ['assistant', null, 'c1 tool_search {"query":"demo"}'],
    ['tool', 'Found: more', 'c1'],
  ]);
  t.same([said.hints, said.meanings], [[], []]);
});

await test('a search of the provider is left out, because all tools are there from the beginning', async (t) => {
  const deferred = { ...lookup, defer_loading: true };
  const said = told({
    input: [
      user,
      { type: 'tool_search_call', call_id: null, execution: 'server', arguments: {} },
      { type: 'tool_search_output', call_id: null, execution: 'server', tools: [deferred] },
      { type: 'function_call', call_id: 'c', name: 'lookup', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ],
    tools: [deferred, { type: 'tool_search' }],
  });
  t.same(functionNames(said), ['lookup']);
  t.same(messages(said), [
    ['assistant', null, 'c lookup {}'],
    ['tool', 'x', 'c'],
  ]);
  t.same([said.hints, said.meanings], [['tools[1]'], []]);
});

await test('a choice of a tool names the function that stands for it', async (t) => {
  const tools = [namespace, { type: 'shell' }, { ...lookup, name: 'other' }];
  const chosen = (choice: JsonObject): unknown => {
    const said = told({ input: 'x', tools, tool_choice: choice });
    t.same(said.meanings, []);
    return [said.body['tool_choice'], functionNames(said)];
  };
  const named = (name: string): JsonObject => ({ type: 'function', function: { name } });
  const all = ['mcp__demo__lookup', 'shell', 'other'];
  t.same(chosen({ type: 'function', name: 'lookup', namespace: 'mcp__demo' }), [named('mcp__demo__lookup'), all]);
  t.same(chosen({ type: 'shell' }), [named('shell'), all]);
  const inner = { type: 'function', name: 'lookup', namespace: 'mcp__demo' };
  t.same(chosen({ type: 'allowed_tools', mode: 'auto', tools: [inner, { type: 'shell' }] }), [
    'auto',
    ['mcp__demo__lookup', 'shell'],
  ]);
});

await test('what a client or a provider did is told as a call with its result, or in words', async (t) => {
  const shell = { type: 'exec', command: ['ls'], env: {}, timeout_ms: null };
  t.same(
    messages(
      after(
        { type: 'local_shell_call', id: 'lsh_1', call_id: 'c1', status: 'completed', action: shell },
        { type: 'shell_call', call_id: 'c2', action: { commands: ['pwd'], timeout_ms: 5 } },
        { type: 'apply_patch_call', call_id: 'c3', operation: { type: 'delete_file', path: 'a' } },
        { type: 'computer_call', id: 'cu', call_id: 'c4', action: { type: 'wait' }, pending_safety_checks: [] },
        { type: 'local_shell_call_output', id: 'lsh_1', output: 'a' },
        { type: 'shell_call_output', call_id: 'c2', output: [{ stdout: '/', stderr: '' }] },
        { type: 'apply_patch_call_output', call_id: 'c3', status: 'completed' },
        { type: 'function_call_output', call_id: 'c4', output: 'seen' },
      ),
    ),
    [
      [
        'assistant',
        null,
        'c1 local_shell {"command":["ls"]}',
        'c2 shell {"commands":["pwd"],"timeout_ms":5}',
        'c3 apply_patch {"type":"delete_file","path":"a"}',
        'c4 computer {"action":{"type":"wait"},"pending_safety_checks":[]}',
      ],
      ['tool', 'a', 'c1'],
      ['tool', '[{"stdout":"/","stderr":""}]', 'c2'],
      ['tool', 'completed', 'c3'],
      ['tool', 'seen', 'c4'],
    ],
  );
  t.same(
    messages(
      after(
        { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
        { type: 'mcp_list_tools', id: 'l', server_label: 's', tools: [{ name: 'a', input_schema: {} }] },
        { type: 'mcp_call', id: 'm', server_label: 's', name: 'a', arguments: '{}', output: 'done', error: null },
        { type: 'mcp_approval_request', id: 'r', server_label: 's', name: 'a', arguments: '{}' },
        { type: 'mcp_approval_response', approval_request_id: 'r', approve: true },
        { type: 'shell_call', call_id: 'alone', action: { commands: ['ls'] } },
      ),
    ),
    [
      [
        'assistant',
        '[web_search_call: {"action":{"type":"search","query":"q"}}]' +
          '[mcp_list_tools: {"server_label":"s","tools":["a"]}]' +
          '[mcp_call: {"server_label":"s","name":"a","arguments":"{}","output":"done"}]' +
          '[mcp_approval_request: {"server_label":"s","name":"a","arguments":"{}"}]',
      ],
      ['user', '[mcp_approval_response: {"approval_request_id":"r","approve":true}]'],
      ['assistant', '[shell_call: {"action":{"commands":["ls"]}}]'],
    ],
  );
});

await test('a picture that the model made is shown to it with what is said next', async (t) => {
  const made = { type: 'image_generation_call', id: 'ig', status: 'completed', result: 'AAAA' };
  const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  t.match(messages(after(made, { role: 'user', content: 'bigger' })), [
    ['assistant', '[image_generation_call]'],
    ['user', [shown, { type: 'text', text: 'bigger' }]],
  ]);
  t.match(messages(after(made)), [
    ['assistant', '[image_generation_call]'],
    ['user', [shown]],
  ]);
});

await test('only items that mean nothing to another model are refused, with their place', async (t) => {
  const { meanings } = after({ type: 'compaction', encrypted_content: 'x' }, { type: 'nothing_known' });
  t.same(meanings, ['input[1] it knows no part compaction', 'input[2] it knows no part nothing_known']);
});

await test('calls of earlier turns keep their namespace in the name', async (t) => {
  const call = { type: 'function_call', call_id: 'c', name: 'lookup', namespace: 'mcp__demo', arguments: '{}' };
  const said = told({
    input: [user, call, { type: 'function_call_output', call_id: 'c', output: '' }],
    tools: [namespace],
  });
  t.same(messages(said)[0], ['assistant', null, 'c mcp__demo__lookup {}']);
  t.same(said.hints, []);
});

const asked: JsonObject = {
  input: 'x',
  tools: [
    namespace,
    { type: 'local_shell' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
  ],
};
const calls: readonly ToolCallPart[] = [
  ['mcp__demo__lookup', '{"q":1}'],
  ['local_shell', '{"command":["ls"]}'],
  ['shell', '{"commands":["ls"]}'],
  ['apply_patch', '{"type":"delete_file","path":"a"}'],
].map(([name = '', input = ''], index) => ({ kind: 'tool_call', id: `c${index}`, name, input, isFreeText: false }));
const items = [
  { type: 'function_call', call_id: 'c0', name: 'lookup', namespace: 'mcp__demo', arguments: '{"q":1}' },
  { type: 'local_shell_call', call_id: 'c1', action: { type: 'exec', env: {}, command: ['ls'] } },
  { type: 'shell_call', call_id: 'c2', action: { timeout_ms: null, max_output_length: null, commands: ['ls'] } },
  { type: 'apply_patch_call', call_id: 'c3', operation: { type: 'delete_file', path: 'a' } },
];

await test('an answer calls the tools as the client knows them', async (t) => {
  const answer = { id: '', model: '', parts: calls, finish: { reason: 'tool_calls' } } as const;
  const written = responsesTranslation.writeAnswer(answer, answerContext(asked));
  t.match(written['output'], items);
});

await test('a stream calls them so from its first event to its last', async (t) => {
  const writer = responsesTranslation.eventWriter(answerContext(asked));
  const streamed = calls.flatMap(({ id, name, input }, index): readonly StreamEvent[] => [
    { kind: 'opened', index, part: { kind: 'tool_call', id, name, isFreeText: false } },
    { kind: 'delta', index, delta: { kind: 'text', text: input } },
    { kind: 'closed', index },
  ]);
  const text = [...streamed, { kind: 'finished', finish: { reason: 'tool_calls' } } as const]
    .flatMap((event) => [...writer.write(event)])
    .join('');
  const events = text.split('\n\n').map((event) => parseObject(event.slice(event.indexOf('{'))) ?? {});
  const of = (type: string): readonly JsonObject[] => events.filter((event) => event['type'] === `response.${type}`);
  const opened = items.map(({ type, call_id }) => ({ type, call_id }));
  t.match(
    of('output_item.added').map(({ item }) => item),
    opened,
  );
  t.match(
    of('output_item.done').map(({ item }) => item),
    items,
  );
  t.match(of('function_call_arguments.done'), [{ name: 'lookup', arguments: '{"q":1}' }]);
  t.match(of('completed'), [{ response: { output: items } }]);
});
