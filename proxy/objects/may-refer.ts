// Whether the body of a model call may refer to stored objects: nearly none does, and to look for these words takes less than a microsecond
// for each KiB.

/** What stands in every spelling of a member that names an object, as providers of models write them. */
const words = [
  'file_id',
  'fileUri',
  'file_uri',
  'fileid:',
  '/files/',
  'vector_store_id',
  '"conversation"',
  '"container',
  'skill_id',
  'achedContent',
  'cached_content',
  'response_id',
  'voice_',
  'item_reference',
].map((word) => Buffer.from(word));
/** Items of responses may be named by their `id` alone. */
const id = Buffer.from('"id"');
/** An escaped letter may hide a name. */
const hidden = Buffer.from('\\u00');
const [two, eight] = [0x32, 0x38];

/** `isOfResponses`: its items are known to the provider by their ids. */
export function mayRefer(body: Buffer, isOfResponses: boolean): boolean {
  return words.some((word) => body.includes(word)) || (isOfResponses && body.includes(id)) || hidesLetters(body);
}

function hidesLetters(body: Buffer): boolean {
  for (let at = body.indexOf(hidden); at !== -1; at = body.indexOf(hidden, at + hidden.length)) {
    const next = body[at + hidden.length] ?? 0;
    if (next >= two && next < eight) return true;
  }
  return false;
}
