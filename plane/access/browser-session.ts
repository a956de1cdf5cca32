// The session that a request carries in its cookie, and whether it may write with it. Both planes read it where a browser reaches them.
import type { IncomingHttpHeaders } from 'node:http';
import { type EndedSessionsByOwner, isEnded } from '../../domain/keys/ended-sessions.ts';
import { csrfHeader, isCsrfToken, openSession, readSessionCookie, type Session } from '../../domain/keys/session.ts';

/**
 * The session of a request. `over`: it has ended, or was not made here. `foreign`: it writes, and not from our page. `unknown`: it may have
 * been ended, because what was ended could not be read yet.
 */
export type BrowserSession =
  | (Session & { readonly kind: 'open'; readonly cookie: string })
  | { readonly kind: 'over' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'foreign' };

/** The settings of sessions. */
export interface SessionAccess {
  /** Undefined: there are no sessions. */
  readonly masterKey: string | undefined;
  /** See `Credentials`. */
  readonly endedSessions: EndedSessionsByOwner | undefined;
}

/** A request, as far as its session goes. */
export interface SessionRequest {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Undefined: the request carries no session, or there is no master key, so there are none. An Authorization header comes before a
 * cookie, which a browser adds to every request. A write needs the CSRF token, and a browser that says the request is from the gateway's own page.
 */
export function browserSession(
  { method = '', headers }: SessionRequest,
  { masterKey, endedSessions }: SessionAccess,
  nowMs: number,
): BrowserSession | undefined {
  if (masterKey === undefined || headers.authorization !== undefined) return undefined;
  const cookie = readSessionCookie(headers.cookie);
  if (cookie === undefined) return undefined;
  const session = openSession(cookie, masterKey, nowMs);
  if (session === undefined) return { kind: 'over' };
  if (endedSessions === undefined) return { kind: 'unknown' };
  if (isEnded(session, endedSessions)) return { kind: 'over' };
  const isRead = method === 'GET' || method === 'HEAD';
  const token = headers[csrfHeader];
  const isOurs = isRead || (isOwnPage(headers) === true && isCsrfToken(String(token), cookie, masterKey));
  return isOurs ? { kind: 'open', cookie, ...session } : { kind: 'foreign' };
}

/** Whether a page of this very origin sent the request, by the word of the browser; undefined: no browser says anything. */
export function isOwnPage(headers: IncomingHttpHeaders): boolean | undefined {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  // Behind a proxy that sets another Host only the browser knows.
  if (site !== undefined) return site === 'same-origin';
  return origin === undefined ? undefined : URL.parse(origin)?.host === host?.toLowerCase();
}
