// Reads chat completions into the form of the demo model; its errors have the words of the OpenAI API.
import type { Conversation, Part, Tool, Turn } from '../conversation.ts';
import { mediaFromId } from '../media/media.ts';
import { type Body, isList, isObject, readPositive } from '../requests.ts';
import {
  invalid,
  readChoice,
  readData,
  readFile,
  readFormat,
  readStop,
  readTool,
  readUrl,
  requireObjects,
  requirePairs,
  requireText,
  unknownValue,
} from './openai.ts';

/** The conversation that a body asks `model` to go on with. */
export function readChat(model: string, body: Body): Conversation {
  const messages = body['messages'];
  if (!isList(messages) || messages.length === 0 || !messages.every(isObject)) {
    throw invalid('messages', "'messages' must be a list of at least one message.", 'invalid_type');
  }
  if ((body['n'] ?? 1) !== 1) throw invalid('n', 'The demo models give one choice only.');
  const turns = messages.map((message, index) => readMessage(message, `messages[${index}]`));
  requirePairs(turns, (isCall, id, turn) =>
    invalid(
      `messages[${turn}].role`,
      isCall
        ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`
        : "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
      null,
    ),
  );
  const tools = readTools(body['tools']);
  const format = body['response_format'];
  const effort = body['reasoning_effort'] ?? 'none';
  return {
    model,
    turns,
    tools,
    toolChoice: readChoice(body['tool_choice'], tools, chosenNames),
    isParallel: body['parallel_tool_calls'] !== false,
    output: readFormat(format, isObject(format) ? format['json_schema'] : undefined, 'response_format'),
    thinks: effort !== 'none',
    limit: readPositive(body, 'max_completion_tokens') ?? readPositive(body, 'max_tokens') ?? Number.POSITIVE_INFINITY,
    stop: readStop(body['stop']),
  };
}

function readMessage(message: Body, param: string): Turn {
  const { role, content } = message;
  if (role === 'system' || role === 'developer') return { role: 'system', parts: readContent(content, param) };
  if (role === 'user') return { role, parts: readContent(content, param) };
  if (role === 'tool') {
    const callId = requireText(message, 'tool_call_id', param);
    return { role: 'user', parts: [{ kind: 'result', callId, content: readContent(content, param), isError: false }] };
  }
  if (role !== 'assistant') {
    throw unknownValue(`${param}.role`, role, "'system', 'assistant', 'user', 'tool', and 'developer'");
  }
  const calls = requireObjects(message['tool_calls'] ?? [], `${param}.tool_calls`);
  const said = calls.map((call, index) => readCall(call, `${param}.tool_calls[${index}]`));
  return { role, parts: [...readContent(content ?? [], param), ...said] };
}

function readCall(call: Body, param: string): Part {
  const id = requireText(call, 'id', param);
  const kind = call['type'] === 'custom' ? 'custom' : 'function';
  const called = call[kind];
  if (!isObject(called)) {
    throw invalid(`${param}.${kind}`, `Missing required parameter: '${param}.${kind}'.`, 'missing_required_parameter');
  }
  requireText(called, kind === 'custom' ? 'input' : 'arguments', `${param}.${kind}`);
  return { kind: 'call', id, name: requireText(called, 'name', `${param}.${kind}`) };
}

function readContent(content: unknown, message: string): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  const parts = requireObjects(content, `${message}.content`);
  return parts.map((part, index) => readPart(part, `${message}.content[${index}]`));
}

function readPart(part: Body, param: string): Part {
  const { type } = part;
  if (type === 'text') return { kind: 'text', text: requireText(part, 'text', param) };
  if (type === 'refusal') return { kind: 'text', text: requireText(part, 'refusal', param) };
  const inner = part[String(type)];
  const value = isObject(inner) ? inner : {};
  if (type === 'image_url') {
    return readUrl('image', requireText(value, 'url', `${param}.image_url`), `${param}.image_url.url`);
  }
  if (type === 'file') return readFile(value, `${param}.file`);
  if (type === 'input_audio') {
    const data = requireText(value, 'data', `${param}.input_audio`);
    const format = requireText(value, 'format', `${param}.input_audio`);
    return readData('sound', `audio/${format}`, data, `${param}.input_audio.data`);
  }
  if (type === 'audio') return mediaFromId('sound', requireText(value, 'id', `${param}.audio`));
  throw unknownValue(`${param}.type`, type, "'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'");
}

function readTools(value: unknown): Tool[] {
  if (value === undefined || value === null) return [];
  const tools = requireObjects(value, 'tools');
  if (tools.length === 0) {
    throw invalid('tools', "Invalid 'tools': empty array. Expected an array with minimum length 1.", 'empty_array');
  }
  return tools.map((tool, index) => {
    const { type } = tool;
    if (type !== 'function' && type !== 'custom') {
      throw unknownValue(`tools[${index}].type`, type, "'function' and 'custom'");
    }
    const described = tool[type];
    const param = `tools[${index}].${type}`;
    if (isObject(described)) return readTool(described, param, type === 'custom');
    throw invalid(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');
  });
}

/** `{type: "function", function: {name}}`, or such objects in `allowed_tools`. */
function chosenNames(choice: Body): string[] {
  const allowed = choice['allowed_tools'];
  const list = isObject(allowed) ? requireObjects(allowed['tools'], 'tool_choice.allowed_tools.tools') : [choice];
  return list.map((item) => {
    const type = item['type'] === 'custom' ? 'custom' : 'function';
    const named = item[type];
    return requireText(isObject(named) ? named : {}, 'name', `tool_choice.${type}`);
  });
}
