// Requests under /admin that need no key: the page of the dashboard, and logging in. Also the headers of a browser that the control plane cannot see.
import type { IncomingMessage } from 'node:http';
import { isOwnPage } from '../../plane/browser-session.ts';
import { plainAddress } from '../../schemas/keys/client-address.ts';
import type { TrustedProxies } from '../connection/client-address.ts';
import { refusal } from '../errors.ts';

const dashboardPath = '/admin/dashboard';
const sessionPath = '/admin/session';

/** Public requests that this proxy passes on at a time: strangers must not take all connections to the control plane. */
const mostAtOnce = 64;

export function isPublic(method: string | undefined, path: string): boolean {
  if (method === 'POST') return path === sessionPath;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && (path === dashboardPath || path.startsWith(`${dashboardPath}/`));
}

/** Bounds the public requests that are served at a time. */
export class PublicTurns {
  #taken = 0;

  /** Rejects with 503 `overloaded` when there are too many. */
  async take(serve: () => Promise<void>): Promise<void> {
    if (this.#taken >= mostAtOnce) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    this.#taken += 1;
    try {
      await serve();
    } finally {
      this.#taken -= 1;
    }
  }
}

/**
 * Headers for the control plane, which sees another Host and no Origin: whether a page of this very address asks, and whether it came by
 * HTTPS, as its origin or a trusted proxy in front says.
 */
export function headersOfBrowser(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: TrustedProxies | undefined,
): Record<string, string> {
  const own = isOwnPage(headers);
  const isBehindTrusted = isTrusted?.(plainAddress(socket.remoteAddress ?? '')) === true;
  const isHttps =
    headers.origin?.startsWith('https:') === true || (isBehindTrusted && headers['x-forwarded-proto'] === 'https');
  return {
    'x-forwarded-proto': isHttps ? 'https' : 'http',
    ...(own === undefined ? {} : { 'sec-fetch-site': own ? 'same-origin' : 'cross-site' }),
  };
}
