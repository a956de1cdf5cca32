// Texts in members that nothing else knows: whatever is no sign, no address and no data may be told to a model, or to a client.
import { maxDepth } from '../bytes/scan.ts';
import { type EditableObject, isObject, type JsonValue, numberOf, textOf } from './json/json.ts';
import { type DataText, isBase64, textOfAddress, textOfBase64 } from './text-data.ts';

const wordsIn = (...lines: readonly string[]): ReadonlySet<string> => new Set(lines.flatMap((line) => line.split(' ')));

/** Members that say how something is meant, where they are one word. */
const settings = wordsIn(
  'id type role object status model provider index phase caller format detail ttl button required',
  'finish_reason stop_reason native_finish_reason media_type mime_type',
);
/** Members of a request that take one of a list of choices. */
const choices = wordsIn(
  'tool_choice function_call effort reasoning_effort verbosity service_tier modalities truncation include',
  'encoding_format output_format response_format voice input_type quality size background style moderation',
);
const names = wordsIn('name namespace server_name server_label tool_name');
const media = wordsIn(
  'image audio video data url uri image_url file_url audio_url video_url document_url',
  'file file_data input_audio b64_json image_base64 partial_image_b64',
);
/** Members that a provider signs or encrypts: they must come back unchanged. */
const signs = wordsIn('encrypted_content encrypted_index encrypted_stdout signature thought_signature');
/** Members with credentials for a server that the provider asks. */
const keys = wordsIn('authorization authorization_token headers');
const isOfSign = /_ids?$/;
/** Members that are left out: log probabilities of a text, which go with it, and descriptions of tools. */
const leftOut: ReadonlySet<string> = new Set(['logprobs', 'input_schema']);
const isAddressOfData = /^data:[^,\s]{0,128};base64,/i;
const beginsAsAddress = /^https?:\/\/\S/i;
const hasBlank = /\s/;
/** Text of so many characters has a blank, or a letter beyond those of base 64. */
const shortestEncoded = 512;
/** A setting or an id is one word. */
const isWord = /^[^\s@]{0,128}$/;
/** Names of members that programs give say nothing, and neither do short numbers. */
const isPlainKey = /^[A-Za-z_$][\w.$/-]{0,63}$/;
const leastSaying = 1e6;
const isText = /^text\//i;
const isMediaType = /^(?:image|audio|video)\/|^application\/(?:pdf|octet-stream)/i;

const none: ReadonlySet<string> = new Set();

/** Where a text stands: a member of an object, or of a list by its number. */
export type TextPlace = readonly [holder: EditableObject, key: string];

/** Where a text of a request stands. It may be the name of a member, which can be given another one. */
export interface RequestedPlace {
  readonly holder: EditableObject;
  /** The name and the value of a member have the same. */
  readonly at: { key: string };
  readonly part: 'value' | 'name';
  /** The value is this text, written as data. */
  readonly data: DataText | undefined;
}

/** All texts below an object of an answer, but for the members `known`. What is nested deeper than a request may be is passed over. */
export function otherTexts(object: EditableObject, known: ReadonlySet<string> = none): readonly TextPlace[] {
  const places: TextPlace[] = [];
  walk(object, known, {
    mannerOf(holder, key) {
      if (leftOut.has(key)) return 'left';
      // The data of a document in plain text are words.
      if (key === 'data' && holder['type'] === 'text') return 'words';
      const isSilent = settings.has(key) || names.has(key) || media.has(key) || signs.has(key) || isOfSign.test(key);
      return isSilent ? 'silent' : 'words';
    },
    take(holder, key, value, manner) {
      if (typeof value === 'string' && manner !== 'silent' && value !== '' && !isNoWords(value))
        places.push([holder, key]);
    },
  });
  return places;
}

/** Of members of requests: one look for each. */
const mannersInRequests: ReadonlyMap<string, Manner> = new Map([
  ...[...settings, ...choices].map((key) => [key, 'setting'] as const),
  ...[...signs, ...keys].map((key) => [key, 'left'] as const),
]);

/**
 * All texts that a model may read below an object of a request, so that a member is left out only for its value, not
 * for its name alone. `isRead`: whether a member was read before.
 */
