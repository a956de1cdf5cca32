// Blocks that only Anthropic knows reach other providers as words, and Anthropic as they were.
import { test } from 'tap';
import { geminiTranslation } from '../../../../proxy/dialects/gemini/translate.ts';
import { messagesTranslation } from '../../../../proxy/dialects/messages/translate.ts';
import { recordLosses } from '../least-request.ts';

await test('which tools were found, and what a conversation came to, is told in words where it cannot be told otherwise', (t) => {
  const use = { type: 'server_tool_use', id: 's', name: 'tool_search_tool_bm25', input: { query: 'sun' } };
  const tool_references = [{ type: 'tool_reference', tool_name: 'f' }];
  const found = { type: 'tool_search_tool_search_result', tool_references };
  const result = { type: 'tool_search_tool_result', tool_use_id: 's', content: found };
  const called = { type: 'tool_use', id: 'c', name: 'ToolSearch', input: {} };
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'compaction', content: 'They met.' }, use, result, called] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: tool_references }] },
  ];
  const tools = [
    { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    { name: 'f', input_schema: {} },
  ];
  const request = messagesTranslation.readRequest({ max_tokens: 9, messages, tools });
  const own = messagesTranslation.writeRequest(
    request,
    { model: 'claude-opus-4-8', quirks: {} },
    recordLosses().losses,
  );
  t.same(JSON.parse(JSON.stringify(own['messages'])), messages, 'Anthropic is told as it was said');
  const { losses, hints, meanings } = recordLosses();
  const told = geminiTranslation.writeRequest(request, { model: 'gemini-2.5-pro', quirks: {} }, losses)['contents'];
  t.match(told, [
    {},
    {
      parts: [
        { text: 'They met.' },
        { text: '[Searched for tools: {"query":"sun"}]' },
        { text: '[Found the tools f.]' },
        {},
      ],
    },
    { parts: [{ functionResponse: { response: { output: '[The tool f can be called now.]' } } }] },
  ]);
  t.same([hints, meanings], [['tools[0]'], []]);
  t.end();
});
