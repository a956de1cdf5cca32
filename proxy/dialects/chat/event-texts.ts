// The texts of the chunks of a chat answer, and of a text completion.
import { type EditableObject, editable, editableList, placeIn, StreamedList, type TextList } from '../editing.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { EventTexts, StreamedText, StreamTexts } from '../texts.ts';
import { messageTexts } from './answer-texts.ts';
import { knownOfAnswer, knownOfMessage, thoughts } from './known-members.ts';

/** Members of a chunk beside its words. A chunk with these alone can be left out. */
const frame = new Set(['id', 'object', 'created', 'model', 'system_fingerprint', 'service_tier', 'obfuscation']);

const knownOfPart: ReadonlySet<string> = new Set(['text', 'thinking']);
const knownOfDelta: ReadonlySet<string> = new Set([...knownOfMessage, 'audio']);

export const eventTexts: StreamTexts<EditableObject> = { read, again };

function read(body: EditableObject): EventTexts {
  const list = new StreamedList();
  list.wholes.others(body, { role: 'assistant' }, knownOfAnswer);
  const finished = new Set<string>();
  const talking = new Map<string, ReadonlySet<string>>();
  for (const choice of editableList(body['choices'])) {
    const index = String(placeIn(choice, 'index'));
    const before = list.texts.length;
    choiceTexts(list, choice, index);
    wholesIn(list.wholes, choice);
    if (choice['finish_reason'] !== undefined && choice['finish_reason'] !== null) finished.add(index);
    const channels = list.texts.slice(before).map(({ channel }) => channel);
    if (channels.length > 0) talking.set(index, new Set(channels));
  }
  return {
    pieces: list.texts,
    repeats: [],
    wholes: list.wholes.texts,
    ends: (channel) => hasEnded(channel, finished, talking),
    isPieces: list.wholes.texts.length === 0 && isPieces(body, list.texts),
  };
}

/**
 * A choice that goes on with another text has ended the one before; calls of tools may be told side by side. Clients put the pieces of its
 * content together, whatever stands between them, so only its end ends that.
 */
function hasEnded(
  channel: string,
  finished: ReadonlySet<string>,
  talking: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  const index = channel.slice(0, channel.indexOf(' '));
  if (finished.has(index)) return true;
  const others = talking.get(index);
  return others !== undefined && !others.has(channel) && !/ (?:content$|tool |free )/.test(channel);
}

/** A message as some servers tell it in a chunk, and what no piece of a text is. */
function wholesIn(list: TextList, choice: EditableObject): void {
  const message = editable(choice['message']);
  if (message !== undefined) messageTexts(list, message, () => undefined);
  const delta = editable(choice['delta']);
  if (delta === undefined) return;
  for (const part of editableList(delta['content'])) list.others(part, { role: 'assistant' }, knownOfPart);
  for (const call of editableList(delta['tool_calls'])) {
    const asked = editable(call['function']);
    if (asked !== undefined) list.value(asked, 'arguments', { role: 'assistant' });
  }
  const signed = editable(delta['extra_content']);
  if (signed !== undefined) list.others(signed, { role: 'assistant', form: 'reasoning' });
  list.others(delta, { role: 'assistant' }, knownOfDelta);
}

function choiceTexts(list: StreamedList, choice: EditableObject, index: string): void {
  const changed = (): void => {
    if (choice['logprobs'] !== undefined) choice['logprobs'] = null;
  };
  list.member(choice, 'text', `${index} text`, { changed });
  const delta = editable(choice['delta']);
  if (delta === undefined) return;
  for (const key of thoughts) list.member(delta, key, `${index} ${key}`, { form: 'reasoning' });
  for (const detail of editableList(delta['reasoning_details'])) {
    const number = placeIn(detail, 'index');
    list.member(detail, 'text', `${index} detail ${number}`, { form: 'reasoning' });
    list.member(detail, 'summary', `${index} summary ${number}`, { form: 'reasoning' });
  }
  for (const key of ['content', 'refusal']) list.member(delta, key, `${index} ${key}`, { changed });
  for (const part of editableList(delta['content'])) partTexts(list, part, index, changed);
  for (const call of editableList(delta['tool_calls'])) {
    const number = placeIn(call, 'index');
    const asked = editable(call['function']);
    const free = editable(call['custom']);
    if (asked !== undefined) list.member(asked, 'arguments', `${index} tool ${number}`, { form: 'json' });
    if (free !== undefined) list.member(free, 'input', `${index} free ${number}`, { form: 'aside' });
  }
  const older = editable(delta['function_call']);
  if (older !== undefined) list.member(older, 'arguments', `${index} function`, { form: 'json' });
  const sound = editable(delta['audio']);
  if (sound !== undefined) list.member(sound, 'transcript', `${index} transcript`, { form: 'aside' });
}

/** Mistral lists texts and thoughts. */
function partTexts(list: StreamedList, part: EditableObject, index: string, changed: () => void): void {
  list.member(part, 'text', `${index} content`, { changed });
  list.member(part, 'thinking', `${index} thought`, { form: 'reasoning' });
  for (const piece of editableList(part['thinking']))
    list.member(piece, 'text', `${index} thought`, { form: 'reasoning' });
}

function isPieces(body: EditableObject, pieces: readonly StreamedText[]): boolean {
  const [choice, ...others] = editableList(body['choices']);
  if (choice === undefined || others.length > 0 || pieces.length !== 1) return false;
  const isBare = Object.entries(body).every(([key, value]) => frame.has(key) || key === 'choices' || value === null);
  const isAlone = leavesIn(choice['delta']) <= 1;
  return isBare && isAlone && (choice['finish_reason'] ?? null) === null;
}

/** Where a piece of a text belongs. */
const places: ReadonlySet<string> = new Set(['index', 'type']);

/** A piece of a text lies no deeper in its delta. */
const deepestPiece = 8;

/** How many values a delta has that say something: more than its piece must not be lost with it. */
function leavesIn(value: JsonValue | undefined, depth = 0): number {
  if (value === undefined || value === null || value === '') return 0;
  if (depth > deepestPiece) return 2;
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).reduce<number>((sum, each) => sum + leavesIn(each, depth + 1), 0);
  if (!isObject(value)) return 1;
  return Object.entries(value).reduce((sum, [key, each]) => sum + (places.has(key) ? 0 : leavesIn(each, depth + 1)), 0);
}

function again(body: EditableObject, channel: string, text: string): EditableObject {
  const [index = '0', kind = '', number = '0'] = channel.split(' ');
  const kept = Object.entries(body).filter(([key]) => frame.has(key) && key !== 'obfuscation');
  const said = kind === 'text' ? { text } : { delta: deltaOf(kind, Number(number), text) };
  const choice: JsonValue = { index: Number(index), ...said, finish_reason: null };
  return { ...Object.fromEntries(kept), choices: [choice] };
}

function deltaOf(kind: string, index: number, text: string): JsonObject {
  if (kind === 'tool') return { tool_calls: [{ index, function: { arguments: text } }] };
  if (kind === 'detail') return { reasoning_details: [{ type: 'reasoning.text', text, index }] };
  if (kind === 'summary') return { reasoning_details: [{ type: 'reasoning.summary', summary: text, index }] };
  if (kind === 'thought') return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
  if (kind === 'transcript') return { audio: { transcript: text } };
  if (kind === 'free') return { tool_calls: [{ index, custom: { input: text } }] };
  return kind === 'function' ? { function_call: { arguments: text } } : { [kind]: text };
}
