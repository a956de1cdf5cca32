// Writes instructions and turns as the items of a request's input.
import type { ConversationRequest, Turn } from '../conversation/conversation.ts';
import type {
  ForeignPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../conversation/parts.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { asFunctionInput } from '../tools/free-text-tools.ts';
import { openaiContent } from './carried-signature.ts';
import { foreignContentOf, markOf, messageRest, partRest } from './own-marks.ts';
import { type Losing, writeInputPart, writeOutputPart } from './write-content.ts';

/** The facts that writing needs besides the parts. */
export interface Writing extends Losing {
  /** Tools that take free text are known; else their calls are written as those of functions. */
  readonly hasFreeText: boolean;
}

/** `instructions`: undefined where there are none. */
export interface WrittenInput {
  readonly instructions: string | undefined;
  readonly input: readonly JsonObject[];
}

/** `instructions` and `input`. Throws what the losses of `writing` throw. */
export function writeInput({ system, turns }: ConversationRequest, writing: Writing): WrittenInput {
  // Instructions that came as messages are messages again.
  const first = system.findIndex((part) => messageRest(part) !== undefined);
  const [texts, messages] = first === -1 ? [system, []] : [system.slice(0, first), system.slice(first)];
  if (texts.some(({ cacheMark }) => cacheMark !== undefined)) loseCacheMark(writing);
  const leading = messages.length === 0 ? [] : [{ role: 'system' as const, parts: messages }];
  return {
    instructions: texts.length === 0 ? undefined : texts.map(({ text }) => text).join('\n\n'),
    input: [...leading, ...turns].flatMap((turn) => writeTurn(turn, writing)),
  };
}

function loseCacheMark({ dialect, losses }: Losing): void {
  losses.hint(fieldName('cacheMark', dialect));
}

interface Message {
  readonly rest: JsonObject;
  readonly content: JsonObject[];
}

function writeTurn({ role, parts, name }: Turn, writing: Writing): readonly JsonObject[] {
  if (name !== undefined) writing.losses.hint(fieldName('turnName', writing.dialect));
  const items: (JsonObject | Message)[] = [];
  let open: Message | undefined;
  for (const part of parts) {
    if (part.kind !== 'foreign' && part.cacheMark !== undefined) loseCacheMark(writing);
    if (isItem(part)) {
      const item = writeItem(part, writing);
      if (item !== undefined) items.push(item);
      open = undefined;
      continue;
    }
    const written = role === 'assistant' ? writeOutputPart(part, writing) : writeInputPart(part, writing);
    if (written === undefined) continue;
    const rest = messageRest(part);
    if (open === undefined || rest !== undefined) {
      open = { rest: rest ?? {}, content: [] };
      items.push(open);
    }
    open.content.push(written);
  }
  if (parts.length === 0 && role !== 'assistant') items.push({ rest: {}, content: [] });
  return items.map((item) => (isMessage(item) ? { type: 'message', role, ...item.rest, content: item.content } : item));
}

function isMessage(item: JsonObject | Message): item is Message {
  return !('type' in item);
}

type ItemPart = ToolCallPart | ToolResultPart | ReasoningPart | ForeignPart;

function isItem(part: Part): part is ItemPart {
  if (part.kind === 'foreign') return foreignContentOf(part) === undefined;
  return part.kind === 'tool_call' || part.kind === 'tool_result' || part.kind === 'reasoning';
}

function writeItem(part: ItemPart, writing: Writing): JsonObject | undefined {
  switch (part.kind) {
    case 'tool_call':
      return writeCall(part, writing);
    case 'tool_result':
      return writeResult(part, writing);
    case 'reasoning':
      return writeReasoning(part, writing);
    default:
      return writeForeign(part, writing);
  }
}

function writeForeign({ dialect, name, value, place }: ForeignPart, writing: Writing): JsonObject | undefined {
  // An item of this dialect has a type, or is a reference, whose type may be left out.
  if (dialect === 'responses') return { type: name, ...value };
  writing.losses.meaning(fieldName('turns', writing.dialect), `it has no item of the type ${name}`, place);
  return undefined;
}

function writeCall(part: ToolCallPart, { hasFreeText, dialect, losses }: Writing): JsonObject {
  const { id, name, input, isFreeText, signature } = part;
  if (signature !== undefined) losses.hint(fieldName('reasoning', dialect));
  const rest = markOf(part) ?? {};
  if (isFreeText && hasFreeText) return { type: 'custom_tool_call', ...rest, call_id: id, name, input };
  const json = isFreeText ? asFunctionInput(input) : input;
  return { type: 'function_call', ...rest, call_id: id, name, arguments: json === '' ? '{}' : json };
}

function writeResult(part: ToolResultPart, writing: Writing): JsonObject {
  const isFreeText = part.isFreeText && writing.hasFreeText;
  if (part.isError) writing.losses.hint('messages.content.is_error');
  return {
    type: isFreeText ? 'custom_tool_call_output' : 'function_call_output',
    ...markOf(part),
    call_id: part.callId,
    output: writeOutput(part.content, writing),
  };
}

/** A single text is written as such, which all servers know. */
function writeOutput(content: ToolResultPart['content'], writing: Writing): JsonValue {
  const [first] = content;
  if (first === undefined) return '';
  if (content.length === 1 && isPlain(first)) return first.text;
  return content.map((part) => writeInputPart(part, writing)).filter((part) => part !== undefined);
}

function isPlain(part: Part): part is TextPart {
  return part.kind === 'text' && Object.keys(partRest(part)).length === 0;
}

/** Undefined: the thoughts mean nothing to a model of OpenAI's, or are not whole. */
function writeReasoning(part: ReasoningPart, writing: Writing): JsonObject | undefined {
  const { text, summary, signature, encrypted } = part;
  const own = openaiContent(encrypted, signature);
  const rest = markOf(part);
  const isForeign = own === undefined && (signature !== undefined || encrypted !== undefined);
  if (isForeign || (own === undefined && rest === undefined)) {
    writing.losses.hint(fieldName('reasoning', writing.dialect));
    return undefined;
  }
  const summaries = rest === undefined && summary.length === 0 && text !== '' ? [text] : summary;
  return {
    type: 'reasoning',
    ...rest,
    summary: summaries.map((each) => ({ type: 'summary_text', text: each })),
    ...(rest === undefined || text === '' ? {} : { content: [{ type: 'reasoning_text', text }] }),
    ...(own === undefined ? {} : { encrypted_content: own }),
  };
}
