// Which answers are kept: complete ones that any later request may get. What is not known to be one is not kept.
import type { Operation } from '../dialects/dialect.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  parseObject,
  textOf,
} from '../dialects/json/json.ts';

const whole: ReadonlySet<JsonValue | undefined> = new Set(['stop', 'tool_calls', 'function_call']);
const wholeMessage: ReadonlySet<JsonValue | undefined> = new Set(['end_turn', 'tool_use', 'stop_sequence']);
/** Others are of tools that a provider runs with a state of its own, or whose work is the point. */
const blocks: ReadonlySet<JsonValue | undefined> = new Set(
  'text thinking redacted_thinking tool_use server_tool_use web_search_tool_result web_fetch_tool_result'.split(' '),
);
const items: ReadonlySet<JsonValue | undefined> = new Set(
  'message reasoning function_call custom_tool_call web_search_call'.split(' '),
);
const embedding = Buffer.from('"embedding"');
const [openBrace, closeBrace] = [0x7b, 0x7d];

/** The answer to this operation as it may be kept; undefined: it is not complete, a refusal, an error, or tied to what a provider keeps. */
export function isKeepable(operation: Operation, bytes: Buffer): boolean {
  // Numbers are not read: they are many, and say nothing of it.
  if (operation === 'embeddings') return isEmbedding(bytes);
  if (operation === 'messages' || operation === 'responses') {
    const answer = parseObject(bytes.toString('utf8'));
    return answer !== undefined && isKeepableObject(operation, answer);
  }
  return isWholeChat(bytes.toString('latin1'));
}

/**
 * By the names that say it, without reading the rest, which takes ten times as long: within a text of JSON no quote stands without a
 * backslash, so that each is a name, or the whole of a text.
 */
const doubtful =
  /"(?:finish_reason"[: \n\r\t]*(?![: \n\r\t]|"(?:stop|tool_calls|function_call)")|(?:refusal|audio|error)"[: \n\r\t]*(?![: \n\r\t]|null))/;
const ending = '"finish_reason"';
/** Whether an answer of chat, one character a byte, ends well. Every end must be a good one. */
function isWholeChat(text: string): boolean {
  return text.includes(ending) && !doubtful.test(text);
}

/** `isKeepable` for a parsed answer. */
export function isKeepableObject(operation: Operation, answer: JsonObject): boolean {
  if (answer['error'] !== undefined && answer['error'] !== null) return false;
  switch (operation) {
    case 'chat':
    case 'chat_of_input':
    case 'completions':
      return isEvery(answer['choices'], isWholeChoice);
    case 'messages':
      return isWholeMessage(answer);
    case 'responses':
      return answer['status'] === 'completed' && isEvery(answer['output'], isPlainItem);
    default:
      return false;
  }
}

function isEvery(list: JsonValue | undefined, isSo: (entry: JsonObject) => boolean): boolean {
  const entries = listOf(list) ?? [];
  return entries.length > 0 && entries.every((entry) => isObject(entry) && isSo(entry));
}

/** A sound can be referred to for a while only. */
function isWholeChoice({ finish_reason, message, text }: JsonObject): boolean {
  const said = objectOf(message);
  if (said === undefined) return typeof text === 'string' && finish_reason === 'stop';
  return whole.has(finish_reason) && !textOf(said['refusal']) && !said['audio'];
}

function isWholeMessage({ stop_reason, content, container }: JsonObject): boolean {
  return wholeMessage.has(stop_reason) && !container && isEvery(content, ({ type }) => blocks.has(type));
}

function isPlainItem({ type, content }: JsonObject): boolean {
  if (!items.has(type)) return false;
  return type !== 'message' || (listOf(content) ?? []).every((part) => objectOf(part)?.['type'] !== 'refusal');
}

function isEmbedding(bytes: Buffer): boolean {
  const text = bytes.subarray(0, 64).toString('latin1').trimStart();
  const end = bytes.subarray(-64).toString('latin1').trimEnd();
  const isObjectText = text.charCodeAt(0) === openBrace && end.charCodeAt(end.length - 1) === closeBrace;
  return isObjectText && bytes.includes(embedding);
}
