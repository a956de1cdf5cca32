// Whatever a client of one dialect sends, a provider of another one takes what it is sent: the scripted models are as strict as the real ones.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { translate } from '../../../proxy/translation/translated.ts';
import { runs } from '../../support/extent.ts';
import { bedrockWire } from '../../support/scripted-model/bedrock.ts';
import { chatWire } from '../../support/scripted-model/chat.ts';
import { geminiWire } from '../../support/scripted-model/gemini.ts';
import { messagesWire } from '../../support/scripted-model/messages.ts';
import { responsesWire } from '../../support/scripted-model/responses.ts';
import type { Wire } from '../../support/scripted-model/wire.ts';

interface Target {
  readonly wire: Wire;
  readonly model: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const bearer = { authorization: 'Bearer key' };
const bedrock = (model: string): Target => ({
  wire: bedrockWire,
  model,
  path: `/model/${model}/converse`,
  headers: bearer,
});
const anthropic = (model: string): Target => ({
  wire: messagesWire,
  model,
  path: '/v1/messages',
  headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
});
const google = (model: string): Target => ({
  wire: geminiWire,
  model,
  path: `/v1beta/models/${model}:generateContent`,
  headers: { 'x-goog-api-key': 'key' },
});
const targets = [
  bedrock('anthropic.claude-sonnet-4-20250514-v1:0'),
  anthropic('claude-sonnet-4-5'),
  google('gemini-3-flash-preview'),
  { wire: chatWire, model: 'gpt-4.1', path: '/v1/chat/completions', headers: bearer },
  { wire: responsesWire, model: 'gpt-4.1', path: '/v1/responses', headers: bearer },
];

/** What happens in a conversation, in no dialect's words. */
type Step =
  | { readonly kind: 'said'; readonly role: 'user' | 'assistant' | 'system'; readonly text: string }
  | { readonly kind: 'called'; readonly results: readonly string[]; readonly between: string | undefined };

const words = fc.constantFrom('', ' ', '\n', 'a', 'b ', 'hello', '{"$ref":"#/a"}');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('said' as const),
    role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
    text: words,
  }),
  fc.record({
    kind: fc.constant('called' as const),
    results: fc.array(words, { minLength: 1, maxLength: 3 }),
    between: fc.option(words, { nil: undefined }),
  }),
);
const text = { type: 'string' };
const schema = fc.constantFrom<JsonObject | undefined>(
  undefined,
  {},
  { properties: { a: text } },
  { type: 'object', properties: {}, anyOf: [{ required: ['a'] }] },
  { oneOf: [{ type: 'object', properties: { a: text } }, { properties: { b: text } }] },
  { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: { ...text, minLength: 1 } } } } },
);
const conversation = fc.record({
  steps: fc.array(step, { maxLength: 6 }),
  last: fc.constantFrom('go', 'on '),
  schemas: fc.array(schema, { maxLength: 2 }),
  cap: fc.option(fc.constantFrom(1, 500, 1024, 2048, 5000), { nil: undefined }),
  effort: fc.option(fc.constantFrom('none', 'minimal', 'low', 'high'), { nil: undefined }),
  temperature: fc.option(fc.constantFrom(0, 1, 1.5), { nil: undefined }),
  stop: fc.array(fc.constantFrom('', ' ', 'END'), { maxLength: 2 }),
  choice: fc.option(fc.constantFrom('auto', 'none', 'required'), { nil: undefined }),
});
type Conversation = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never;

const toolsOf = ({ schemas }: Conversation) => schemas.map((parameters, index) => ({ name: `f${index}`, parameters }));

