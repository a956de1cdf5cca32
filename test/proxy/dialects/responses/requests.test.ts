// Requests in the Responses format: nothing that it can say is lost on the way through the conversation, and what is wrong has its path.
import * as fc from 'fast-check';
import { test } from 'tap';
import { type JsonObject, parseObject, writeJson } from '../../../../proxy/dialects/json/json.ts';
import { readRequest } from '../../../../proxy/dialects/responses/read/read-request.ts';
import { InvalidRequest } from '../../../../proxy/dialects/translation.ts';
import { anyUrl } from '../../../support/arbitrary.ts';
import { runs } from '../../../support/extent.ts';
import { codexRequest } from './agent-requests.ts';
import { lossesOf } from './losses-of.ts';

/** The body again, with what was lost. */
function again(body: JsonObject): { body: JsonObject; lost: readonly string[] } {
  const { body: written, hints, meanings } = lossesOf(readRequest(body), 'm', { isInventor: true });
  return { body: written, lost: [...hints, ...meanings] };
}

const text = fc.string({ maxLength: 12 });
const word = fc.stringMatching(/^[a-z][a-z_0-9]{0,8}$/);
/** A member that may be absent. */
const some = <T>(value: fc.Arbitrary<T>): { maybe: fc.Arbitrary<T> } => ({ maybe: value });

function record(
  members: Record<string, fc.Arbitrary<unknown> | { maybe: fc.Arbitrary<unknown> }>,
): fc.Arbitrary<JsonObject> {
  const entries = Object.entries(members).map(([key, value]) => [key, 'maybe' in value ? value.maybe : value] as const);
  const requiredKeys = Object.keys(members).filter((key) => !('maybe' in (members[key] ?? {})));
  return fc.record(Object.fromEntries(entries), { requiredKeys }) as fc.Arbitrary<JsonObject>;
}

