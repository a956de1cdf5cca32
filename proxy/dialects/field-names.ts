// The names of the conversation's members in each client dialect, for messages and for `x-gateway-dropped`.
import type { ClientDialectName } from './names.ts';

/** In the order chat (and completions), responses, messages; a text alone: the same everywhere. */
const names = {
  cacheMark: 'cache_control',
  citations: 'citations',
  detail: 'detail',
  fileName: ['messages.content.file.filename', 'input.content.filename', 'messages.content.title'],
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  logprobs: ['logprobs', 'include', 'logprobs'],
  maxTokens: ['max_completion_tokens', 'max_output_tokens', 'max_tokens'],
  metadata: 'metadata',
  output: ['response_format', 'text.format', 'output_config.format'],
  parallelTools: ['parallel_tool_calls', 'parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  presencePenalty: 'presence_penalty',
  reasoning: ['messages.reasoning_content', 'input.reasoning', 'messages.thinking'],
  seed: 'seed',
  serviceTier: 'service_tier',
  stop: ['stop', 'stop', 'stop_sequences'],
  strict: ['tools.function.strict', 'tools.strict', 'tools.strict'],
  system: ['messages', 'instructions', 'system'],
  temperature: 'temperature',
  thinking: ['reasoning_effort', 'reasoning', 'thinking'],
  toolChoice: 'tool_choice',
  tools: 'tools',
  toolError: ['messages.is_error', 'input.status', 'messages.content.is_error'],
  toolSchema: ['tools.function.parameters', 'tools.parameters', 'tools.input_schema'],
  topK: 'top_k',
  topLogprobs: 'top_logprobs',
  topP: 'top_p',
  turnName: ['messages.name', 'input.name', 'messages.name'],
  turns: ['messages', 'input', 'messages'],
  user: ['user', 'user', 'metadata.user_id'],
  verbosity: ['verbosity', 'text.verbosity', 'output_config.verbosity'],
} as const satisfies Record<string, string | readonly [string, string, string]>;

const columns: Readonly<Record<ClientDialectName, number>> = { chat: 0, completions: 0, responses: 1, messages: 2 };

/** The name of a member of the conversation in the words of a client. */
export function fieldName(member: keyof typeof names, dialect: ClientDialectName): string {
  const name = names[member];
  return typeof name === 'string' ? name : (name[columns[dialect]] ?? name[0]);
}
