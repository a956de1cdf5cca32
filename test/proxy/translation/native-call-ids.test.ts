// Ids of calls that a server refuses are changed in a body that goes out as the client wrote it, and no other byte of it is.
import { test } from 'tap';
import { scanObject } from '../../../proxy/bytes/scan.ts';
import { splice } from '../../../proxy/bytes/splice.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import { nineLetters } from '../../../proxy/dialects/tools/call-forms.ts';
import type { Speakable } from '../../../proxy/providers/row.ts';
import { callIdEdits } from '../../../proxy/translation/native-call-ids.ts';

/** `as`: the format, the model and the quirks of the target. */
function sent(text: string, [format, model = 'm', quirks = {}]: [Speakable, string?, Quirks?]): string {
  const body = Buffer.from(text);
  const edits = callIdEdits({ body, members: scanObject(body) }, { format, quirks }, model);
  const result = splice(body, edits);
  if (edits.length === 0) return result === body ? 'the same' : 'a copy';
  return result.toString();
}

const foreign = 'call_0123456789abcdef01234567';
const chat = (id: string): string =>
  `{ "messages" : [{"role":"assistant","tool_calls":[{"id" :"${id}","function":{"name":"f","arguments":"{\\"id\\":\\"${id}\\",\\"tool_call_id\\":\\"${id}\\"}"}}]},\n {"role":"tool","tool_call_id": "${id}","content":"${id}"}],"n":1e99}`;

await test('Mistral gets ids of nine letters, wherever it is served, and OpenAI ids of up to 40', async (t) => {
  const changed = sent(chat(foreign), ['chat', 'mistral-large']);
  const [, id = ''] = /"tool_call_id": "([A-Za-z0-9]{9})"/.exec(changed) ?? [];
  t.equal(
    changed,
    chat(foreign)
      .replace(`"id" :"${foreign}"`, `"id" :"${id}"`)
      .replace(`"tool_call_id": "${foreign}"`, `"tool_call_id": "${id}"`),
  );
  t.equal(sent(chat(foreign), ['chat', 'm', { callId: nineLetters }]), changed, 'alike in each request');
  t.equal(sent(chat('abcDEF123'), ['chat', 'mistral-large']), 'the same');
  t.equal(sent(chat(foreign), ['chat', 'gpt-5', { isInventor: true }]), 'the same');
  t.match(sent(chat('x'.repeat(41)), ['chat', 'gpt-5', { isInventor: true }]), /"tool_call_id": "x{31}_\w{8}"/);
  const long = JSON.stringify(`"tool_call_id": "${foreign}" `.repeat(99));
  const between = (text: string): string => text.replace('\n', `${long},`).replace('"n":', `"system":${long},"n":`);
  t.equal(sent(between(chat(foreign)), ['chat', 'mistral-large']), between(changed), 'between long texts');
  t.equal(sent(chat('x'.repeat(41)), ['chat', 'other']), 'the same', 'nothing is known of other servers');
});

await test('Anthropic gets ids of letters, digits, underscores and hyphens, which stay apart', async (t) => {
  const body = (one: string, other: string): string =>
    `{"messages":[{"content":[{"type":"tool_use","id":"${one}","input":{"id":"kept"}},{"type":"tool_use","id":"${other}"}]},{"content":[{"tool_use_id":"${one}"},{"tool_use_id":"${other}"}]}]}`;
  const changed = sent(body('a.b', 'a\\u003ab'), ['messages']);
  const ids = [...changed.matchAll(/"(?:id|tool_use_id)":"(a_b_\w{8})"/g)].map(([, id]) => id);
  t.same(ids, [ids[0], ids[1], ids[0], ids[1]]);
  t.not(ids[0], ids[1]);
  t.equal(changed, body(ids[0] ?? '', ids[1] ?? ''));
  t.equal(sent(body('toolu_01', 'call_-'), ['messages']), 'the same');
  t.match(sent(body('a.b', 'c'), ['count_tokens']), /"tool_use_id":"a_b_/);
});

await test('Responses gets ids of up to 64 characters', async (t) => {
  const body = (id: string): string => `{"input":[{"id":"fc_1","call_id":"${id}"},{"call_id":"${id}","output":""}]}`;
  t.equal(sent(body('x'.repeat(64)), ['responses']), 'the same');
  const changed = sent(body('x'.repeat(65)), ['responses']);
  t.match(changed, /^\{"input":\[\{"id":"fc_1","call_id":"(x{55}_\w{8})"\},\{"call_id":"\1"/);
});

await test('what only looks like the id of a call is left alone', async (t) => {
  for (const body of [
    '{"tools":[{"properties":{"tool_use_id":{"type":"string"}}}]}',
    '{"content":"\\"tool_use_id\\":\\"a.b\\""}',
    '{"content":"\\"tool_use_id","x":"a.b"}',
    '{"content":["tool_use_id","a.b"]}',
    '{"tool_use_id":null}',
    '{"id":"a.b"}',
  ])
    t.equal(sent(body, ['messages']), 'the same', body);
  t.equal(sent('{"call_id":"a.b"}', ['embeddings']), 'the same');
});