const inputPart = fc.oneof(
  record({ type: fc.constant('input_text'), text }),
  record({ type: fc.constant('input_text'), text, prompt_cache_breakpoint: fc.constant({ mode: 'explicit' }) }),
  record({
    type: fc.constant('input_image'),
    image_url: fc.constantFrom('https://a.example/b.png', 'data:image/png;base64,AAAA'),
    detail: some(fc.constantFrom('low', 'high', 'auto')),
  }),
  record({ type: fc.constant('input_image'), file_id: word }),
  record({
    type: fc.constant('input_file'),
    file_data: fc.constant('data:application/pdf;base64,JVBERg=='),
    filename: some(word),
  }),
  record({ type: fc.constant('input_file'), file_url: anyUrl }),
  record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: fc.base64String(), format: fc.constantFrom('wav', 'mp3') }),
  }),
  record({ type: fc.constant('computer_screenshot'), file_id: word }),
);
const annotation = fc.oneof(
  record({
    type: fc.constant('url_citation'),
    start_index: fc.nat(9),
    end_index: fc.nat(9),
    url: anyUrl,
    title: text,
  }),
  record({ type: fc.constant('file_citation'), file_id: word, filename: word, index: fc.nat(9) }),
);
const outputPart = fc.oneof(
  record({ type: fc.constant('output_text'), text, annotations: fc.array(annotation, { maxLength: 2 }) }),
  record({ type: fc.constant('refusal'), refusal: text }),
);
const id = some(word);
const call_id = word;
const item = fc.oneof(
  record({
    type: fc.constant('message'),
    role: fc.constantFrom('user', 'system', 'developer'),
    content: fc.array(inputPart, { minLength: 1, maxLength: 3 }),
    id,
  }),
  record({
    type: fc.constant('message'),
    role: fc.constant('assistant'),
    content: fc.array(outputPart, { minLength: 1, maxLength: 3 }),
    id,
    status: some(fc.constant('completed')),
    phase: some(fc.constant('commentary')),
  }),
  record({
    type: fc.constant('function_call'),
    call_id,
    name: word,
    arguments: fc.constantFrom('{}', '{"a":12345678901234567890}', '{'),
    id,
  }),
  record({ type: fc.constant('custom_tool_call'), call_id, name: word, input: text, id }),
  record({
    type: fc.constantFrom('function_call_output', 'custom_tool_call_output'),
    call_id,
    output: fc.oneof(text, fc.array(inputPart, { minLength: 2, maxLength: 3 })),
    id,
  }),
  record({
    type: fc.constant('reasoning'),
    id: word,
    summary: fc.array(record({ type: fc.constant('summary_text'), text }), { maxLength: 2 }),
    encrypted_content: some(word),
    status: some(fc.constant('completed')),
  }),
  record({
    type: fc.constantFrom('local_shell_call', 'web_search_call', 'mcp_approval_response', 'item_reference'),
    id: word,
    action: some(fc.constant({ type: 'exec', command: ['ls'] })),
  }),
);
const schema = fc.constant({ type: 'object', properties: { a: { type: 'integer', minimum: -0.5 } } });
const tool = fc.oneof(
  record({
    type: fc.constant('function'),
    name: word,
    description: some(text),
    parameters: schema,
    strict: some(fc.boolean()),
    defer_loading: some(fc.constant(true)),
  }),
  record({
    type: fc.constant('custom'),
    name: word,
    description: some(text),
    format: some(fc.constant({ type: 'grammar', syntax: 'lark', definition: 'start: "a"' })),
    defer_loading: some(fc.constant(true)),
  }),
  record({ type: fc.constantFrom('web_search', 'local_shell', 'mcp'), server_label: some(word) }),
);
const choice = fc.oneof(
  fc.constantFrom('auto', 'none', 'required'),
  record({ type: fc.constantFrom('web_search_preview', 'mcp'), server_label: word }),
  record({
    type: fc.constant('allowed_tools'),
    mode: fc.constantFrom('auto', 'required'),
    tools: fc.array(record({ type: fc.constant('function'), name: word }), { maxLength: 2 }),
  }),
);
const format = fc.oneof(
  record({ type: fc.constantFrom('text', 'json_object') }),
  record({ type: fc.constant('json_schema'), name: word, schema, strict: some(fc.boolean()), description: some(text) }),
);
const body = record({
  model: fc.constant('m'),
  input: fc.array(item, { maxLength: 6 }),
  instructions: some(text),
  tools: some(fc.array(tool, { minLength: 1, maxLength: 3 })),
  tool_choice: some(choice),
  parallel_tool_calls: some(fc.boolean()),
  text: some(record({ format: some(format), verbosity: fc.constantFrom('low', 'high') })),
  reasoning: some(
    record({
      effort: fc.constantFrom('none', 'low', 'xhigh'),
      summary: some(fc.constant('auto')),
      context: some(fc.constant('all_turns')),
    }),
  ),
  include: some(
    fc.subarray(['reasoning.encrypted_content', 'web_search_call.results', 'message.output_text.logprobs'], {
      minLength: 1,
    }),
  ),
  temperature: some(fc.constantFrom(0, 0.5, 1)),
  top_p: some(fc.constantFrom(0.1, 1)),
  top_logprobs: some(fc.nat(20)),
  max_output_tokens: some(fc.nat()),
  max_tool_calls: some(fc.nat(5)),
  stream: some(fc.constant(true)),
  stream_options: some(fc.constant({ include_obfuscation: false })),
  user: some(word),
  safety_identifier: some(word),
  prompt_cache_key: some(word),
  metadata: some(fc.dictionary(word, text, { maxKeys: 2 })),
  service_tier: some(fc.constantFrom('flex', 'anything')),
  store: some(fc.boolean()),
  background: some(fc.boolean()),
  truncation: some(fc.constant('auto')),
  previous_response_id: some(word),
  conversation: some(fc.oneof(word, fc.record({ id: word }))),
  prompt: some(fc.record({ id: word, variables: fc.dictionary(word, text, { maxKeys: 1 }) })),
  context_management: some(fc.constant([{ type: 'compaction' }])),
});

/** Where nothing stands for the input, an empty list need not be written. */
function comparable({ input, ...rest }: JsonObject): unknown {
  return { input: input ?? [], ...rest };
}

await test('a request comes back as it was', async (t) => {
  fc.assert(
    fc.property(body, (asked) => {
      const { body: written, lost } = again(asked);
      t.same(lost, []);
      const plain = [comparable(written), comparable(asked)].map((each) => JSON.parse(JSON.stringify(each)) as unknown);
      if (!t.same(plain[0], plain[1])) throw new Error(JSON.stringify(asked));
    }),
    runs(200),
  );
});

await test('what is short for something comes back as what it means', async (t) => {
  const written = again({
    model: 'x',
    input: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: '1' }], status: null },
      { type: 'function_call_output', call_id: 'd', output: { a: 1 } },
      { id: 'msg_1' },
    ],
    tools: [{ type: 'function', name: 'f' }],
    include: ['message.output_text.logprobs', 'web_search_call.results'],
    stream: false,
    reasoning: {},
    max_output_tokens: null,
  }).body;
  t.same(written, {
    model: 'm',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] },
      { type: 'function_call_output', call_id: 'c', output: '1' },
      { type: 'function_call_output', call_id: 'd', output: '{"a":1}' },
      { type: 'item_reference', id: 'msg_1' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: null }],
    include: ['web_search_call.results', 'message.output_text.logprobs'],
  });
  t.same(again({ input: 'Hi' }).body['input'], [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
  ]);
});

