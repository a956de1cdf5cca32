// Writes the instructions and the turns of a conversation as chat messages.
import type { ConversationRequest, Turn } from '../conversation/conversation.ts';
import type {
  FilePart,
  ImagePart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../conversation/parts.ts';
import { isThirdGeneration, noProof } from '../gemini-models.ts';
import { type JsonObject, textOf } from '../json/json.ts';
import { asFunctionInput } from '../tools/free-text-tools.ts';
import { messageMembersOf, ownMembersOf } from './own.ts';
import { visibleThoughts, writeDetails, writeExtraContent } from './thoughts.ts';
import { writeContent, writeMarks } from './write-content.ts';
import { writeCall } from './write-message.ts';
import type { Writing } from './writing.ts';

/** Between texts that stood in parts of their own. */
const gap = '\n\n';

/** `messages`: the instructions, then the turns. Throws what the losses of `writing` throw. */
export function writeMessages({ system, turns }: ConversationRequest, writing: Writing): readonly JsonObject[] {
  const instructions = messagesOf(system).map((parts) => writeInstructions(parts, undefined, writing));
  return [...instructions, ...turns.flatMap((turn) => writeTurn(turn, writing))];
}

/** Parts of instructions by the message they came in: the first part of one knows its role. */
function messagesOf(system: readonly TextPart[]): readonly (readonly TextPart[])[] {
  const messages: TextPart[][] = [];
  for (const part of system) {
    const last = messages.at(-1);
    if (last === undefined || ownMembersOf(part, 'message')['role'] !== undefined) messages.push([part]);
    else last.push(part);
  }
  return messages;
}

function writeInstructions(parts: readonly Part[], name: string | undefined, writing: Writing): JsonObject {
  const own = messageMembersOf(parts);
  const role = writing.quirks.hasOnlySystemRole ? 'system' : (textOf(own['role']) ?? 'system');
  return { ...own, role, content: writeContent(parts, writing, gap), ...nameOf(name ?? textOf(own['name']), writing) };
}

function writeTurn(turn: Turn, writing: Writing): readonly JsonObject[] {
  const { role, parts, name } = turn;
  if (role === 'system') return parts.length === 0 ? [] : [writeInstructions(parts, name, writing)];
  return role === 'assistant' ? [writeAssistant(turn, writing)] : writeUser(turn, writing);
}

function nameOf(name: string | undefined, writing: Writing): JsonObject {
  if (name === undefined) return {};
  if (writing.isOwn) return { name };
  writing.hint('turnName');
  return {};
}

/** Results of tools come first, each a message; images that they hold go into the user's own words behind them. */
function writeUser({ parts, name }: Turn, writing: Writing): readonly JsonObject[] {
  const results = parts.filter((part) => part.kind === 'tool_result');
  const words = results.length === 0 ? parts : parts.filter((part) => part.kind !== 'tool_result');
  const shown: Part[] = writing.isOwn ? [] : results.flatMap(({ content }) => content.filter(isShown));
  const messages = results.map((result) => writeResult(result, writing));
  if (words.length === 0 && shown.length === 0 && parts.length > 0) return messages;
  const content = writeContent([...shown, ...words], writing, gap);
  const own = messageMembersOf(words);
  return [...messages, { ...own, role: 'user', content, ...nameOf(name, writing) }];
}

/** Whether a part may stand only in a message of the user. */
function isShown(part: ToolResultPart['content'][number]): part is ImagePart | FilePart {
  return part.kind === 'image' || (part.kind === 'file' && part.source.kind !== 'text');
}

function writeResult(result: ToolResultPart, writing: Writing): JsonObject {
  if (result.isError) writing.hint('toolError');
  const content = writing.isOwn ? result.content : result.content.filter((part) => !isShown(part));
  const written = writeContent(content, writing, gap);
  return { role: 'tool', tool_call_id: result.callId, content: written, ...writeMarks(result, writing) };
}

function writeAssistant({ parts, name }: Turn, writing: Writing): JsonObject {
  const calls = parts.filter((part) => part.kind === 'tool_call');
  const sound = parts.find((part) => part.kind === 'audio' && part.source.kind === 'id');
  const said = parts.filter((part) => part !== sound && part.kind !== 'reasoning' && part.kind !== 'tool_call');
  const refusal = writing.isOwn ? said.find((part) => part.kind === 'refusal') : undefined;
  const words = said.filter((part) => part !== refusal);
  return {
    ...messageMembersOf(parts),
    role: 'assistant',
    // Null is allowed only beside something else.
    content: words.length === 0 && (calls[0] ?? refusal ?? sound) ? null : writeContent(words, writing, ''),
    ...(refusal === undefined ? {} : { refusal: refusal.text }),
    ...(sound?.kind === 'audio' && sound.source.kind === 'id' ? { audio: { id: sound.source.id } } : {}),
    ...writeEarlierThoughts(
      parts.filter((part) => part.kind === 'reasoning'),
      writing,
    ),
    ...(calls.length === 0
      ? {}
      : { tool_calls: withProof(calls, parts, writing).map((call) => writeEarlierCall(call, writing)) }),
    ...nameOf(name, writing),
  };
}

/** Of the calls of one turn the first one must have a proof since Gemini 3. A proof without words was that of a call. */
function withProof(
  calls: readonly ToolCallPart[],
  parts: readonly Part[],
  { isOwn, takesProof, model }: Writing,
): readonly ToolCallPart[] {
  const isProved = calls.some(({ signature }) => signature?.family === 'google');
  if (isOwn || isProved || !takesProof) return calls;
  const spare = parts.findLast((part) => part.kind === 'reasoning' && part.text === '' && isGoogles(part));
  const kept = spare?.kind === 'reasoning' ? spare.signature : undefined;
  const signature = kept ?? (isThirdGeneration(model) ? noProof : undefined);
  return calls.map((call, index) => (index === 0 ? { ...call, signature } : call));
}

function isGoogles({ signature }: ReasoningPart): boolean {
  return signature?.family === 'google';
}

/** Where the target has no tools that take free text, it was told of a function instead. */
function writeEarlierCall(call: ToolCallPart, writing: Writing): JsonObject {
  const { quirks } = writing;
  const isFunction = call.isFreeText && !takesFreeText(writing);
  const told = isFunction ? { ...call, input: asFunctionInput(call.input), isFreeText: false } : call;
  const isProved = writing.takesProof || quirks.thinking === 'reasoning';
  return { ...writeCall(isProved ? told : { ...told, signature: undefined }), ...writeMarks(call, writing) };
}

/** The target knows tools of the type `custom`. */
export function takesFreeText({ isOwn, quirks }: Writing): boolean {
  return quirks.hasFreeTextTools ?? (quirks.isInventor === true || isOwn);
}

/** A server takes back the thoughts of its own model, which have no proof; OpenRouter takes those of all families. */
function writeEarlierThoughts(parts: readonly ReasoningPart[], writing: Writing): JsonObject {
  if (parts.length === 0) return {};
  const { isOwn, quirks } = writing;
  if (quirks.thinking === 'reasoning') return { reasoning_details: writeDetails(parts) };
  if (isOwn) {
    const text = visibleThoughts(parts);
    const extra = writeExtraContent(parts);
    return {
      ...(text === '' ? {} : { reasoning_content: text }),
      ...(extra === undefined ? {} : { extra_content: extra }),
    };
  }
  const proofs = writing.takesProof ? parts.filter(isGoogles) : [];
  const bare = parts.filter(({ signature, encrypted }) => signature === undefined && encrypted === undefined);
  const text = visibleThoughts(bare);
  const isTaken = text !== '' && quirks.isInventor !== true && !writing.lacks('reasoning_content');
  const isLost = bare.length + proofs.length < parts.length || (text !== '' && !isTaken);
  if (isLost) writing.hint('reasoning');
  const extra = writeExtraContent(proofs);
  return { ...(isTaken ? { reasoning_content: text } : {}), ...(extra === undefined ? {} : { extra_content: extra }) };
}
