// Reads an answer of Anthropic that came as a whole.
import type { ConversationAnswer } from '../../conversation/conversation.ts';
import type { Part } from '../../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, listOf, objectOf, textOf, writeJson } from '../../json/json.ts';
import { InvalidAnswer } from '../../translation.ts';
import { readCitation } from '../citations.ts';
import { readFinish } from '../finish.ts';
import { readHidden, readThinking } from './read-blocks.ts';
import { readUsage } from './read-usage.ts';

/** Throws an InvalidAnswer. */
export function readAnswer(body: JsonObject): ConversationAnswer {
  const content = listOf(body['content']);
  if (content === undefined) throw new InvalidAnswer('it has no content');
  const usage = objectOf(body['usage']);
  const serviceTier = textOf(usage?.['service_tier']);
  return {
    id: textOf(body['id']) ?? '',
    model: textOf(body['model']) ?? '',
    parts: content.map(readPart),
    finish: readFinish(body['stop_reason'], body['stop_sequence']),
    usage: readUsage(usage),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

function readPart(block: JsonValue): Part {
  if (!isObject(block)) throw new InvalidAnswer('a block of its content is no object');
  const type = textOf(block['type']);
  switch (type) {
    case 'text': {
      const citations = (listOf(block['citations']) ?? []).filter(isObject).map(readCitation);
      const text = textOf(block['text']) ?? '';
      return { kind: 'text', text, ...(citations.length === 0 ? {} : { citations }) };
    }
    case 'thinking':
      return readThinking(textOf(block['thinking']) ?? '', textOf(block['signature']) ?? '');
    case 'redacted_thinking':
      return readHidden(textOf(block['data']) ?? '');
    case 'tool_use':
      return { kind: 'tool_call', ...callOf(block), input: writeJson(block['input'] ?? {}), isFreeText: false };
    case undefined:
      throw new InvalidAnswer('a block of its content has no type');
    default:
      return { kind: 'foreign', dialect: 'messages', name: type, value: block };
  }
}

/** The id and the name of a tool call. Throws an InvalidAnswer for one without a name. */
export function callOf(block: JsonObject): { readonly id: string; readonly name: string } {
  const name = textOf(block['name']);
  if (!name) throw new InvalidAnswer('it calls a tool without a name');
  return { id: textOf(block['id']) ?? '', name };
}
