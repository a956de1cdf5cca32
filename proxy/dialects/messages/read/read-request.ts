// Reads a request of Anthropic's Messages, as its clients send it.
import type { ConversationRequest, OutputFormat, OwnMember, Thinking, Turn } from '../../conversation/conversation.ts';
import type { TextPart } from '../../conversation/parts.ts';
import { type JsonObject, type JsonValue, numberOf } from '../../json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  requiredObject,
  requiredText,
  unknownMembers,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { CalledTools, readContent, readText } from './read-blocks.ts';
import { readToolChoice, readTools } from './read-tools.ts';

const known = new Set(
  'model messages system max_tokens metadata stop_sequences stream temperature top_p top_k thinking tools tool_choice output_config output_format service_tier'.split(
    ' ',
  ),
);
/**
 * Without these the answer would be another one: where code runs, which servers are asked, in which country, what was said before, and that a
 * summary is wanted.
 */
const meanings = new Set(['container', 'mcp_servers', 'inference_geo', 'thread', 'compaction']);
const efforts: readonly string[] = ['low', 'medium', 'high', 'xhigh', 'max'] satisfies Thinking['effort'][];
/** Fewest tokens of thoughts that may be asked for. */
const leastBudget = 1024;

/** Throws an InvalidRequest. */
export function readRequest(body: JsonObject): ConversationRequest {
  return { ...readPrompt(body), maxTokens: readMaxTokens(body) };
}

/** Reads a request that needs no `max_tokens`, as for a token count. Throws an InvalidRequest. */
export function readPrompt(body: JsonObject): ConversationRequest {
  const stream = optionalFlag(body, 'stream') ?? false;
  return {
    dialect: 'messages',
    system: readSystem(body['system']),
    turns: readTurns(body),
    tools: readTools(body),
    ...readToolChoice(body),
    output: readOutput(body),
    sampling: {
      temperature: optionalNumber(body, 'temperature'),
      topP: optionalNumber(body, 'top_p'),
      topK: optionalNumber(body, 'top_k'),
    },
    stop: readStop(body),
    thinking: readThinking(body),
    stream,
    wantsUsage: stream,
    user: optionalText(optionalObject(body, 'metadata') ?? {}, 'user_id', 'metadata'),
    serviceTier: optionalText(body, 'service_tier'),
    ownMembers: readOwn(body),
  };
}

function readMaxTokens(body: JsonObject): JsonValue {
  const most = optionalNumber(body, 'max_tokens');
  if (most === undefined) throw new InvalidRequest('max_tokens', 'is missing; it must be a number of at least 1');
  const count = numberOf(most) ?? 0;
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidRequest('max_tokens', 'must be a whole number of at least 1');
  return most;
}

function readSystem(system: JsonValue | undefined): readonly TextPart[] {
  if (system === undefined || system === null) return [];
  if (typeof system === 'string') return [{ kind: 'text', text: system }];
  if (!Array.isArray(system)) throw new InvalidRequest('system', 'must be a text or a list of text blocks');
  return objectsIn(system as readonly JsonValue[], 'system').map(({ value, at }) => {
    if (requiredText(value, 'type', at) !== 'text') throw new InvalidRequest(`${at}.type`, 'must be "text"');
    return readText(value, at);
  });
}

function readTurns(body: JsonObject): readonly Turn[] {
  const list = optionalList(body, 'messages');
  if (list === undefined) throw new InvalidRequest('messages', 'is missing; it must be a list of messages');
  if (list.length === 0) throw new InvalidRequest('messages', 'must have at least one message');
  const called = new CalledTools();
  return objectsIn(list, 'messages').map(({ value, at }) => {
    const role = requiredText(value, 'role', at);
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      throw new InvalidRequest(`${at}.role`, 'must be "user", "assistant" or "system"');
    return { role, parts: readContent(value['content'], `${at}.content`, called) };
  });
}

function readStop(body: JsonObject): readonly string[] {
  return (optionalList(body, 'stop_sequences') ?? []).map((text, index) => {
    if (typeof text !== 'string') throw new InvalidRequest(`stop_sequences[${index}]`, 'must be a text');
    return text;
  });
}

/** `output_format` is the former name of `output_config.format`. */
function readOutput(body: JsonObject): OutputFormat | undefined {
  const current = optionalObject(optionalObject(body, 'output_config') ?? {}, 'format', 'output_config');
  const at = current === undefined ? 'output_format' : 'output_config.format';
  const format = current ?? optionalObject(body, 'output_format');
  if (format === undefined) return undefined;
  if (requiredText(format, 'type', at) !== 'json_schema')
    throw new InvalidRequest(`${at}.type`, 'must be "json_schema"');
  return { kind: 'schema', schema: requiredObject(format, 'schema', at) };
}

function readThinking(body: JsonObject): Thinking | undefined {
  const effort = readEffort(body);
  const thinking = optionalObject(body, 'thinking');
  if (thinking === undefined) return effort && { effort };
  const summary = optionalText(thinking, 'display', 'thinking');
  const how = { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) };
  switch (requiredText(thinking, 'type', 'thinking')) {
    case 'disabled':
      return { mode: 'off', ...how };
    case 'between_tools':
      return { mode: 'off', betweenTools: true, ...how };
    case 'adaptive':
      return { mode: 'adaptive', ...how };
    case 'enabled':
      return { mode: 'on', budgetTokens: readBudget(thinking), ...how };
    default:
      throw new InvalidRequest('thinking.type', 'must be "enabled", "adaptive", "between_tools" or "disabled"');
  }
}

function readBudget(thinking: JsonObject): number {
  const budget = numberOf(optionalNumber(thinking, 'budget_tokens', 'thinking'));
  if (budget === undefined || !Number.isInteger(budget) || budget < leastBudget)
    throw new InvalidRequest('thinking.budget_tokens', `must be a whole number of at least ${leastBudget}`);
  return budget;
}

function readEffort(body: JsonObject): Thinking['effort'] {
  const effort = optionalText(optionalObject(body, 'output_config') ?? {}, 'effort', 'output_config');
  if (effort !== undefined && !efforts.includes(effort))
    throw new InvalidRequest('output_config.effort', `must be one of ${efforts.join(', ')}`);
  return effort as Thinking['effort'];
}

const knownWithin = [
  ['metadata', new Set(['user_id'])],
  ['output_config', new Set(['effort', 'format'])],
] as const;

function readOwn(body: JsonObject): readonly OwnMember[] {
  const within = knownWithin.flatMap(([key, members]) => {
    const inner = optionalObject(body, key);
    if (inner === undefined) return [];
    return unknownMembers(inner, members).map(([name, value]) => ({ path: [key, name], value, isMeaning: false }));
  });
  const atTop = unknownMembers(body, known).map(([key, value]) => ({
    path: [key],
    value,
    isMeaning: meanings.has(key) && !(Array.isArray(value) && value.length === 0),
  }));
  return [...within, ...atTop];
}
