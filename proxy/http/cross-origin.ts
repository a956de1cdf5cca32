// Lets pages of other origins read answers (`server.cors`): the CORS protocol of the Fetch standard. Nothing of it is for /admin.
import { refusal } from '../errors.ts';
import { fixedHeaderList } from './answer-headers.ts';
import type { Exchange } from './exchange.ts';

/** The origins whose pages may read answers; `every`: all of them. */
export interface CrossOrigin {
  readonly every: boolean;
  readonly origins: ReadonlySet<string>;
}

/** The headers of answers that a page may read besides the few that every page may. */
const exposed = [
  'Age, Retry-After, Retry-After-Ms, RateLimit, RateLimit-Policy, Request-Id, X-Gateway-Cache, X-Gateway-Dropped, X-Gateway-Rule',
  'X-Request-Id, X-Should-Retry',
  'X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, X-RateLimit-Reset-Requests',
  'X-RateLimit-Limit-Tokens, X-RateLimit-Remaining-Tokens, X-RateLimit-Reset-Tokens, X-Upstream-Request-Id',
  'Anthropic-RateLimit-Requests-Limit, Anthropic-RateLimit-Requests-Remaining, Anthropic-RateLimit-Requests-Reset',
  'Anthropic-RateLimit-Tokens-Limit, Anthropic-RateLimit-Tokens-Remaining, Anthropic-RateLimit-Tokens-Reset',
].join(', ');
/** How long a browser may remember what was allowed; none remembers it for longer. Seconds. */
const maxAgeSeconds = 7_200;
/** Longest list of headers that a page may ask to send. Characters. */
const longestList = 2_048;
const headerList = /^[!#$%&'*+.^_`|~0-9A-Za-z, \t-]*$/;
/** Paths that are not for pages of other origins, whatever is configured. */
const ownPath = /^\/(?:admin|metrics)(?:[/?]|$)/;

/** Whether pages of other origins may have this target. No page asks for one that is no path. */
export function isShared(url: string): boolean {
  return url.startsWith('/') && !ownPath.test(url);
}

/**
 * Adds what a page of another origin needs to whatever will be answered, errors included. True: the request was a preflight, and is
 * answered; a preflight asks for no key, because browsers send none with it.
 */
export function shareAcrossOrigins(
  { request, response, head, id }: Exchange,
  { every, origins }: CrossOrigin,
): boolean {
  const { url = '', method, headers } = request;
  if (!isShared(url)) return false;
  const { origin } = headers;
  response.setHeader('vary', 'Origin');
  if (origin === undefined || !(every || origins.has(origin))) return false;
  response.setHeader('access-control-allow-origin', every ? '*' : origin);
  const wanted = headers['access-control-request-method'];
  const hasBody = head.chunked || (head.contentLength ?? 0) > 0;
  if (method !== 'OPTIONS' || wanted === undefined || hasBody || head.fault !== undefined) {
    response.setHeader('access-control-expose-headers', exposed);
    return false;
  }
  const asked = headers['access-control-request-headers'];
  if (asked !== undefined && asked.length <= longestList && headerList.test(asked))
    response.setHeader('access-control-allow-headers', asked);
  response.setHeader('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE');
  response.setHeader('access-control-max-age', String(maxAgeSeconds));
  response.setHeader('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers');
  response.writeHead(204, ['x-request-id', id, ...fixedHeaderList]).end();
  return true;
}

/**
 * Refuses a preflight that may not be answered: it has no key, so without this it would count as a failed login. Throws 403
 * `origin_not_allowed`. Any other OPTIONS request is treated as every method that a path does not have.
 */
export function refusePreflight({ request }: Exchange, crossOrigin: CrossOrigin | undefined): void {
  const { method, url = '', headers } = request;
  const { origin } = headers;
  if (method !== 'OPTIONS' || origin === undefined || headers['access-control-request-method'] === undefined) return;
  if (!url.startsWith('/')) return;
  const reason = notAllowed(url, origin, crossOrigin);
  if (reason !== undefined) throw refusal('origin_not_allowed', { fill: { origin, reason } });
}

function notAllowed(url: string, origin: string, crossOrigin: CrossOrigin | undefined): string | undefined {
  if (!isShared(url)) return '/admin and /metrics are not opened by server.cors.origins';
  if (crossOrigin === undefined) return 'server.cors.origins is not set';
  return crossOrigin.every || crossOrigin.origins.has(origin) ? undefined : 'server.cors.origins does not name it';
}
