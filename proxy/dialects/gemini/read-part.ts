// The parts of an answer that come as a whole: tool calls, images and sounds, and what Gemini alone knows.
import type { ForeignPart, Part } from '../conversation/parts.ts';
import { type JsonObject, objectOf, textOf } from '../json/json.ts';

/** An image, a sound or a file with its bytes; anything else is foreign, and keeps all that was said. */
export function readWholePart(part: JsonObject): Part {
  const inline = objectOf(part['inlineData']);
  const mediaType = textOf(inline?.['mimeType']);
  const data = textOf(inline?.['data']);
  // Images that the model made while it thought are not its answer.
  if (mediaType === undefined || data === undefined || part['thought'] === true) return foreign(part);
  const source = { kind: 'base64', mediaType, data } as const;
  if (mediaType.startsWith('image/')) return { kind: 'image', source };
  if (mediaType.startsWith('audio/')) return { kind: 'audio', source, format: mediaType.slice('audio/'.length) };
  return { kind: 'file', source, name: textOf(inline?.['displayName']) };
}

function foreign(part: JsonObject): ForeignPart {
  const name = Object.keys(part).find((key) => !marks.has(key)) ?? 'part';
  return { kind: 'foreign', dialect: 'gemini', name, value: part };
}

const marks: ReadonlySet<string> = new Set(['thought', 'thoughtSignature']);
