// Writes images and documents as blocks.
import type { FilePart, ImagePart } from '../conversation/parts.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, objectOf } from '../json/json.ts';
import { withMarks } from './marks.ts';
import { plainText } from './read/read-sources.ts';
import type { Writing } from './writing.ts';

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** An image block; undefined for an image that Anthropic cannot read, which is told as a loss. */
export function writeImage(part: ImagePart, writing: Writing): JsonObject | undefined {
  const { losses, request } = writing;
  const { source, detail } = part;
  if (detail !== undefined && detail !== 'auto') losses.hint(fieldName('detail', request.dialect));
  if (source.kind === 'text' || (source.kind === 'base64' && !imageTypes.has(source.mediaType)))
    return lost(part, writing, 'it reads images that are JPEG, PNG, GIF or WebP');
  const written = sourceOf(part, writing);
  return written && withMarks({ type: 'image', source: written }, part);
}

/** A document block; undefined for a document that Anthropic cannot read, which is told as a loss. */
export function writeFile(part: FilePart, writing: Writing): JsonObject | undefined {
  const source = documentSource(part, writing);
  if (source === undefined) return undefined;
  const title = part.name === undefined ? {} : { title: part.name };
  const { source: _, ...members } = part.own?.dialect === 'messages' ? part.own.members : {};
  return withMarks({ type: 'document', source, ...title, ...members }, { cacheMark: part.cacheMark });
}

function documentSource(part: FilePart, writing: Writing): JsonObject | undefined {
  const { source, own } = part;
  if (source.kind === 'text') {
    const said = own?.dialect === 'messages' ? objectOf(own.members['source']) : undefined;
    // A document that was changed since is written in its new words.
    if (said !== undefined && plainText(said['content']) === source.text) return said;
    return textSource(source.text);
  }
  if (source.kind === 'base64' && source.mediaType !== 'application/pdf') {
    if (source.mediaType.startsWith('text/')) return textSource(Buffer.from(source.data, 'base64').toString('utf8'));
    return lost(part, writing, 'it reads documents that are PDF or plain text');
  }
  return sourceOf(part, writing);
}

function textSource(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data };
}

function sourceOf(part: ImagePart | FilePart, writing: Writing): JsonObject | undefined {
  const { source } = part;
  switch (source.kind) {
    case 'base64':
      return { type: 'base64', media_type: source.mediaType, data: source.data };
    case 'url':
      return { type: 'url', url: source.url };
    case 'text':
      return textSource(source.text);
    case 'id':
      break;
  }
  if (writing.request.dialect === 'messages') return { type: 'file', file_id: source.id };
  return lost(part, writing, 'it does not have the files of another provider');
}

function lost({ place }: ImagePart | FilePart, { losses, request }: Writing, because: string): undefined {
  losses.meaning(fieldName('turns', request.dialect), because, place);
  return undefined;
}
