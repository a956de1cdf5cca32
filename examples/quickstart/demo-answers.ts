// The answers of the demo provider: texts, tokens and vectors that depend on the request alone.
import { createHash } from 'node:crypto';

export type ChatMessage = { role?: unknown; content?: unknown };

export const chatModels: readonly string[] = ['demo-small', 'demo-large'];
export const embeddingModel = 'demo-embedding';
export const embeddingDimensions = 256;

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

/** The plain text of a message content: a string, or the text parts of a list. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts: string[] = [];
  for (const part of content) {
    if (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string') {
      parts.push(part.text);
    }
  }
  return parts.join(' ');
}

/** Splits text into token-like pieces; joined together they give the text back. */
export function tokenise(text: string): string[] {
  return text.match(/\s*[\p{L}\p{N}\p{M}]{1,8}|\s*[^\s\p{L}\p{N}\p{M}]|\s+$/gu) ?? [];
}

/** Tokens of a whole conversation, with the few that frame every message. */
export function countPromptTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + 4 + tokenise(contentText(message.content)).length, 3);
}

/** The answer of `model`, which refers to the last message of the user. */
export function composeAnswer(model: string, messages: readonly ChatMessage[]): string {
  const last = messages.findLast((message) => message.role === 'user') ?? messages.at(-1);
  const question = shorten(contentText(last?.content).replace(/\s+/g, ' ').trim(), 160);
  const seed = Number.parseInt(digest(`${model}\n${question}`).slice(0, 8), 16);
  const opening = openings[seed % openings.length] ?? openings[0];
  const closing = closings[(seed >>> 8) % closings.length] ?? closings[0];
  const subject = question === '' ? 'You sent no text' : `You said: “${question}”`;
  const sentences = [opening, `${subject}${/[.!?…]”?$/.test(subject) ? '' : '.'}`, `I am ${model}, a demo model.`];
  if (model === 'demo-large') {
    sentences.push(
      `I read ${messages.length} message${messages.length === 1 ? '' : 's'} and ${countPromptTokens(messages)} tokens to get here.`,
      'A larger model takes more words to say the same thing.',
    );
  }
  return [...sentences, closing].join(' ');
}

/**
 * A unit vector for a text (or a list of token ids). Texts that share words point in similar directions.
 */
export function embed(input: string | readonly number[], dimensions: number): Float32Array {
  const words = typeof input === 'string' ? (input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) : input.map(String);
  const sum = new Float64Array(dimensions);
  for (const word of words.length === 0 ? [`\0${String(input)}`] : words) addWord(sum, word);
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (value) => value / length);
}

function addWord(sum: Float64Array, word: string): void {
  let state = Number.parseInt(digest(word).slice(0, 8), 16) || 1;
  for (let index = 0; index < sum.length; index += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    sum[index] = (sum[index] ?? 0) + state / 2 ** 31;
  }
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).trimEnd()}…`;
}
