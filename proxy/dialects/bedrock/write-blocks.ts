// Writes the parts of a turn as blocks of Converse.
import type { Part, ReasoningPart, ToolResultPart } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';
import { inputObject } from '../tools/free-text-tools.ts';
import { writeAudio, writeDocument, writeImage } from './write-media.ts';
import type { Writing } from './writing.ts';

/** The blocks of a part; none: it is empty, or was a loss. Converse refuses texts that are empty or blank. */
export function writePart(part: Part, writing: Writing): readonly JsonObject[] {
  const block = blockOf(part, writing);
  if (block === undefined) return [];
  const point = part.kind === 'foreign' ? undefined : cachePoint(part.cacheMark, writing);
  return point === undefined ? [block] : [block, point];
}

/** The mark of a cache as a block of its own, behind what it marks; undefined: there is none, or the model takes none. */
export function cachePoint(mark: JsonObject | undefined, writing: Writing): JsonObject | undefined {
  if (mark === undefined) return undefined;
  const { hasCache, hasLongCache } = writing.traits;
  const isLong = mark['ttl'] === '1h';
  if (!hasCache || (isLong && !hasLongCache)) writing.hint('cacheMark');
  if (!hasCache) return undefined;
  return { cachePoint: { type: 'default', ...(isLong && hasLongCache ? { ttl: '1h' } : {}) } };
}

/** A block of text; undefined for blank text, which Converse refuses. */
export function textBlock(text: string): JsonObject | undefined {
  return text.trim() === '' ? undefined : { text };
}

function blockOf(part: Part, writing: Writing): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      if (part.citations !== undefined) writing.hint('citations');
      return textBlock(part.text);
    case 'refusal':
      return textBlock(part.text);
    case 'image':
      return writeImage(part, writing);
    case 'file':
      return writeDocument(part, writing);
    case 'audio':
      return part.transcript ? textBlock(part.transcript) : writeAudio(part, writing);
    case 'tool_call':
      return { toolUse: { toolUseId: part.id, name: part.name, input: inputObject(part) } };
    case 'tool_result':
      return writeResult(part, writing);
    case 'foreign':
      writing.meaning('turns', `it knows no part of the type ${part.name}`, part.place);
      return undefined;
    case 'reasoning':
      break;
  }
  return writeReasoning(part, writing);
}

function writeResult({ callId, content, isError }: ToolResultPart, writing: Writing): JsonObject {
  const blocks = content.flatMap((part) => {
    const inner = part.kind === 'foreign' ? part : { ...part, cacheMark: undefined };
    return writePart(inner, writing);
  });
  // Only some models know the status, and success is what is assumed.
  return { toolResult: { toolUseId: callId, content: blocks, ...(isError ? { status: 'error' } : {}) } };
}

/** Thoughts are taken back by the family that signed them. */
function writeReasoning({ text, signature, encrypted }: ReasoningPart, writing: Writing): JsonObject | undefined {
  const { family } = writing.traits;
  if (family === 'claude' || family === 'opaque') {
    if (encrypted?.family === 'anthropic') return { reasoningContent: { redactedContent: encrypted.value } };
    if (signature?.family === 'anthropic') {
      return { reasoningContent: { reasoningText: { text, signature: signature.value } } };
    }
  }
  writing.hint('reasoning');
  return undefined;
}
