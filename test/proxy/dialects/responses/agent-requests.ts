// What coding agents send in the Responses format, written from their public sources.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';

const message = (role: string, ...content: readonly JsonObject[]): JsonObject => ({ type: 'message', role, content });
const said = (text: string): JsonObject => ({ type: 'input_text', text });

/** The second request of a session of Codex CLI. */
export const codexRequest: JsonObject = {
  model: 'gpt-5-codex',
  instructions: 'You are a coding agent.',
  input: [
    message('developer', said('Sandbox: read-only.')),
    message('user', said('Fix the bug.')),
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Look.' }], content: null, encrypted_content: 'gAAA' },
    message('assistant', { type: 'output_text', text: 'I look.' }),
    { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'call_1' },
    { type: 'custom_tool_call', status: 'completed', name: 'apply_patch', input: '*** Begin Patch', call_id: 'call_2' },
    { type: 'function_call_output', call_id: 'call_1', output: 'a.ts' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done.' },
    message('user', said('And this?'), { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }),
  ],
  tools: [
    {
      type: 'function',
      name: 'shell',
      description: 'Runs a command.',
      strict: false,
      parameters: { type: 'object', properties: { command: { type: 'array', items: { type: 'string' } } } },
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "*"' },
    },
    { type: 'local_shell' },
    { type: 'web_search', external_web_access: false },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199-a',
  client_metadata: { originator: 'codex_cli_rs' },
  text: { verbosity: 'low' },
};
