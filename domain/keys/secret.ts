// Creates secrets, digests them for storage, and compares digests in constant time.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

const prefix = 'sk-gw-';

/** A new secret: `sk-gw-` and 256 random bits in base64url. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/**
 * SHA-256 of the whole secret, in hex. Keys are stored and looked up by it. A secret of 256 random bits cannot be guessed, so the digest
 * needs no salt.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret);
}

/** Whether a text has the form of a secret that was issued, in force or not. */
export function isIssued(text: string): boolean {
  return text.startsWith(prefix);
}

/** The part of a secret that may be shown: its prefix and its last four characters. */
export function redacted(secret: string): string {
  return `${prefix}...${secret.slice(-4)}`;
}

/** Whether two digests are the same; the time does not depend on the position of a difference. */
export function sameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** HMAC-SHA-256 of a text in hex: proves that its writer knows `key`. */
export function signatureOf(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
