// Requests on the wire that are odd: what is refused, with which code, and what is served although it looks odd.
import { fin } from '../support/raw-http.ts';
import {
  type AcceptedCase,
  authorization,
  chat,
  chatCall,
  chatLine,
  chunked,
  get,
  head,
  host,
  join,
  jsonType,
  type Refusal,
  type RefusedCase,
  request,
} from './raw-cases.ts';

export const malformed: Refusal = { status: 400, code: 'malformed_request' };
const badHeader: Refusal = { status: 400, code: 'invalid_header' };
const badPath: Refusal = { status: 400, code: 'invalid_path' };
const tooLarge: Refusal = { status: 431, code: 'headers_too_large' };
export const noRoute: Refusal = { status: 404, code: 'route_not_found' };
const wrongMethod: Refusal = { status: 405, code: 'method_not_allowed' };
export const noKey: Refusal = { status: 401, code: 'invalid_api_key' };

export const base = [host, authorization, jsonType];
export const length = `Content-Length: ${chat.length}`;
export const chunkedCoding = 'Transfer-Encoding: chunked';
/** A chat call whose head ends with these lines. */
const call = (...lines: string[]) => join(head(chatLine, ...base, ...lines), chat);
const chunkedCall = (...lines: string[]) => join(head(chatLine, ...base, ...lines), chunked(chat));
const latin = (text: string) => Buffer.from(text, 'latin1');

export const lengths: RefusedCase[] = [
  { ...malformed, name: 'Content-Length with Transfer-Encoding', send: chunkedCall(length, chunkedCoding) },
  { ...malformed, name: 'Transfer-Encoding with Content-Length', send: chunkedCall(chunkedCoding, length) },
  { ...malformed, name: 'two Content-Lengths that differ', send: call(length, 'Content-Length: 5') },
  { ...malformed, name: 'two Content-Lengths that agree', send: call(length, length) },
  { ...malformed, name: 'a Content-Length list', send: call(`Content-Length: ${chat.length}, ${chat.length}`) },
  { ...malformed, name: 'a Content-Length with a plus', send: call(`Content-Length: +${chat.length}`) },
  { ...malformed, name: 'a negative Content-Length', send: call('Content-Length: -1') },
  { ...malformed, name: 'a hexadecimal Content-Length', send: call('Content-Length: 0x0d') },
  { ...malformed, name: 'an empty Content-Length', send: call('Content-Length:') },
  { ...malformed, name: 'a Content-Length of 2^64', send: call('Content-Length: 18446744073709551616') },
  {
    ...malformed,
    name: 'a body shorter than its Content-Length, then a half-close',
    send: [join(head(chatLine, ...base, `Content-Length: ${chat.length + 1}`), chat), fin],
  },
];

export const codings: RefusedCase[] = [
  {
    ...malformed,
    name: 'a blank before the colon of Transfer-Encoding',
    send: chunkedCall('Transfer-Encoding : chunked'),
  },
  { ...badHeader, name: 'an unknown transfer coding', send: chunkedCall('Transfer-Encoding: xchunked') },
  { ...malformed, name: 'chunked before identity', send: chunkedCall('Transfer-Encoding: chunked, identity') },
  { ...badHeader, name: 'gzip before chunked', send: chunkedCall('Transfer-Encoding: gzip, chunked') },
  { ...malformed, name: 'two Transfer-Encodings', send: chunkedCall(chunkedCoding, chunkedCoding) },
  {
    ...badHeader,
    name: 'a chunked body on HTTP/1.0',
    send: join(head(chatLine.replace('1.1', '1.0'), ...base, chunkedCoding), chunked(chat)),
  },
  {
    ...malformed,
    name: 'a Content-Length in the trailer',
    send: join(
      head(chatLine, ...base, 'Trailer: Content-Length', chunkedCoding),
      chunked(chat, 'Content-Length: 5\r\n'),
    ),
  },
  {
    ...malformed,
    name: 'a chunk size of 17 hex digits',
    send: join(
      head(chatLine, ...base, chunkedCoding),
      `${chat.length.toString(16).padStart(17, 'f')}\r\n${chat}\r\n0\r\n\r\n`,
    ),
  },
  {
    ...malformed,
    name: 'a chunk extension of 100 KB',
    send: [
      join(
        head(chatLine, ...base, chunkedCoding),
        `${chat.length.toString(16)};x=${'y'.repeat(100_000)}\r\n${chat}\r\n0\r\n\r\n`,
      ),
    ],
  },
];

