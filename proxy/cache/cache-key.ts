// The key of an answer: a hash of everything that decides it. Requests with the same key may get the same answer.
import { hash } from 'node:crypto';
import type { Member } from '../bytes/scan.ts';

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
/** Bodies up to this many bytes are put together in one place that is used again. */
const sharedBytes = 64 * 1024;
/** What a prefix takes at most beside its body, and each member for a separator. Bytes. */
const roomBytes = 32 * 1024;
const shared = Buffer.allocUnsafeSlow(sharedBytes + roomBytes);

/**
 * `prefix`: what decides the answer beside the body, with a sign behind each part that no part has. It is synchronous: what it writes is
 * read before anything else runs.
 */
export function cacheKey(prefix: string, body: Buffer, members: readonly Member[]): string {
  // A character of a text takes three bytes at most: to count them takes as long as to write them.
  const most = 3 * prefix.length + body.length + members.length;
  const target = most <= shared.length ? shared : Buffer.allocUnsafe(most);
  let at = target.write(prefix, 'utf8');
  const isPlain = isCompact(body, members);
  for (const member of members) {
    at = isPlain ? copy(body, member, target, at) : squeeze(body, member, target, at);
    target[at] = comma;
    at += 1;
  }
  return hash('sha256', target.subarray(0, at), 'base64url');
}

/**
 * Whether there is no white space between tokens, as far as it shows: a line break or a tab is never within a text, and who puts blanks
 * behind colons does so at the top level, too. Else a request is only taken for another one.
 */
function isCompact(body: Buffer, members: readonly Member[]): boolean {
  for (const { keyEnd, valueStart } of members) if (valueStart !== keyEnd + 2) return false;
  return !body.includes(0x0a) && !body.includes(0x0d) && !body.includes(0x09);
}

/** The name in its quotes, the colon and the value, as they stand there. */
function copy(body: Buffer, { keyStart, valueEnd }: Member, target: Buffer, at: number): number {
  return at + body.copy(target, at, keyStart - 1, valueEnd);
}

/** The same without white space between tokens. */
function squeeze(
  body: Buffer,
  { keyStart, keyEnd, valueStart, valueEnd }: Member,
  target: Buffer,
  from: number,
): number {
  let at = from + body.copy(target, from, keyStart - 1, keyEnd + 1);
  target[at] = colon;
  at += 1;
  let isText = false;
  for (let index = valueStart; index < valueEnd; index += 1) {
    const byte = body[index] as number;
    if (!isText && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) continue;
    target[at] = byte;
    at += 1;
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) {
      index += 1;
      target[at] = body[index] as number;
      at += 1;
    }
  }
  return at;
}
