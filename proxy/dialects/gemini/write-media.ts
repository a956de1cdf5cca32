// Writes images, documents and sounds for Gemini: bytes within the request, or the address of a file.
import type { AudioPart, FilePart, ImagePart } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';

/** By the ending of an address that does not say its type. */
const mediaTypes: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mp3'],
  ['mp4', 'video/mp4'],
]);
const ending = /\.([A-Za-z0-9]{1,5})(?:[?#]|$)/;
/** Files that Google keeps are named by their address. */
const address = /^(https?|gs):\/\//;

/** A part with what the source holds; undefined when only another provider can read it. */
export function writeMedia({ source }: ImagePart | FilePart | AudioPart): JsonObject | undefined {
  if (source.kind === 'base64') return { inlineData: { mimeType: source.mediaType, data: source.data } };
  if (source.kind === 'text') return { text: source.text };
  if (source.kind === 'url') return fileAt(source.url);
  return address.test(source.id) ? fileAt(source.id) : undefined;
}

function fileAt(fileUri: string): JsonObject {
  const mimeType = mediaTypes.get(ending.exec(fileUri)?.[1]?.toLowerCase() ?? '');
  return { fileData: mimeType === undefined ? { fileUri } : { mimeType, fileUri } };
}
