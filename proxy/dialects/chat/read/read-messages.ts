// Reads the messages of a request into the instructions and the turns of a conversation.
import type { Turn } from '../../conversation/conversation.ts';
import { AnswerFold } from '../../conversation/fold-events.ts';
import { OpenCalls, toldResult } from '../../conversation/open-calls.ts';
import type { Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../../conversation/parts.ts';
import { type JsonObject, listOf, writeJson } from '../../json/json.ts';
import {
  objectsIn,
  optionalList,
  optionalObject,
  optionalText,
  pathOf,
  requiredObject,
  requiredText,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { membersBut, withMessageMembers } from '../own.ts';
import { marksOf, readContent, readTexts } from './read-content.ts';
import { DeltaReader } from './read-delta.ts';

export interface Messages {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

/**
 * Reads `messages`. Instructions before the first other message become the system's; later ones are turns. Throws an
 * InvalidRequest, also for an empty or missing list.
 */
export function readMessages(body: JsonObject): Messages {
  const list = optionalList(body, 'messages');
  if (list === undefined) throw new InvalidRequest('messages', 'is missing; it must be a list of messages');
  if (list.length === 0) throw new InvalidRequest('messages', 'must hold a message at least');
  const reader = new MessageReader();
  for (const { value, at } of objectsIn(list, 'messages')) reader.read(value, at);
  return { system: reader.system, turns: reader.turns };
}

/** The facts of a call that its result needs. */
type KnownCall = Pick<ToolCallPart, 'id' | 'name' | 'isFreeText'>;

type KnownResult = Pick<ToolResultPart, 'name' | 'isFreeText'> & { readonly callId: string | undefined };

class MessageReader {
  readonly system: TextPart[] = [];
  readonly turns: Turn[] = [];
  readonly #calls = new Map<string, KnownCall>();
  readonly #open = new OpenCalls();
  /** By the name of their function, for results in the older form. */
  readonly #lastByName = new Map<string, KnownCall>();
  /** Results of tools that follow one another share a turn. */
  #results: ToolResultPart[] | undefined;

  read(message: JsonObject, at: string): void {
    const role = requiredText(message, 'role', at);
    if (role === 'tool' || role === 'function') {
      this.#readResult(message, at, role);
      return;
    }
    this.#results = undefined;
    if (role === 'system' || role === 'developer') this.#readInstructions(message, at, role);
    else if (role === 'user') this.#addTurn('user', message, at, marked(readContent(message, at), message));
    else if (role === 'assistant') this.#addTurn('assistant', message, at, this.#readAnswer(message, at));
    else throw new InvalidRequest(pathOf(at, 'role'), 'must be system, developer, user, assistant, tool or function');
  }

  #readInstructions(message: JsonObject, at: string, role: string): void {
    const isFirst = this.turns.length === 0;
    // The parts of one message are told from those of the next by the role that the first of them keeps.
    const isUsual = role === 'system' && (this.system.length === 0 || !isFirst);
    const name = isFirst ? optionalText(message, 'name', at) : undefined;
    const kept = { ...(isUsual && name === undefined ? {} : { role }), ...(name === undefined ? {} : { name }) };
    const parts = withMessageMembers(marked(readTexts(message, at), message), {
      ...kept,
      ...membersBut(message, knownMembers),
    });
    if (isFirst) for (const part of parts) this.system.push(part);
    else this.#pushTurn('system', message, at, parts);
  }

  #addTurn(role: Turn['role'], message: JsonObject, at: string, parts: readonly Part[]): void {
    this.#pushTurn(role, message, at, withMessageMembers(parts, membersBut(message, knownMembers)));
  }

  #pushTurn(role: Turn['role'], message: JsonObject, at: string, parts: readonly Part[]): void {
    const name = optionalText(message, 'name', at);
    this.turns.push(name === undefined ? { role, parts } : { role, parts, name });
  }

  #readAnswer(message: JsonObject, at: string): readonly Part[] {
    const refusal = optionalText(message, 'refusal', at);
    const audio = optionalObject(message, 'audio', at);
    const called = optionalObject(message, 'function_call', at);
    const parts: Part[] = [...readThoughtsOf(message)];
    for (const part of readContent(message, at)) if (part.kind !== 'text' || part.text !== '') parts.push(part);
    if (refusal !== undefined) parts.push({ kind: 'refusal', text: refusal });
    if (audio !== undefined) {
      const place = pathOf(at, 'audio');
      parts.push({ kind: 'audio', source: { kind: 'id', id: requiredText(audio, 'id', place) }, place });
    }
    const calls = objectsIn(optionalList(message, 'tool_calls', at) ?? [], pathOf(at, 'tool_calls'));
    for (const { value, at: place } of calls) parts.push(this.#know(readCall(value, place)));
    if (called !== undefined) {
      const place = pathOf(at, 'function_call');
      const name = requiredText(called, 'name', place);
      const input = readInput(called, 'arguments', place);
      parts.push(this.#know({ kind: 'tool_call', id: '', name, input, isFreeText: false }));
    }
    return marked(parts, message);
  }

  #know(told: ToolCallPart): ToolCallPart {
    const call = { ...told, id: this.#open.call(told.id, told.name) };
    this.#calls.set(call.id, call);
    this.#lastByName.set(call.name, call);
    return call;
  }

  #readResult(message: JsonObject, at: string, role: 'tool' | 'function'): void {
    const part = role === 'tool' ? this.#readToolResult(message, at) : this.#readFunctionResult(message, at);
    const content = readContent(message, at).map((piece, index) => {
      if (piece.kind !== 'audio' && piece.kind !== 'refusal') return piece;
      throw new InvalidRequest(`${at}.content[${index}].type`, 'must be text');
    });
    const { callId, name } = part;
    if (callId === undefined) {
      this.#results = undefined;
      this.turns.push({ role: 'user', parts: toldResult(name, content) });
      return;
    }
    const marks = marksOf(message, [...knownMembers, 'tool_call_id']);
    const result: ToolResultPart = { kind: 'tool_result', ...part, callId, content, isError: false, ...marks };
    if (this.#results === undefined) {
      this.#results = [];
      this.turns.push({ role: 'user', parts: this.#results });
    }
    this.#results.push(result);
  }

  /** Without an id it is that of the first call without a result, of this name where there is one; there may be none. */
  #readToolResult(message: JsonObject, at: string): KnownResult {
    const said = optionalText(message, 'name', at);
    const callId = this.#open.result(optionalText(message, 'tool_call_id', at), said);
    const call = callId === undefined ? undefined : this.#calls.get(callId);
    const name = call?.name ?? said;
    return { callId, ...(name === undefined ? {} : { name }), isFreeText: call?.isFreeText ?? false };
  }

  /** The older form names the function; the call is the last one of it. */
  #readFunctionResult(message: JsonObject, at: string): KnownResult {
    const name = requiredText(message, 'name', at);
    return { callId: this.#open.result(this.#lastByName.get(name)?.id, name), name, isFreeText: false };
  }
}

const knownMembers = [
  'role content name cache_control refusal audio tool_calls function_call annotations images',
  'reasoning_content reasoning reasoning_details extra_content',
].flatMap((names) => names.split(' '));

/** A cache mark of the whole message is one of its last part. */
function marked<T extends Part>(parts: readonly T[], message: JsonObject): readonly T[] {
  const mark = optionalObject(message, 'cache_control');
  const last = parts.at(-1);
  if (mark === undefined || last === undefined || last.kind === 'foreign') return parts;
  return [...parts.slice(0, -1), { ...last, cacheMark: last.cacheMark ?? mark }];
}

function readCall(call: JsonObject, at: string): ToolCallPart {
  const id = optionalText(call, 'id', at) ?? '';
  const proof = optionalObject(optionalObject(call, 'extra_content', at) ?? {}, 'google')?.['thought_signature'];
  const signature = typeof proof === 'string' ? { signature: { family: 'google', value: proof } as const } : {};
  const isFreeText = call['type'] === 'custom';
  const member = isFreeText ? 'custom' : 'function';
  const called = requiredObject(call, member, at);
  const place = pathOf(at, member);
  const name = requiredText(called, 'name', place);
  const input = isFreeText ? (optionalText(called, 'input', place) ?? '') : readInput(called, 'arguments', place);
  const marks = marksOf(call, ['id', 'function', 'custom', 'extra_content', 'index']);
  return { kind: 'tool_call', id, name, input, isFreeText, ...signature, ...marks };
}

/** JSON as a text. Some clients send the object itself. */
function readInput(called: JsonObject, key: string, at: string): string {
  const value = called[key];
  if (typeof value === 'object' && value !== null) return writeJson(value);
  return optionalText(called, key, at) ?? '';
}

/** The thoughts that a client sends back, as an answer would be read. */
function readThoughtsOf(message: JsonObject): readonly ReasoningPart[] {
  const { reasoning_content: text, reasoning, reasoning_details: details, extra_content: extra } = message;
  if (!text && !reasoning && !extra && listOf(details) === undefined) return [];
  const reader = new DeltaReader();
  const fold = new AnswerFold();
  const thought = { reasoning_content: text, reasoning, reasoning_details: details, extra_content: extra };
  for (const event of [...reader.read(thought, undefined), ...reader.end()]) fold.add(event);
  return fold.answer().parts.filter((part) => part.kind === 'reasoning');
}
