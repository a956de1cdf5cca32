// The scripted models refuse what the real providers refuse, or the conversations with them would prove nothing.
import { test } from 'tap';
import { bedrockWire } from '../support/scripted-model/bedrock.ts';
import { chatWire } from '../support/scripted-model/chat.ts';
import { type Members, Refused } from '../support/scripted-model/checks.ts';
import { geminiWire } from '../support/scripted-model/gemini.ts';
import { messagesWire } from '../support/scripted-model/messages.ts';
import { responsesWire } from '../support/scripted-model/responses.ts';
import { answerTo } from '../support/scripted-model/scenarios.ts';
import type { Received, Wire } from '../support/scripted-model/wire.ts';

const bearer = { authorization: 'Bearer key' };
const words = 'say something plain';
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'get_time', input: {} }] };
const toolUse = { role: 'assistant', content: [{ toolUse: { toolUseId: 'a', name: 'get_time', input: {} } }] };
const functionCall = { functionCall: { name: 'get_time', args: {} } };
const askedOnce = { role: 'user', content: [{ text: words }] };
const user = { role: 'user', content: words };

/** A request that each of them takes. */
const right: readonly { readonly wire: Wire; readonly received: Received }[] = [
  {
    wire: chatWire,
    received: { path: '/v1/chat/completions', headers: bearer, body: { model: 'm', messages: [user] } },
  },
  { wire: responsesWire, received: { path: '/v1/responses', headers: bearer, body: { model: 'm', input: words } } },
  {
    wire: messagesWire,
    received: {
      path: '/v1/messages',
      headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
      body: { model: 'm', max_tokens: 9, messages: [user] },
    },
  },
  {
    wire: geminiWire,
    received: {
      path: '/v1beta/models/m:generateContent',
      headers: { 'x-goog-api-key': 'key' },
      body: { contents: [{ role: 'user', parts: [{ text: words }] }] },
    },
  },
  {
    wire: bedrockWire,
    received: {
      path: '/model/m/converse',
      headers: bearer,
      body: { messages: [{ role: 'user', content: [{ text: words }] }] },
    },
  },
];

/** Bodies that differ from the right one in these members, and what is said of them. */
const wrong: Readonly<Record<Wire['name'], readonly (readonly [Members, RegExp])[]>> = {
  chat: [
    [{ thinking: {} }, /unknown member 'thinking'/],
    [{ max_tokens: '9' }, /must be an integer/],
    [{ max_tokens: 9, max_completion_tokens: 9 }, /exclude each other/],
    [{ stream_options: { include_usage: true } }, /for streams only/],
    [{ tool_choice: 'auto' }, /needs tools/],
    [{ messages: [user, { role: 'assistant', content: null }] }, /content: is missing/],
    [{ messages: [user, { role: 'tool', tool_call_id: 'a', content: '' }] }, /results without a call/],
  ],
  responses: [
    [{ messages: [] }, /unknown member 'messages'/],
    [{ previous_response_id: 'resp_1' }, /not found/],
    [{ input: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, /must be one of input_text/],
    [{ input: [{ type: 'reasoning', summary: [] }, user] }, /without its required following item/],
    [{ input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }] }, /calls without a result/],
    [{ input: [{ ...user, role: 'assistant', id: 'x' }] }, /begins with 'msg'/],
    [{ reasoning: { effort: 'low' }, temperature: 1 }, /not supported with this model/],
  ],
  messages: [
    [{ n: 1 }, /unknown member 'n'/],
    [{ max_tokens: undefined }, /missing member 'max_tokens'/],
    [{ messages: [user, call, user] }, /calls without a result/],
    [{ messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] }, /must not be blank/],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, /greater than/],
    [{ tool_choice: { type: 'any' } }, /while providing tools/],
    [
      { messages: [user, { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 'x' }] }, user] },
      /Invalid signature/,
    ],
    [
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      /'additionalProperties' must be false/,
    ],
  ],
  gemini: [
    [{ model: 'm' }, /unknown member 'model'/],
    [{ contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] }, /must be one of user, model/],
    [{ contents: [{ role: 'user', parts: [{ text: '' }] }] }, /must not be empty/],
    [
      {
        contents: [
          { role: 'user', parts: [{ text: words }] },
          { role: 'model', parts: [functionCall] },
        ],
      },
      /missing a thought_signature/,
    ],
    [
      {
        tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'object', additionalProperties: false } }] }],
      },
      /unknown member 'additionalProperties'/,
    ],
  ],
  bedrock: [
    [{ modelId: 'm' }, /unknown member 'modelId'/],
    [{ messages: [{ role: 'user', content: words }] }, /must be a list/],
    [{ messages: [askedOnce, askedOnce] }, /must alternate/],
    [
      {
        messages: [
          { role: 'user', content: [{ text: words }] },
          toolUse,
          { role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [] } }] },
        ],
      },
      /toolConfig field must be defined/,
    ],
    [{ inferenceConfig: { topK: 1 } }, /unknown member 'topK'/],
  ],
};

for (const { wire, received } of right) {
  await test(`a model that speaks ${wire.name} refuses what is wrong`, async (t) => {
    t.match(answerTo(wire.read(received)), { text: /Grüße/ }, 'and takes what is right');
    for (const [members, message] of wrong[wire.name]) {
      const body = { ...received.body, ...members };
      t.throws(() => wire.read({ ...received, body }), { name: Refused.name, message }, JSON.stringify(members));
    }
    t.throws(() => wire.read({ ...received, headers: {} }), Refused, 'a request without a key');
    t.throws(() => wire.read({ ...received, path: '/' }), Refused, 'another path');
  });
}
