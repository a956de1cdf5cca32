// A request of Anthropic's Messages is read whole, written again as it was, and refused with the exact place of what is wrong.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { type JsonObject, parseObject } from '../../../../proxy/dialects/json/json.ts';
import { countedTokens, readCountRequest } from '../../../../proxy/dialects/messages/count-tokens.ts';
import { readRequest } from '../../../../proxy/dialects/messages/read/read-request.ts';
import { writeRequest } from '../../../../proxy/dialects/messages/write-request.ts';
import { InvalidRequest } from '../../../../proxy/dialects/translation.ts';
import { runs } from '../../../support/extent.ts';
import { plain } from './recorded.ts';
import { body } from './request-body.ts';

const silent = { hint: () => {}, meaning: () => {} };
const rewritten = (said: JsonObject): JsonObject =>
  writeRequest(readRequest(said), { model: 'claude-sonnet-4-5', quirks: {} }, silent);

await test('whatever the dialect can say is written again', (t) => {
  fc.assert(
    fc.property(body, (said) => {
      assert.deepStrictEqual(plain(rewritten(said)), plain(said));
    }),
    runs(200),
  );
  t.pass('for every request');
  t.end();
});

await test('what can be said in several ways is written in one', (t) => {
  const said = parseObject(
    '{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S"}],"temperature":1.0,"output_format":{"type":"json_schema","schema":{}},' +
      '"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"},{"role":"system","content":"c"},' +
      '{"role":"user","content":[{"type":"text","text":" "},{"type":"tool_result","tool_use_id":"t","is_error":false,"content":[{"type":"text","text":"r"}]}]}]}',
  );
  const { temperature, ...rest } = rewritten(said ?? {});
  t.same(temperature, { rawJSON: '1.0' });
  t.same(rest, {
    model: 'claude-sonnet-4-5',
    max_tokens: 9,
    system: 'S',
    output_config: { format: { type: 'json_schema', schema: {} } },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'system', content: 'c' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'r' }] },
    ],
  });
  t.end();
});

await test('the result of a tool knows the name of the tool', (t) => {
  const { turns } = readRequest({
    max_tokens: 1,
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1' }] },
    ],
  });
  t.match(turns[1]?.parts, [{ kind: 'tool_result', name: 'f', content: [], isError: false }]);
  t.end();
});

await test('thinking between tools alone is none before an answer', (t) => {
  const { thinking } = readRequest({
    max_tokens: 1,
    messages: [{ role: 'user', content: 'a' }],
    thinking: { type: 'between_tools' },
    output_config: { effort: 'low' },
  });
  t.same(thinking, { mode: 'off', betweenTools: true, effort: 'low' });
  t.end();
});

await test('what the conversation has no word for is a hint, but for what changes the answer', (t) => {
  const { ownMembers } = readRequest({
    max_tokens: 1,
    messages: [{ role: 'user', content: 'a' }],
    provider: 'x',
    container: 'c',
    mcp_servers: [],
    metadata: { user_id: 'u', label: 'l' },
    output_config: { task_budget: 9 },
    speed: null,
  });
  const said = ownMembers.map(({ path, isMeaning }) => `${path.join('.')} ${isMeaning}`).sort();
  t.same(said, [
    'container true',
    'mcp_servers false',
    'metadata.label false',
    'output_config.task_budget false',
    'provider false',
  ]);
  t.end();
});

const message = (content: unknown, role = 'user') => ({ messages: [{ role, content }] }) as JsonObject;
const refusals: readonly [param: string, body: JsonObject][] = [
  ['max_tokens', { max_tokens: null }],
  ['max_tokens', { max_tokens: 0 }],
  ['max_tokens', { max_tokens: 1.5 }],
  ['max_tokens', { max_tokens: '9' }],
  ['messages', { messages: null }],
  ['messages', { messages: [] }],
  ['messages', { messages: 'hi' }],
  ['messages[0]', { messages: ['hi'] }],
  ['messages[0].role', message('hi', 'tool')],
  ['messages[0].content', message(undefined)],
  ['messages[0].content', message(7)],
  ['messages[0].content[0]', message(['hi'])],
  ['messages[0].content[0].type', message([{}])],
  ['messages[0].content[1].text', message([{ type: 'text', text: 'a' }, { type: 'text' }])],
  ['messages[0].content[0].source', message([{ type: 'image' }])],
  ['messages[0].content[0].source.type', message([{ type: 'image', source: { type: 'x' } }])],
  [
    'messages[0].content[0].source.data',
    message([{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }]),
  ],
  ['messages[0].content[0].cache_control', message([{ type: 'text', text: 'a', cache_control: 'x' }])],
  ['messages[0].content[0].tool_use_id', message([{ type: 'tool_result', tool_use_id: 7 }])],
  ['messages[0].content[0].content[0].type', message([{ type: 'tool_result', tool_use_id: 'a', content: [{}] }])],
  ['messages[0].content[0].is_error', message([{ type: 'tool_result', tool_use_id: 'a', is_error: 'no' }])],
  ['messages[0].content[0].input', message([{ type: 'tool_use', id: 'a', name: 'b', input: '{}' }])],
  ['messages[0].content[0].id', message([{ type: 'tool_use', id: 7, name: 'b', input: {} }])],
  ['messages[0].content[0].signature', message([{ type: 'thinking', thinking: 'a', signature: 1 }])],
  ['system', { system: 7 }],
  ['system[0].type', { system: [{ type: 'image' }] }],
  ['temperature', { temperature: 'hot' }],
  ['stop_sequences[1]', { stop_sequences: ['a', 1] }],
  ['stream', { stream: 'yes' }],
  ['metadata.user_id', { metadata: { user_id: 7 } }],
  ['tools[0].name', { tools: [{ input_schema: {} }] }],
  ['tools[0].input_schema', { tools: [{ name: 'a' }] }],
  ['tool_choice.type', { tool_choice: { type: 'required' } }],
  ['tool_choice.name', { tool_choice: { type: 'tool' } }],
  ['thinking.type', { thinking: { type: 'on' } }],
  ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
  ['thinking.budget_tokens', { thinking: { type: 'enabled', budget_tokens: 1000 } }],
  ['output_config.effort', { output_config: { effort: 'none' } }],
  ['output_config.format.type', { output_config: { format: { type: 'json_object' } } }],
  ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
];

await test('what breaks the rules is refused with its place', (t) => {
  for (const [param, wrong] of refusals) {
    const said = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }], ...wrong };
    let found: unknown;
    try {
      readRequest(said);
    } catch (error) {
      found = error;
    }
    t.equal(found instanceof InvalidRequest && found.param, param, JSON.stringify(wrong));
  }
  t.end();
});

await test('to count tokens no most tokens are needed', (t) => {
  const said = { model: 'm', messages: [{ role: 'user', content: 'a' }] };
  t.equal(readCountRequest(said).turns.length, 1);
  t.throws(() => readCountRequest({ model: 'm' }), { name: 'InvalidRequest' });
  const counted = countedTokens(
    Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(4000) }] })),
  );
  t.ok(Number(counted['input_tokens']) >= 1000 && Number(counted['input_tokens']) < 1030);
  t.same(countedTokens(Buffer.alloc(0)), { input_tokens: 1 });
  t.end();
});

await test('a name of the prototype is a member like any other', (t) => {
  const said = parseObject('{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"__proto__":{"stream":true}}');
  const again = rewritten(said ?? {});
  t.equal(again['stream'], undefined);
  t.same(Object.getPrototypeOf(again), Object.prototype);
  t.ok(Object.hasOwn(again, '__proto__'));
  t.end();
});
