// The parts of an answer as members of a chat message.
import type { AudioPart, ImagePart, Part, ReasoningPart, ToolCallPart } from '../conversation/parts.ts';
import { type JsonObject, type JsonValue, objectOf, unlessEmpty } from '../json/json.ts';
import { urlOfSource } from '../sources.ts';
import { writeAnnotations } from './citations.ts';
import { visibleThoughts, writeExtraContent } from './thoughts.ts';

/** The message of an answer. `isLegacy`: the client speaks of `functions`, and sees the first call alone. */
export function writeMessage(parts: readonly Part[], isLegacy: boolean): JsonObject {
  const texts = parts.filter((part) => part.kind === 'text');
  const refusals = parts.filter((part) => part.kind === 'refusal');
  const calls = parts.filter((part) => part.kind === 'tool_call');
  const thoughts = parts.filter((part) => part.kind === 'reasoning');
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.map(({ text }) => text).join(''),
    refusal: refusals.length === 0 ? null : refusals.map(({ text }) => text).join(''),
    ...writeThoughts(thoughts),
    annotations: unlessEmpty(allAnnotations(parts)),
    images: unlessEmpty(parts.flatMap((part) => (part.kind === 'image' ? writeImage(part) : []))),
    audio: parts.flatMap((part) => (part.kind === 'audio' ? [writeSound(part)] : []))[0],
    tool_calls: isLegacy ? undefined : unlessEmpty(calls.map(writeCall)),
    function_call: isLegacy ? objectOf(calls[0] && writeCall(calls[0])['function']) : undefined,
  };
}

/** The members of a message for thoughts: the readable text, and signatures that the client sends back. */
export function writeThoughts(parts: readonly ReasoningPart[]): JsonObject {
  return { reasoning_content: visibleThoughts(parts) || undefined, extra_content: writeExtraContent(parts) };
}

/** A tool call; one without input has an empty object. */
export function writeCall({ id, name, input, isFreeText, signature }: ToolCallPart): JsonObject {
  const proof = signature?.family === 'google' ? signature.value : undefined;
  const extra = proof === undefined ? {} : { extra_content: { google: { thought_signature: proof } } };
  if (isFreeText) return { id, type: 'custom', custom: { name, input }, ...extra };
  return { id, type: 'function', function: { name, arguments: input || '{}' }, ...extra };
}

/** An image as OpenRouter answers it; none when it has no URL. */
export function writeImage({ source }: ImagePart): readonly JsonObject[] {
  const url = urlOfSource(source);
  return url === undefined ? [] : [{ type: 'image_url', image_url: { url } }];
}

/** A spoken answer. */
export function writeSound({ source, transcript, own }: AudioPart): JsonObject {
  const members = own?.dialect === 'chat' ? objectOf(own.members['part']) : undefined;
  const data = source.kind === 'base64' ? source.data : undefined;
  return { ...members, id: members?.['id'] ?? (source.kind === 'id' ? source.id : undefined), data, transcript };
}

/** The log probabilities of all texts; null when there are none. */
export function writeLogprobs(parts: readonly Part[]): JsonValue {
  const content = parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []));
  return content.length === 0 ? null : { content, refusal: null };
}

function allAnnotations(parts: readonly Part[]): readonly JsonObject[] {
  let shift = 0;
  return parts.flatMap((part) => {
    if (part.kind !== 'text') return [];
    const annotations = writeAnnotations(part.citations, shift);
    shift += part.text.length;
    return annotations;
  });
}
