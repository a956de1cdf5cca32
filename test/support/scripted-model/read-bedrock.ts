// Reads requests as Converse and ConverseStream of Amazon Bedrock do for a model of Anthropic.
import {
  anyMembers,
  base64,
  filled,
  list,
  listIfAny,
  type Members,
  members,
  must,
  numbers,
  objectSchema,
  parsed,
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
  'system inferenceConfig toolConfig outputConfig additionalModelRequestFields additionalModelResponseFieldPaths guardrailConfig ' +
  'performanceConfig requestMetadata serviceTier';

export function readBedrock({ path, headers, body }: Received): Heard {
  const [, model = '', action] = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path) ?? [];
  if (action === undefined) throw new Refused(`Not found: ${path}`, 404);
  if (!/^Bearer ./.test(String(headers['authorization']))) throw new Refused('Missing Authentication Token', 403);
  members(body, 'body', known, 'messages');
  const inference = members(
    body['inferenceConfig'] ?? {},
    'inferenceConfig',
    'maxTokens temperature topP stopSequences',
  );
  numbers(inference, 'inferenceConfig', { any: 'temperature topP', wholes: 'maxTokens' });
  const turns = list(body['messages'], 'messages').map((value, index) => readTurn(value, `messages.${index}`));
  must(joinTurns(turns).length === turns.length, 'A conversation must alternate between user and assistant roles.');
  checkEnds(turns);
  checkCalls(turns);
  const thinks = readThinking(anyMembers(body['additionalModelRequestFields'] ?? {}, 'additional'), inference);
  checkThoughtsBeforeCalls({ thinks, turns });
  const tools = readTools(body['toolConfig'], thinks);
  const usesTools = turns.some(({ parts }) => parts.some(({ kind }) => kind === 'call' || kind === 'result'));
  must(
    !usesTools || tools.length > 0,
    'The toolConfig field must be defined when using toolUse and toolResult blocks.',
  );
  return {
    model: decodeURIComponent(model),
    stream: action === 'converse-stream',
    system: withoutPoints(listIfAny(body['system'], 'system'), 'system')
      .map((block) => filled(members(block, 'system', '', 'text')['text'], 'system.text'))
      .join('\n'),
    turns,
    tools,
    hasSchema: readFormat(body['outputConfig']),
    thinks,
    tellsUsage: true,
    tellsSignature: true,
  };
}

/** The blocks without the marks of caches between them. */
function withoutPoints(blocks: readonly unknown[], path: string): readonly unknown[] {
  return blocks.filter((block) => {
    const point = anyMembers(block, path)['cachePoint'];
    if (point === undefined) return true;
    const { type, ttl } = members(members(block, path, '', 'cachePoint')['cachePoint'], path, 'ttl', 'type');
    word(type, `${path}.cachePoint.type`, ['default']);
    if (ttl !== undefined) word(ttl, `${path}.cachePoint.ttl`, ['5m', '1h']);
    return false;
  });
}

function readTurn(value: unknown, path: string): HeardTurn {
  const turn = members(value, path, '', 'role content');
  const blocks = withoutPoints(list(turn['content'], `${path}.content`), `${path}.content`);
  must(blocks.length > 0, `${path}.content: must not be empty`);
  return {
    role: word(turn['role'], `${path}.role`, ['user', 'assistant']),
    parts: blocks.map((block, index) => readBlock(block, `${path}.content.${index}`)),
  };
}

function readBlock(value: unknown, path: string): HeardPart {
  const block = members(value, path, 'text image toolUse toolResult reasoningContent');
  must(Object.keys(block).length === 1, `${path}: must have one member`);
  if (block['text'] !== undefined) return { kind: 'text', text: filled(block['text'], `${path}.text`) };
  if (block['image'] !== undefined) {
    const { format, source } = members(block['image'], path, '', 'format source');
    const name = word(format, `${path}.format`, ['png', 'jpeg', 'gif', 'webp']);
    return {
      kind: 'image',
      mediaType: `image/${name}`,
      data: base64(members(source, path, '', 'bytes')['bytes'], path),
    };
  }
  if (block['toolUse'] !== undefined) {
    const { toolUseId, name, input } = members(block['toolUse'], path, '', 'toolUseId name input');
    return { kind: 'call', id: toolId(toolUseId, path), name: toolName(name, path), input: anyMembers(input, path) };
  }
  return block['toolResult'] === undefined
    ? readThoughts(block['reasoningContent'], path)
    : readResult(block['toolResult'], path);
}

