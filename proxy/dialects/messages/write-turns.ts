// Writes the turns of a conversation as Anthropic wants them: roles in turn, results of tools first, instructions in their place.
import type { Turn } from '../conversation/conversation.ts';
import { placeOf, type TextPart } from '../conversation/parts.ts';
import { goOn, opening, placeInstructions } from '../conversation/placed-instructions.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, type JsonValue, textOf } from '../json/json.ts';
import { isPlainText, writeBlocks, writeText } from './write-blocks.ts';
import type { Writing } from './writing.ts';

export interface WrittenTurns {
  readonly system: JsonValue | undefined;
  readonly messages: readonly JsonObject[];
}

/** Turns of one role that follow one another become one message. Instructions that may not stand in the middle are words of the user. */
export function writeTurns(writing: Writing): WrittenTurns {
  const { request, losses } = writing;
  if (request.turns.some(({ name }) => name !== undefined)) losses.hint(fieldName('turnName', request.dialect));
  const { leading, turns } = placeInstructions(request, (index) => staysInPlace(index, writing));
  const other = leading.find(({ kind }) => kind !== 'text');
  if (other !== undefined)
    losses.meaning(fieldName('system', request.dialect), 'its instructions are text alone', placeOf(other));
  const messages = mergedMessages(turns, writing);
  const texts = leading.filter((part): part is TextPart => part.kind === 'text');
  const system = writeSystem(texts, writing);
  if (request.dialect === 'messages' && messages.length > 0) return { system, messages };
  // Anthropic refuses a conversation without messages, and one that begins with the model.
  if (messages.length === 0) return { system: undefined, messages: [{ role: 'user', content: system ?? opening }] };
  const isAnswerLast = messages.at(-1)?.['role'] === 'assistant';
  return {
    system,
    messages: [
      ...(messages[0]?.['role'] === 'assistant' ? [{ role: 'user', content: opening }] : []),
      ...messages,
      ...(isAnswerLast && !writing.traits.takesPrefill ? [{ role: 'user', content: goOn }] : []),
    ],
  };
}

function staysInPlace(index: number, { request, traits }: Writing): boolean {
  if (request.dialect === 'messages') return true;
  const next = request.turns[index + 1];
  const isBehindUser = request.turns[index - 1]?.role === 'user' && next?.role !== 'user';
  return traits.takesSystemTurns && isBehindUser;
}

/** One text, as long as no part of it has more to say. */
function writeSystem(parts: readonly TextPart[], writing: Writing): JsonValue | undefined {
  const blocks = parts.map((part) => writeText(part, writing)).filter((block) => block !== undefined);
  if (blocks.length === 0) return undefined;
  const isJoined = blocks.length === 1 || writing.request.dialect !== 'messages';
  return isJoined && blocks.every(isPlainText) ? blocks.map((block) => textOf(block['text'])).join('\n\n') : blocks;
}

/** Anthropic refuses blanks at the end of the words with which the model shall begin. */
function withoutLastBlanks(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const last = blocks.at(-1);
  if (last?.['type'] !== 'text') return blocks;
  return [...blocks.slice(0, -1), { ...last, text: (textOf(last['text']) ?? '').trimEnd() }];
}

function mergedMessages(turns: readonly Turn[], writing: Writing): readonly JsonObject[] {
  const merged: { role: Turn['role']; blocks: JsonObject[] }[] = [];
  for (const { role, parts } of turns) {
    const blocks = writeBlocks(parts, writing);
    if (blocks.length === 0) continue;
    const last = merged.at(-1);
    if (last?.role === role) for (const block of blocks) last.blocks.push(block);
    else merged.push({ role, blocks: [...blocks] });
  }
  return merged.map(({ role, blocks }, index) => {
    if (role === 'user') return { role, content: contentOf(resultsFirst(blocks)) };
    const isPrefill = role === 'assistant' && index === merged.length - 1 && writing.request.dialect !== 'messages';
    return { role, content: contentOf(isPrefill ? withoutLastBlanks(blocks) : blocks) };
  });
}

function contentOf(blocks: readonly JsonObject[]): JsonValue {
  const [first] = blocks;
  return blocks.length === 1 && isPlainText(first) ? (first?.['text'] ?? '') : blocks;
}

/** The results of tools must stand in front of what the user says beside them. */
function resultsFirst(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const isResult = ({ type }: JsonObject): boolean => typeof type === 'string' && type.endsWith('tool_result');
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}
