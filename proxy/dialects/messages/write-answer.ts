// Writes an answer as a whole for a client of Anthropic's Messages.
import type { ConversationAnswer } from '../conversation/conversation.ts';
import type { Part, ReasoningPart, Signature } from '../conversation/parts.ts';
import { packSignature } from '../foreign-signature.ts';
import type { JsonObject } from '../json/json.ts';
import { inputObject } from '../tools/free-text-tools.ts';
import type { AnswerContext } from '../translation.ts';
import { writeCitation } from './citations.ts';
import { writeFinish } from './finish.ts';
import { writeUsage } from './read/read-usage.ts';

/** The tiers that Anthropic's clients know. */
const tiers = new Set(['standard', 'priority', 'batch']);

/** An answer as a message of Anthropic. */
export function writeAnswer(answer: ConversationAnswer, context: AnswerContext): JsonObject {
  const { parts, finish, usage, serviceTier } = answer;
  const callsTool = parts.some(({ kind }) => kind === 'tool_call');
  const tier = serviceTier !== undefined && tiers.has(serviceTier) ? { service_tier: serviceTier } : {};
  return {
    ...headOf(answer, context),
    content: parts.flatMap(writePart),
    ...writeFinish(finish, callsTool),
    usage: { ...writeUsage(usage), ...tier },
  };
}

/** The members of a message before its content. */
export function headOf({ id, model }: { readonly id: string; readonly model: string }, context: AnswerContext) {
  const known = id === '' ? context.newId() : id;
  return {
    id: known.startsWith('msg_') ? known : `msg_${known}`,
    type: 'message',
    role: 'assistant',
    model: model === '' ? context.model : model,
  };
}

/** The blocks of a part; none where a client of Anthropic's has no word for it, or it is empty. */
export function writePart(part: Part): readonly JsonObject[] {
  switch (part.kind) {
    case 'text': {
      const citations = part.citations?.map(writeCitation).filter((place) => place !== undefined) ?? [];
      if (part.text === '') return [];
      return [{ type: 'text', text: part.text, ...(citations.length === 0 ? {} : { citations }) }];
    }
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'reasoning':
      return writeReasoning(part);
    case 'tool_call': {
      const call = { type: 'tool_use', id: part.id, name: part.name, input: inputObject(part) };
      return part.signature === undefined ? [call] : [call, signatureBlock(part.signature)];
    }
    case 'image': {
      const { source } = part;
      if (source.kind === 'url') return [{ type: 'image', source: { type: 'url', url: source.url } }];
      if (source.kind !== 'base64') return [];
      return [{ type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data } }];
    }
    case 'foreign':
      return part.dialect === 'messages' ? [part.value] : [];
    case 'file':
    case 'audio':
    case 'tool_result':
      break;
  }
  return [];
}

/** A thought without words, which keeps what another family signed until the client sends it back. */
export function signatureBlock(signature: Signature): JsonObject {
  return { type: 'thinking', thinking: '', signature: packSignature(signature, 'anthropic') };
}

function writeReasoning({ text, summary, signature, encrypted }: ReasoningPart): readonly JsonObject[] {
  const thinking = text || summary.join('\n\n');
  if (encrypted?.family === 'anthropic') return [{ type: 'redacted_thinking', data: encrypted.value }];
  const proof = signature ?? encrypted;
  if (thinking === '' && proof === undefined) return [];
  return [{ type: 'thinking', thinking, signature: proof === undefined ? '' : packSignature(proof, 'anthropic') }];
}
