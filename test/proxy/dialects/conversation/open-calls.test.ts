// A result that does not say which call it is of: that of the first open call of its name, else words.
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { Turn } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../../proxy/dialects/messages/translate.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';

const call = (call_id: string, name: string): JsonObject => ({ type: 'function_call', call_id, name, arguments: '{}' });
const output = (members: JsonObject): JsonObject => ({ type: 'function_call_output', output: 'ok', ...members });
const chatCall = (id: string, name: string): JsonObject => {
  return { id, type: 'function', function: { name, arguments: '{}' } };
};
const answered = (members: JsonObject): JsonObject => ({ role: 'tool', content: 'ok', ...members });

/** Results as the ids of their calls, and the words of people. */
function told(turns: readonly { readonly role: string; readonly parts: readonly Part[] }[]): readonly string[] {
  const people = turns.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts);
  return people.map((part) =>
    part.kind === 'tool_result' ? part.callId : part.kind === 'text' ? part.text : part.kind,
  );
}

await test('in the items of Responses', (t) => {
  const read = (...items: JsonObject[]) => told(responsesTranslation.readRequest({ input: items }).turns);
  const two = [call('c1', 'f'), call('c2', 'g')];
  t.same(read(...two, output({}), output({})), ['c1', 'c2'], 'in the order of the calls');
  t.same(read(...two, output({ name: 'g' }), output({})), ['c2', 'c1'], 'by name');
  t.same(read(...two, output({ call_id: 'c1' }), output({ call_id: '' })), ['c1', 'c2']);
  t.same(read(...two, output({ name: 'send_message' })), ['Result of send_message:', 'ok']);
  t.same(read({ role: 'user', content: 'go' }, output({})), ['go', 'Result of a tool:', 'ok'], 'of no call');
  t.end();
});

await test('in the messages of chat', (t) => {
  const calls = { role: 'assistant', content: null, tool_calls: [chatCall('c1', 'f'), chatCall('c2', 'g')] };
  const read = (...messages: JsonObject[]) => told(chatTranslation.readRequest({ messages }).turns);
  t.same(read(calls, answered({}), answered({})), ['c1', 'c2']);
  t.same(read(calls, answered({ name: 'g' }), answered({ tool_call_id: 'c1' })), ['c2', 'c1']);
  t.same(read(calls, answered({ name: 'h' })), ['Result of h:', 'ok']);
  t.same(read({ role: 'function', name: 'h', content: 'ok' }), ['Result of h:', 'ok'], 'in the older form');
  t.end();
});

await test('in the blocks of Messages', (t) => {
  const use = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'f', input: {} });
  const result = (members: JsonObject): JsonObject => ({ type: 'tool_result', content: 'ok', ...members });
  const read = (calls: JsonObject[], results: JsonObject[]) => {
    const messages = [
      { role: 'assistant', content: calls },
      { role: 'user', content: results },
    ];
    return told(messagesTranslation.readRequest({ max_tokens: 1, messages }).turns);
  };
  t.same(read([use('t1'), use('t2')], [result({ tool_use_id: 't1' }), result({})]), ['t1', 't2']);
  t.same(read([use('t1')], [result({ tool_use_id: 't1' }), result({})]), ['t1', 'Result of a tool:', 'ok']);
  t.same(read([], [result({ is_error: true })]), ['Error of a tool:', 'ok']);
  t.end();
});

await test('a call without an id has one that is the same in each request, and its result too', (t) => {
  const calls = (turns: readonly Turn[]): readonly string[] =>
    turns.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.kind === 'tool_call' ? [part.id] : part.kind === 'tool_result' ? [part.callId] : [],
      ),
    );
  const unnamed = { type: 'function', function: { name: 'f', arguments: '{}' } };
  const chat = [
    { role: 'assistant', content: null, tool_calls: [unnamed, { ...unnamed, id: '' }] },
    answered({}),
    answered({ tool_call_id: '' }),
  ];
  const item: JsonObject = { type: 'function_call', name: 'f' };
  const items = [item, { ...item, call_id: '', arguments: '{}' }, output({}), output({ call_id: '' })];
  const use: JsonObject = { type: 'tool_use', name: 'f' };
  const blocks = [
    { role: 'assistant', content: [use, { ...use, id: '' }] },
    { role: 'user', content: [{ type: 'tool_result' }, { type: 'tool_result', tool_use_id: '' }] },
  ];
  const expected = ['call_0_f', 'call_1_f', 'call_0_f', 'call_1_f'];
  t.same(calls(chatTranslation.readRequest({ messages: chat }).turns), expected);
  t.same(calls(responsesTranslation.readRequest({ input: items }).turns), expected);
  t.same(calls(messagesTranslation.readRequest({ max_tokens: 1, messages: blocks }).turns), expected);
  t.end();
});
