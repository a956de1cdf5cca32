// The session of a browser: a sealed cookie with the digest of a key, or the person who signed in, and its end. Any process with the master key opens it. What is stored is
// only which sessions were ended before: `ended-sessions.ts`.
import { createHmac } from 'node:crypto';
import { sessionCookie } from '../../schemas/session-cookie.ts';
import { type Person, personText, readPerson } from './person.ts';
import { keyFor, openText, readCookie, sealText } from './sealed-text.ts';
import { sameDigest } from './secret.ts';

/** The header of a write with a session: shows that the page could read the token, which a foreign page cannot. */
export const csrfHeader = 'x-csrf-token';

/** How long a session lasts at most. Milliseconds. */
export const sessionMs = 12 * 3_600_000;

/** The content of a session. */
export interface Session {
  /** The nonce of the cookie in hex; unique among sessions. */
  readonly id: string;
  /** SHA-256 of the key that was used to log in, in hex, or `personDigest`. The key itself is in no cookie. */
  readonly digest: string;
  /** Unix milliseconds. */
  readonly endsAtMs: number;
  /** Who signed in at an identity provider; absent for a session of a key. */
  readonly person?: Person;
}

/** The value of the cookie. */
export function sealSession({ digest, endsAtMs, person }: Omit<Session, 'id'>, masterKey: string): string {
  const text = `${digest} ${Math.floor(endsAtMs)}${person === undefined ? '' : ` ${personText(person)}`}`;
  return sealText(text, 'session', masterKey);
}

/** Undefined for a value that was not sealed with this master key, and for a session that is over. */
export function openSession(value: string, masterKey: string, nowMs: number): Session | undefined {
  const opened = openText(value, 'session', masterKey);
  if (opened === undefined) return undefined;
  const [, digest = '', end = '', said] = /^(\S*) (\S*)(?: (.*))?$/su.exec(opened.text) ?? [];
  const endsAtMs = Number(end);
  if (!(endsAtMs > nowMs)) return undefined;
  const session = { id: opened.id, digest, endsAtMs };
  if (said === undefined) return session;
  const person = readPerson(said);
  return person === undefined ? undefined : { ...session, person };
}

/** The token that a write with this cookie must carry in `csrfHeader`. */
export function csrfTokenOf(cookie: string, masterKey: string): string {
  return createHmac('sha256', keyFor('csrf', masterKey)).update(cookie).digest('base64url');
}

/** Whether the header holds the token of this cookie. */
export function isCsrfToken(given: string | undefined, cookie: string, masterKey: string): boolean {
  return given !== undefined && sameDigest(given, csrfTokenOf(cookie, masterKey));
}

/** The value of the session in a Cookie header; undefined: there is none. */
export function readSessionCookie(header: string | undefined): string | undefined {
  return readCookie(header, sessionCookie);
}

/**
 * The Set-Cookie header of a session; `isSecure`: the browser came by HTTPS. `value` undefined: the browser forgets its session. `lastsMs`: how
 * long it keeps it.
 */
export function writeSessionCookie(value: string | undefined, isSecure: boolean, lastsMs: number = sessionMs): string {
  const age = value === undefined ? 0 : Math.floor(lastsMs / 1000);
  const secure = isSecure ? '; Secure' : '';
  return `${sessionCookie}=${value ?? ''}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}
