// Long calls are translated in steps, and what they hold is bounded, JSON within texts included.
import { test } from 'tap';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import { maxValues } from '../../../proxy/dialects/json/read-json.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import { inSlices } from '../../../proxy/pacing/slices.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { translate } from '../../../proxy/translation/translated.ts';

const question = { role: 'user', content: 'Which?' };
const callWith = (input: string): object => ({
  role: 'assistant',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: input } }],
});
const resultWith = (content: string): object => ({ role: 'tool', tool_call_id: 'call_1', content });

async function translated(messages: readonly object[]): Promise<string> {
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: [question, ...messages] }));
  const spoken = await inSlices(conversationOf({ body }, chatTranslation));
  const target = { model: 'm', upstream: { name: 'far', unsupported: undefined } };
  return (await inSlices(translate(spoken, target, { quirks: {} }, messagesTranslation))).body.toString();
}

const many = JSON.stringify({ list: Array.from({ length: maxValues }, () => 0) });
const half = JSON.stringify({ list: Array.from({ length: maxValues * 0.6 }, () => 0) });
const refused = { code: 'body_too_many_keys' };

await test('values of JSON in texts count like those of the body, all texts together', async (t) => {
  await t.rejects(translated([callWith(many), resultWith('done')]), refused, 'the input of a tool');
  await t.rejects(translated([callWith('{}'), resultWith(many)]), refused, 'what a tool gave');
  await t.rejects(translated([callWith(half), resultWith(half)]), refused, 'both together');
  t.match(await translated([callWith(half), resultWith('done')]), /"input":\{"list":\[0,0,/);
});

await test('words are no values, however many commas and braces they have', async (t) => {
  const words = ',{['.repeat(maxValues);
  const input = JSON.stringify({ text: `"${words}\\` });
  const body = await translated([callWith(input), resultWith(words)]);
  t.ok(body.includes(`"input":${input}`));
});
