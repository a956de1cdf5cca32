// Removes a provider's secrets from its messages to a client.
import { longFrom, redactLong } from './redact-long.ts';

const mark = '[redacted]';
/** Anything that looks like a key, such as the masked one that providers quote: `sk-proj-abc***1234`. */
const keyLike = /\bsk-[A-Za-z0-9_*-]{4,}/g;
/** Nesting beyond this is cut off; error bodies have two or three levels. */
const deepest = 16;

/** A pattern, and what it finds. */
interface Found {
  readonly secrets: readonly string[];
  readonly pattern: RegExp | undefined;
}

/** One pattern for the secrets of an upstream, made when it first fails, and again when its list holds others: credentials are renewed. */
const patterns = new WeakMap<readonly string[], Found>();

/**
 * Removes the provider's secrets, and anything that looks like a key, from a text. A secret is found as it is, in another letter case,
 * within base64, and with any of its characters escaped as in JSON, URLs and HTML, also when that was done twice.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const pattern = patternOf(secrets);
  const known = pattern === undefined ? text : text.replace(pattern, mark);
  return redactLong(known, secrets, mark).replace(keyLike, mark);
}

function patternOf(secrets: readonly string[]): RegExp | undefined {
  const known = patterns.get(secrets);
  if (known?.secrets.length === secrets.length && known.secrets.every((word, at) => word === secrets[at]))
    return known.pattern;
  const words = secrets.filter(({ length }) => length < longFrom);
  const pattern = words.length === 0 ? undefined : new RegExp(words.flatMap(formsOf).join('|'), 'gi');
  patterns.set(secrets, { secrets: [...secrets], pattern });
  return pattern;
}

/** `redact` for text of any length; returns at most `most` characters. Text far behind them costs no time. */
export function redactWords(words: string, secrets: readonly string[], most: number): string {
  // A secret that the cut divides lies behind what is kept.
  return redact(words.slice(0, 4 * most), secrets).slice(0, most);
}

/**
 * `redact` for every key and text of a parsed JSON value. Values nested deeper than `deepest` levels become null.
 * `depth`: the level of `value`, from 0.
 */
export function redactValue(value: unknown, secrets: readonly string[], depth: number = 0): unknown {
  if (typeof value === 'string') return redact(value, secrets);
  // A secret of digits alone would be read as a number.
  if (typeof value === 'number') return redact(String(value), secrets) === String(value) ? value : mark;
  if (typeof value !== 'object' || value === null) return value;
  // A number with digits that JavaScript would lose.
  if (JSON.isRawJSON(value)) return redact(JSON.stringify(value), secrets) === JSON.stringify(value) ? value : mark;
  if (depth === deepest) return null;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secrets, depth + 1));
  const entries = Object.entries(value).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(
    entries.map(([key, item]) => [redact(key, secrets), redactValue(item, secrets, depth + 1)]),
  );
}

/** The patterns of one secret: character by character, and its base64 at each of the three places it may begin at. */
function formsOf(secret: string): string[] {
  const plain = secret.split('').map(formsOfCharacter).join('');
  const encoded = [0, 1, 2].flatMap((lead) => {
    const bytes = Buffer.concat([Buffer.alloc(lead), Buffer.from(secret)]);
    // The first and the last character also hold bits of what stands beside the secret.
    const [first, end] = [Math.ceil((lead * 8) / 6), Math.floor((bytes.length * 8) / 6)];
    return [bytes.toString('base64'), bytes.toString('base64url')].map((text) => text.slice(first, end));
  });
  return [plain, ...[...new Set(encoded)].map((text) => text.split('').map(literal).join(''))];
}

/** Few repetitions, because each costs time at every place of a hostile text. */
function formsOfCharacter(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, '0');
  const inJson = `\\\\{0,4}(?:${literal(character)}|u00${hex})`;
  const inUrl = `%(?:25){0,2}${hex}`;
  const inHtml = `&(?:amp;)?(?:#0{0,4}${code}|#x0{0,4}${hex}${named[character] ?? ''});`;
  return `(?:${inJson}|${inUrl}|${inHtml})`;
}

const named: Readonly<Record<string, string>> = { '&': '|amp', '<': '|lt', '>': '|gt', '"': '|quot', "'": '|apos' };

/** A character of a pattern that stands for itself. */
function literal(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
