// How many tokens something may have been, for when nobody says: about four characters each.

const charactersPerToken = 4;
/** Beyond this a body is measured by its length: parsing it would hold others up. Bytes. */
const longestParsed = 1024 * 1024;
/** About what an event of a stream holds besides its text. Bytes. */
const eventOverhead = 256;

const inputKeys = ['messages', 'input', 'prompt', 'instructions', 'system', 'tools'];
const outputKeys = ['choices', 'output', 'text'];
/** Pictures, sound and documents, which are not read as text, and what an answer says about its text. */
const opaqueKeys: ReadonlySet<string> = new Set(
  'image_url input_audio file file_data data logprobs finish_reason'.split(' '),
);
/** With its comma, so that a text that merely begins with the word is a text. */
const dataUrl = /^data:[^\s,]{0,200},/;

/** The tokens of a request body: its texts, without data URLs. */
export function estimateInput(body: Buffer): number {
  return estimate(body, inputKeys);
}

/** The tokens of a JSON answer, or of a part of one. */
export function estimateOutput(body: Buffer): number {
  return estimate(body, outputKeys);
}

/**
 * The tokens of a stream of which so many events and bytes passed. An event is a token as a rule; providers that put more into one
 * show by its length.
 */
export function estimateStreamOutput(events: number, bytes: number): number {
  return Math.max(events, Math.floor((bytes - eventOverhead * events) / charactersPerToken));
}

function estimate(body: Buffer, keys: readonly string[]): number {
  const byLength = Math.ceil(body.length / charactersPerToken);
  if (body.length > longestParsed) return byLength;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    return byLength;
  }
  if (typeof parsed !== 'object' || parsed === null) return byLength;
  const members = parsed as Record<string, unknown>;
  return Math.ceil(countCharacters(keys.map((key) => members[key])) / charactersPerToken);
}

/** Takes the values as its stack, because nobody has checked how deep an answer is. A number in a list is a token already. */
function countCharacters(open: unknown[]): number {
  let characters = 0;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') characters += dataUrl.test(value) ? 0 : value.length;
    else if (Array.isArray(value)) {
      for (const part of value as unknown[]) {
        if (typeof part === 'number') characters += charactersPerToken;
        else open.push(part);
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, part] of Object.entries(value)) if (!opaqueKeys.has(key)) open.push(part);
    }
  }
  return characters;
}
