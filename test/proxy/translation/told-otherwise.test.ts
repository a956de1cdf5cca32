// What a target has no member for and a model would answer otherwise without is told in words, or done by the gateway; none of it is named.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import type { StreamEvent } from '../../../proxy/dialects/conversation/stream-event.ts';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import type { ClientDialect, ProviderDialect } from '../../../proxy/dialects/translation.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { eventReader, readAnswer, type Translated, translate } from '../../../proxy/translation/translated.ts';

function translated(client: ClientDialect, body: JsonObject, dialect: ProviderDialect): Translated {
  const spoken = { client, body, request: client.readRequest(body), bytes: 0 };
  const target = { model: 'claude-sonnet-4-5', upstream: { name: 'there', unsupported: undefined } };
  return atOnce(translate(spoken, target, { quirks: {} }, dialect));
}

const chatTargets = [messagesTranslation, geminiTranslation, bedrockTranslation, responsesTranslation];

await test('names of several speakers of one role stand in front of their words', (t) => {
  const messages = [
    { role: 'user', name: 'Ann', content: 'Hi' },
    { role: 'assistant', name: 'Guide', content: 'Hello' },
    { role: 'user', name: 'Bob', content: [{ type: 'text', text: 'Me too' }] },
    { role: 'user', content: 'And I' },
  ];
  for (const dialect of chatTargets) {
    const { body, dropped } = translated(chatTranslation, { messages }, dialect);
    for (const words of ['"Ann: Hi"', '"Hello"', '"Bob: Me too"', '"And I"'])
      t.match(String(body), words, dialect.name);
    t.same(dropped, ['messages.name'], 'the only name of the assistant');
    const alone = translated(chatTranslation, { messages: messages.slice(0, 2) }, dialect);
    t.match(String(alone.body), '"Hi"', dialect.name);
  }
  t.end();
});

await test('a tool that has failed says so where the target has no other word for it', (t) => {
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const told = (content: unknown, dialect: ProviderDialect): string => {
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content };
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result] },
    ];
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const { body, dropped } = translated(
      messagesTranslation,
      { max_tokens: 99, messages, tools } as JsonObject,
      dialect,
    );
    t.same(dropped, [], dialect.name);
    return String(body);
  };
  for (const dialect of [chatTranslation, responsesTranslation]) {
    t.match(told('no such file', dialect), '"Error: no such file"');
    t.match(told('TypeError: x', dialect), '"TypeError: x"');
    t.match(told([], dialect), '"Error:"');
  }
  t.match(told('no such file', bedrockTranslation), '"status":"error"');
  t.end();
});

await test('a client that takes one call at a time gets one, whole and streamed', (t) => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  const body = { messages: [{ role: 'user', content: 'go' }], tools, parallel_tool_calls: false };
  for (const dialect of [geminiTranslation, bedrockTranslation]) {
    t.same(translated(chatTranslation, body, dialect).dropped, [], dialect.name);
  }
  const call = (id: string) => ({ functionCall: { id, name: 'f', args: { id } } });
  const parts = [{ text: 'Well' }, call('a'), call('b'), { text: 'then' }];
  const answer = Buffer.from(JSON.stringify({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }));
  const one = translated(chatTranslation, body, geminiTranslation);
  const kinds = (from: Translated): readonly string[] => atOnce(readAnswer(from, answer)).parts.map(({ kind }) => kind);
  t.same(kinds(one), ['text', 'tool_call', 'text']);
  t.same(kinds(translated(chatTranslation, { ...body, parallel_tool_calls: true }, geminiTranslation)), [
    'text',
    'tool_call',
    'tool_call',
    'text',
  ]);
  const reader = eventReader(one);
  const events: readonly StreamEvent[] = [...reader.read({ event: undefined, data: String(answer) }), ...reader.end()];
  const opened = events.flatMap((event) => (event.kind === 'opened' ? [`${event.index} ${event.part.kind}`] : []));
  t.same(opened, ['0 text', '1 tool_call', '2 text']);
  const closed = events.flatMap((event) => (event.kind === 'closed' ? [event.index] : []));
  t.same(closed, [0, 1, 2]);
  t.end();
});
