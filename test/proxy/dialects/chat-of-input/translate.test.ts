// A call of chat completions with `input` is read as one of Responses, whatever else of chat stands in it.
import { test } from 'tap';
import { readCall } from '../../../../proxy/call/call.ts';
import { chatOfInput } from '../../../../proxy/dialects/chat-of-input/translate.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { readRequest } from '../../../../proxy/dialects/responses/read/read-request.ts';
import { writeRequest } from '../../../../proxy/dialects/responses/write-request.ts';
import { modelEndpoints } from '../../../../proxy/endpoints/model-endpoints.ts';
import { rowOf } from '../../../../proxy/endpoints/row-of.ts';

const parameters = { type: 'object', properties: { path: { type: 'string' } } };
const flat = { type: 'function', name: 'read', description: 'Reads.', parameters };
const nested = { type: 'function', function: { name: 'read', description: 'Reads.', parameters } };
const custom = {
  type: 'custom',
  name: 'patch',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};
const keepsAnswers = false;
const own = { model: 'm', input: [{ role: 'user', content: 'Hi' }], stream: true };

await test('members of chat count as those of Responses, and tools may be nested', (t) => {
  const mixed = {
    tools: [nested, custom],
    max_tokens: 7,
    reasoning_effort: 'low',
    stream_options: { include_usage: true },
  };
  t.strictSame(chatOfInput.readRequest({ ...own, ...mixed }), {
    ...readRequest({ ...own, tools: [flat, custom], max_output_tokens: 7, reasoning: { effort: 'low' } }),
    wantsUsage: true,
    keepsAnswers,
  });
  t.strictSame(chatOfInput.readRequest({ ...own, stream_options: null }), { ...readRequest(own), keepsAnswers });
  t.end();
});

await test('of two members that say the same the one of Responses counts', (t) => {
  const responses = { max_output_tokens: 9, reasoning: { effort: 'high', summary: 'auto' } };
  const both = { ...responses, max_completion_tokens: 7, max_tokens: 5, reasoning_effort: 'low' };
  t.strictSame(chatOfInput.readRequest({ ...own, ...both }), {
    ...readRequest({ ...own, ...responses }),
    keepsAnswers,
  });
  t.end();
});

await test('a provider keeps the answer only when the client says so', (t) => {
  const losses = { hint: () => undefined, meaning: () => undefined };
  const storeOf = (body: JsonObject): unknown => {
    const request = chatOfInput.readRequest({ ...own, ...body });
    return writeRequest(request, { model: 'm', quirks: {} }, losses)['store'];
  };
  t.strictSame([storeOf({}), storeOf({ store: true })], [false, true]);
  t.end();
});

await test('what is wrong is named as it was sent', (t) => {
  for (const [param, body] of Object.entries({
    input: { input: 1 },
    tools: { tools: {} },
    'tools[0].name': { tools: [{ type: 'function', function: {} }] },
    stream_options: { stream_options: 1 },
  })) {
    t.throws(() => chatOfInput.readRequest({ ...own, ...body }), { name: 'InvalidRequest', param });
  }
  t.end();
});

await test('the endpoint of chat serves a call with input and without messages by another row', (t) => {
  const [chat] = modelEndpoints;
  if (chat === undefined) throw new Error('no endpoints');
  const operationFor = (body: object): string => rowOf(chat, readCall(Buffer.from(JSON.stringify(body)))).operation;
  t.equal(operationFor(own), 'chat_of_input');
  for (const further of [{ messages: [] }, { messages: null }]) t.equal(operationFor({ ...own, ...further }), 'chat');
  t.equal(operationFor({ model: 'm', inputs: [], metadata: { input: 'a' } }), 'chat');
  for (const endpoint of modelEndpoints.slice(1))
    t.equal(rowOf(endpoint, readCall(Buffer.from(JSON.stringify(own)))), endpoint);
  t.end();
});
