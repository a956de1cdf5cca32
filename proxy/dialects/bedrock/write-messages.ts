// Writes the turns of a conversation: speakers alternate, and the results of tools come first in the words of the user.
import type { ConversationRequest, Turn } from '../conversation/conversation.ts';
import { type Part, placeOf, type TextPart } from '../conversation/parts.ts';
import type { JsonObject } from '../json.ts';
import { cachePoint, textBlock, writePart } from './write-blocks.ts';
import type { Writing } from './writing.ts';

interface Message {
  readonly role: 'user' | 'assistant';
  readonly results: JsonObject[];
  readonly others: JsonObject[];
}

/** `areToolsOff`: the request names no tools, and then Converse refuses calls and results; they are told in words. */
export function writeMessages(turns: readonly Turn[], areToolsOff: boolean, writing: Writing): readonly JsonObject[] {
  const messages: Message[] = [];
  for (const { role, parts, name } of turns) {
    if (role === 'system') continue;
    if (name !== undefined) writing.hint('turnName');
    for (const part of areToolsOff ? parts.flatMap(inWords) : parts) {
      const blocks = writePart(part, writing);
      if (blocks.length === 0) continue;
      const last = messages.at(-1);
      const message = last?.role === role ? last : { role, results: [], others: [] };
      if (message !== last) messages.push(message);
      const place = part.kind === 'tool_result' ? message.results : message.others;
      place.push(...blocks);
    }
  }
  return messages.map(({ role, results, others }) => ({ role, content: [...results, ...others] }));
}

/** Instructions, also those that came later: Converse has one place for them. Undefined: there are none. */
export function writeSystem(
  { system, turns }: ConversationRequest,
  writing: Writing,
): readonly JsonObject[] | undefined {
  const later = turns.flatMap(({ role, parts }) => (role === 'system' ? parts : []));
  const blocks = [...system, ...later].flatMap((part) => {
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
