// Reads a request's raw header list once: the few values the gateway acts on, and what makes a head unacceptable.
// rawHeaders, not headers: node silently keeps the first of two Authorization lines.
import type { IncomingMessage } from 'node:http';
import { type Refusal, refusal } from '../errors.ts';

/** Longest request line with headers; beyond it 431. Bytes. */
export const maxHeaderBytes = 16 * 1024;
/** Most header lines of a request; beyond it 431. */
export const maxHeaders = 100;

/** The headers of a request that the gateway reads. Undefined: the header is absent. */
export interface Head {
  readonly authorization: string | undefined;
  /**
   * The key of the gateway in a header of its own (`server.gateway_key_header`), without `Bearer`: `authorization` and `apiKey` are then the
   * client's own, for a provider.
   */
  readonly gatewayKey: string | undefined;
  /**
   * Of `x-api-key`, of `api-key`, which clients of Azure send, of `x-goog-api-key` or the parameter `key` of `/p/`, which those of Google do, or
   * of a sub-protocol, which is all that a browser can name for a WebSocket.
   */
  readonly apiKey: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Declared body length in bytes; undefined when chunked or absent. */
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  readonly requestId: string | undefined;
  readonly host: string | undefined;
  readonly expectsContinue: boolean;
  /** The consumer's user path as sent, in the bytes of the wire (latin1). */
  readonly userPath: string | undefined;
  /** `X-Gateway-Explain: 1`. */
  readonly wantsExplanation: boolean;
  /** More than one credential of a kind. */
  readonly ambiguousCredentials: boolean;
  /** Why the request cannot be served, whatever it asks for. */
  readonly fault: Refusal | undefined;
}

/** How the client of OpenAI writes a key as a sub-protocol. */
const keyProtocol = 'openai-insecure-api-key.';
const hostPattern = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/** The names of headers that the configuration gives, in lower case. */
export interface OwnHeaderNames {
  readonly userPathHeader: string;
  readonly gatewayKeyHeader: string;
}

/**
 * Reads and checks the head. Its `fault` is set for: too many headers, HTTP/0.9, a missing,
 * repeated or malformed Host, a repeated Content-Type or user path, a Transfer-Encoding other than a single `chunked`.
 */
export function readHead(request: IncomingMessage, names: OwnHeaderNames): Head {
  const raw = request.rawHeaders;
  const { userPath, gatewayKey, isKeyTwice, pathTwice } = ownHeadersIn(raw, names);
  let authorization: string | undefined;
  let apiKey: string | undefined;
  let contentType: string | undefined;
  let contentEncoding: string | undefined;
  let contentLength: number | undefined;
  let host: string | undefined;
  let transferEncoding: string | undefined;
  let requestId: string | undefined;
  let expect: string | undefined;
  let wantsExplanation = false;
  let credentials = isKeyTwice ? 2 : 0;
  let repeated = pathTwice;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    switch (name.length) {
      case 4:
        if (!isNamed(name, 'host')) break;
        if (host !== undefined) repeated = 'Host';
        host = value;
        break;
      case 6:
        if (isNamed(name, 'expect') && !isUnmet(expect)) expect = value;
        break;
      case 7:
      case 9:
      case 14:
      case 22: {
        if (isNamed(name, 'content-length')) contentLength = Number(value);
        const key = keyIn(name, value) ?? apiKey;
        if (apiKey !== undefined && apiKey !== key) credentials = 2;
        apiKey = key;
        break;
      }
      case 12:
        if (isNamed(name, 'content-type')) {
          if (contentType !== undefined) repeated = 'Content-Type';
          contentType = value;
        } else if (isNamed(name, 'x-request-id')) requestId = value;
        break;
      case 13:
        if (!isNamed(name, 'authorization')) break;
        authorization = value;
        credentials += 1;
        break;
      case 16:
        if (isNamed(name, 'content-encoding')) contentEncoding = joined(contentEncoding, value);
        break;
      case 17:
        if (isNamed(name, 'x-gateway-explain')) wantsExplanation = value === '1';
        if (!isNamed(name, 'transfer-encoding')) break;
        if (transferEncoding !== undefined) repeated = 'Transfer-Encoding';
        transferEncoding = value;
        break;
    }
  }
  if (authorization === undefined && gatewayKey === undefined) apiKey ??= keyOfQuery(request.url ?? '');
  return {
    authorization,
    gatewayKey,
    apiKey,
    contentType,
    contentEncoding,
    contentLength,
    chunked: transferEncoding !== undefined,
    requestId,
    host,
    expectsContinue: expect !== undefined,
    userPath,
    wantsExplanation,
    ambiguousCredentials: credentials > 1,
    fault: faultOf(request, { host, transferEncoding, repeated, expect }),
  };
}

/**
 * Checks a path that is not a known one, before anything else reads it.
 * Throws a Refusal for absolute-form targets of another authority, bytes that are not ASCII, and escapes that are not text.
 */
