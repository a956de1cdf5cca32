// Reads requests as Anthropic's Messages API does.
import {
  anyMembers,
  base64,
  booleans,
  filled,
  list,
  listIfAny,
  type Members,
  members,
  must,
  numbers,
  objectSchema,
  Refused,
  text,
  toolName,
  word,
} from './checks.ts';
import {
  checkCalls,
  checkEnds,
  checkThoughtsBeforeCalls,
  type Heard,
  type HeardPart,
  type HeardTurn,
  joinTurns,
} from './heard.ts';
import { checkSignature } from './signatures.ts';
import type { Received } from './wire.ts';

const known =
  'system stop_sequences stream temperature top_p top_k tools tool_choice thinking metadata service_tier output_config ' +
  'cache_control container inference_geo context_management';

/** Models that decide themselves how much they think, and take instructions in the middle of a conversation. */
const newer = /claude-(?:opus|sonnet)-5/;

export function readMessages({ path, headers, body }: Received): Heard {
  if (path.split('?')[0] !== '/v1/messages') throw new Refused(`Not found: ${path}`, 404);
  const version = word(headers['anthropic-version'], 'anthropic-version', ['2023-06-01', '2026-10-21']);
  const hasKey = headers['x-api-key'] !== undefined || /^Bearer ./.test(String(headers['authorization']));
  must(hasKey, 'x-api-key: header is required');
  members(body, 'body', known, 'model max_tokens messages');
  numbers(body, 'body', { any: 'temperature top_p', wholes: 'max_tokens top_k' });
  booleans(body, 'body', 'stream');
  const isSampled = ['temperature', 'top_p', 'top_k'].some((name) => body[name] !== undefined);
  must(version === '2023-06-01' || !isSampled, 'temperature, top_p and top_k are not supported in this version');
  const model = text(body['model'], 'model');
  const isNew = newer.test(model);
  const messages = list(body['messages'], 'messages').map((value, index) => anyMembers(value, `messages.${index}`));
  const instructions = messages.filter(({ role }) => isNew && role === 'system');
  const turns = joinTurns(
    messages.flatMap((value, index) => (instructions.includes(value) ? [] : [readTurn(value, index)])),
  );
  checkEnds(turns);
  checkCalls(turns);
  for (const { parts } of turns) {
    const lastResult = parts.findLastIndex(({ kind }) => kind === 'result');
    const isFirst = parts.slice(0, lastResult + 1).every(({ kind }) => kind === 'result');
    must(isFirst, 'tool_result blocks must come first');
  }
  const thinks = readThinking(body, isNew);
  checkThoughtsBeforeCalls({ thinks, turns });
  const tools = listIfAny(body['tools'], 'tools').map(readTool);
  readChoice(body['tool_choice'], tools, thinks);
  return {
    model,
    stream: body['stream'] === true,
    system: [readSystem(body['system']), ...instructions.map(readInstruction)].join('\n'),
    turns,
    tools,
    hasSchema: readFormat(body['output_config'], isNew),
    thinks,
    tellsUsage: true,
    tellsSignature: true,
  };
}

function readTurn(value: unknown, index: number): HeardTurn {
  const path = `messages.${index}`;
  const { role, content } = members(value, path, '', 'role content');
  return {
    role: word(role, `${path}.role`, ['user', 'assistant']),
    parts: readContent(content, `${path}.content`, role === 'user' ? ofUser : ofAssistant),
  };
}

const ofUser = ['text', 'image', 'tool_result'] as const;
const ofAssistant = ['text', 'tool_use', 'thinking'] as const;
type BlockType = (typeof ofUser | typeof ofAssistant)[number] | 'tool_reference';

function readContent(value: unknown, path: string, types: readonly BlockType[]): readonly HeardPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: filled(value, path) }];
  const blocks = list(value, path);
  must(blocks.length > 0, `${path}: must not be empty`);
  return blocks.map((block, index) => readBlock(block, `${path}.${index}`, types));
}

