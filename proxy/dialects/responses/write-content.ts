// Writes what a message or a tool's result contains.
import {
  type AudioPart,
  type Citation,
  type FilePart,
  type ImagePart,
  type Part,
  placeOf,
  type TextPart,
} from '../conversation/parts.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject } from '../json/json.ts';
import type { ClientDialectName } from '../names.ts';
import { dataUrl, soundFormat } from '../sources.ts';
import type { Losses } from '../translation.ts';
import { foreignContentOf, partRest } from './own-marks.ts';

/** Who wrote the request, and whom a loss is told. */
export interface Losing {
  readonly dialect: ClientDialectName;
  readonly losses: Losses;
}

/** A part of what people, instructions or tools say; undefined: it was lost. */
export function writeInputPart(part: Part, losing: Losing): JsonObject | undefined {
  const rest = part.kind === 'foreign' ? {} : partRest(part);
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text, ...rest };
    case 'refusal':
      return { type: 'refusal', refusal: part.text, ...rest };
    case 'image':
      return writeImage(part, losing);
    case 'file':
      return writeFile(part, losing);
    case 'audio':
      if (part.source.kind === 'base64') return { ...writeAudio(part), ...rest };
      return lost(part, 'it takes sounds in base64 alone', losing);
    case 'foreign':
      return foreignContentOf(part) ?? lost(part, `it has no part of the type ${part.name}`, losing);
    default:
      return lost(part, `it has no message with a part of the kind ${part.kind}`, losing);
  }
}

/** A part of what the assistant said. */
export function writeOutputPart(part: Part, losing: Losing): JsonObject | undefined {
  if (part.kind === 'text') {
    const cited = (part.citations ?? []).map(writeAnnotation);
    if (cited.includes(undefined)) losing.losses.hint(fieldName('citations', losing.dialect));
    return {
      ...outputText(
        part,
        cited.filter((each) => each !== undefined),
      ),
      ...partRest(part),
    };
  }
  if (part.kind === 'refusal' || part.kind === 'foreign') return writeInputPart(part, losing);
  return lost(part, `its assistant says no part of the kind ${part.kind}`, losing);
}

/** Text as the assistant says it. */
export function outputText({ text, logprobs }: TextPart, annotations: readonly JsonObject[]): JsonObject {
  return { type: 'output_text', text, annotations, ...(logprobs === undefined ? {} : { logprobs }) };
}

/** Undefined: this dialect cannot say it, because the place has no address. */
export function writeAnnotation({ url, title, start, end, own }: Citation): JsonObject | undefined {
  if (own?.dialect === 'responses') return own.members;
  if (url === undefined) return undefined;
  return { type: 'url_citation', start_index: start ?? 0, end_index: end ?? start ?? 0, url, title: title ?? '' };
}

function lost(part: Part, because: string, { dialect, losses }: Losing): undefined {
  losses.meaning(fieldName('turns', dialect), because, placeOf(part));
  return undefined;
}

function writeImage(part: ImagePart, losing: Losing): JsonObject | undefined {
  const { source, detail } = part;
  const shown = { ...(detail === undefined ? {} : { detail }), ...partRest(part) };
  if (source.kind === 'base64') {
    return { type: 'input_image', image_url: dataUrl(source.mediaType, source.data), ...shown };
  }
  if (source.kind === 'url') return { type: 'input_image', image_url: source.url, ...shown };
  if (source.kind === 'text') return lost(part, 'it has no image that is text', losing);
  return writeKept(part, losing, { type: 'input_image', file_id: source.id, ...shown });
}

function writeFile(part: FilePart, losing: Losing): JsonObject | undefined {
  const { source, name } = part;
  const rest = partRest(part);
  if (source.kind === 'text') return { type: 'input_text', text: source.text, ...rest };
  const named = { ...(name === undefined ? {} : { filename: name }), ...rest };
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url, ...named };
  if (source.kind === 'id') return writeKept(part, losing, { type: 'input_file', file_id: source.id, ...named });
  const file_data = dataUrl(source.mediaType, source.data);
  // Data without a name are refused; who speaks this dialect knows.
  const needsName = name === undefined && losing.dialect !== 'responses';
  const filename = source.mediaType === 'application/pdf' ? 'document.pdf' : 'document';
  return { type: 'input_file', ...(needsName ? { filename } : {}), file_data, ...named };
}

/** A file that a provider keeps is known to OpenAI's dialects alone. */
function writeKept(part: Part, losing: Losing, written: JsonObject): JsonObject | undefined {
  return losing.dialect === 'messages'
    ? lost(part, 'it does not know the files of the other provider', losing)
    : written;
}

/** An audio part; `wav` when the format is unknown. */
export function writeAudio({ source, format }: AudioPart): JsonObject {
  const data = source.kind === 'base64' ? source.data : '';
  const said = source.kind === 'base64' ? soundFormat(source.mediaType) : undefined;
  return { type: 'input_audio', input_audio: { data, format: format ?? said ?? 'wav' } };
}