await test('numbers keep every digit, and odd keys stay keys', async (t) => {
  const asked =
    '{"input":"a","temperature":0.10,"metadata":{"__proto__":"x"},"seed_like":12345678901234567890,"__proto__":{"a":1}}';
  const written = writeJson(again(parseObject(asked) ?? {}).body);
  for (const kept of ['"temperature":0.10', '{"__proto__":"x"}', '12345678901234567890', '"__proto__":{"a":1}']) {
    t.ok(written.includes(kept), kept);
  }
});

await test('a body with very many parts and unknown members is read and written', async (t) => {
  const content = Array.from({ length: 130_000 }, () => ({ type: 'output_text', text: '', annotations: [] }));
  const input = ['developer', 'assistant', 'assistant'].map((role) => ({ type: 'message', role, content }));
  const unknown = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`x${index}`, index]));
  const { body: written } = again({ input, ...unknown, text: unknown });
  t.equal(Object.keys(written['text'] ?? {}).length, 20_000);
  t.equal(written['x19999'], 19_999);
});

await test('turns are what the conversation wants them to be', async (t) => {
  const { system, turns, thinking, tools } = readRequest(codexRequest);
  t.same(
    system.map(({ text: said }) => said),
    ['You are a coding agent.', 'Sandbox: read-only.'],
  );
  t.same(
    turns.map(({ role, parts }) => [role, ...parts.map(({ kind }) => kind)]),
    [
      ['user', 'text'],
      ['assistant', 'reasoning', 'text', 'tool_call', 'tool_call'],
      ['user', 'tool_result', 'tool_result'],
      ['user', 'text', 'image'],
    ],
  );
  t.same(thinking, { effort: 'medium', summary: 'auto' });
  t.same(
    tools.map(({ kind }) => kind),
    ['function', 'free_text', 'foreign', 'foreign'],
  );
});

await test('of tools that are not allowed, other dialects see none', async (t) => {
  const tools = ['a', 'b'].map((name) => ({ type: 'function', name, parameters: {} }));
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] };
  const request = readRequest({ input: '', tools, tool_choice });
  t.match(request, { tools: [{ name: 'b' }], toolChoice: { kind: 'required' } });
  t.equal(request.tools.length, 1);
  t.match(again({ input: '', tools, tool_choice }).body, { tools, tool_choice });
});

await test('what breaks the rules is refused with its path', async (t) => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{}, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: ['a'] }, 'input[0]'],
    [{ input: [{}] }, 'input[0].type'],
    [{ input: [{ type: 'message', content: 'a' }] }, 'input[0].role'],
    [{ input: [{ role: 'tool', content: 'a' }] }, 'input[0].role'],
    [{ input: [{ role: 'toString', content: 'a' }] }, 'input[0].role'],
    [{ input: [{ role: 'user', content: 7 }] }, 'input[0].content'],
    [{ input: [{ role: 'user', content: [{ text: 'a' }] }] }, 'input[0].content[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input[0].content[0].text'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input[0].content[0]'],
    [{ input: 'a', instructions: ['b'] }, 'instructions'],
    [{ input: [{ type: 'function_call', call_id: 7, name: 'f', arguments: '{}' }] }, 'input[0].call_id'],
    [{ input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }] }, 'input[0].arguments'],
    [{ input: [{ type: 'custom_tool_call', call_id: 'c', name: 'f', input: {} }] }, 'input[0].input'],
    [{ input: [{ type: 'reasoning', summary: [{}] }] }, 'input[0].summary[0].text'],
    [{ input: '', tools: [{ name: 'f' }] }, 'tools[0].type'],
    [{ input: '', tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools[0].name'],
    [{ input: '', tools: {} }, 'tools'],
    [{ input: '', tool_choice: 'any' }, 'tool_choice'],
    [{ input: '', tool_choice: { type: 'function' } }, 'tool_choice.name'],
    [{ input: '', tool_choice: { type: 'allowed_tools', mode: 'none' } }, 'tool_choice.mode'],
    [{ input: '', text: { format: { type: 'xml' } } }, 'text.format.type'],
    [{ input: '', text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format.schema'],
    [{ input: '', reasoning: { effort: 'hard' } }, 'reasoning.effort'],
    [{ input: '', temperature: '1' }, 'temperature'],
    [{ input: '', max_output_tokens: '9' }, 'max_output_tokens'],
    [{ input: '', stream: 'yes' }, 'stream'],
  ];
  for (const [asked, param] of cases) {
    try {
      readRequest(asked);
      t.fail(`${param} was not refused`);
    } catch (error) {
      t.ok(error instanceof InvalidRequest, param);
      if (error instanceof InvalidRequest) t.equal(error.param, param);
    }
  }
});
