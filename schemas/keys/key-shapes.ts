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
/** Before a key stands no letter, but that of an escape in JSON (`\n`) or in a URL (`%3D`). */
const before = '(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt])|(?<=%[0-9A-Fa-f]{2}))';
/** Of a token with three parts. Only where a run of its letters begins, else a hostile text would take the square of its length. */
const jwt = '(?:(?<![\\w-])|(?<=\\\\[bfnrt]))eyJ[\\w-]{8,}\\.[\\w-]{8,}(?:\\.[\\w-]*)?';
const shapes = new RegExp(`${before}(?:${keyKinds})|${jwt}`, 'g');
/** Words that may follow are left alone: what has a digit in it, or is very long, is no word. */
const bearer = /\b([Bb]earer(?:\s|%20|\+)+)(?=[A-Za-z._~+/=-]*[0-9]|[A-Za-z._~+/=-]{24})[\w.~+/=-]{8,}/g;
/** Below this length the shapes are as fast. Characters. */
const short = 64;

/** The values of such parameters in an address. */
const parameters = /([?&](?:[\w-]*(?:key|token|secret|password|signature)|sig|auth)=)[^&#\s"]+/gi;

/** Keys of OpenAI, Anthropic and this gateway begin so. */
const openAiKey = 'sk-';
/** A character that keys have, written as an escape of JSON. */
const escapedLetter = /\\u00(?:2[bdef]|3[\dd]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;
const literal = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
/** A word at the end of a text that was cut may be the beginning of a key. Characters. */
const mostBegun = 256;
const begun = new RegExp(`(?:${beginnings.join('|')})[\\w*.-]*$`);

/** The text without keys. Takes time in proportion to its length, whatever it says. */
export function withoutKeys(text: string): string {
  const hasKey = text.length <= short || mayHoldKey(text);
  const clean = hasKey ? text.replace(shapes, mark) : text;
  return mayHoldBearer(clean) ? clean.replace(bearer, `$1${mark}`) : clean;
}

/** The same of an address or what may hold one: also without these secrets, and what parameters of its query say of others. */
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
 * The same of a JSON text, which stays one. Undefined where it would not: a secret stands outside of its texts.
 */
export function jsonWithoutSecrets(json: string, secrets: readonly string[]): string | undefined {
  if (!isEscaped(json) && !secrets.some((secret) => mayHold(json, secret))) return withoutKeys(json);
  const clean = json.replace(literal, (text) => cleanLiteral(text, secrets));
  return secrets.some((secret) => clean.includes(secret)) ? undefined : clean;
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

/** Whether the secret may stand in a JSON text, also with its characters escaped that JSON must escape, or that some writers do. */
function mayHold(json: string, secret: string): boolean {
  if (json.includes(secret)) return true;
  if (!/["\\/]/.test(secret)) return false;
  return json.includes('\\/') || json.includes(JSON.stringify(secret).slice(1, -1));
}

function cleanLiteral(text: string, secrets: readonly string[]): string {
  const said = text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
  const clean = withoutSecrets(said, secrets);
  return clean === said ? text : JSON.stringify(clean);
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
