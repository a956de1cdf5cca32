// Removes a provider's secrets from its answers to a client: in errors, as events or within a body, and in events too long to be
// read.
import { redact } from './redact.ts';

const nothing: Buffer = Buffer.alloc(0);

/** A value or key that names an error (`"error"`, `"errors"`, `"invalid_request_error"`), but for `"error":null`; or the event's own name. */
const namesError = /"(?:[a-z_]{0,64}_)?errors?"(?!\s*:\s*null\b)|^event:[^\r\n]*error/m;
/** The end of every such name; within a text the quote behind it would be escaped. */
export const errorMark = Buffer.from('rror');

const letterR = 0x72;
const letterO = 0x6f;

/** From this length on a native search is faster: 9 KB take it 1.8 µs, and the loop 3.5 µs. */
const longBytes = 1024;

/**
 * Whether `errorMark` is in the bytes. Every event is searched, and most lack it: a look at every fourth byte, where
 * one of the four letters must be, takes 0.11 µs for 300 bytes, a native search 0.13 µs.
 */
export function mayNameError(bytes: Buffer): boolean {
  const { length } = bytes;
  if (length > longBytes) return bytes.includes(errorMark);
  for (let at = 3; at < length; at += 4) {
    const letter = bytes[at];
    if (letter === letterO) {
      if (isErrorMark(bytes, at - 2)) return true;
    } else if (letter === letterR) {
      if (isErrorMark(bytes, at) || isErrorMark(bytes, at - 1) || isErrorMark(bytes, at - 3)) return true;
    }
  }
  return false;
}

function isErrorMark(bytes: Buffer, at: number): boolean {
  return bytes[at] === letterR && bytes[at + 1] === letterR && bytes[at + 2] === letterO && bytes[at + 3] === letterR;
}

/** The event, without secrets when it is an error; else itself, the same bytes. */
export function withoutSecrets(event: Buffer, secrets: readonly string[]): Buffer {
  const text = event.toString('latin1');
  if (!namesError.test(text)) return event;
  const cleaned = unescaped(redact(text, secrets), secrets);
  return cleaned === text ? event : Buffer.from(cleaned, 'latin1');
}

/** The JSON body, without secrets when it names an error; else itself, the same bytes. */
export function bodyWithoutSecrets(body: Buffer, secrets: readonly string[]): Buffer {
  if (!mayNameError(body)) return body;
  const text = body.toString('utf8');
  if (!namesError.test(text)) return body;
  const known = redact(text, secrets);
  const cleaned = rewritten(known, secrets) ?? known;
  return cleaned === text ? body : Buffer.from(cleaned);
}

/** A secret may be written with escapes. What JSON makes of the data is then written anew. */
function unescaped(event: string, secrets: readonly string[]): string {
  if (!event.includes('\\')) return event;
  const lines = event.split(/\r\n|\r|\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5));
  const clean = rewritten(data.join('\n'), secrets);
  if (clean === undefined) return event;
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...others, `data: ${clean}`].join('\n')}\n\n`;
}

/** The JSON text without the secrets that are written with escapes; undefined when it has none, or is no JSON. */
function rewritten(json: string, secrets: readonly string[]): string | undefined {
  if (!json.includes('\\')) return undefined;
  let isClean = true;
  try {
    const value: unknown = JSON.parse(json, (_, member: unknown) => {
      if (typeof member !== 'string') return member;
      const cleaned = redact(member, secrets);
      isClean &&= cleaned === member;
      return cleaned;
    });
    // The text may hold the bytes of UTF-8 one by one, so what was escaped is escaped again.
    return isClean ? undefined : JSON.stringify(value).replaceAll(/[\u0100-\uffff]/g, escaped);
  } catch {
    return undefined;
  }
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Takes known secrets out of bytes that pass in pieces, wherever they are cut. */
export interface PassingSecrets {
  /** Returns the bytes that may pass now: the same bytes, except an end that may begin a secret. */
  push(piece: Buffer): Buffer;
  /** The end. */
  flush(): Buffer;
}

/**
 * A filter for passing bytes. `keepsLength`: a secret becomes as many asterisks as it has bytes, because the length was
 * sent already.
 */
export function passingSecrets(secrets: readonly string[], keepsLength: boolean = false): PassingSecrets {
  const known = secrets.map((secret) => Buffer.from(secret, 'latin1'));
  let kept = nothing;
  return {
    push(piece) {
      let bytes = kept.length === 0 ? piece : Buffer.concat([kept, piece]);
      if (known.some((secret) => bytes.includes(secret))) {
        bytes = keepsLength ? masked(bytes, known) : Buffer.from(redact(bytes.toString('latin1'), secrets), 'latin1');
      }
      const begun = Math.max(0, ...known.map((secret) => begunBytes(bytes, secret)));
      if (begun === 0) {
        kept = nothing;
        return bytes;
      }
      const end = bytes.length - begun;
      kept = Buffer.from(bytes.subarray(end));
      return bytes.subarray(0, end);
    },
    flush() {
      const end = kept;
      kept = nothing;
      return end;
    },
  };
}

function masked(bytes: Buffer, known: readonly Buffer[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const secret of known) {
    for (let at = copy.indexOf(secret); at !== -1; at = copy.indexOf(secret, at))
      copy.fill('*', at, at + secret.length);
  }
  return copy;
}

/** How many bytes at the end are the beginning of a secret, but not all of it. */
function begunBytes(bytes: Buffer, secret: Buffer): number {
  for (let length = Math.min(secret.length - 1, bytes.length); length > 0; length -= 1) {
    const from = bytes.length - length;
    if (bytes[from] === secret[0] && bytes.compare(secret, 0, length, from) === 0) return length;
  }
  return 0;
}
