// A cached answer as bytes: a line of JSON that says what it is, then the answer.
import type { CachedAnswer, CachedFacts } from './answer-cache.ts';

const lineFeed = 0x0a;
/** Of the line. Bytes. */
const mostHeadBytes = 16 * 1024;

interface Head {
  readonly key: string;
  readonly storedAtMs: number;
  readonly expiresAtMs: number;
  readonly facts: CachedFacts;
}

export function encodeAnswer(key: string, { body, storedAtMs, expiresAtMs, facts }: CachedAnswer): Buffer {
  const head: Head = { key, storedAtMs, expiresAtMs, facts };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** Undefined for garbage, and for the answer of another key: where replies are mixed up, no client gets the answer of another. */
export function decodeAnswer(key: string, bytes: Buffer): CachedAnswer | undefined {
  const end = bytes.subarray(0, mostHeadBytes).indexOf(lineFeed);
  const head = end === -1 ? undefined : headIn(bytes.toString('utf8', 0, end));
  if (head === undefined || head.key !== key) return undefined;
  const { storedAtMs, expiresAtMs, facts } = head;
  return { storedAtMs, expiresAtMs, facts, body: bytes.subarray(end + 1) };
}

function headIn(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Head> | null;
    const { key, storedAtMs, expiresAtMs, facts } = head ?? {};
    if (typeof key !== 'string' || typeof facts !== 'object' || facts === null) return undefined;
    if (typeof storedAtMs !== 'number' || typeof expiresAtMs !== 'number') return undefined;
    return { key, storedAtMs, expiresAtMs, facts };
  } catch {
    return undefined;
  }
}
