// The beginning of a conversation without the marks of prompt caches, which clients move on from turn to turn.

const mark = Buffer.from('"cache_control"');
const textKey = Buffer.from('"text"');
/** Within a text its quotes would be escaped. */
const marks = /,\s*"cache_control"\s*:\s*(?:null|\{[^{}]*\})|"cache_control"\s*:\s*(?:null|\{[^{}]*\})\s*,?/g;
const text = /"[^"\\]*(?:\\.[^"\\]*)*"/.source;
const type = /"type"\s*:\s*"text"/.source;
const block = `\\{\\s*(?:${type}\\s*,\\s*"text"\\s*:\\s*(${text})|"text"\\s*:\\s*(${text})\\s*,\\s*${type})\\s*\\}`;
const listOfOne = new RegExp(`\\[\\s*${block}\\s*\\]`, 'gs');

/**
 * JSON, which may end early, without members `cache_control`, and with each list of one text as that text: a text that is marked has to be
 * written as a list. What has neither is given back as it is.
 */
export function unmarked(json: Buffer): Buffer {
  if (!json.includes(mark) && !json.includes(textKey)) return json;
  const written = json.toString('latin1').replace(marks, '').replace(listOfOne, '$1$2');
  return Buffer.from(written, 'latin1');
}