function chatBody(asked: Conversation): JsonObject {
  let calls = 0;
  const messages = asked.steps.flatMap((each): JsonObject[] => {
    if (each.kind === 'said') return [{ role: each.role, content: each.text }];
    const first = calls;
    calls += each.results.length;
    const called = each.results.map((_, index) => {
      return { id: `c${first + index}`, type: 'function', function: { name: 'f0', arguments: '{}' } };
    });
    const results = each.results.map((content, index) => ({
      role: 'tool',
      tool_call_id: `c${first + index}`,
      content,
    }));
    const between = each.between === undefined ? [] : [{ role: 'system', content: each.between }];
    return [
      { role: 'assistant', content: null, tool_calls: called },
      ...results.slice(0, 1),
      ...between,
      ...results.slice(1),
    ];
  });
  const { cap, effort, temperature, stop, choice, last } = asked;
  return {
    messages: [...messages, { role: 'user', content: last }],
    tools: toolsOf(asked).map((called) => ({ type: 'function', function: called })),
    max_completion_tokens: cap,
    reasoning_effort: effort,
    temperature,
    stop,
    tool_choice: choice,
    logit_bias: {},
    metadata: {},
  };
}

function responsesBody(asked: Conversation): JsonObject {
  let calls = 0;
  const input = asked.steps.flatMap((each): JsonObject[] => {
    if (each.kind === 'said')
      return [{ type: 'message', id: 'msg_1', status: 'completed', role: each.role, content: each.text }];
    const first = calls;
    calls += each.results.length;
    const ids = each.results.map((_, index) => `c${first + index}`);
    const called = ids.map((call_id) => ({ type: 'function_call', call_id, name: 'f0', arguments: '{}' }));
    const results = ids.map((call_id, index) => ({
      type: 'function_call_output',
      call_id,
      output: each.results[index],
    }));
    const between = each.between === undefined ? [] : [{ role: 'developer', content: each.between }];
    return [...called, ...results.slice(0, 1), ...between, ...results.slice(1)];
  });
  const { cap, effort, temperature, choice, last } = asked;
  return {
    input: [...input, { role: 'user', content: last }],
    tools: toolsOf(asked).map((called) => ({ type: 'function', ...called })),
    max_output_tokens: cap,
    reasoning: { effort },
    temperature,
    tool_choice: choice,
    store: false,
  };
}

function messagesBody(asked: Conversation): JsonObject {
  let calls = 0;
  const messages = asked.steps.flatMap((each): JsonObject[] => {
    if (each.kind === 'said') return [{ role: each.role, content: each.text }];
    const first = calls;
    calls += each.results.length;
    const ids = each.results.map((_, index) => `c${first + index}`);
    const results = ids.map((tool_use_id, index) => {
      return { type: 'tool_result', tool_use_id, content: each.results[index] };
    });
    const beside = each.between === undefined ? [] : [{ type: 'text', text: each.between }];
    return [
      { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'f0', input: {} })) },
      { role: 'user', content: [...beside, ...results] },
    ];
  });
  const { cap = 4096, effort, temperature, stop, last } = asked;
  const thinking = effort === 'none' ? { type: 'between_tools' } : { type: 'enabled', budget_tokens: 2000 };
  return {
    messages: [...messages, { role: 'user', content: last }],
    tools: toolsOf(asked).map(({ name, parameters = {} }) => ({ name, input_schema: parameters })),
    max_tokens: cap,
    thinking: effort === undefined ? undefined : thinking,
    temperature,
    stop_sequences: stop,
  };
}

const clients = [
  ['chat', chatBody],
  ['responses', responsesBody],
  ['messages', messagesBody],
] as const;

await test('what a provider is sent is what it takes', (t) => {
  for (const [name, bodyOf] of clients) {
    const client = clientDialects[name];
    assert.ok(client);
    for (const { wire, model, path, headers } of targets) {
      if (wire.name === name) continue;
      const dialect = providerDialects[wire.name];
      assert.ok(dialect);
      fc.assert(
        fc.property(conversation, (asked) => {
          const body = JSON.parse(JSON.stringify(bodyOf(asked))) as JsonObject;
          const spoken = { client, body, request: client.readRequest(body), bytes: 0 };
          const target = { model, upstream: { name: 'there', unsupported: 'drop' as const } };
          const isModelInPath = wire.name === 'bedrock' || wire.name === 'gemini';
          const quirks = { isModelInPath, takesJsonSchema: true, isInventor: true };
          const written = atOnce(translate(spoken, target, { quirks }, dialect)).body;
          wire.read({ path, headers, body: JSON.parse(written.toString()) as Record<string, unknown> });
        }),
        runs(1000),
      );
      t.pass(`${name} to ${wire.name}`);
    }
  }
  t.end();
});
