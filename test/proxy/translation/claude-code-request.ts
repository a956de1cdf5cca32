// What Claude Code sends, written from Anthropic's public documentation of the API and of the program.
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';

const ephemeral = { type: 'ephemeral' };
const text = (words: string, more: JsonObject = {}): JsonObject => ({ type: 'text', text: words, ...more });
const tool = (name: string, properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  name,
  description: `Use ${name}.`,
  input_schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  },
  ...more,
});

/** The third request of a session: thoughts and results of tools go back. */
export const claudeCodeRequest: JsonObject = {
  model: 'claude-sonnet-4-5-20250929',
  max_tokens: 32_000,
  stream: true,
  temperature: 1,
  thinking: { type: 'enabled', budget_tokens: 31_999 },
  metadata: { user_id: 'user_0f2a_account__session_8a6c1f04-4a4e-4c57-9d2e-3a6b2f6d5c11' },
  system: [
    text('You are Claude Code.', { cache_control: ephemeral }),
    text('You help with software.', { cache_control: { type: 'ephemeral', ttl: '1h' } }),
  ],
  messages: [
    { role: 'user', content: [text('<system-reminder>Be brief.</system-reminder>'), text('Fix the test in a.ts.')] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I read the file.', signature: 'EqQBCgIYAhIkc2lnbmF0dXJl' },
        { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
        text('I read it.'),
        { type: 'tool_use', id: 'toolu_01A', name: 'Read', input: { file_path: '/a.ts' } },
        { type: 'tool_use', id: 'toolu_01B', name: 'Bash', input: { command: 'npm test', timeout: 1000 } },
      ],
    },
    {
      role: 'user',
      content: [
        { tool_use_id: 'toolu_01A', type: 'tool_result', content: [text('1: test()')] },
        { tool_use_id: 'toolu_01B', type: 'tool_result', content: 'failed', is_error: true },
        {
          type: 'image',
          source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
        },
        text('This is what I see.', { cache_control: ephemeral }),
      ],
    },
  ],
  tools: [
    tool('Read', { file_path: { type: 'string', description: 'Absolute path.' } }),
    tool(
      'Bash',
      { command: { type: 'string' }, timeout: { type: 'number', maximum: 600_000 } },
      { cache_control: ephemeral },
    ),
    tool('TodoWrite', {
      todos: { type: 'array', items: { type: 'object', properties: { status: { enum: ['pending', 'completed'] } } } },
    }),
  ],
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
};
