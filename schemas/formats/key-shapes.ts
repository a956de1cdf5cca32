// Takes keys out of what is recorded and stored (spec: Audit; reference SR9): whatever has the form of a known kind of key, and the secrets that
// are known.
import { beginnings, mayHoldKey } from './key-beginnings.ts';

/** Stands for what was taken out. */
export const mark = '[REDACTED]';

/**
 * Kinds of keys by their first letters: OpenAI, Anthropic and this gateway (sk-), AWS, Slack, GitHub, GitLab, Google, Groq, Hugging Face, xAI,
 * Perplexity, Stripe. What follows is long enough to be no word.
 */
export const keyKinds =
  'sk-[\\w*-]{8,}|A(?:KIA|SIA)[0-9A-Z]{16}|xox[a-z]-[A-Za-z0-9-]{8,}|gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\\w{16,}|glpat-[\\w-]{16,}|' +
  'AIza[\\w-]{16,}|gsk_\\w{16,}|hf_[A-Za-z0-9]{16,}|xai-\\w{16,}|pplx-\\w{16,}|[sr]k_(?:live|test)_\\w{8,}';
/** Before a key stands no letter, but that of an escape in JSON (`\n`, `\ud83d`) or in a URL (`%3D`). */
const jsonEscape = '(?<=\\\\(?:[bfnrt]|u[0-9A-Fa-f]{4}))';
const before = `(?:(?<![A-Za-z0-9])|${jsonEscape}|(?<=%[0-9A-Fa-f]{2}))`;
/** Of a token with three parts. Only where a run of its letters begins, else a hostile text would take the square of its length. */
const jwt = `(?:(?<![\\w-])|${jsonEscape})eyJ[\\w-]{8,}\\.[\\w-]{8,}(?:\\.[\\w-]*)?`;
const shapes = new RegExp(`${before}(?:${keyKinds})|${jwt}`, 'g');
/** Words that may follow are left alone: what has a digit in it, or is very long, is no word. */
const bearer = new RegExp(
  `(?:\\b|${jsonEscape})([Bb]earer(?:\\s|\\\\[fnrt]|%20|\\+)+)(?=[A-Za-z._~+/=-]*[0-9]|[A-Za-z._~+/=-]{24})[\\w.~+/=-]{8,}`,
  'g',
);
/** Below this length the shapes are as fast. Characters. */
const short = 64;

