// Texts in members that nothing else knows: whatever is no sign, no address and no data may be told to a model, or to a client.
import { maxDepth } from '../bytes/scan.ts';
import { type EditableObject, isObject, type JsonValue } from './json.ts';

/** Members that are no words where they are a text, or a list of texts: signs, settings, addresses, and media. */
const silent: ReadonlySet<string> = new Set(
  [
    'id type role object status model provider name namespace server_name server_label tool_name index phase caller',
    'format detail ttl button required finish_reason stop_reason native_finish_reason',
    'image audio video data url uri image_url file_url audio_url video_url document_url media_type mime_type',
    'file file_data input_audio b64_json image_base64 partial_image_b64',
    'encrypted_content encrypted_index encrypted_stdout signature thought_signature',
  ].flatMap((line) => line.split(' ')),
);
const isOfSign = /_ids?$/;
/** What was said of each token of a text, which goes with it; and what describes a tool. */
const leftOut: ReadonlySet<string> = new Set(['logprobs', 'input_schema']);
const isAddress = /^(?:https?:\/\/\S+$|data:[^,\s]{0,128};base64,)/i;
/** Text of so many characters has a blank, or a letter beyond those of base 64. */
const isEncoded = /^[A-Za-z0-9+/_=-]{512}/;

const none: ReadonlySet<string> = new Set();

/** Where a text stands: a member of an object, or of a list by its number. */
export type TextPlace = readonly [holder: EditableObject, key: string];

/** All texts below an object, but for the members `known`. What is nested deeper than a request may be is passed over. */
export function otherTexts(object: EditableObject, known: ReadonlySet<string> = none): readonly TextPlace[] {
  const collector = new Collector();
  collector.below(object, known, 0);
  return collector.places;
}

/** Whether a text is media or an address, whatever member it stands in. */
export function isNoWords(text: string): boolean {
  return isAddress.test(text) || isEncoded.test(text);
}

class Collector {
  readonly places: TextPlace[] = [];

  below(holder: EditableObject, known: ReadonlySet<string>, depth: number): void {
    if (depth > maxDepth) return;
    for (const key of Object.keys(holder)) {
      if (known.has(key) || leftOut.has(key)) continue;
      // The data of a document in plain text are words.
      const isSilent = (silent.has(key) && !(key === 'data' && holder['type'] === 'text')) || isOfSign.test(key);
      this.#at(holder, key, isSilent, depth);
    }
  }

  #at(holder: EditableObject, key: string, isSilent: boolean, depth: number): void {
    const value = holder[key];
    if (typeof value === 'string') {
      if (!isSilent && value !== '' && !isNoWords(value)) this.places.push([holder, key]);
    } else if (isObject(value)) this.below(value, none, depth + 1);
    else if (Array.isArray(value) && depth < maxDepth) {
      const list = value as unknown as EditableObject;
      for (const index of (value as readonly JsonValue[]).keys()) this.#at(list, String(index), isSilent, depth + 1);
    }
  }
}
