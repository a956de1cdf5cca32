// Reads the content of messages: a text, or a list of parts.
import type { AudioPart, FilePart, ForeignPart, ImagePart, RefusalPart, TextPart } from '../../conversation/parts.ts';
import { isObject, type JsonObject } from '../../json/json.ts';
import {
  optionalList,
  optionalObject,
  optionalText,
  pathOf,
  requiredObject,
  requiredText,
} from '../../json/members.ts';
import { mediaTypeOfSound, sourceOfUrl } from '../../sources.ts';
import { InvalidRequest } from '../../translation.ts';
import { membersBut, ownOf } from '../own.ts';

export type ContentPart = TextPart | ImagePart | FilePart | AudioPart | RefusalPart | ForeignPart;

/**
 * The parts of `content`; none when it is absent. A part of an unknown type stays as it is. Throws an InvalidRequest.
 */
export function readContent(message: JsonObject, at: string): readonly ContentPart[] {
  const { content } = message;
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (content !== undefined && content !== null && !Array.isArray(content)) {
    throw new InvalidRequest(pathOf(at, 'content'), 'must be a text or a list of parts');
  }
  const list = optionalList(message, 'content', at) ?? [];
  return list.map((value, index) => {
    // Some clients put bare texts into the list.
    if (typeof value === 'string') return { kind: 'text', text: value };
    const place = `${pathOf(at, 'content')}[${index}]`;
    if (!isObject(value)) throw new InvalidRequest(place, 'must be an object');
    return readPart(value, place);
  });
}

/** The parts of a message that may hold only texts. Throws an InvalidRequest for any other part. */
export function readTexts(message: JsonObject, at: string): readonly TextPart[] {
  return readContent(message, at).map((part, index) => {
    if (part.kind === 'text') return part;
    throw new InvalidRequest(`${at}.content[${index}].type`, 'must be text');
  });
}

function readPart(part: JsonObject, at: string): ContentPart {
  const type = requiredText(part, 'type', at);
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { kind: 'text', text: requiredText(part, 'text', at), ...marksOf(part, ['text']) };
    case 'refusal':
      return { kind: 'refusal', text: requiredText(part, 'refusal', at), ...marksOf(part, ['refusal']) };
    case 'image_url':
      return readImage(part, at);
    case 'input_audio':
      return readSound(part, at);
    case 'file':
      return readFile(part, at);
    default:
      return { kind: 'foreign', dialect: 'chat', name: type, value: part, place: at };
  }
}

function readImage(part: JsonObject, at: string): ImagePart {
  const marks = marksOf(part, ['image_url']);
  const bare = part['image_url'];
  if (typeof bare === 'string') return { kind: 'image', source: sourceOfUrl(bare), ...marks, place: at };
  const image = requiredObject(part, 'image_url', at);
  const place = pathOf(at, 'image_url');
  const detail = optionalText(image, 'detail', place);
  const source = sourceOfUrl(requiredText(image, 'url', place));
  return { kind: 'image', source, ...(detail === undefined ? {} : { detail }), ...marks, place: at };
}

function readSound(part: JsonObject, at: string): AudioPart {
  const sound = requiredObject(part, 'input_audio', at);
  const place = pathOf(at, 'input_audio');
  const format = requiredText(sound, 'format', place);
  const data = requiredText(sound, 'data', place);
  const source = { kind: 'base64', mediaType: mediaTypeOfSound(format), data } as const;
  return { kind: 'audio', source, format, ...marksOf(part, ['input_audio']), place: at };
}

function readFile(part: JsonObject, at: string): FilePart {
  const file = requiredObject(part, 'file', at);
  const place = pathOf(at, 'file');
  const id = optionalText(file, 'file_id', place);
  const data = optionalText(file, 'file_data', place);
  const name = optionalText(file, 'filename', place);
  const rest = { ...(name === undefined ? {} : { name }), ...marksOf(part, ['file']), place: at };
  if (id !== undefined) return { kind: 'file', source: { kind: 'id', id }, ...rest };
  if (data === undefined) throw new InvalidRequest(place, 'must have file_id or file_data');
  const isUrl = /^(data|https?):/i.test(data);
  const source = isUrl ? sourceOfUrl(data) : ({ kind: 'base64', mediaType: 'application/pdf', data } as const);
  return { kind: 'file', source, ...rest };
}

/** The cache mark of a part or a message, and the members of a part that the gateway does not know. */
export function marksOf(part: JsonObject, known: readonly string[]): Pick<TextPart, 'cacheMark' | 'own'> {
  const mark = optionalObject(part, 'cache_control');
  const own = ownOf({}, membersBut(part, ['type', 'cache_control', ...known]));
  return { ...(mark === undefined ? {} : { cacheMark: mark }), ...(own === undefined ? {} : { own }) };
}