export const grammar: RefusedCase[] = [
  { ...malformed, name: 'line ends without CR', send: call(length).toString().replaceAll('\r\n', '\n') },
  { ...malformed, name: 'a CR inside a header value', send: call('X-A: b\rc', length) },
  { ...malformed, name: 'a CR inside X-Forwarded-For', send: call('X-Forwarded-For: 10.0.0.1\rX-Evil: 1', length) },
  { ...malformed, name: 'a NUL inside a header value', send: call('X-A: b\0c', length) },
  { ...malformed, name: 'a header folded over two lines', send: call('X-A: b\r\n c', length) },
  {
    ...malformed,
    name: 'a head that ends in CRLF CR and something else',
    send: `GET /v1/models HTTP/1.1\r\n${host}\r\n${authorization}\r\n\rX${chatCall().toString()}`,
  },
  { ...malformed, name: 'a blank in a header name', send: call('X A: b', length) },
  { ...malformed, name: 'a parenthesis in a header name', send: call('X(A: b', length) },
  { ...malformed, name: 'a letter outside ASCII in a header name', send: call('X-Ä: b', length) },
  { ...malformed, name: 'an empty header name', send: call(': b', length) },
  { ...malformed, name: 'no method that exists', send: head('FOO /v1/models HTTP/1.1', ...base) },
  { ...malformed, name: 'the method TRACK', send: head('TRACK /v1/chat/completions HTTP/1.1', ...base) },
  { ...malformed, name: 'a line without a version, as in HTTP/0.9', send: 'GET /v1/models\r\n\r\n' },
  { ...malformed, name: 'the version 9.9', send: head('GET /v1/models HTTP/9.9', ...base) },
  { ...malformed, name: 'the preface of HTTP/2', send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  {
    ...malformed,
    name: 'a TLS hello on the plain port',
    send: latin(`\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\x9c'.repeat(32)}\x20`),
  },
  { ...malformed, name: 'bytes of no meaning', send: latin('\x00\xff\xfe\x80\x01\x7f\r\n\r\n') },
];

export const hosts: RefusedCase[] = [
  { ...badHeader, name: 'no Host', send: head('GET /v1/models HTTP/1.1', authorization) },
  { ...badHeader, name: 'no Host where no key is needed', send: head('GET /health HTTP/1.1') },
  { ...badHeader, name: 'no Host with a call', send: request(chatLine, [authorization, jsonType], chat) },
  { ...badHeader, name: 'two Hosts', send: get('/v1/models', 'Host: other.test') },
  { ...badHeader, name: 'two Hosts with a call', send: chatCall(chat, 'Host: other.test') },
  { ...badHeader, name: 'two Hosts that agree', send: get('/v1/models', host) },
  ...['a/../admin?', 'a b', 'x@y', '', 'a/v1', 'a?b', 'a#b', 'a:b', 'a:80:80', '[::1', 'a\\b', 'a,b', 'ä', 'a%2fb'].map(
    (value) => ({
      ...badHeader,
      name: `the Host "${value}"`,
      send: head('GET /v1/models HTTP/1.1', `Host: ${value}`, authorization),
    }),
  ),
  {
    ...badHeader,
    name: 'a Host with a path, with a call',
    send: request(chatLine, ['Host: a/../admin?', authorization, jsonType], chat),
  },
];

export const targets: RefusedCase[] = [
  {
    ...badPath,
    name: 'a whole URL of another host',
    send: get('http://169.254.169.254/latest/meta-data'),
  },
  {
    ...badPath,
    name: 'a whole URL of another host with a known path',
    send: get('http://169.254.169.254/v1/models'),
  },
  { ...badPath, name: 'a whole URL of another port', send: get('http://gateway.test:81/v1/models') },
  { ...badPath, name: 'a whole URL with user information', send: get('http://gateway.test@169.254.169.254/v1/models') },
  {
    ...badPath,
    name: 'a whole URL of another host, with a call',
    send: request('POST http://169.254.169.254/v1/chat/completions HTTP/1.1', base, chat),
  },
  { ...badPath, name: 'an escape that is none', send: get('/v1/models/%zz') },
  { ...badPath, name: 'an escape cut short', send: get('/v1/models/a%2') },
  { ...badPath, name: 'an overlong UTF-8 slash', send: get('/v1/models/%C0%AF') },
  {
    ...badPath,
    name: 'a broken escape behind a call',
    send: request('POST /v1/chat/completions%zz HTTP/1.1', base, chat),
  },
  { ...badPath, name: 'an escaped NUL', send: get('/v1/models/%00') },
  { ...badPath, name: 'an escaped NUL inside a name', send: get('/v1/models/fake%00small') },
  { ...badPath, name: 'an escaped NUL behind a public path', send: get('/health%00') },
  {
    ...badPath,
    name: 'an escaped NUL behind a call',
    send: request('POST /v1/chat/completions%00 HTTP/1.1', base, chat),
  },
  {
    ...malformed,
    name: 'the byte 0xFF in the path',
    send: latin(head('GET /v1/models/\xff HTTP/1.1', ...base)),
  },
];

export const sizes: RefusedCase[] = [
  { ...tooLarge, name: 'a header of 20 KB', send: get('/v1/models', `X-A: ${'b'.repeat(20_000)}`) },
  { ...tooLarge, name: 'a header name of 20 KB', send: get('/v1/models', `${'b'.repeat(20_000)}: x`) },
  { ...tooLarge, name: 'a target of 20 KB', send: get(`/v1/models?${'b'.repeat(20_000)}`) },
  { ...tooLarge, name: 'a target of 20 KB in many segments', send: get('/a'.repeat(10_000)) },
  { ...tooLarge, name: '101 header lines', send: get('/v1/models', ...many(99)) },
  { ...tooLarge, name: '101 header lines with a call', send: chatCall(chat, ...many(97)) },
  { ...tooLarge, name: '2,100 short header lines', send: get('/v1/models', ...many(2098)) },
  {
    ...tooLarge,
    name: 'a key behind 2,000 header lines',
    send: head('GET /v1/models HTTP/1.1', host, ...Array.from({ length: 2000 }, () => 'a:'), authorization),
  },
];

export const routes: RefusedCase[] = [
  { ...noRoute, name: 'OPTIONS *', send: head('OPTIONS * HTTP/1.1', ...base), keeps: true },
  ...['/v1/chat/completions', '/v1/models', '/health', '/v1/models/fake-small'].map((path) => ({
    ...wrongMethod,
    name: `TRACE ${path}`,
    send: head(`TRACE ${path} HTTP/1.1`, ...base),
    keeps: true,
  })),
  { ...wrongMethod, name: 'GET on a call', send: get('/v1/chat/completions'), keeps: true },
  { ...noKey, name: 'TRACE without a key', send: head('TRACE /v1/models HTTP/1.1', host), keeps: true },
  {
    ...noKey,
    name: 'the promise of a body without a key',
    send: head(chatLine, host, jsonType, length, 'Expect: 100-continue'),
  },
  {
    ...noKey,
    name: 'Connection naming Authorization, with a wrong key',
    send: request(chatLine, [host, jsonType, 'Authorization: Bearer sk-wrong', 'Connection: authorization'], chat),
    keeps: true,
  },
  {
    ...noKey,
    name: 'a key in the trailer only',
    send: join(
      head(chatLine, host, jsonType, 'Trailer: Authorization', chunkedCoding),
      chunked(chat, `${authorization}\r\n`),
    ),
  },
  {
    status: 417,
    code: 'expectation_failed',
    name: 'an expectation that is unknown',
    send: chatCall(chat, 'Expect: a-miracle'),
  },
  {
    status: 417,
    code: 'expectation_failed',
    name: 'an expectation that is unknown, before any body',
    send: [head(chatLine, ...base, length, 'Expect: a-miracle')],
  },
  {
    status: 417,
    code: 'expectation_failed',
    name: 'an expectation that is unknown, without a body',
    send: get('/v1/models', 'Expect: a-miracle'),
  },
];

export const accepted: AcceptedCase[] = [
  { name: 'a call in one chunk', send: chunkedCall(chunkedCoding), forwarded: chat },
  {
    name: 'a call in chunks of one byte',
    send: join(
      head(chatLine, ...base, chunkedCoding),
      ...Array.from(chat, (letter) => `1\r\n${letter}\r\n`),
      '0\r\n\r\n',
    ),
    forwarded: chat,
  },
  {
    name: 'the trailer Authorization, which is ignored',
    send: join(
      head(chatLine, ...base, 'Trailer: Authorization', chunkedCoding),
      chunked(chat, 'Authorization: Bearer sk-from-the-trailer\r\nX-Request-Id: from-the-trailer\r\n'),
    ),
    forwarded: chat,
  },
  {
    name: 'trailers named like headers that matter, which are ignored',
    send: join(
      head(chatLine, ...base, 'Trailer: Host', chunkedCoding),
      chunked(chat, 'Host: evil.test\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nX-Api-Key: sk-x\r\n'),
    ),
    forwarded: chat,
  },
  { name: 'a whole URL of this host', send: get('http://gateway.test/v1/models') },
  {
    name: 'a call to a whole URL of this host',
    send: request('POST http://gateway.test/v1/chat/completions HTTP/1.1', base, chat),
    forwarded: chat,
  },
  { name: '100 header lines', send: get('/v1/models', ...many(98)) },
  { name: '100 header lines with a call', send: chatCall(chat, ...many(96)), forwarded: chat },
  {
    name: 'headers named like members of objects',
    send: chatCall(chat, '__proto__: x', 'constructor: x', 'toString: x', 'hasOwnProperty: x', '__proto__: y'),
    forwarded: chat,
  },
  {
    name: 'a query with keys that poison objects',
    send: get('/v1/models?a=1&a=2&__proto__[x]=1&constructor[prototype][x]=1'),
  },
  {
    name: 'a call with such a query',
    send: request('POST /v1/chat/completions?a=1&a=2&__proto__[x]=1 HTTP/1.1', base, chat),
    forwarded: chat,
  },
  {
    name: 'X-Forwarded-For with 1,000 hops',
    send: chatCall(chat, `X-Forwarded-For: ${Array.from({ length: 1000 }, () => '10.0.0.1').join(', ')}`),
    forwarded: chat,
  },
];

/** Header lines of no meaning. */
function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `X-${index}: y`);
}