export function checkPath(request: IncomingMessage): void {
  const url = request.url ?? '';
  if (!url.startsWith('/') && url !== '*')
    throw refusal('invalid_path', { fill: { reason: 'it must start with "/"' } });
  const path = pathOf(url);
  if (/[^\x21-\x7e]/.test(path)) throw refusal('invalid_path', { fill: { reason: 'it has bytes that need escaping' } });
  try {
    if (decodeURIComponent(path).includes('\0')) throw new RangeError('NUL');
  } catch {
    throw refusal('invalid_path', { fill: { reason: 'it has an escape (%xx) that is not valid text' } });
  }
}

/** Whether a path is the control plane's. */
export function isAdminPath(path: string): boolean {
  return path === '/admin' || path.startsWith('/admin/');
}

/** The path of a request target: everything before the query. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** An absolute-form target whose authority is the Host becomes its path; every other target stays. */
export function originForm(url: string, host: string | undefined): string {
  if (url.startsWith('/')) return url;
  const match = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url);
  if (!match) return url;
  const [, authority, rest] = match;
  if (host === undefined || authority?.toLowerCase() !== host.toLowerCase()) {
    throw refusal('invalid_path', { fill: { reason: 'the target names another host than the Host header' } });
  }
  return rest?.startsWith('/') ? rest : `/${rest ?? ''}`;
}

/** The parts of a head that are checked. */
interface Checked {
  readonly host: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly expect: string | undefined;
  /** A header that stands there twice. */
  readonly repeated: string | undefined;
}

function faultOf(
  { rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage,
  { host, transferEncoding, repeated, expect }: Checked,
): Refusal | undefined {
  if (rawHeaders.length > maxHeaders * 2) {
    return refusal('headers_too_large', { fill: { reason: `more than ${maxHeaders} header lines` } });
  }
  if (httpVersionMajor !== 1) return refusal('malformed_request', { fill: { reason: 'HTTP/1.1 is spoken here' } });
  if (repeated !== undefined) return unacceptable(`${repeated} stands there twice`);
  if (host === undefined && httpVersionMinor !== 0) return unacceptable('Host is missing');
  if (host !== undefined && !hostPattern.test(host)) return unacceptable('Host is not a host name');
  const isChunked = transferEncoding?.toLowerCase() === 'chunked' && httpVersionMinor !== 0;
  if (transferEncoding !== undefined && !isChunked) {
    return unacceptable('Transfer-Encoding must be "chunked", on HTTP/1.1');
  }
  return isUnmet(expect) ? refusal('expectation_failed') : undefined;
}

/** The key that a header holds: all of it, or one of the sub-protocols that a browser offers. */
function keyIn(name: string, value: string): string | undefined {
  if (isNamed(name, 'x-api-key') || isNamed(name, 'api-key') || isNamed(name, 'x-goog-api-key')) return value;
  if (!isNamed(name, 'sec-websocket-protocol')) return undefined;
  const offered = value.split(',').map((text) => text.trim());
  return offered.find((text) => text.startsWith(keyProtocol))?.slice(keyProtocol.length);
}

/** What stands in the headers whose names the configuration gives. `pathTwice`: the name of that header, where it stands there twice. */
interface OwnHeaders {
  userPath: string | undefined;
  gatewayKey: string | undefined;
  isKeyTwice: boolean;
  pathTwice: string | undefined;
}

function ownHeadersIn(raw: readonly string[], { userPathHeader, gatewayKeyHeader }: OwnHeaderNames): OwnHeaders {
  const own: OwnHeaders = { userPath: undefined, gatewayKey: undefined, isKeyTwice: false, pathTwice: undefined };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (name.length === userPathHeader.length && isNamed(name, userPathHeader)) {
      if (own.userPath !== undefined) own.pathTwice = name;
      own.userPath = raw[index + 1];
    } else if (name.length === gatewayKeyHeader.length && isNamed(name, gatewayKeyHeader)) {
      own.isKeyTwice = own.gatewayKey !== undefined;
      own.gatewayKey = (raw[index + 1] as string).replace(/^bearer +/i, '');
    }
  }
  return own;
}

/** The key that a client of Google sends in the query where it asks the provider itself; undefined: none. */
function keyOfQuery(url: string): string | undefined {
  if (!url.startsWith('/p/') || !url.includes('key=')) return undefined;
  return new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length)).get('key') ?? undefined;
}

function joined(before: string | undefined, value: string): string {
  return before ? `${before}, ${value}` : value;
}

/** Whether an Expect asks for something else than the one thing that is known. */
function isUnmet(expect: string | undefined): boolean {
  return expect !== undefined && !isNamed(expect, '100-continue');
}

function unacceptable(reason: string): Refusal {
  return refusal('invalid_header', { fill: { reason } });
}

/** Whether a header has this name, letter case aside. Names come in lower case, or capitalised: to compare letters costs less than to fold all of them. */
export function isNamed(name: string, lowerCase: string): boolean {
  if (name === lowerCase) return true;
  if (name.length !== lowerCase.length) return false;
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    const folded = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (folded !== lowerCase.charCodeAt(index)) return false;
  }
  return true;
}