/** The values of such parameters in an address. */
const parameters = /([?&](?:[\w-]*(?:key|token|secret|password|signature)|sig|auth)=)[^&#\s"]+/gi;

/** Keys of OpenAI, Anthropic and this gateway begin so. */
const openAiKey = 'sk-';
/** A character that keys have, written as an escape of JSON. */
const escapedLetter = /\\u00(?:2[bdef]|3[\dd]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;
const [slash, backslash, letterU] = [0x2f, 0x5c, 0x75];
/** The characters of ASCII as JSON writes them. */
const ascii = Array.from({ length: 0x80 }, (_, code) => JSON.stringify(String.fromCharCode(code)).slice(1, -1));
/** A word at the end of a text that was cut may be the beginning of a key. Characters. */
const mostBegun = 256;
const begun = new RegExp(`(?:${beginnings.join('|')})[\\w*.-]*$`);

/** The text without keys. Takes time in proportion to its length, whatever it says. */
export function withoutKeys(text: string): string {
  const hasKey = text.length <= short || mayHoldKey(text);
  const clean = hasKey ? text.replace(shapes, mark) : text;
  return mayHoldBearer(clean) ? clean.replace(bearer, `$1${mark}`) : clean;
}

/**
 * `withoutKeys` for an address, or a text that may hold one: also without these secrets, and without the values of
 * secret parameters in its query.
 */
export function withoutKeysOfQuery(text: string, secrets: readonly string[] = []): string {
  const clean = withoutSecrets(text, secrets);
  return clean.includes('=') ? clean.replace(parameters, `$1${mark}`) : clean;
}

/** The text without keys and without these secrets, as they are written. `isCut`: its end is missing, and with it perhaps that of a key. */
export function withoutSecrets(text: string, secrets: readonly string[], isCut: boolean = false): string {
  let clean = text;
  for (const secret of secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, mark);
  return withoutKeys(isCut ? withoutBegun(clean, secrets) : clean);
}

/**
 * `withoutSecrets` for a JSON text, which stays valid JSON and keeps its escapes where nothing is removed. Undefined
 * where a secret stands outside of its texts. Takes time in proportion to its length, however many texts and escapes
 * are in it.
 */
export function jsonWithoutSecrets(json: string, secrets: readonly string[]): string | undefined {
  if (!isEscaped(json) && !secrets.some((secret) => mayHold(json, secret))) return withoutKeys(json);
  const plain = withoutEscapes(json);
  let clean: string | undefined = plain;
  for (const secret of secrets) clean = clean && withoutInTexts(clean, JSON.stringify(secret).slice(1, -1));
  clean = clean && withoutKeys(clean);
  return clean === plain ? json : clean;
}

/** False: nothing in this JSON text looks like a key, and none of these secrets is in it. */
export function mayHoldSecret(json: string, secrets: readonly string[]): boolean {
  if (mayHoldKey(json) || mayHoldBearer(json) || isEscaped(json)) return true;
  // A secret of the most frequent kind would have been found as a key.
  for (const secret of secrets) if (!secret.startsWith(openAiKey) && mayHold(json, secret)) return true;
  return false;
}

/** Each first letter is rarer than the `e` of what both have in common: a search stops at each of them. */
function mayHoldBearer(text: string): boolean {
  return text.includes('Bearer') || text.includes('bearer');
}

/** Whether a character that keys have may be written as an escape. */
function isEscaped(json: string): boolean {
  return json.includes('\\u00') && escapedLetter.test(json);
}

/** Whether the secret may stand in a JSON text, also with those of its characters escaped that keys do not have. */
function mayHold(json: string, secret: string): boolean {
  if (json.includes(secret)) return true;
  if (!/[^\w+.-]/.test(secret)) return false;
  return json.includes('\\/') || json.includes('\\u00') || json.includes(JSON.stringify(secret).slice(1, -1));
}

/** The JSON with each ASCII character written as the engine writes it: as an escape only where it needs one. */
function withoutEscapes(json: string): string {
  let plain = '';
  let from = 0;
  for (let at = json.indexOf('\\'); at !== -1; ) {
    const kind = json.charCodeAt(at + 1);
    const end = at + (kind === letterU ? 6 : 2);
    const letter = kind === letterU ? ascii[codeAt(json, at + 2)] : kind === slash ? '/' : undefined;
    if (letter !== undefined) {
      plain += at === from ? letter : json.slice(from, at) + letter;
      from = end;
    }
    // Escapes often stand in rows, and to begin a search takes more time than to look.
    at = json.charCodeAt(end) === backslash ? end : json.indexOf('\\', end);
  }
  return plain + json.slice(from);
}

/** The UTF-16 code of four hexadecimal digits. */
function codeAt(json: string, at: number): number {
  let code = 0;
  for (let index = at; index < at + 4; index += 1) {
    const digit = json.charCodeAt(index);
    // The digits of letters, small or not, are one to six, and nine more.
    code = code * 16 + (digit & 0xf) + (digit > 0x39 ? 9 : 0);
  }
  return code;
}

/** JSON without a secret, which is written as JSON writes it. Undefined: it stands outside of texts. */
function withoutInTexts(json: string, secret: string): string | undefined {
  let clean = '';
  let from = 0;
  let isText = false;
  let quote = quoteFrom(json, 0);
  for (let at = json.indexOf(secret); at !== -1; at = json.indexOf(secret, Math.max(from, at + 1))) {
    for (; quote !== -1 && quote < at; quote = quoteFrom(json, quote + 1)) isText = !isText;
    if (isHalf(json, at)) continue;
    if (!isText) return undefined;
    clean += json.slice(from, at) + mark;
    from = at + secret.length;
  }
  return clean + json.slice(from);
}

/** The next quote that is no escaped one; -1: there is none. */
function quoteFrom(json: string, from: number): number {
  let at = json.indexOf('"', from);
  while (at !== -1 && isHalf(json, at)) at = json.indexOf('"', at + 1);
  return at;
}

/** Whether the character belongs to an escape that begins before it. */
function isHalf(json: string, at: number): boolean {
  let row = at;
  while (json.charCodeAt(row - 1) === backslash) row -= 1;
  return (at - row) % 2 === 1;
}

function withoutBegun(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length > 3; length -= 1) {
      if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + mark;
    }
  }
  const end = Math.max(0, text.length - mostBegun);
  return text.slice(0, end) + text.slice(end).replace(begun, mark);
}
