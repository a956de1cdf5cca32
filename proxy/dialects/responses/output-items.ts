// The items of an output, each as it is when it is done.
import type { ReasoningPart, ToolCallPart } from '../conversation/parts.ts';
import type { JsonObject } from '../json.ts';
import { callContent, encryptedContent } from './carried-signature.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export function messageItem(id: string, status: ItemStatus, content: readonly JsonObject[]): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content };
}

export function callItem(id: string, status: ItemStatus, call: ToolCallPart): JsonObject {
  const { id: call_id, name, input, isFreeText } = call;
  if (isFreeText) return { id, type: 'custom_tool_call', status, call_id, name, input };
  return { id, type: 'function_call', status, call_id, name, arguments: input };
}

/** The beginning of the id of a call's item. */
export function callPrefix(isFreeText: boolean): 'ctc_' | 'fc_' {
  return isFreeText ? 'ctc_' : 'fc_';
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

export function summaryText(text: string): JsonObject {
  return { type: 'summary_text', text };
}

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
