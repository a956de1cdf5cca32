// The words of the demo model: sentences and tokens that depend on the request alone.
import { createHash } from 'node:crypto';
import { lastQuestion, type Part, type Turn, wordsIn } from './conversation.ts';
import { describeMedia, type Media } from './media/media.ts';

/** The tokens of a picture or a document of any size. */
const mediaTokens = 85;
const openings: readonly [string, ...string[]] = [
  'Good question.',
  'Happy to help.',
  'Let me think about that.',
  'Here is a short answer.',
];
const closings: readonly [string, ...string[]] = [
  'Nothing here was looked up; the words only show how an answer travels.',
  'Ask the same thing twice and you get the same words twice.',
  'Point an alias at another model and watch this sentence change its author.',
];

/** Stable hexadecimal digest of any text; ids and choices are derived from it. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Splits text into token-like pieces; joined together they give the text back. */
export function tokenise(text: string): string[] {
  return text.match(/\s*[\p{L}\p{N}\p{M}]{1,8}|\s*[^\s\p{L}\p{N}\p{M}]|\s+$/gu) ?? [];
}

/** Tokens of a whole conversation, with the few that frame every turn. */
export function countTurnTokens(turns: readonly Turn[]): number {
  return turns.reduce((sum, { parts }) => sum + 4 + countParts(parts), 3);
}

function countParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if (part.kind === 'text') return sum + tokenise(part.text).length;
    if (part.kind === 'result') return sum + 4 + countParts(part.content);
    return sum + (part.kind === 'media' ? mediaTokens : 4);
  }, 0);
}

/** The answer of `model`, which refers to the last turn of the user. */
export function composeAnswer(model: string, turns: readonly Turn[]): string {
  const question = shorten(lastQuestion(turns), 160);
  const seed = Number.parseInt(digest(`${model}\n${question}`).slice(0, 8), 16);
  const opening = openings[seed % openings.length] ?? openings[0];
  const closing = closings[(seed >>> 8) % closings.length] ?? closings[0];
  const subject = question === '' ? 'You sent no text' : `You said: “${question}”`;
  const sentences = [
    opening,
    `${subject}${/[.!?…]”?$/.test(subject) ? '' : '.'}`,
    ...describeMedia(mediaIn(turns.findLast(({ role }) => role === 'user')?.parts ?? [])),
    `I am ${model}, a demo model.`,
  ];
  if (model === 'demo-large') {
    sentences.push(
      `I read ${turns.length} message${turns.length === 1 ? '' : 's'} and ${countTurnTokens(turns)} tokens to get here.`,
      'A larger model takes more words to say the same thing.',
    );
  }
  return [...sentences, closing].join(' ');
}

/** The quoted results of tools, in order. `names`: the names of the calls, by id. */
export function quoteResults(results: readonly Part[], names: ReadonlyMap<string, string>): string {
  const sentences = results.flatMap((part) => {
    if (part.kind !== 'result') return [];
    const name = names.get(part.callId) ?? part.callId;
    const told = [wordsIn(part.content), ...describeMedia(mediaIn(part.content))].filter((text) => text !== '');
    const quoted = told.length === 0 ? 'nothing' : `“${shorten(told.join(' '), 400)}”`;
    return [part.isError ? `${name} failed and says ${quoted}.` : `${name} says ${quoted}.`];
  });
  return sentences.join(' ');
}

/** One line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length).trimEnd()}…`;
}

function mediaIn(parts: readonly Part[]): Media[] {
  return parts.filter((part) => part.kind === 'media');
}
