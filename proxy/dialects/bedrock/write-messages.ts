// Writes the turns of a conversation: speakers alternate, and the results of tools come first in the words of the user.
import type { ConversationRequest, Turn } from '../conversation/conversation.ts';
import { type Part, placeOf, type TextPart } from '../conversation/parts.ts';
import { goOn, opening, placeInstructions } from '../conversation/placed-instructions.ts';
import { type JsonObject, textOf } from '../json/json.ts';
import { cachePoint, textBlock, writePart } from './write-blocks.ts';
import type { Writing } from './writing.ts';

interface Message {
  readonly role: 'user' | 'assistant';
  readonly results: JsonObject[];
  readonly others: JsonObject[];
}

export interface WrittenConversation {
  readonly system: readonly JsonObject[] | undefined;
  readonly messages: readonly JsonObject[];
}

/**
 * `areToolsOff`: the request names no tools, and then Converse refuses calls and results; they are told in words. Converse refuses a conversation
 * without messages, too, and one that begins with the model.
 */
export function writeConversation(
  request: ConversationRequest,
  areToolsOff: boolean,
  writing: Writing,
): WrittenConversation {
  const { leading, turns } = placeInstructions(request);
  const system = writeSystem(leading, writing);
  const messages = writeMessages(turns, areToolsOff, writing);
  const begin = { role: 'user', content: [{ text: opening }] };
  if (messages.length === 0) {
    return { system: undefined, messages: [system === undefined ? begin : { role: 'user', content: system }] };
  }
  const isAnswerLast = messages.at(-1)?.['role'] === 'assistant';
  return {
    system,
    messages: [
      ...(messages[0]?.['role'] === 'assistant' ? [begin] : []),
      ...messages,
      ...(isAnswerLast && !writing.traits.takesPrefill ? [{ role: 'user', content: [{ text: goOn }] }] : []),
    ],
  };
}

function writeMessages(turns: readonly Turn[], areToolsOff: boolean, writing: Writing): readonly JsonObject[] {
  const messages: Message[] = [];
  for (const { role, parts, name } of turns) {
    if (name !== undefined) writing.hint('turnName');
    for (const part of areToolsOff ? parts.flatMap(inWords) : parts) {
      const blocks = writePart(part, writing);
      if (blocks.length === 0) continue;
      const last = messages.at(-1);
      const speaker = role === 'assistant' ? role : 'user';
      const message: Message = last?.role === speaker ? last : { role: speaker, results: [], others: [] };
      if (message !== last) messages.push(message);
      const place = part.kind === 'tool_result' ? message.results : message.others;
      place.push(...blocks);
    }
  }
  return messages.map(({ role, results, others }, index) => {
    const content = withWords([...results, ...others]);
    return {
      role,
      content: role === 'assistant' && index === messages.length - 1 ? withoutLastBlanks(content) : content,
    };
  });
}

/** A document is refused where nothing is said beside it. */
function withWords(content: readonly JsonObject[]): readonly JsonObject[] {
  const isDocument = (block: JsonObject): boolean => block['document'] !== undefined;
  if (!content.some(isDocument) || content.some((block) => block['text'] !== undefined)) return content;
  return [...content, { text: 'The document is attached.' }];
}

/** Blanks at the end of the words with which the model shall begin are refused. */
function withoutLastBlanks(content: readonly JsonObject[]): readonly JsonObject[] {
  const last = textOf(content.at(-1)?.['text']);
  return last === undefined ? content : [...content.slice(0, -1), { text: last.trimEnd() }];
}

/** The instructions before the first turn. Undefined: there are none. */
function writeSystem(parts: readonly Part[], writing: Writing): readonly JsonObject[] | undefined {
  const blocks = parts.flatMap((part) => {
    if (part.kind !== 'text') {
      writing.meaning('system', 'it takes instructions as text only', placeOf(part));
      return [];
    }
    const block = textBlock(part.text);
    const point = block === undefined ? undefined : cachePoint(part.cacheMark, writing);
    return [block, point].filter((value) => value !== undefined);
  });
  return blocks.length === 0 ? undefined : blocks;
}

function inWords(part: Part): readonly Part[] {
  if (part.kind === 'tool_call') return [text(`[Called the tool ${part.name} (${part.id}): ${part.input}]`)];
  if (part.kind !== 'tool_result') return [part];
  const called = part.name === undefined ? part.callId : `${part.name} (${part.callId})`;
  return [text(`[${part.isError ? 'Error' : 'Result'} of the tool ${called}:]`), ...part.content];
}

function text(words: string): TextPart {
  return { kind: 'text', text: words };
}
