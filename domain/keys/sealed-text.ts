// Texts that a browser keeps for the gateway: encrypted and authenticated under the master key, so that every process with it can open them.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What a text is sealed for: one that was sealed for one purpose does not open for another. */
export type SealPurpose = 'session' | 'csrf' | 'sign-in';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Of a sealed text: browsers keep cookies of at most 4,096 bytes with name and attributes. Characters. */
export const longestSealed = 3_800;

/** The keys of the last master key; deriving them takes longer than opening a text. */
let derived: { readonly masterKey: string; readonly keys: Map<SealPurpose, Buffer> } | undefined;

/** A text that was opened, and the nonce it was sealed with, in hex; no two have the same. */
export interface Opened {
  readonly id: string;
  readonly text: string;
}

/** Base64url of nonce, ciphertext and tag. */
export function sealText(text: string, purpose: SealPurpose, masterKey: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, keyFor(purpose, masterKey), nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Undefined for a value that was not sealed for this purpose with this master key. */
export function openText(value: string, purpose: SealPurpose, masterKey: string): Opened | undefined {
  if (value.length > longestSealed || !/^[\w-]+$/.test(value)) return undefined;
  const bytes = Buffer.from(value, 'base64url');
  if (bytes.length <= nonceBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv(algorithm, keyFor(purpose, masterKey), bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const opened = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
    return { id: bytes.toString('hex', 0, nonceBytes), text: opened.toString('utf8') };
  } catch {
    return undefined;
  }
}

/** The key for a purpose, of 32 bytes. */
export function keyFor(purpose: SealPurpose, masterKey: string): Buffer {
  if (derived?.masterKey !== masterKey) derived = { masterKey, keys: new Map() };
  const known = derived.keys.get(purpose);
  if (known !== undefined) return known;
  const key = Buffer.from(hkdfSync('sha256', masterKey, 'gateway', `dashboard ${purpose}`, 32));
  derived.keys.set(purpose, key);
  return key;
}

/** The value of a cookie in a Cookie header; undefined: there is none, or it is empty. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || undefined;
  }
  return undefined;
}
