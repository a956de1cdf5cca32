// Reads the items of a request's input as turns: what the assistant said, thought and called in a row is one turn.
import type { Turn } from '../../conversation/conversation.ts';
import { OpenCalls, toldResult } from '../../conversation/open-calls.ts';
import type {
  ForeignPart,
  Part,
  ReasoningPart,
  Signature,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, textOf, writeJson } from '../../json/json.ts';
import { objectsIn, optionalList, optionalText, requiredText } from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { readEncryptedContent } from '../carried-signature.ts';
import { foreignPart, itemMark, restOf } from '../own-marks.ts';
import { writeAudio } from '../write-content.ts';
import { type ContentPart, readContent } from './read-content.ts';

type Role = Turn['role'];
type Read = { readonly role: Role; readonly parts: readonly Part[] };

/** The instructions that stand before all else, and the turns behind them. */
export interface ReadInput {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

/** `items`: the list at `input`. */
export function readItems(items: readonly JsonValue[]): ReadInput {
  const listed = objectsIn(items, 'input');
  const known = { signatures: callSignatures(listed.map(({ value }) => value)), open: new OpenCalls() };
  const system: TextPart[] = [];
  const turns: { role: Role; parts: Part[]; isOpen: boolean }[] = [];
  for (const { value, at } of listed) {
    const { role, parts } = readItem(value, at, known);
    if (role === 'system' && turns.length === 0 && parts.every(isText)) {
      for (const part of parts) system.push(part);
      continue;
    }
    const last = turns.at(-1);
    const isResult = parts[0]?.kind === 'tool_result';
    // The results of calls that were made at once stand together; messages of people do not.
    const continues = last?.role === role && last.isOpen && (role === 'assistant' || isResult);
    if (continues) for (const part of parts) last.parts.push(part);
    else if (role !== 'assistant' || parts.length > 0) {
      turns.push({ role, parts: [...parts], isOpen: role === 'assistant' || isResult });
    }
  }
  return { system, turns: turns.map(({ role, parts }) => ({ role, parts })) };
}

/** The signatures that other items carry for calls, by the id of the call. */
function callSignatures(items: readonly JsonObject[]): ReadonlyMap<string, Signature> {
  const signatures = new Map<string, Signature>();
  for (const item of items) {
    const content = item['type'] === 'reasoning' ? textOf(item['encrypted_content']) : undefined;
    const carried = content === undefined ? undefined : readEncryptedContent(content);
    if (carried?.kind === 'call') signatures.set(carried.callId, carried.signature);
  }
  return signatures;
}

function isText(part: Part): part is TextPart {
  return part.kind === 'text';
}

/** Facts of other items. */
interface Known {
  readonly signatures: ReadonlyMap<string, Signature>;
  readonly open: OpenCalls;
}

function readItem(item: JsonObject, at: string, known: Known): Read {
  const type = optionalText(item, 'type', at) ?? (item['role'] === undefined ? undefined : 'message');
  switch (type) {
    case 'message':
      return readMessage(item, at);
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, at, known)] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: readOutput(item, at, known) };
    case 'reasoning':
      return { role: 'assistant', parts: readReasoning(item, at) };
    case undefined:
      if (textOf(item['id']) === undefined) throw new InvalidRequest(`${at}.type`, 'is missing; it must be a text');
      return { role: 'assistant', parts: [foreign('item_reference', item, at)] };
    default:
      return { role: /_(output|response)$/.test(type) ? 'user' : 'assistant', parts: [foreign(type, item, at)] };
  }
}

function foreign(name: string, value: JsonObject, place: string): ForeignPart {
  return { kind: 'foreign', dialect: 'responses', name, value, place };
}

const messageMembers = new Set(['type', 'role', 'content']);
const roles: Readonly<Record<string, Role>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
};

