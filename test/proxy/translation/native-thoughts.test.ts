// Thoughts of another provider are taken out of a body that goes out as the client wrote it, and no other byte of it is.
import { test } from 'tap';
import { scanObject } from '../../../proxy/bytes/scan.ts';
import { splice } from '../../../proxy/bytes/splice.ts';
import { packSignature } from '../../../proxy/dialects/foreign-signature.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import type { Speakable } from '../../../proxy/providers/row.ts';
import { foreignThoughtEdits } from '../../../proxy/translation/native-thoughts.ts';

function sent(text: string, format: Speakable, quirks: Quirks = {}): string {
  const body = Buffer.from(text);
  const result = splice(body, foreignThoughtEdits({ body, members: scanObject(body) }, { format, quirks }));
  return result === body ? 'the same' : result.toString();
}

const foreign = packSignature({ family: 'google', value: 'x' }, 'openai');
const thought = (proof: string): string =>
  `{ "type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a, [b] }"}],"encrypted_content" : "${proof}"}`;
const [one, other] = ['{"role":"user","content":"1e99, ]"}', '{"type":"function_call","call_id":"c","arguments":"{}"}'];
const input = (...items: readonly string[]): string => `{ "input" : [ ${items.join(' , ')} ], "n":1e99}`;

await test('a server of Responses gets its own thoughts, and none of others', async (t) => {
  t.equal(sent(input(one, thought(foreign), other), 'responses'), input(one, other));
  t.equal(sent(input(thought(foreign), one), 'responses'), input(one));
  t.equal(sent(input(one, thought(foreign), thought(foreign)), 'compact'), input(one));
  t.equal(
    sent(input(thought(foreign), thought('gAAAA'), thought(foreign), one), 'input_tokens'),
    input(thought('gAAAA'), one),
  );
  t.same(JSON.parse(sent(input(thought(foreign)), 'responses')), { input: [], n: 1e99 });
  t.equal(sent(input(one, thought('gAAAA'), other), 'responses'), 'the same');
  t.equal(sent(`{"input":${JSON.stringify(thought(foreign))}}`, 'responses'), 'the same', 'words about it');
  t.equal(sent(input(one, thought(foreign)), 'chat'), 'the same');
});

const block = (signature: string): string => `{"type":"thinking","thinking":"a","signature":"${signature}"}`;
const [text, call] = [
  '{"type":"text","text":"]}"}',
  '{"type":"tool_use","id":"t","name":"f","input":{"signature":""}}',
];
const messages = (...contents: readonly string[]): string =>
  `{"messages": [${contents.map((content) => `{"role": "user","content":${content}}`).join(', ')}]}`;

await test('a server of Messages gets the thoughts that Anthropic signed, and a message without any other words goes', async (t) => {
  t.equal(
    sent(messages('"Hi"', `[${block(foreign)},${text}, ${call}]`, '"Go on"'), 'messages'),
    messages('"Hi"', `[${text}, ${call}]`, '"Go on"'),
  );
  const isInventor = { isInventor: true };
  const unsigned = messages('"Hi"', `[${block('')}]`, `[${block('Eq')}, ${block('')}]`);
  t.equal(sent(unsigned, 'messages', isInventor), messages('"Hi"', `[${block('Eq')}]`));
  t.equal(sent(unsigned, 'messages'), 'the same', 'servers that imitate Anthropic may sign nothing');
  t.equal(sent(messages(`[${block(foreign)},${text}]`), 'count_tokens'), messages(`[${text}]`));
  t.equal(sent(messages('"Hi"', `[${block('Eq')},${call}]`), 'messages', isInventor), 'the same');
});
