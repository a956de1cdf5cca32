// Texts in members that nothing else knows: whatever is no sign, no address and no data may be told to a model, or to a client.
import { type EditableObject, isObject, type JsonValue } from './json.ts';

/** Members that are no words where they are a text: signs, addresses, and media. */
const silent: ReadonlySet<string> = new Set(
  [
    'id type role object status model name index phase caller format detail',
    'image audio video data url uri image_url file_url audio_url video_url file file_data input_audio media_type mime_type',
    'encrypted_content encrypted_index encrypted_stdout signature thought_signature',
    'server_label finish_reason stop_reason',
  ].flatMap((line) => line.split(' ')),
);
const isOfSign = /_ids?$/;
/** What was said of each token of a text, which goes with it. */
const aboutTokens = 'logprobs';

/** Where a text stands: a member of an object, or of a list by its number. */
export type TextPlace = readonly [holder: EditableObject, key: string];

/** All texts below an object, but for the members `known`. */
export function otherTexts(object: EditableObject, known: ReadonlySet<string>): readonly TextPlace[] {
  const places: TextPlace[] = [];
  collect(object, known, places);
  return places;
}

function collect(holder: EditableObject, known: ReadonlySet<string>, places: TextPlace[]): void {
  for (const key of Object.keys(holder)) {
    if (known.has(key) || key === aboutTokens) continue;
    const value = holder[key];
    const isSilent = typeof value === 'string' && (silent.has(key) || isOfSign.test(key));
    if (!isSilent) look(holder, key, value, places);
  }
}

const none: ReadonlySet<string> = new Set();

function look(holder: EditableObject, key: string, value: JsonValue | undefined, places: TextPlace[]): void {
  if (typeof value === 'string') places.push([holder, key]);
  else if (isObject(value)) collect(value, none, places);
  else if (Array.isArray(value)) {
    const list = value as unknown as EditableObject;
    for (const [index, entry] of (value as readonly JsonValue[]).entries()) look(list, String(index), entry, places);
  }
}
