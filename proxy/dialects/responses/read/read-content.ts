// Reads what a message or a tool's result contains.
import type {
  AudioPart,
  Citation,
  FilePart,
  ForeignPart,
  ImagePart,
  RefusalPart,
  TextPart,
} from '../../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, listOf, numberOf, textOf } from '../../json/json.ts';
import { objectsIn, optionalList, optionalText, requiredObject, requiredText } from '../../json/members.ts';
import { sourceOfUrl } from '../../sources.ts';
import { InvalidRequest } from '../../translation.ts';
import { foreignPart, partMark, restOf } from '../own-marks.ts';

export type ContentPart = TextPart | ImagePart | FilePart | AudioPart | RefusalPart | ForeignPart;

/**
 * A text, or a list of parts. `message`: members of the message that the first part keeps. Throws an InvalidRequest.
 */
export function readContent(content: JsonValue | undefined, at: string, message?: JsonObject): readonly ContentPart[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content, ...partMark({}, message) }];
  const list = listOf(content);
  if (list === undefined) throw new InvalidRequest(at, 'must be a text or a list');
  return objectsIn(list, at).map(({ value, at: place }, index) =>
    readPart(value, place, index === 0 ? message : undefined),
  );
}

const textMembers = new Set(['type', 'text', 'annotations', 'logprobs']);
const refusalMembers = new Set(['type', 'refusal']);
const imageMembers = new Set(['type', 'image_url', 'file_id', 'detail']);
const fileMembers = new Set(['type', 'file_data', 'file_id', 'file_url', 'filename']);
const audioMembers = new Set(['type', 'input_audio']);

function readPart(value: JsonObject, at: string, message: JsonObject | undefined): ContentPart {
  const type = requiredText(value, 'type', at);
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { ...readText(value, at), ...partMark(restOf(value, textMembers), message) };
    case 'refusal': {
      const text = requiredText(value, 'refusal', at);
      return { kind: 'refusal', text, ...partMark(restOf(value, refusalMembers), message) };
    }
    case 'input_image':
      return { ...readImage(value, at), ...partMark(restOf(value, imageMembers), message), place: at };
    case 'input_file':
      return { ...readFile(value, at), ...partMark(restOf(value, fileMembers), message), place: at };
    case 'input_audio':
      return { ...readAudio(value, at), ...partMark(restOf(value, audioMembers), message), place: at };
    default:
      return foreignPart(type, value, { message, place: at });
  }
}

function readText(value: JsonObject, at: string): TextPart {
  const citations = (optionalList(value, 'annotations', at) ?? []).filter(isObject).map(readAnnotation);
  const logprobs = optionalList(value, 'logprobs', at) ?? [];
  return {
    kind: 'text',
    text: requiredText(value, 'text', at),
    ...(citations.length === 0 ? {} : { citations }),
    ...(logprobs.length === 0 ? {} : { logprobs }),
  };
}

const annotationMembers = new Set(['type', 'url', 'title', 'start_index', 'end_index']);

/** Annotations other than those with an address mean something to this dialect alone. */
export function readAnnotation(annotation: JsonObject): Citation {
  const url = textOf(annotation['url']);
  const isOwn = annotation['type'] !== 'url_citation' || url === undefined;
  if (isOwn) return { own: { dialect: 'responses', members: annotation } };
  const rest = restOf(annotation, annotationMembers);
  return {
    url,
    title: textOf(annotation['title']),
    start: numberOf(annotation['start_index']),
    end: numberOf(annotation['end_index']),
    ...(Object.keys(rest).length === 0 ? {} : { own: { dialect: 'responses', members: annotation } }),
  };
}

function readImage(value: JsonObject, at: string): ImagePart {
  const url = optionalText(value, 'image_url', at);
  const id = optionalText(value, 'file_id', at);
  const detail = optionalText(value, 'detail', at);
  const shown = detail === undefined ? {} : { detail };
  if (url !== undefined) return { kind: 'image', source: sourceOfUrl(url), ...shown };
  if (id === undefined) throw new InvalidRequest(at, 'must have an image_url or a file_id');
  return { kind: 'image', source: { kind: 'id', id }, ...shown };
}

function readFile(value: JsonObject, at: string): FilePart {
  const data = optionalText(value, 'file_data', at);
  const url = optionalText(value, 'file_url', at);
  const id = optionalText(value, 'file_id', at);
  const name = optionalText(value, 'filename', at);
  const named = name === undefined ? {} : { name };
  if (data !== undefined) return { kind: 'file', source: fileSource(data), ...named };
  if (url !== undefined) return { kind: 'file', source: { kind: 'url', url }, ...named };
  if (id === undefined) throw new InvalidRequest(at, 'must have file_data, a file_url or a file_id');
  return { kind: 'file', source: { kind: 'id', id }, ...named };
}

/** Data without the head of a data URL are taken for a PDF, which was the only kind of file when that form was documented. */
function fileSource(data: string): FilePart['source'] {
  if (data.startsWith('data:')) return sourceOfUrl(data);
  return { kind: 'base64', mediaType: 'application/pdf', data };
}

function readAudio(value: JsonObject, at: string): AudioPart {
  const audio = requiredObject(value, 'input_audio', at);
  const place = `${at}.input_audio`;
  const format = optionalText(audio, 'format', place);
  const data = requiredText(audio, 'data', place);
  const source = { kind: 'base64', mediaType: `audio/${format ?? 'wav'}`, data } as const;
  return { kind: 'audio', source, ...(format === undefined ? {} : { format }) };
}