function readResult(value: unknown, path: string): HeardPart {
  const { toolUseId, content, status } = members(value, path, 'status', 'toolUseId content');
  if (status !== undefined) word(status, `${path}.status`, ['success', 'error']);
  const output = list(content, `${path}.content`).map((part) => text(members(part, path, '', 'text')['text'], path));
  return { kind: 'result', id: toolId(toolUseId, path), output: output.join('') };
}

function readThoughts(value: unknown, path: string): HeardPart {
  const { reasoningText } = members(value, path, '', 'reasoningText');
  const { text: words, signature } = members(reasoningText, path, '', 'text signature');
  const thought = text(words, path);
  checkSignature('claude', text(signature, path), thought);
  return { kind: 'thought', text: thought, signature: text(signature, path) };
}

function toolId(value: unknown, path: string): string {
  const id = text(value, path);
  must(/^[a-zA-Z0-9_-]{1,64}$/.test(id), `${path}.toolUseId: must match [a-zA-Z0-9_-]+`);
  return id;
}

function readThinking(fields: Members, inference: Members): boolean {
  members(fields, 'additionalModelRequestFields', 'thinking top_k anthropic_beta output_config');
  if (fields['thinking'] === undefined) return false;
  const { type, budget_tokens: budget } = members(fields['thinking'], 'thinking', 'budget_tokens display', 'type');
  if (word(type, 'thinking.type', ['enabled', 'disabled']) === 'disabled') return false;
  must(Number(budget) >= 1024, 'thinking.budget_tokens: must be at least 1024');
  const { maxTokens, temperature } = inference;
  const isRoom = maxTokens === undefined || Number(maxTokens) > Number(budget);
  must(isRoom, '`max_tokens` must be greater than `thinking.budget_tokens`');
  must(temperature === undefined || temperature === 1, '`temperature` may only be set to 1 when thinking is enabled');
  return true;
}

function readTools(value: unknown, thinks: boolean): readonly string[] {
  if (value === undefined) return [];
  const { tools, toolChoice } = members(value, 'toolConfig', 'toolChoice', 'tools');
  const choice = members(toolChoice ?? {}, 'toolChoice', 'auto any tool');
  const isForced = choice['any'] !== undefined || choice['tool'] !== undefined;
  must(!thinks || !isForced, 'Thinking may not be enabled when tool_choice forces tool use.');
  const names = withoutPoints(list(tools, 'toolConfig.tools'), 'toolConfig.tools').map((entry) => {
    const { toolSpec } = members(entry, 'toolConfig.tools', '', 'toolSpec');
    const { name, inputSchema } = members(toolSpec, 'toolSpec', 'description strict', 'name inputSchema');
    objectSchema(members(inputSchema, 'inputSchema', '', 'json')['json'], 'inputSchema.json', false);
    return toolName(name, 'toolSpec.name');
  });
  must(names.length > 0, 'toolConfig.tools: must not be empty');
  return names;
}

function readFormat(value: unknown): boolean {
  if (value === undefined) return false;
  const { textFormat } = members(value, 'outputConfig', '', 'textFormat');
  const { type, structure } = members(textFormat, 'textFormat', '', 'type structure');
  word(type, 'textFormat.type', ['json_schema']);
  const { jsonSchema } = members(structure, 'structure', '', 'jsonSchema');
  const { schema } = members(jsonSchema, 'jsonSchema', 'name description', 'schema');
  objectSchema(parsed(schema, 'jsonSchema.schema'), 'jsonSchema.schema', true);
  return true;
}
