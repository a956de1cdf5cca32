// Reads messages (Anthropic) into the form of the demo model; its errors have the words of that API.
import {
  type BrokenPair,
  type Conversation,
  findBrokenPair,
  type Output,
  type Part,
  type Tool,
  type ToolChoice,
  type Turn,
} from '../conversation.ts';
import { type Body, isList, isObject } from '../requests.ts';
import { readBlocks, refuse } from './messages-blocks.ts';

/** The conversation that a body asks `model` to go on with. To count tokens, no limit is needed. */
export function readMessages(model: string, body: Body, purpose: 'answer' | 'count'): Conversation {
  const limit = purpose === 'count' ? 1 : readLimit(body['max_tokens']);
  const turns = readTurns(body['messages']);
  const broken = findBrokenPair(turns);
  if (broken) throw refuse(`messages.${broken.turn}`, tellBrokenPair(broken));
  const tools = readTools(body['tools']);
  const thinks = readThinking(body['thinking'], limit, purpose);
  const toolChoice = readChoice(body['tool_choice'], tools);
  if (thinks && toolChoice.mode === 'required') {
    throw refuse('tool_choice', 'Thinking may not be enabled when tool_choice forces tool use.');
  }
  const choice = isObject(body['tool_choice']) ? body['tool_choice'] : {};
  const system: Turn = { role: 'system', parts: readBlocks(body['system'] ?? [], 'system') };
  return {
    model,
    turns: system.parts.length > 0 ? [system, ...turns] : turns,
    tools,
    toolChoice,
    isParallel: choice['disable_parallel_tool_use'] !== true,
    output: readOutput(body),
    thinks,
    limit,
    stop: readStop(body['stop_sequences'] ?? []),
  };
}

function readLimit(limit: unknown): number {
  if (limit === undefined) throw refuse('max_tokens', 'Field required');
  if (typeof limit !== 'number' || !Number.isInteger(limit))
    throw refuse('max_tokens', 'Input should be a valid integer');
  if (limit < 1) throw refuse('max_tokens', 'Input should be greater than or equal to 1');
  return limit;
}

function readTurns(messages: unknown): Turn[] {
  if (messages === undefined) throw refuse('messages', 'Field required');
  if (!isList(messages)) throw refuse('messages', 'Input should be a valid list');
  if (messages.length === 0) throw refuse('messages', 'at least one message is required');
  return messages.map((message, index) => {
    const path = `messages.${index}`;
    if (!isObject(message)) throw refuse(path, 'Input should be a valid dictionary');
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      throw refuse(path, `Unexpected role "${String(role)}". Allowed roles are "user" or "assistant".`);
    }
    if (content === undefined) throw refuse(`${path}.content`, 'Field required');
    const parts: Part[] = readBlocks(content, `${path}.content`);
    return { role, parts };
  });
}

function tellBrokenPair({ kind, id }: BrokenPair): string {
  return kind === 'call'
    ? `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    : `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
}

function readTools(value: unknown): Tool[] {
  const tools = value ?? [];
  if (!isList(tools) || !tools.every(isObject)) throw refuse('tools', 'Input should be a valid list');
  return tools.flatMap((tool, index): Tool[] => {
    // A tool with another type is run by the provider, and is never called here.
    if ((tool['type'] ?? 'custom') !== 'custom') return [];
    const path = `tools.${index}.custom`;
    const { name, input_schema: schema } = tool;
    if (typeof name !== 'string') throw refuse(`${path}.name`, 'Field required');
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
      throw refuse(`${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    }
    if (!isObject(schema)) throw refuse(`${path}.input_schema`, 'Field required');
    if (schema['type'] !== 'object') throw refuse(`${path}.input_schema.type`, "Input should be 'object'");
    return [{ name, schema, isFreeText: false }];
  });
}

function readChoice(choice: unknown, tools: readonly Tool[]): ToolChoice {
  if (choice === undefined || choice === null) return { mode: 'auto' };
  if (!isObject(choice)) throw refuse('tool_choice', 'Input should be a valid dictionary');
  const { type, name } = choice;
  if (type === 'none') return { mode: 'none' };
  if (tools.length === 0 && type !== 'auto') {
    throw refuse('tool_choice', 'tool_choice may only be specified while providing tools.');
  }
  if (type === 'auto') return { mode: 'auto' };
  if (type === 'any') return { mode: 'required' };
  if (type !== 'tool') {
    throw refuse(
      'tool_choice',
      `Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'`,
    );
  }
  if (typeof name !== 'string') throw refuse('tool_choice.tool.name', 'Field required');
  if (!tools.some((tool) => tool.name === name)) {
    throw refuse('tool_choice', `Tool '${name}' not found in provided tools`);
  }
  return { mode: 'required', names: [name] };
}

function readThinking(thinking: unknown, limit: number, purpose: 'answer' | 'count'): boolean {
  if (!isObject(thinking)) return false;
  if (thinking['type'] !== 'enabled') return thinking['type'] === 'adaptive';
  const budget = thinking['budget_tokens'];
  if (typeof budget !== 'number') throw refuse('thinking.enabled.budget_tokens', 'Field required');
  if (budget < 1024) throw refuse('thinking.enabled.budget_tokens', 'Input should be greater than or equal to 1024');
  if (purpose === 'answer' && budget >= limit) {
    throw refuse('max_tokens', '`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  return true;
}

function readOutput(body: Body): Output {
  const config = isObject(body['output_config']) ? body['output_config'] : {};
  const format = config['format'] ?? body['output_format'];
  if (!isObject(format)) return { kind: 'text' };
  if (format['type'] !== 'json_schema') throw refuse('output_config.format.type', "Input should be 'json_schema'");
  if (!isObject(format['schema'])) throw refuse('output_config.format.schema', 'Field required');
  return { kind: 'schema', schema: format['schema'] };
}

function readStop(stop: unknown): string[] {
  if (!isList(stop)) throw refuse('stop_sequences', 'Input should be a valid list');
  if (stop.every((item) => typeof item === 'string' && item.trim() !== '')) return stop.map(String);
  throw refuse('stop_sequences', 'each stop sequence must contain non-whitespace');
}
