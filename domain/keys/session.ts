// The session of a browser: a sealed cookie with the digest of a key and its end, which any process with the master key opens. What is stored is
// only which sessions were ended before: `ended-sessions.ts`.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { sessionCookie } from '../../schemas/session-cookie.ts';
import { sameDigest } from './secret.ts';

/** The header of a write with a session: shows that the page could read the token, which a foreign page cannot. */
export const csrfHeader = 'x-csrf-token';

/** How long a session lasts. Milliseconds. */
export const sessionMs = 12 * 3_600_000;

/** The content of a session. */
export interface Session {
  /** The nonce of the cookie in hex; unique among sessions. */
  readonly id: string;
  /** SHA-256 of the key that was used to log in, in hex. The key itself is in no cookie. */
  readonly digest: string;
  /** Unix milliseconds. */
  readonly endsAtMs: number;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const longestCookie = 1024;

/** The keys of the last master key; deriving them takes longer than opening a session. */
let derived: { readonly masterKey: string; readonly seal: Buffer; readonly csrf: Buffer } | undefined;

/** The value of the cookie: base64url of nonce, ciphertext and tag. */
export function sealSession({ digest, endsAtMs }: Omit<Session, 'id'>, masterKey: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, keysOf(masterKey).seal, nonce);
  const text = `${digest} ${Math.floor(endsAtMs)}`;
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Undefined for a value that was not sealed with this master key, and for a session that is over. */
export function openSession(value: string, masterKey: string, nowMs: number): Session | undefined {
  if (value.length > longestCookie || !/^[\w-]+$/.test(value)) return undefined;
  const bytes = Buffer.from(value, 'base64url');
  if (bytes.length <= nonceBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv(algorithm, keysOf(masterKey).seal, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const opened = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
    const [digest = '', end = ''] = opened.toString('utf8').split(' ');
    const endsAtMs = Number(end);
    return endsAtMs > nowMs ? { id: bytes.toString('hex', 0, nonceBytes), digest, endsAtMs } : undefined;
  } catch {
    return undefined;
  }
}

/** The token that a write with this cookie must carry in `csrfHeader`. */
export function csrfTokenOf(cookie: string, masterKey: string): string {
  return createHmac('sha256', keysOf(masterKey).csrf).update(cookie).digest('base64url');
}

/** Whether the header holds the token of this cookie. */
export function isCsrfToken(given: string | undefined, cookie: string, masterKey: string): boolean {
  return given !== undefined && sameDigest(given, csrfTokenOf(cookie, masterKey));
}

/** The value of the session in a Cookie header; undefined: there is none. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === sessionCookie) return pair.slice(at + 1).trim() || undefined;
  }
  return undefined;
}

/** The Set-Cookie header of a session; `isSecure`: the browser came by HTTPS. `value` undefined: the browser forgets its session. */
export function writeSessionCookie(value: string | undefined, isSecure: boolean): string {
  const age = value === undefined ? 0 : sessionMs / 1000;
  const secure = isSecure ? '; Secure' : '';
  return `${sessionCookie}=${value ?? ''}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

function keysOf(masterKey: string): { readonly seal: Buffer; readonly csrf: Buffer } {
  if (derived?.masterKey !== masterKey) {
    const derive = (purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', masterKey, 'gateway', `dashboard ${purpose}`, 32));
    derived = { masterKey, seal: derive('session'), csrf: derive('csrf') };
  }
  return derived;
}
