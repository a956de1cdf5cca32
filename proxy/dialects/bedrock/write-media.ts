// Writes images, documents and sounds. Converse takes their bytes, or a place in S3.
import type { AudioPart, FilePart, ImagePart, Source } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';
import type { Writing } from './writing.ts';

type Media = ImagePart | FilePart | AudioPart;

const imageFormats: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'jpeg'],
  ['image/jpg', 'jpeg'],
  ['image/png', 'png'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
]);
const endings = new Set(documentFormats.values());

const audioFormats: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['x-wav', 'wav'],
  ['wave', 'wav'],
]);

/** Undefined: Converse does not accept it, which is told as a loss. Throws what the losses of `writing` throw. */
export function writeImage(part: ImagePart, writing: Writing): JsonObject | undefined {
  const { source, detail } = part;
  const place = placeOf(source);
  const format = imageFormats.get(
    mediaTypeOf(source) ?? `image/${endingOf(urlOf(source)) ?? ''}`.replace('jpg', 'jpeg'),
  );
  if (place === undefined) return lost(part, writing, 'it takes images as data only');
  if (format === undefined) return lost(part, writing, 'it takes images as JPEG, PNG, GIF and WebP only');
  if (detail !== undefined && detail !== 'auto') writing.hint('detail');
  return { image: { format, source: place } };
}

/** Undefined: Converse does not accept it, which is told as a loss. Throws what the losses of `writing` throw. */
export function writeDocument(part: FilePart, writing: Writing): JsonObject | undefined {
  const { source, name } = part;
  const place = placeOf(source);
  const ending = endingOf(name ?? urlOf(source));
  const named = ending !== undefined && endings.has(ending) ? ending : undefined;
  const format = source.kind === 'text' ? 'txt' : (documentFormats.get(mediaTypeOf(source) ?? '') ?? named);
  if (place === undefined) return lost(part, writing, 'it takes documents as data only');
  if (format === undefined) return lost(part, writing, `it takes documents as ${[...endings].join(', ')} only`);
  return { document: { format, name: writing.documentName(name), source: place } };
}

/** Undefined: Converse does not accept it, which is told as a loss. Throws what the losses of `writing` throw. */
export function writeAudio(part: AudioPart, writing: Writing): JsonObject | undefined {
  const { source, format } = part;
  const place = placeOf(source);
  const said = format ?? mediaTypeOf(source)?.split('/')[1] ?? endingOf(urlOf(source));
  if (place === undefined || said === undefined)
    return lost(part, writing, 'it takes sounds as data of a known format only');
  return { audio: { format: audioFormats.get(said) ?? said, source: place } };
}

function placeOf(source: Source): JsonObject | undefined {
  if (source.kind === 'base64') return { bytes: source.data };
  if (source.kind === 'text') return { bytes: Buffer.from(source.text).toString('base64') };
  if (source.kind === 'url' && source.url.startsWith('s3://')) return { s3Location: { uri: source.url } };
  return undefined;
}

/** Without its parameters: `text/plain; charset=utf-8`. */
function mediaTypeOf(source: Source): string | undefined {
  return source.kind === 'base64' ? source.mediaType.split(';', 1)[0]?.trim().toLowerCase() : undefined;
}

function urlOf(source: Source): string | undefined {
  return source.kind === 'url' ? source.url : undefined;
}

function endingOf(name: string | undefined): string | undefined {
  return /\.([a-z0-9]{2,5})$/i.exec(name ?? '')?.[1]?.toLowerCase();
}

function lost({ place }: Media, writing: Writing, because: string): undefined {
  writing.meaning('turns', because, place);
  return undefined;
}