function readMessage(item: JsonObject, at: string): Read {
  const said = requiredText(item, 'role', at);
  const role = Object.hasOwn(roles, said) ? roles[said] : undefined;
  if (role === undefined) throw new InvalidRequest(`${at}.role`, 'must be user, assistant, system or developer');
  const rest = { ...restOf(item, messageMembers), ...(role === 'system' ? { role: said } : {}) };
  // Messages of the assistant stand in one turn, so each must remember that it begins.
  const isMarked = role === 'assistant' || Object.keys(rest).length > 0;
  return { role, parts: readContent(item['content'], `${at}.content`, isMarked ? rest : undefined) };
}

const callMembers = new Set(['type', 'call_id', 'name', 'arguments']);
const freeTextCallMembers = new Set(['type', 'call_id', 'name', 'input']);

function readCall(item: JsonObject, at: string, { signatures, open }: Known): ToolCallPart {
  const isFreeText = item['type'] === 'custom_tool_call';
  const name = requiredText(item, 'name', at);
  const id = open.call(optionalText(item, 'call_id', at) || optionalText(item, 'id', at), name);
  const signature = signatures.get(id);
  return {
    kind: 'tool_call',
    id,
    name,
    input: optionalText(item, isFreeText ? 'input' : 'arguments', at) ?? '',
    isFreeText,
    ...(signature === undefined ? {} : { signature }),
    own: itemMark(restOf(item, isFreeText ? freeTextCallMembers : callMembers)),
  };
}

const resultMembers = new Set(['type', 'call_id', 'output']);

/** Agents tell some results without the id of their call: of the first open one of that name, else as words. */
function readOutput(item: JsonObject, at: string, { open }: Known): readonly Part[] {
  const name = optionalText(item, 'name', at);
  const callId = open.result(optionalText(item, 'call_id', at), name);
  if (callId === undefined) return toldResult(name, readResult({ ...item, call_id: '' }, at).content);
  return [readResult({ ...item, call_id: callId }, at)];
}

/** The result of a tool call. Throws an InvalidRequest. */
export function readResult(item: JsonObject, at: string): ToolResultPart {
  const output = item['output'] ?? '';
  const isContent = typeof output === 'string' || (Array.isArray(output) && output.every(hasType));
  // Whatever else a tool gave is told as its JSON.
  const content = readContent(isContent ? output : writeJson(output), `${at}.output`);
  return {
    kind: 'tool_result',
    callId: requiredText(item, 'call_id', at),
    content: content.map(resultPart),
    isError: false,
    isFreeText: item['type'] === 'custom_tool_call_output',
    own: itemMark(restOf(item, resultMembers)),
  };
}

function resultPart(part: ContentPart): ToolResultPart['content'][number] {
  if (part.kind === 'refusal') return { kind: 'text', text: part.text };
  return part.kind === 'audio' ? foreignPart('input_audio', writeAudio(part), { place: part.place }) : part;
}

function hasType(value: JsonValue): boolean {
  return isObject(value) && typeof value['type'] === 'string';
}

const reasoningMembers = new Set(['type', 'summary', 'content', 'encrypted_content']);

/** No part, when the item only carries the signature of a call. */
function readReasoning(item: JsonObject, at: string): readonly ReasoningPart[] {
  const encrypted = optionalText(item, 'encrypted_content', at);
  const carried = encrypted === undefined ? undefined : readEncryptedContent(encrypted);
  if (carried?.kind === 'call') return [];
  const part = {
    kind: 'reasoning',
    text: textsOf(item, 'content', at).join(''),
    summary: textsOf(item, 'summary', at),
    own: itemMark(restOf(item, reasoningMembers)),
  } as const;
  if (carried === undefined) return [part];
  if (carried.kind === 'encrypted') return [{ ...part, encrypted: carried.encrypted }];
  return [{ ...part, text: carried.text, signature: carried.signature }];
}

function textsOf(item: JsonObject, key: string, at: string): readonly string[] {
  const list = optionalList(item, key, at) ?? [];
  return objectsIn(list, `${at}.${key}`).map(({ value, at: place }) => requiredText(value, 'text', place));
}
