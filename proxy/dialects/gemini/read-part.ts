// The parts of an answer that come as a whole: tool calls, images and sounds, and what Gemini alone knows.
import type { ForeignPart, Part } from '../conversation/parts.ts';
import { type JsonObject, objectOf, textOf } from '../json.ts';

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

/** Most characters of an id: OpenAI takes no longer ones back. */
const maxIdLength = 40;
const unsafe = /[^A-Za-z0-9_-]/g;

/**
 * The id of a tool call that came without one: the same for the same answer, and another one in each answer that has an id,
 * so that a conversation of many turns stays clear. `index`: how many calls came before it.
 */
export function madeCallId(index: number, name: string, answerId: string): string {
  const stem = (answerId === '' ? name : answerId).replace(unsafe, '_');
  return `call_${index}_${stem}`.slice(0, maxIdLength);
}
