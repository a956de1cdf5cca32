// What is named as left out was said and is lost: neither ids and states of a conversation's items, nor what is empty.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import type { ClientDialect, ProviderDialect } from '../../../proxy/dialects/translation.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { translate } from '../../../proxy/translation/translated.ts';

const targets: readonly (readonly [ProviderDialect, string])[] = [
  [bedrockTranslation, 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
  [messagesTranslation, 'claude-sonnet-4-5'],
  [geminiTranslation, 'gemini-2.5-flash'],
  [chatTranslation, 'm'],
  [responsesTranslation, 'm'],
];

function* droppedOf(client: ClientDialect, body: JsonObject): Generator<readonly [string, readonly string[]]> {
  const spoken = { client, body, request: client.readRequest(body), bytes: 0 };
  for (const [dialect, model] of targets) {
    if (dialect.name === client.name) continue;
    const target = { model, upstream: { name: 'there', unsupported: undefined } };
    yield [dialect.name, atOnce(translate(spoken, target, { quirks: {} }, dialect)).dropped];
  }
}

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const answer = { type: 'function_call_output', call_id: 'c', output: 'r' };

await test('a conversation of Responses, with all that its server keeps of it, loses nothing', (t) => {
  const status = 'completed';
  const text = { type: 'output_text', text: 'Hm.', annotations: [], logprobs: [] };
  const input = [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { type: 'message', role: 'user', content: 'hi', id: 'msg_0', status },
    { type: 'message', role: 'assistant', id: 'msg_1', status, content: [text] },
    { ...call, id: 'fc_1', status },
    { ...answer, id: 'fco_1', status },
  ];
  const body = {
    input,
    tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
    store: false,
    include: [],
  };
  for (const [name, dropped] of droppedOf(responsesTranslation, body)) t.same(dropped, [], name);
  t.end();
});

await test('members of items, parts and tools that a target is not told are named', (t) => {
  const input = [
    { type: 'message', role: 'user', content: 'hi', phase: 'commentary' },
    { ...call, namespace: 'n' },
    { ...answer, output: [{ type: 'input_text', text: 'r', weight: 2 }] },
  ];
  const tools = [{ type: 'function', name: 'f', parameters: {}, strict: false, defer_loading: true }];
  const names = ['tools.defer_loading', 'input.phase', 'input.namespace', 'input.content.weight'];
  for (const [name, dropped] of droppedOf(responsesTranslation, { input, tools })) t.same(dropped, names, name);
  t.end();
});

await test('the same for clients of chat and of messages', (t) => {
  const called = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, caller: 'x' };
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'hi', weight: 2 }], prefix: true },
    { role: 'assistant', content: null, tool_calls: [called], refusal: null, annotations: [], audio: null },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ];
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} }, defer_loading: false }];
  const chatNames = ['messages.prefix', 'messages.content.weight', 'messages.tool_calls.caller'];
  for (const [name, dropped] of droppedOf(chatTranslation, { messages, tools })) t.same(dropped, chatNames, name);

  const use = { type: 'tool_use', id: 'c', name: 'f', input: {} };
  const body = {
    max_tokens: 99,
    mcp_servers: [],
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ ...use, caller: { type: 'direct' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r', weight: 2 }] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' }, input_examples: [{}], eager_input_streaming: true }],
  };
  const names = ['tools.input_examples', 'tools.eager_input_streaming', 'messages.content.weight'];
  for (const [name, dropped] of droppedOf(messagesTranslation, body)) t.same(dropped, names, name);
  t.end();
});