export function requestedTexts(
  object: EditableObject,
  known: ReadonlySet<string>,
  isRead: (holder: EditableObject, key: string) => boolean,
): readonly RequestedPlace[] {
  const places: RequestedPlace[] = [];
  let named: RequestedPlace | undefined;
  walk(object, known, {
    mannerOf(holder, key) {
      // The entries of a list have numbers.
      const manner = Array.isArray(holder) ? undefined : mannersInRequests.get(key);
      if (manner === 'left' || isRead(holder, key)) return 'left';
      return manner ?? (key.endsWith('_id') || key.endsWith('_ids') ? 'setting' : 'words');
    },
    named(holder, key) {
      if (isPlainKey.test(key) || Array.isArray(holder)) return;
      named = { holder, at: { key }, part: 'name', data: undefined };
      places.push(named);
    },
    take(holder, key, value, manner) {
      const data = typeof value === 'string' ? dataIn(holder, key, value) : undefined;
      if (data === undefined && (!isSaying(value, manner) || isMedia(holder, key, value))) return;
      const isNamed = named?.holder === holder && named.at.key === key;
      places.push({ holder, at: isNamed && named ? named.at : { key }, part: 'value', data });
    },
  });
  return places;
}

function isSaying(value: JsonValue | undefined, manner: Manner): boolean {
  if (typeof value !== 'string') return manner === 'words' && Math.abs(numberOf(value) ?? 0) >= leastSaying;
  if (value === '' || (manner === 'setting' && isWord.test(value))) return false;
  return !isNoWords(value);
}

/** A file in plain text. */
function dataIn(holder: EditableObject, key: string, value: string): DataText | undefined {
  if (value.startsWith('data:')) return textOfAddress(value);
  const isFile = key === 'file_data' || (key === 'data' && isText.test(typeOf(holder)));
  return isFile ? textOfBase64(value) : undefined;
}

/** A short picture or sound: a long one is known by its length. */
function isMedia(holder: EditableObject, key: string, value: JsonValue | undefined): boolean {
  return key === 'data' && isMediaType.test(typeOf(holder)) && typeof value === 'string' && isBase64(value);
}

function typeOf(holder: EditableObject): string {
  return textOf(holder['media_type']) ?? textOf(holder['mime_type']) ?? textOf(holder['mimeType']) ?? '';
}

/** Whether a text is media or an address, whatever member it stands in. */
export function isNoWords(text: string): boolean {
  if (isAddressOfData.test(text) || (beginsAsAddress.test(text) && !hasBlank.test(text))) return true;
  return text.length >= shortestEncoded && isBase64(text);
}

/** `left`: nothing below it is looked at. `silent`: it is no words where it is a text. `setting`: it is none where it is one word. */
type Manner = 'words' | 'setting' | 'silent' | 'left';

interface Walk {
  readonly mannerOf: (holder: EditableObject, key: string) => Manner;
  /** Takes the name of a member of an object. */
  readonly named?: (holder: EditableObject, key: string) => void;
  /** Takes a value that holds no other ones. */
  readonly take: (holder: EditableObject, key: string, value: JsonValue | undefined, manner: Manner) => void;
}

function walk(top: EditableObject, known: ReadonlySet<string>, { mannerOf, named, take }: Walk): void {
  const below = (holder: EditableObject, depth: number): void => {
    if (depth > maxDepth) return;
    for (const key of Object.keys(holder)) {
      if (depth === 0 && known.has(key)) continue;
      const manner = mannerOf(holder, key);
      if (manner === 'left') continue;
      named?.(holder, key);
      at(holder, key, manner, depth);
    }
  };
  const at = (holder: EditableObject, key: string, manner: Manner, depth: number): void => {
    const value = holder[key];
    if (isObject(value)) below(value, depth + 1);
    else if (!Array.isArray(value)) take(holder, key, value, manner);
    else if (depth < maxDepth) {
      const list = value as unknown as EditableObject;
      for (const index of (value as readonly JsonValue[]).keys()) {
        const entry = String(index);
        if (mannerOf(list, entry) !== 'left') at(list, entry, manner, depth + 1);
      }
    }
  };
  below(top, 0);
}
