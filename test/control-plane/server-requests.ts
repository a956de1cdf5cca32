// The requests of server.test.ts: their bytes, and those that are refused.

export const json = 'Content-Type: application/json\r\n';
/** The bytes of a request. */
export const send = (line: string, headers = '', body = '') =>
  `${line} HTTP/1.1\r\nHost: a\r\n${headers}${body && `Content-Length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`;

/** A request whose body is exactly these bytes. */
export const sendBytes = (type: string, body: Uint8Array): Uint8Array =>
  Buffer.concat([
    Buffer.from(
      `POST /things/7 HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);

export const refusals: readonly (readonly [
  claim: string,
  bytes: string | Uint8Array,
  status: number,
  code: string,
  type: string,
])[] = [
  ['an unknown path', send('GET /nope?x=1'), 404, 'route_not_found', 'not_found_error'],
  [
    'an unknown path with any body',
    send('POST /nope', 'Content-Type: x/y\r\n', 'x'),
    404,
    'route_not_found',
    'not_found_error',
  ],
  ['a path in other letters', send('GET /Health'), 404, 'route_not_found', 'not_found_error'],
  ['a trailing slash', send('GET /health/'), 404, 'route_not_found', 'not_found_error'],
  ['the asterisk', send('OPTIONS *'), 404, 'route_not_found', 'not_found_error'],
  ['another method', send('POST /health'), 405, 'method_not_allowed', 'invalid_request_error'],
  ['TRACE', send('TRACE /health'), 405, 'method_not_allowed', 'invalid_request_error'],
  ['a method of another protocol', send('PROPFIND /metrics'), 405, 'method_not_allowed', 'invalid_request_error'],
  [
    'another method on a path with a parameter',
    send('GET /things/7'),
    405,
    'method_not_allowed',
    'invalid_request_error',
  ],
  ['a method that does not exist', send('FOO /health'), 400, 'malformed_request', 'invalid_request_error'],
  ['broken percent-encoding', send('GET /%zz'), 400, 'invalid_path', 'invalid_request_error'],
  ['no Host', 'GET /health HTTP/1.1\r\n\r\n', 400, 'malformed_request', 'invalid_request_error'],
  ['two Hosts', send('GET /health', 'Host: b\r\n'), 400, 'malformed_request', 'invalid_request_error'],
  ['bytes that are not HTTP', '\x16\x03\x01 hello\r\n\r\n', 400, 'malformed_request', 'invalid_request_error'],
  [
    'two framings',
    send('POST /things/7', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'),
    400,
    'malformed_request',
    'invalid_request_error',
  ],
  [
    'a header of 20 KB',
    send('GET /health', `X: ${'x'.repeat(20_000)}\r\n`),
    431,
    'headers_too_large',
    'invalid_request_error',
  ],
  ['an expectation', send('GET /health', 'Expect: x\r\n'), 417, 'expectation_failed', 'invalid_request_error'],
  [
    'plain text',
    send('POST /things/7', 'Content-Type: text/plain\r\n', '{}'),
    415,
    'unsupported_media_type',
    'invalid_request_error',
  ],
  [
    'a compressed body',
    send('POST /things/7', `${json}Content-Encoding: gzip\r\n`, '{}'),
    415,
    'unsupported_encoding',
    'invalid_request_error',
  ],
  ['a body without a type', send('POST /things/7', '', '{}'), 415, 'unsupported_media_type', 'invalid_request_error'],
  [
    'an empty body',
    send('POST /things/7', `${json}Content-Length: 0\r\n`),
    400,
    'invalid_json',
    'invalid_request_error',
  ],
  [
    'an empty body in chunks',
    `${send('POST /things/7', `${json}Transfer-Encoding: chunked\r\n`)}0\r\n\r\n`,
    400,
    'invalid_json',
    'invalid_request_error',
  ],
  ['no body at all', send('POST /things/7'), 400, 'invalid_json', 'invalid_request_error'],
  [
    'another charset',
    sendBytes('application/json; charset=utf-16', Buffer.from('{"a":1}', 'utf16le')),
    415,
    'unsupported_media_type',
    'invalid_request_error',
  ],
  [
    'bytes that are not UTF-8',
    sendBytes('application/json', Buffer.from('{"a":"\u00e9"}', 'latin1')),
    400,
    'invalid_json',
    'invalid_request_error',
  ],
  ['broken JSON', send('POST /things/7', json, '{"a":1,}'), 400, 'invalid_json', 'invalid_request_error'],
  [
    'a prototype in JSON',
    send('POST /things/7', json, '{"__proto__":{}}'),
    400,
    'invalid_json',
    'invalid_request_error',
  ],
  [
    'a body that announces 2 MiB',
    send('POST /things/7', `${json}Content-Length: 2097152\r\n`),
    413,
    'body_too_large',
    'invalid_request_error',
  ],
  ['a handler that refuses', send('GET /refused'), 400, 'invalid_json', 'invalid_request_error'],
  ['a handler that fails', send('GET /broken'), 500, 'internal_error', 'provider_error'],
];