function readBlock(value: unknown, path: string, types: readonly BlockType[]): HeardPart {
  const block = anyMembers(value, path);
  switch (word(block['type'], `${path}.type`, types)) {
    case 'text':
      members(block, path, 'cache_control citations', 'type text');
      return { kind: 'text', text: filled(block['text'], `${path}.text`) };
    case 'image':
      return readImage(block, path);
    case 'tool_use': {
      members(block, path, 'cache_control caller', 'type id name input');
      const id = toolId(block['id'], `${path}.id`);
      const input = anyMembers(block['input'], `${path}.input`);
      return { kind: 'call', id, name: toolName(block['name'], `${path}.name`), input };
    }
    case 'tool_result': {
      members(block, path, 'cache_control content is_error', 'type tool_use_id');
      // A tool may give nothing.
      const { content } = block;
      const inner = ['text', 'image', 'tool_reference'] as const;
      const parts = content === undefined ? [] : readContent(content, `${path}.content`, inner);
      const output = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
      return { kind: 'result', id: toolId(block['tool_use_id'], `${path}.tool_use_id`), output };
    }
    case 'tool_reference':
      return {
        kind: 'text',
        text: toolName(members(block, path, 'cache_control', 'type tool_name')['tool_name'], path),
      };
    case 'thinking':
      break;
  }
  members(block, path, '', 'type thinking signature');
  const thought = text(block['thinking'], `${path}.thinking`);
  const signature = text(block['signature'], `${path}.signature`);
  checkSignature('claude', signature, thought);
  return { kind: 'thought', text: thought, signature };
}

function readImage(block: Members, path: string): HeardPart {
  members(block, path, 'cache_control', 'type source');
  const { type, media_type, data } = members(block['source'], `${path}.source`, 'media_type data', 'type');
  must(type === 'base64', `${path}.source.type: must be base64`);
  const mediaType = word(media_type, path, ['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
  return { kind: 'image', mediaType, data: base64(data, `${path}.source.data`) };
}

function toolId(value: unknown, path: string): string {
  const id = text(value, path);
  must(/^[a-zA-Z0-9_-]+$/.test(id), `${path}: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  return id;
}

function readSystem(value: unknown): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  return list(value, 'system')
    .map((block) => filled(members(block, 'system', 'cache_control citations', 'type text')['text'], 'system'))
    .join('\n');
}

/** In the middle of a conversation; the effort may change there. */
function readInstruction(value: Members): string {
  const { content, output_config: config } = members(value, 'messages', 'output_config', 'role content');
  readFormat(config, true);
  return readSystem(content);
}

function readThinking(body: Members, isNew: boolean): boolean {
  if (body['thinking'] === undefined) return false;
  const thinking = members(body['thinking'], 'thinking', 'budget_tokens display', 'type');
  const type = word(thinking['type'], 'thinking.type', ['enabled', 'disabled', 'adaptive']);
  if (type === 'disabled') return false;
  if (isNew) must(type === 'adaptive', 'thinking.type: use adaptive thinking with this model');
  if (isNew) return true;
  must(type === 'enabled', 'adaptive thinking is not supported on this model');
  const budget = thinking['budget_tokens'];
  must(Number.isInteger(budget) && Number(budget) >= 1024, 'thinking.budget_tokens: must be at least 1024');
  must(Number(body['max_tokens']) > Number(budget), '`max_tokens` must be greater than `thinking.budget_tokens`');
  const { temperature, top_k: topK, top_p: topP } = body;
  must(temperature === undefined || temperature === 1, '`temperature` may only be set to 1 when thinking is enabled');
  must(topK === undefined, '`top_k` must be unset when thinking is enabled');
  must(topP === undefined || Number(topP) >= 0.95, '`top_p` must be at least 0.95 when thinking is enabled');
  return true;
}

function readTool(value: unknown, index: number): string {
  const path = `tools.${index}`;
  const tool = members(
    value,
    path,
    'type description cache_control strict eager_input_streaming defer_loading',
    'name input_schema',
  );
  if (tool['type'] !== undefined) word(tool['type'], `${path}.type`, ['custom']);
  objectSchema(tool['input_schema'], `${path}.input_schema`, false);
  return toolName(tool['name'], `${path}.name`);
}

function readChoice(value: unknown, tools: readonly string[], thinks: boolean): void {
  if (value === undefined) return;
  const choice = members(value, 'tool_choice', 'name disable_parallel_tool_use', 'type');
  const type = word(choice['type'], 'tool_choice.type', ['auto', 'any', 'tool', 'none']);
  must(tools.length > 0, 'tool_choice may only be specified while providing tools');
  const isForced = type === 'any' || type === 'tool';
  must(!thinks || !isForced, 'Thinking may not be enabled when tool_choice forces tool use.');
}

function readFormat(value: unknown, isNew: boolean): boolean {
  if (value === undefined) return false;
  const { format, effort } = members(value, 'output_config', 'format effort');
  if (effort !== undefined && isNew) word(effort, 'output_config.effort', ['low', 'medium', 'high', 'xhigh', 'max']);
  else must(effort === undefined, 'output_config.effort: is not supported by this model');
  if (format === undefined) return false;
  const { type, schema } = members(format, 'output_config.format', '', 'type schema');
  word(type, 'output_config.format.type', ['json_schema']);
  objectSchema(schema, 'output_config.format.schema', true);
  return true;
}
