// The key of an answer: a hash of everything that decides it. Requests with the same key may get the same answer.
import { hash } from 'node:crypto';
import { CanonicalWriter } from '../bytes/canonical-json.ts';
import type { Member } from '../bytes/scan.ts';

const [comma, colon] = [0x2c, 0x3a];
/** Bodies up to this many bytes are put together in one place that is used again. */
const sharedBytes = 64 * 1024;
/** The most bytes of a prefix besides its body, separators of members included. */
const roomBytes = 32 * 1024;
const shared = Buffer.allocUnsafeSlow(2 * sharedBytes + roomBytes);

/**
 * `prefix`: what decides the answer beside the body, with a sign behind each part that no part has. `members`: in the order of their
 * names, which are of ASCII without escapes. What their values say decides, not how they are written. It is synchronous: what it writes is
 * read before anything else runs.
 */
export function cacheKey(prefix: string, body: Buffer, members: readonly Member[]): string {
  // A character of a text takes three bytes at most: to count them takes as long as to write them.
  const target = roomFor(3 * prefix.length + 2 * (body.length + members.length));
  const writer = new CanonicalWriter(body, target, target.write(prefix, 'utf8'));
  for (const { keyStart, keyEnd, valueStart } of members) {
    writer.copy(keyStart - 1, keyEnd + 1);
    writer.byte(colon);
    writer.value(valueStart);
    writer.byte(comma);
  }
  return hash('sha256', target.subarray(0, writer.end), 'base64url');
}

/** JSON that was read here before, in the one spelling of what it says. */
export function canonicalJson(text: string): string {
  const source = Buffer.from(text);
  const target = roomFor(2 * source.length);
  const writer = new CanonicalWriter(source, target, 0);
  writer.value(0);
  return target.toString('utf8', 0, writer.end);
}

function roomFor(bytes: number): Buffer {
  return bytes <= shared.length ? shared : Buffer.allocUnsafe(bytes);
}
