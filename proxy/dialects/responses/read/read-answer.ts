// Reads a whole response of a provider. The ids of its items are not kept: the writer of the answer makes new ones.
import type { ConversationAnswer, Finish } from '../../conversation/conversation.ts';
import type { Part, ReasoningPart, TextPart } from '../../conversation/parts.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOf,
  objectOf,
  textOf,
  unlessEmpty,
} from '../../json/json.ts';
import { InvalidAnswer } from '../../translation.ts';
import { readEncryptedContent } from '../carried-signature.ts';
import { readAnnotation } from './read-content.ts';
import { readUsage } from './read-usage.ts';

/** Throws an InvalidAnswer, also where the response has failed or is not finished. */
export function readAnswer(body: JsonObject): ConversationAnswer {
  const output = listOf(body['output']);
  const status = textOf(body['status']) ?? 'completed';
  if (status !== 'completed' && status !== 'incomplete') throw new InvalidAnswer(`its status is ${toldStatus(body)}`);
  if (output === undefined) throw new InvalidAnswer('it has no output');
  const parts = output.filter(isObject).flatMap(readOutputItem);
  const serviceTier = textOf(body['service_tier']);
  return {
    id: textOf(body['id']) ?? '',
    model: textOf(body['model']) ?? '',
    createdAt: numberOf(body['created_at']),
    parts,
    finish: readFinish(body, seenIn(parts)),
    usage: readUsage(body['usage']),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

const statuses: readonly (string | undefined)[] = ['failed', 'cancelled', 'queued', 'in_progress'];

function toldStatus(body: JsonObject): string {
  const status = textOf(body['status']);
  const code = textOf(objectOf(body['error'])?.['code']);
  const told = statuses.includes(status) ? `${status}` : 'unknown';
  return code !== undefined && /^\w{1,64}$/.test(code) ? `${told} (${code})` : told;
}

/** The contents of an answer that decide its finish reason. */
export interface Seen {
  readonly hasCall: boolean;
  readonly hasRefusal: boolean;
}

function seenIn(parts: readonly Part[]): Seen {
  const kinds = new Set(parts.map(({ kind }) => kind));
  return { hasCall: kinds.has('tool_call'), hasRefusal: kinds.has('refusal') };
}

/** `response`: a completed or an incomplete one. */
export function readFinish(response: JsonObject, { hasCall, hasRefusal }: Seen): Finish {
  if (response['status'] === 'incomplete') {
    const reason = objectOf(response['incomplete_details'])?.['reason'];
    return { reason: reason === 'content_filter' ? 'filtered' : 'length' };
  }
  if (hasCall) return { reason: 'tool_calls' };
  return { reason: hasRefusal ? 'refusal' : 'stop' };
}

/** The parts of one item of the output. */
export function readOutputItem(item: JsonObject): readonly Part[] {
  switch (item['type']) {
    case 'message':
      return (listOf(item['content']) ?? []).filter(isObject).flatMap(readContentPart);
    case 'function_call':
      return [readCall(item, textOf(item['arguments']) ?? '', false)];
    case 'custom_tool_call':
      return [readCall(item, textOf(item['input']) ?? '', true)];
    case 'reasoning':
      return [readReasoning(item)];
    default:
      return [{ kind: 'foreign', dialect: 'responses', name: textOf(item['type']) ?? 'unknown', value: item }];
  }
}

/** A text or a refusal of a message; none: it is something else. */
export function readContentPart(part: JsonObject): readonly Part[] {
  if (part['type'] === 'refusal') return [{ kind: 'refusal', text: textOf(part['refusal']) ?? '' }];
  const text = textOf(part['text']);
  if (text === undefined) return [];
  const citations = (listOf(part['annotations']) ?? []).filter(isObject).map(readAnnotation);
  const logprobs = listOf(part['logprobs']) ?? [];
  return [
    { kind: 'text', text, citations: unlessEmpty(citations), logprobs: unlessEmpty(logprobs) } satisfies TextPart,
  ];
}

function readCall(item: JsonObject, input: string, isFreeText: boolean): Part {
  const name = textOf(item['name']);
  if (!name) throw new InvalidAnswer('it calls a tool without a name');
  return { kind: 'tool_call', id: callId(item), name, input, isFreeText };
}

/** The id to which the result refers; of servers that give none, the id of the item. Empty when it has neither. */
export function callId(item: JsonObject): string {
  return textOf(item['call_id']) || textOf(item['id']) || '';
}

function readReasoning(item: JsonObject): ReasoningPart {
  const content = textOf(item['encrypted_content']);
  const carried = content === undefined ? undefined : readEncryptedContent(content);
  return {
    kind: 'reasoning',
    text: textsOf(item['content']).join(''),
    summary: textsOf(item['summary']),
    ...(carried?.kind === 'encrypted' ? { encrypted: carried.encrypted } : {}),
  };
}

function textsOf(list: JsonValue | undefined): readonly string[] {
  return (listOf(list) ?? []).map((entry) => textOf(objectOf(entry)?.['text']) ?? '');
}
