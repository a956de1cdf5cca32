// Requests under /admin that need no key: the page of the dashboard, logging in, and signing in at an identity provider. Also the headers of a browser that the control plane cannot see.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { plainAddress } from '../../domain/keys/client-address.ts';
import { isOwnPage } from '../../plane/access/browser-session.ts';
import type { TrustedProxies } from '../../plane/access/client-address.ts';
import { addressBlock } from '../../plane/access/failed-logins.ts';
import { isEncrypted } from '../../plane/tls/encrypted.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';

const dashboardPath = '/admin/dashboard';
const sessionPath = '/admin/session';
const signInPath = '/admin/sign-in';

/** Public requests that this proxy passes on at a time, in all and of one client address: strangers must not take all connections to the control plane. */
const mostAtOnce = 64;
const mostOfOne = 32;
/** A client that has not taken its answer for so long makes room for another one. Milliseconds. */
const patienceMs = 1_000;

export function isLogin(method: string | undefined, path: string): boolean {
  return method === 'POST' && path === sessionPath;
}

export function isPublic(method: string | undefined, path: string): boolean {
  if (isLogin(method, path) || (method === 'POST' && path === signInPath)) return true;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && [dashboardPath, signInPath].some((each) => path === each || path.startsWith(`${each}/`));
}

/** A request that is passed on, or whose answer is being written. */
interface Turn {
  /** Of the client's address. */
  readonly block: string;
  readonly sinceMs: number;
  readonly response: Pick<ServerResponse, 'headersSent' | 'destroy'>;
}

/** Bounds the public requests that are passed on at a time. One is to take its turn only once its body was read, which may take long. */
export class PublicTurns {
  /** The oldest first. */
  readonly #taken = new Set<Turn>();

  /**
   * Serves one request. When there are too many, the oldest one whose client does not take its answer is cut; when there is none, this
   * rejects with 503 `overloaded`. `nowMs`: Unix milliseconds.
   */
  async take(
    { clientAddress, response }: Pick<Exchange, 'clientAddress' | 'response'>,
    nowMs: number,
    serve: () => Promise<void>,
  ): Promise<void> {
    const turn = { block: addressBlock(clientAddress), sinceMs: nowMs, response };
    const taken = [...this.#taken];
    const own = taken.filter(({ block }) => block === turn.block);
    if (own.length >= mostOfOne) this.#makeRoom(own, nowMs);
    else if (taken.length >= mostAtOnce) this.#makeRoom(taken, nowMs);
    this.#taken.add(turn);
    try {
      await serve();
    } finally {
      this.#taken.delete(turn);
    }
  }

  #makeRoom(among: readonly Turn[], nowMs: number): void {
    const slow = among.find(({ response, sinceMs }) => response.headersSent && sinceMs + patienceMs <= nowMs);
    if (slow === undefined) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    this.#taken.delete(slow);
    slow.response.destroy();
  }
}

/**
 * Headers for the control plane, which sees another Host and no Origin: whether a page of this very address asks, and whether it came by
 * HTTPS: over this connection, or as its origin or a trusted proxy in front says.
 */
export function headersOfBrowser(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: TrustedProxies | undefined,
): Record<string, string> {
  const own = isOwnPage(headers);
  const isBehindTrusted = isTrusted?.(plainAddress(socket.remoteAddress ?? '')) === true;
  const isHttps =
    isEncrypted(socket) ||
    headers.origin?.startsWith('https:') === true ||
    (isBehindTrusted && headers['x-forwarded-proto'] === 'https');
  return {
    'x-forwarded-proto': isHttps ? 'https' : 'http',
    ...(own === undefined ? {} : { 'sec-fetch-site': own ? 'same-origin' : 'cross-site' }),
  };
}
