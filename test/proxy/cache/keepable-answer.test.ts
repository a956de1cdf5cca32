// Which answers are kept, by endpoint: a table of those that are, and of what must not be.
import { test } from 'tap';
import { isKeepable, isKeepableObject } from '../../../proxy/cache/keepable-answer.ts';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { replayed } from '../../../proxy/translation/replay.ts';

const choice = (more: JsonObject, message: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, message: { content: 'x', ...message }, finish_reason: 'stop', ...more }],
});
const message = (more: JsonObject = {}): JsonObject => ({
  type: 'message',
  content: [{ type: 'text', text: 'x' }],
  stop_reason: 'end_turn',
  ...more,
});
const said = { type: 'message', content: [{ type: 'output_text', text: 'x' }] };
const response = (more: JsonObject = {}): JsonObject => ({ status: 'completed', output: [said], ...more });
const quoting = 'it says "finish_reason": "length" and "refusal": "no"';

const kept: readonly [Operation, string, JsonObject][] = [
  ['chat', 'a whole answer', choice({})],
  ['chat', 'calls of tools', choice({ finish_reason: 'tool_calls' }, { tool_calls: [{ id: 'c' }], refusal: null })],
  ['chat', 'a text that quotes members', choice({}, { content: quoting })],
  ['chat', 'no error', { ...choice({}), error: null }],
  ['completions', 'a whole text', { choices: [{ text: 'x', finish_reason: 'stop' }] }],
  ['messages', 'a whole message', message()],
  [
    'messages',
    'calls of tools',
    message({ stop_reason: 'tool_use', content: [{ type: 'tool_use', input: { stop_reason: 1 } }] }),
  ],
  ['responses', 'a whole response', response()],
  ['responses', 'thoughts and calls', response({ output: [{ type: 'reasoning' }, { type: 'function_call' }] })],
  ['embeddings', 'a list', { object: 'list', data: [{ embedding: [0.5] }] }],
];

const notKept: readonly [Operation, string, JsonObject][] = [
  ['chat', 'cut by its length', choice({ finish_reason: 'length' })],
  ['chat', 'filtered', choice({ finish_reason: 'content_filter' })],
  ['chat', 'unfinished', choice({ finish_reason: null })],
  ['chat', 'without an end', { choices: [{ message: { content: 'x' } }] }],
  ['chat', 'a refusal', choice({}, { refusal: 'no' })],
  ['chat', 'a sound', choice({}, { audio: { id: 'a' } })],
  ['chat', 'an error', { ...choice({}), error: { message: 'x' } }],
  [
    'chat',
    'one of two was cut',
    {
      choices: [
        { message: {}, finish_reason: 'stop' },
        { message: {}, finish_reason: 'length' },
      ],
    },
  ],
  ['completions', 'cut by its length', { choices: [{ text: 'x', finish_reason: 'length' }] }],
  ['messages', 'cut by its length', message({ stop_reason: 'max_tokens' })],
  ['messages', 'a refusal', message({ stop_reason: 'refusal' })],
  ['messages', 'paused', message({ stop_reason: 'pause_turn' })],
  ['messages', 'in a container', message({ container: { id: 'c' } })],
  ['messages', 'a tool that the provider runs', message({ content: [{ type: 'mcp_tool_use' }] })],
  ['messages', 'nothing said', message({ content: [] })],
  ['responses', 'incomplete', response({ status: 'incomplete' })],
  ['responses', 'failed', response({ status: 'failed', error: { code: 'x' } })],
  ['responses', 'a refusal', response({ output: [{ type: 'message', content: [{ type: 'refusal' }] }] })],
  ['responses', 'code that was run', response({ output: [{ type: 'code_interpreter_call' }, said] })],
  ['embeddings', 'an error', { error: { message: 'no "embedding" here' } }],
  ['count_tokens', 'a count', { input_tokens: 3 }],
];

await test('whole answers are kept', (t) => {
  for (const [operation, claim, answer] of kept) {
    for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 2)])
      t.ok(isKeepable(operation, Buffer.from(text)), `${operation}: ${claim}`);
    if (operation === 'embeddings') continue;
    t.ok(isKeepableObject(operation, answer), `${operation}, folded: ${claim}`);
    t.ok(atOnce(replayed(operation, Buffer.from(JSON.stringify(answer)), false)), `${operation} can be told as events`);
  }
  t.end();
});

await test('others are not', (t) => {
  for (const [operation, claim, answer] of notKept) {
    for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 2)])
      t.notOk(isKeepable(operation, Buffer.from(text)), `${operation}: ${claim}`);
    t.notOk(isKeepableObject(operation, answer), `${operation}, folded: ${claim}`);
  }
  for (const operation of ['chat', 'messages', 'responses', 'embeddings'] as const)
    for (const text of ['', 'null', '[]', '"finish_reason"', '{"choices":[{"finish_reason":'])
      t.notOk(isKeepable(operation, Buffer.from(text)), `${operation}: ${text}`);
  t.equal(
    atOnce(replayed('chat', Buffer.from(JSON.stringify(choice({}))), true)),
    undefined,
    'it does not tell its usage',
  );
  t.end();
});
