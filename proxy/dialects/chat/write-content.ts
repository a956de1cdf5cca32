// Writes the parts of a turn as the content of a chat message.
import {
  type AudioPart,
  type FilePart,
  type ImagePart,
  type Part,
  placeOf,
  type TextPart,
} from '../conversation/parts.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { soundFormat, urlOfSource } from '../sources.ts';
import { ownMembersOf } from './own.ts';
import type { Writing } from './writing.ts';

/**
 * `content` of a message: a text where a text says it all, else a list of parts. Lists of texts are joined for clients of other dialects,
 * because some servers know no lists. `gap`: what is between joined texts.
 */
export function writeContent(parts: readonly Part[], writing: Writing, gap: string): JsonValue {
  const written: JsonObject[] = [];
  const texts: string[] = [];
  for (const part of parts) {
    const value = writePart(part, writing);
    if (value === undefined) continue;
    written.push(value);
    if (value['type'] === 'text') texts.push(value['text'] as string);
  }
  if (texts.length === written.length && !writing.keepsLists) return texts.join(gap);
  const [only] = written;
  if (written.length === 0) return '';
  if (written.length === 1 && only !== undefined && isBare(only)) return texts[0] ?? '';
  return written;
}

function isBare(part: JsonObject): boolean {
  return part['type'] === 'text' && Object.values(part).filter((value) => value !== undefined).length === 2;
}

function writePart(part: Part, writing: Writing): JsonObject | undefined {
  const written = writeValue(part, writing);
  return written === undefined || part.kind === 'foreign' ? written : { ...written, ...writeMarks(part, writing) };
}

/** The cache mark and the members of a part that only chat has. */
export function writeMarks(part: Exclude<Part, { kind: 'foreign' }>, writing: Writing): JsonObject {
  if (!writing.keepsLists) {
    if (part.cacheMark !== undefined) writing.hint('cacheMark');
    return writing.isOwn ? ownMembersOf(part, 'part') : {};
  }
  return { cache_control: part.cacheMark, ...ownMembersOf(part, 'part') };
}

function writeValue(part: Part, writing: Writing): JsonObject | undefined {
  const { quirks } = writing;
  if (part.kind === 'text') return writeText(part, writing);
  if (part.kind === 'refusal')
    return { type: writing.isOwn ? 'refusal' : 'text', [writing.isOwn ? 'refusal' : 'text']: part.text };
  if (part.kind === 'file' && part.source.kind === 'text') return { type: 'text', text: part.source.text };
  if (part.kind === 'foreign' && part.dialect !== 'chat')
    return writing.meaning('turns', `it knows no part ${part.name}`, part.place);
  if (quirks.hasOnlyTextContent) return writing.meaning('turns', 'it takes text alone', placeOf(part));
  if (part.kind === 'foreign') return part.value;
  if (part.kind === 'image') return writeImage(part, writing);
  if (part.kind === 'file') return writeFile(part, writing);
  if (part.kind === 'audio') return writeSound(part, writing);
  return undefined;
}

function writeText({ text, citations }: TextPart, writing: Writing): JsonObject {
  if (citations !== undefined && citations.length > 0) writing.hint('citations');
  return { type: 'text', text };
}

function writeImage({ source, detail, place }: ImagePart, writing: Writing): JsonObject | undefined {
  const url = urlOfSource(source);
  if (url === undefined) return writing.meaning('turns', 'it takes images as URLs or data alone', place);
  return { type: 'image_url', image_url: { url, detail } };
}

function writeFile({ source, name, place }: FilePart, writing: Writing): JsonObject | undefined {
  if (source.kind === 'id') return { type: 'file', file: { file_id: source.id, filename: name } };
  const url = urlOfSource(source);
  if (url === undefined || source.kind === 'url') return writing.meaning('turns', 'it takes no files by URL', place);
  const filename = name ?? (writing.isOwn ? undefined : 'document.pdf');
  return { type: 'file', file: { file_data: url, filename } };
}

function writeSound({ source, format, place }: AudioPart, writing: Writing): JsonObject | undefined {
  if (source.kind !== 'base64') return writing.meaning('turns', 'it takes sound as data alone', place);
  return { type: 'input_audio', input_audio: { data: source.data, format: format ?? soundFormat(source.mediaType) } };
}
