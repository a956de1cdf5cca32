// A body → the JSON that stands for it in an audit entry (spec: data.request_body, data.response_body).
import { isUtf8 } from 'node:buffer';
import { jsonWithoutSecrets, withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import { skipSpace } from '../bytes/json-tokens.ts';
import { scanObject } from '../bytes/scan.ts';

/** A body, and how it is to be written. */
export interface KnownBody {
  readonly bytes: Buffer;
  /** The bytes are only its beginning. */
  readonly isCut: boolean;
  /** Longest JSON that stands for a body. Bytes. */
  readonly mostBytes: number;
  /** Secrets to take out. */
  readonly secrets: readonly string[];
  /** It was found to be one JSON object. */
  readonly isObject?: boolean;
}

export interface WrittenBody {
  /** One JSON text without line breaks; undefined: there is no body, or none that is text. */
  readonly json: string | undefined;
  /** Not all of it is recorded. */
  readonly isTooBig: boolean;
}

/** Of a JSON string. Bytes. */
const quotes = 2;
const openBrace = 0x7b;
const openBracket = 0x5b;
const nothing: WrittenBody = { json: undefined, isTooBig: false };

/** JSON becomes itself, other text a JSON string; of a long one the beginning. Bytes that are no text are left out. */
export function writeBody(known: KnownBody): WrittenBody {
  const { bytes, isCut, mostBytes, secrets } = known;
  if (bytes.length === 0) return { ...nothing, isTooBig: isCut };
  const isTooBig = isCut || bytes.length > mostBytes;
  const json = isTooBig ? undefined : jsonIn(known);
  if (json !== undefined) return { json, isTooBig: false };
  const text = textIn(isTooBig ? wholeLetters(bytes.subarray(0, mostBytes)) : bytes);
  return text === undefined ? { ...nothing, isTooBig } : writeText(text, { isCut: isTooBig, mostBytes, secrets });
}

/** A text as a JSON string, or as much of its beginning as fits. */
export function writeText(
  text: string,
  { isCut, mostBytes, secrets }: Pick<KnownBody, 'isCut' | 'mostBytes' | 'secrets'>,
): WrittenBody {
  let json = JSON.stringify(withoutSecrets(text, secrets, isCut));
  let { length } = text;
  // Quotes take two bytes each, and control characters six: as many as are too many are taken away, until it fits.
  for (let bytes = Buffer.byteLength(json); bytes > mostBytes + quotes; bytes = Buffer.byteLength(json)) {
    length = Math.min(length - 1, Math.floor((length * mostBytes) / bytes));
    if (length <= 0) return { ...nothing, isTooBig: true };
    json = JSON.stringify(withoutSecrets(text.slice(0, length), secrets, true));
  }
  return { json, isTooBig: isCut || length < text.length };
}

/** Undefined: it is no JSON object or list, or cannot be shown as one. */
function jsonIn({ bytes, secrets, isObject: isKnown = false }: KnownBody): string | undefined {
  const first = bytes[skipSpace(bytes, 0)];
  if (!isKnown && first !== openBracket && (first !== openBrace || !isUtf8(bytes) || !isObject(bytes)))
    return undefined;
  const text = bytes.toString('utf8');
  if (first === openBracket && !isJson(text)) return undefined;
  const clean = jsonWithoutSecrets(text, secrets);
  // Between tokens alone: within a text JSON has none.
  return clean?.includes('\n') || clean?.includes('\r') ? clean.replace(/[\r\n]+\s*/g, '') : clean;
}

/** Whether these bytes, which are UTF-8, are one JSON object. */
export function isObject(bytes: Buffer): boolean {
  try {
    scanObject(bytes);
    return true;
  } catch {
    return false;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Undefined: these bytes are no text. */
export function textIn(bytes: Buffer): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}

/** Without the beginning of a character that was cut. */
function wholeLetters(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 3 && ((bytes[end - 1] as number) & 0xc0) === 0x80) end -= 1;
  const lead = bytes[end - 1] ?? 0;
  if (lead < 0xc0) return bytes;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return bytes.length - end + 1 < needed ? bytes.subarray(0, end - 1) : bytes;
}
