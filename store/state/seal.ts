// The seal of a stored document: proof that a holder of the master key wrote this body under this kind and id.
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { DocumentKey } from './state-store.ts';

/** The purpose for which the key of seals is derived: no other use of the master key gives the same key. */
const purpose = 'model gateway: seals of stored documents, version 1';
const version = 'v1.';

/** The key of seals for a master key (HKDF-SHA-256): a process that knows it can seal, but not log in. */
export function sealKey(masterKey: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', purpose, 32)));
}

/** Twelve hex digits that name a key of seals: processes tell each other by it which master key they have. */
export function sealMark(key: KeyObject): string {
  return createHmac('sha256', key).update('mark').digest('hex').slice(0, 12);
}

/**
 * HMAC-SHA-256 over kind, id and body. The body counts as JSON, whatever the order of its members. An older body of the same document
 * keeps its seal: the revision cannot be bound in, as the store assigns it after the seal was made.
 */
export function sealOf(key: KeyObject, { kind, id }: DocumentKey, body: unknown): string {
  const mac = createHmac('sha256', key).update(canonicalText([kind, id, body]));
  return version + mac.digest('base64url');
}

/** In constant time. */
export function isSealed(key: KeyObject, document: DocumentKey, body: unknown, seal: string): boolean {
  const expected = Buffer.from(sealOf(key, document, body));
  const given = Buffer.from(seal);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** JSON with the members of every object in the order of their names. */
function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonicalText(each)}`).join(',')}}`;
}
