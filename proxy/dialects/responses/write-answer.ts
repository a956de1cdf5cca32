// Writes a whole answer as a response object.
import type { ConversationAnswer } from '../conversation/conversation.ts';
import type { Part, RefusalPart, TextPart } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';
import { freeTextNames, restoreFreeText } from '../tools/free-text-tools.ts';
import type { AnswerContext } from '../translation.ts';
import { calledAs, callItem, callPrefix, messageItem, reasoningItem, signatureItem } from './output-items.ts';
import { incompleteReason, responseHead, responseObject } from './response-object.ts';
import { outputText, writeAnnotation } from './write-content.ts';

/** Texts and refusals that follow one another are one message. What the format cannot say is left out. */
export function writeAnswer(answer: ConversationAnswer, context: AnswerContext): JsonObject {
  const { parts, finish, usage } = answer;
  const isCut =
    incompleteReason(
      finish,
      parts.some(({ kind }) => kind === 'refusal'),
    ) !== undefined;
  const told = groups(parts);
  const output = told.flatMap((group, index) => {
    const items = writeGroup(group, context);
    return isCut && index === told.length - 1 && isGrown(group) ? items.map(cutShort) : items;
  });
  return responseObject(responseHead(answer, context), { output, usage, finish }, context);
}

/** It may lack its end; what comes as a whole says itself how far it is. */
function isGrown(group: Exclude<Part, Spoken> | readonly Spoken[]): boolean {
  return !('kind' in group) || group.kind === 'tool_call';
}

function cutShort(item: JsonObject): JsonObject {
  return item['status'] === 'completed' ? { ...item, status: 'incomplete' } : item;
}

type Spoken = TextPart | RefusalPart;

function isSpoken(part: Part): part is Spoken {
  return part.kind === 'text' || part.kind === 'refusal';
}

/** Groups parts: texts and refusals in a row together, any other part alone. */
function groups(parts: readonly Part[]): readonly (Exclude<Part, Spoken> | readonly Spoken[])[] {
  const found: (Exclude<Part, Spoken> | Spoken[])[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (!isSpoken(part)) found.push(part);
    else if (Array.isArray(last)) last.push(part);
    else found.push([part]);
  }
  return found;
}

function writeGroup(group: Exclude<Part, Spoken> | readonly Spoken[], context: AnswerContext): readonly JsonObject[] {
  if ('kind' in group) return writeItems(group, context);
  return [messageItem(`msg_${context.newId()}`, 'completed', group.map(spokenPart))];
}

function spokenPart(part: Spoken): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  const annotations = (part.citations ?? []).map(writeAnnotation).filter((annotation) => annotation !== undefined);
  return outputText({ ...part, logprobs: part.logprobs ?? [] }, annotations);
}

/** The items of a part that no message contains; none, where the format has no word for it. */
export function writeItems(part: Exclude<Part, Spoken>, { newId, request }: AnswerContext): readonly JsonObject[] {
  switch (part.kind) {
    case 'tool_call': {
      const call = restoreFreeText(part, freeTextNames(request));
      const input = call.isFreeText || call.input !== '' ? call.input : '{}';
      const as = calledAs(request, call.name);
      const item = callItem(callPrefix(call.isFreeText, as) + newId(), 'completed', { ...call, input }, as);
      const signature = signatureItem(newId, call);
      return signature === undefined ? [item] : [item, signature];
    }
    case 'reasoning':
      return [reasoningItem(`rs_${newId()}`, part, request.thinking?.summary !== undefined)];
    case 'image': {
      const { source } = part;
      if (source.kind !== 'base64') return [];
      return [{ id: `ig_${newId()}`, type: 'image_generation_call', status: 'completed', result: source.data }];
    }
    case 'foreign':
      return part.dialect === 'responses' ? [{ id: `item_${newId()}`, ...part.value }] : [];
    default:
      return [];
  }
}
