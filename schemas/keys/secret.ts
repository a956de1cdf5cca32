// What is done with secrets: drawing one, what is stored instead of it, comparing without telling how far it matched.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

const prefix = 'sk-gw-';

/** A secret nobody can guess: `sk-gw-` and 256 random bits in base64url. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/**
 * SHA-256 of the whole secret, in hex: what is stored, and what keys are looked up by. A secret of 256 random bits needs neither salt
 * nor pepper: there is nothing to guess.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret);
}

/** The secret as it may be shown: its prefix and its last four characters. */
export function redacted(secret: string): string {
  return `${prefix}...${secret.slice(-4)}`;
}

/** Whether two digests are the same, in a time that does not depend on where they differ. */
export function sameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** HMAC-SHA-256 of a text in hex: proof that whoever wrote it knows `key`. */
export function signatureOf(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
