// The items of an output, each as it is when it is done.
import type { CalledAs, ConversationRequest } from '../conversation/conversation.ts';
import type { ReasoningPart, ToolCallPart } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';
import { callContent, encryptedContent } from './carried-signature.ts';
import { clientItem, clientPrefix } from './client-tools.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** An item with a message of the assistant. */
export function messageItem(id: string, status: ItemStatus, content: readonly JsonObject[]): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content };
}

/** `as`: how the client calls the tool; undefined: by the name of the call. */
export function callItem(id: string, status: ItemStatus, call: ToolCallPart, as?: CalledAs): JsonObject {
  if (as !== undefined && 'item' in as) return clientItem(as.item, id, status, call);
  const { id: call_id, input, isFreeText } = call;
  const named = { name: call.name, ...as };
  if (isFreeText) return { id, type: 'custom_tool_call', status, call_id, ...named, input };
  return { id, type: 'function_call', status, call_id, ...named, arguments: input };
}

/** The beginning of the id of a call's item. */
export function callPrefix(isFreeText: boolean, as?: CalledAs): string {
  if (as !== undefined && 'item' in as) return clientPrefix(as.item);
  return isFreeText ? 'ctc_' : 'fc_';
}

/** How the client calls a tool that the model knows by this name; undefined: so, too. */
export function calledAs({ tools }: Pick<ConversationRequest, 'tools'>, name: string): CalledAs | undefined {
  return tools.find((tool) => tool.kind !== 'foreign' && tool.name === name)?.calledAs;
}

/** Thoughts in full are told as a summary to clients that asked for one: many show nothing else. */
export function reasoningItem(id: string, part: ReasoningPart, asSummary: boolean): JsonObject {
  const { text, summary } = part;
  const encrypted = encryptedContent(part);
  const hasText = text !== '';
  const told = hasText && asSummary ? [text, ...summary] : summary;
  return {
    id,
    type: 'reasoning',
    summary: told.map(summaryText),
    ...(hasText && !asSummary ? { content: [reasoningText(text)] } : {}),
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  };
}

/** A part of the summary of thoughts. */
export function summaryText(text: string): JsonObject {
  return { type: 'summary_text', text };
}

/** A part of the thoughts themselves. */
export function reasoningText(text: string): JsonObject {
  return { type: 'reasoning_text', text };
}

/** The item that carries the signature of a call; undefined: the call has none. */
export function signatureItem(id: () => string, call: ToolCallPart): JsonObject | undefined {
  const encrypted = callContent(call);
  return encrypted === undefined
    ? undefined
    : { id: `rs_${id()}`, type: 'reasoning', summary: [], encrypted_content: encrypted };
}
