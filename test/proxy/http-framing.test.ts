// Requests with no single meaning, byte by byte: each gets one answer in the envelope, and the provider never hears of it.
import { type Test, test } from 'tap';
import { fin, openRaw, pause, type RawResponse, rawRequest, type Step } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type AcceptedCase,
  accepts,
  authorization,
  chat,
  chatCall,
  chatLine,
  checkNext,
  checkRefusal,
  checkStand,
  chunked,
  converse,
  get,
  head,
  host,
  join,
  jsonType,
  type Refusal,
  type RefusedCase,
  refuses,
  request,
  type Stand,
  startStand,
  traffic,
} from './raw-cases.ts';

const malformed: Refusal = { status: 400, code: 'malformed_request' };
const badHeader: Refusal = { status: 400, code: 'invalid_header' };
const badPath: Refusal = { status: 400, code: 'invalid_path' };
const tooLarge: Refusal = { status: 431, code: 'headers_too_large' };
const noRoute: Refusal = { status: 404, code: 'route_not_found' };
const wrongMethod: Refusal = { status: 405, code: 'method_not_allowed' };
const noKey: Refusal = { status: 401, code: 'invalid_api_key' };

const base = [host, authorization, jsonType];
const length = `Content-Length: ${chat.length}`;
const chunkedCoding = 'Transfer-Encoding: chunked';
/** A chat call whose head ends with these lines. */
const call = (...lines: string[]) => join(head(chatLine, ...base, ...lines), chat);
const chunkedCall = (...lines: string[]) => join(head(chatLine, ...base, ...lines), chunked(chat));
const latin = (text: string) => Buffer.from(text, 'latin1');

const lengths: RefusedCase[] = [
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

const codings: RefusedCase[] = [
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

const grammar: RefusedCase[] = [
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

const hosts: RefusedCase[] = [
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

const targets: RefusedCase[] = [
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

const sizes: RefusedCase[] = [
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

const routes: RefusedCase[] = [
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

const accepted: AcceptedCase[] = [
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
    name: 'an offer of h2c, which is ignored',
    send: get(
      '/v1/models',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
    ),
  },
  {
    name: 'an offer of h2c with a call, which is ignored',
    send: chatCall(chat, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
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

await test('requests on the wire', async (t) => {
  const stand = await startStand(t, { body_limit: '1MiB', timeouts: { headers: '300ms', body: '300ms' } });

  await t.test('two meanings of a length are refused', (inner) => refuses(inner, stand, lengths));
  await t.test('transfer codings other than plain chunked are refused', (inner) => refuses(inner, stand, codings));
  await t.test('what breaks the grammar is refused', (inner) => refuses(inner, stand, grammar));
  await t.test('a Host that names no single host is refused', (inner) => refuses(inner, stand, hosts));
  await t.test('targets without a known path are refused', (inner) => refuses(inner, stand, targets));
  await t.test('heads beyond the limits are refused', (inner) => refuses(inner, stand, sizes));
  await t.test('methods, keys and expectations are refused', (inner) => refuses(inner, stand, routes));
  await t.test('odd but clear requests are served', (inner) => accepts(inner, stand, accepted));

  await t.test('405 names the methods that work', async (inner) => {
    const { responses } = await rawRequest(stand.gateway.port, head('TRACE /v1/chat/completions HTTP/1.1', ...base));
    inner.equal(responses[0]?.header('allow'), 'POST');
  });
  await t.test('CONNECT is closed and opens no tunnel', (inner) => checkConnect(inner, stand));
  await t.test('the Host decides nothing', (inner) => checkHosts(inner, stand));
  await t.test('a path is served in one spelling only', (inner) => checkSpellings(inner, stand));
  await t.test('nothing hop-by-hop or of the client reaches the provider', (inner) => checkHops(inner, stand));
  await t.test('line breaks never reach a header', (inner) => checkInjection(inner, stand));
  await t.test('only harmless request ids are kept', (inner) => checkRequestIds(inner, stand));
  await t.test('100 Continue is sent to a client with a key', (inner) => checkContinue(inner, stand));
  await t.test('nothing is read behind Connection: close', (inner) => checkLast(inner, stand));
  await t.test('a body where none belongs', (inner) => checkIdleBodies(inner, stand));
  await t.test('three pipelined calls get three answers in order', (inner) => checkPipeline(inner, stand, 3));
  await t.test('1,000 pipelined calls: none is lost, few at once', (inner) => checkPipeline(inner, stand, 1000));
  await t.test('calls pipelined behind a slow one are not timed out', (inner) => checkSlowPipeline(inner, stand));
  await t.test('a broken request behind a good one', (inner) => checkBrokenSecond(inner, stand));
  await t.test('slow clients are cut', (inner) => checkSlow(inner, stand));
  await t.test('500 silent connections are cut, others are served', (inner) => checkSilent(inner, stand));

  await checkStand(t, stand);
});

async function checkConnect(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  for (const target of ['169.254.169.254:80', `127.0.0.1:${upstream.port}`, 'gateway.test:80']) {
    const { responses, closedByServer, raw } = await rawRequest(
      gateway.port,
      join(head(`CONNECT ${target} HTTP/1.1`, ...base), get('/v1/models')),
      { until: 'close' },
    );
    t.ok(closedByServer, 'closed');
    t.ok(raw.length === 0 || (responses.length === 1 && (responses[0]?.status ?? 0) >= 400), `no tunnel to ${target}`);
  }
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

async function checkHosts(t: Test, { gateway }: Stand): Promise<void> {
  const names = ['gateway.test', 'localhost', 'LOCALHOST:80', '127.0.0.1', '127.0.0.1:9', '[::1]', '[::1]:80', 'admin'];
  const more = [
    'health',
    'v1',
    'metrics',
    'a.b.c',
    'a-b',
    'a_b',
    'a~b',
    '0',
    '1.1.1.1',
    'xn--4ca',
    'a.',
    'x'.repeat(250),
  ];
  for (const key of [undefined, authorization]) {
    const verdicts = new Set<string>();
    for (const name of [...names, ...more]) {
      const lines = [`Host: ${name}`, ...(key === undefined ? [] : [key])];
      const { responses } = await rawRequest(gateway.port, head('GET /v1/models HTTP/1.1', ...lines));
      verdicts.add(comparable(responses[0]));
    }
    t.equal(verdicts.size, 1, key ? 'with a key' : 'without');
    t.match([...verdicts][0], key ? /^200 / : /^401 /);
  }
}

async function checkSpellings(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  const spellings = [
    '/v1//chat/completions',
    '//v1/chat/completions',
    '/V1/chat/completions',
    '/v1/Chat/Completions',
    '/v1/chat/completions/',
    '/v1/chat/completions//',
    '/v1/chat/completions;x=1',
    '/v1;x=1/chat/completions',
    '/v1/./chat/completions',
    '/v1/x/../chat/completions',
    '/v1/%2e/chat/completions',
    '/v1/chat%2Fcompletions',
    '/v1/chat/completion%73',
    '/chat/completions',
  ];
  const withoutKey = new Set<string>();
  for (const spelling of spellings) {
    const line = `POST ${spelling} HTTP/1.1`;
    const anonymous = await rawRequest(gateway.port, request(line, [host, jsonType], chat));
    checkRefusal(t, anonymous.responses[0], noKey);
    withoutKey.add(comparable(anonymous.responses[0]));
    const known = await rawRequest(gateway.port, request(line, base, chat));
    checkRefusal(t, known.responses[0], noRoute);
    t.match(known.responses[0]?.text(), `POST ${spelling}`, 'and it names the path');
  }
  const right = await rawRequest(gateway.port, request(chatLine, [host, jsonType], chat));
  withoutKey.add(comparable(right.responses[0]));
  t.equal(withoutKey.size, 1, 'a client without a key cannot tell a path that exists');
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

async function checkHops(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const { responses } = await rawRequest(
    gateway.port,
    chatCall(
      chat,
      'Connection: close, authorization, x-secret',
      'X-Secret: s',
      'Keep-Alive: timeout=5',
      'TE: trailers',
      'Proxy-Authorization: Basic eA==',
      'X-Forwarded-For: 10.0.0.1',
      'X-Gateway-User-Path: /team',
      'Cookie: a=b',
      'X-Api-Key: sk-test-master-key-0123456789',
    ),
  );
  t.equal(responses[0]?.status, 200, 'the key counts although Connection names its header');
  const entry = upstream.ledger.at(-1);
  const own =
    /^(connection|keep-alive|te|trailer|upgrade|proxy-.*|x-secret|x-forwarded-.*|x-gateway-.*|cookie|x-api-key)$/i;
  t.same(
    entry?.headers.filter(([name, value]) => own.test(name) && value.toLowerCase() !== 'keep-alive'),
    [],
  );
  t.equal(entry?.headers.filter(([name]) => name.toLowerCase() === 'authorization').length, 1);
  t.notMatch(JSON.stringify(entry?.headers), gateway.masterKey);
}

async function checkInjection(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const before = upstream.ledger.length;
  const model = JSON.stringify('fake-small\r\nX-Evil: 1');
  const named = await rawRequest(gateway.port, chatCall(chat.replace('"fake-small"', model)));
  checkRefusal(t, named.responses[0], { status: 404, code: 'model_not_found', param: 'model' });
  const listed = await rawRequest(gateway.port, get('/v1/models/fake-small%0d%0aX-Evil:%201'));
  checkRefusal(t, listed.responses[0], { status: 404, code: 'model_not_found', param: 'model' });
  const unknown = await rawRequest(gateway.port, get('/v1/x%0d%0aX-Evil:%201?y=%0d%0aX-Evil:%201'));
  checkRefusal(t, unknown.responses[0], noRoute);
  t.equal(upstream.ledger.length, before, 'the provider saw nothing');

  const escaped = '%0d%0aX-Evil:%201';
  const served = await rawRequest(
    gateway.port,
    chatCall(
      chat,
      // A colon is refused in a user path; what is escaped stays text.
      'X-Gateway-User-Path: /a%0d%0aX-Evil',
      `X-Request-Id: a${escaped}`,
      `X-Forwarded-For: 10.0.0.1${escaped}`,
    ),
  );
  t.equal(served.responses[0]?.status, 200);
  const { headers = [] } = upstream.ledger.at(-1) ?? {};
  t.notMatch(JSON.stringify(headers), /evil/i, 'neither header goes up as it came');
  for (const each of [named, listed, unknown, served]) {
    t.equal(each.responses[0]?.header('x-evil'), undefined);
    t.notMatch(JSON.stringify(each.responses[0]?.headers), /evil/i);
  }
}

async function checkRequestIds(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const harmless = ['a', '0', 'A-b_c.9', 'x'.repeat(128), '018f6b2e-0000-7000-8000-000000000000'];
  const others = ['', 'a b', 'a/b', 'a:b', 'x'.repeat(129), 'é', 'a%0d%0ab', '<script>', '"', 'a\tb'];
  for (const id of [...harmless, ...others]) {
    const { responses } = await rawRequest(gateway.port, chatCall(chat, `X-Request-Id: ${id}`));
    const given = responses[0]?.header('x-request-id');
    t.equal(responses[0]?.status, 200);
    if (harmless.includes(id)) t.equal(given, id, 'kept');
    else t.match(given, /^req_[a-z0-9]{10,}$/, `"${id.slice(0, 20)}" is replaced`);
    t.equal(upstream.ledger.at(-1)?.header('x-request-id'), given, 'and the provider gets the same');
    const refused = await rawRequest(gateway.port, get('/nope', `X-Request-Id: ${id}`));
    t.match(refused.responses[0]?.header('x-request-id'), harmless.includes(id) ? id : /^req_/, 'also with a refusal');
  }
}

async function checkContinue(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const connection = await openRaw(gateway.port, { t });
  await connection.send(head(chatLine, ...base, length, 'Expect: 100-continue'));
  await connection.waitFor((exchange) => exchange.responses[0]?.status === 100);
  const response = await converse(connection, chat, 1);
  t.equal(response?.status, 200);
  t.equal(upstream.ledger.at(-1)?.body.toString(), chat);
  t.equal(upstream.ledger.at(-1)?.header('expect'), undefined, 'the promise is not passed on');
  t.same(
    connection.exchange().responses.map(({ status }) => status),
    [100, 200],
  );
}

async function checkLast(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const before = upstream.ledger.length;
  const old = (bytes: Buffer) => Buffer.from(bytes.toString().replace('HTTP/1.1', 'HTTP/1.0'));
  for (const last of [
    chatCall(chat, 'Connection: close'),
    old(chatCall()),
    Buffer.from(get('/v1/models', 'Connection: close')),
  ]) {
    const { responses, rest, closedByServer } = await rawRequest(gateway.port, join(last, chatCall()), {
      until: 'close',
    });
    t.same(
      responses.map(({ status }) => status),
      [200],
      'one answer',
    );
    t.equal(rest.length, 0);
    t.ok(closedByServer, 'closed');
  }
  t.equal(upstream.ledger.length, before + 2, 'what follows is not served');
}

async function checkIdleBodies(t: Test, stand: Stand): Promise<void> {
  const { gateway, upstream } = stand;
  const seen = traffic(upstream);
  const smuggled = chatCall();
  const line = 'GET /v1/models HTTP/1.1';
  const big = Buffer.concat(Array.from({ length: Math.ceil(10e6 / smuggled.length) }, () => smuggled));
  const bodies: [name: string, bytes: Buffer][] = [
    ['a short one', request(line, [host, authorization], smuggled)],
    ['a chunked one', join(head(line, host, authorization, chunkedCoding), chunked(smuggled))],
    ['900 KB', request(line, [host, authorization], big.subarray(0, 900_000))],
    ['10 MB', request(line, [host, authorization], big)],
    ['10 MB in chunks', join(head(line, host, authorization, chunkedCoding), chunked(big))],
  ];
  for (const [name, bytes] of bodies) {
    const { responses, rest, closedByServer } = await rawRequest(
      gateway.port,
      join(bytes, head('GET /health HTTP/1.1', host)),
      { until: 'close' },
    );
    const [first, second] = responses;
    t.comment(name);
    checkRefusal(t, first, { status: 400, code: 'unexpected_body' });
    t.equal(second, undefined, 'nothing behind it is served');
    t.ok(closedByServer);
    t.equal(rest.length, 0);
  }
  t.same(traffic(upstream), seen, 'its bytes are never taken for a call');
}

async function checkPipeline(t: Test, { gateway, upstream }: Stand, count: number): Promise<void> {
  const before = upstream.ledger.length;
  let open = 0;
  let most = 0;
  await upstream.behave(() => {
    open = upstream.ledger.slice(before).filter((entry) => !entry.finished).length;
    most = Math.max(most, open);
    return { kind: 'json', body: '{"object":"chat.completion"}' };
  });
  const ids = Array.from({ length: count }, (_, index) => `call-${index}`);
  const connection = await openRaw(gateway.port, { t });
  const sent = connection.send(Buffer.concat(ids.map((id) => chatCall(chat, `X-Request-Id: ${id}`))));
  const finished = (response: RawResponse | undefined) => response?.complete === true;
  await waitFor(
    'all answers',
    () => {
      const { responses, closedByServer } = connection.exchange();
      return closedByServer || (responses.length === count && finished(responses.at(-1)));
    },
    20_000,
  ).catch(() => undefined);
  const { responses } = connection.exchange();
  if (responses.length < count) connection.close();
  await sent;
  const answered = responses.map((response) => `${response.status} ${response.header('x-request-id')}`);
  const wanted = ids.map((id) => `200 ${id}`);
  t.equal(answered.length, count, 'every call is answered');
  t.same(answered.find((each, index) => each !== wanted[index]) ?? 'in order', 'in order');
  t.same(
    upstream.ledger.slice(before).map((entry) => entry.header('x-request-id')),
    ids,
    'and was made once, in order',
  );
  t.comment(`at most ${most} in flight for one connection`);
  t.ok(most <= 8, 'a handful in flight');
  if (responses.length === count) await checkNext(t, connection, count + 1);
  await upstream.behave({ kind: 'openai' });
}

async function checkSlowPipeline(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const count = 1000;
  const before = upstream.ledger.length;
  await upstream.behave([{ kind: 'delay', ms: 1200 }]);
  const { responses } = await rawRequest(gateway.port, join(...Array.from({ length: count }, () => chatCall())), {
    until: count,
    deadlineMs: 20_000,
  });
  t.same(
    responses.filter(({ status }) => status !== 200).map((response) => response.text()),
    [],
  );
  t.equal(responses.length, count, 'all are answered');
  t.equal(upstream.ledger.length, before + count, 'and each was made once');
}

async function checkBrokenSecond(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const before = upstream.ledger.length;
  const { responses, closedByServer } = await rawRequest(
    gateway.port,
    join(chatCall(), head('GET /v1/models HTTP/1.1', host, 'X A: b'), chatCall()),
    { until: 'close' },
  );
  t.equal(responses.length, 2);
  t.equal(responses[0]?.status, 200, 'the good one is served');
  checkRefusal(t, responses[1], malformed);
  t.ok(closedByServer);
  t.equal(upstream.ledger.length, before + 1, 'the one behind the broken one is not');
}

async function checkSlow(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  const drip = (text: string): Step[] => Array.from(text).flatMap((letter) => [letter, pause(10)]);
  const half = chat.slice(0, 10);
  const cases: [name: string, steps: Step[], atLeastMs: number][] = [
    ['a head that drips', drip(head(chatLine, ...base, length).repeat(2)), 290],
    ['a head that stops', [`${chatLine}\r\nHost: a\r\n`], 290],
    ['a body that drips', [head(chatLine, ...base, 'Content-Length: 500'), ...drip(chat.repeat(3))], 290],
    ['a body that stops', [join(head(chatLine, ...base, length), half)], 290],
    ['a body that never begins', [head(chatLine, ...base, length)], 290],
    ['a chunked body that drips', [head(chatLine, ...base, chunkedCoding), ...drip('1\r\n \r\n'.repeat(50))], 290],
    [
      'a chunked body that never ends',
      [join(head(chatLine, ...base, chunkedCoding), chunked(chat).subarray(0, -5))],
      290,
    ],
  ];
  await Promise.all(
    cases.map(async ([name, steps, atLeastMs]) => {
      const start = performance.now();
      const { responses, closedByServer } = await rawRequest(gateway.port, steps, { until: 'close' });
      const took = performance.now() - start;
      t.equal(responses.length, 1, `${name} has one answer`);
      checkRefusal(t, responses[0], { status: 408, code: 'request_timeout' });
      t.ok(closedByServer, 'and is closed');
      t.ok(took >= atLeastMs && took < 2500, `after ${Math.round(took)} ms`);
    }),
  );
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

async function checkSilent(t: Test, { gateway }: Stand): Promise<void> {
  const start = performance.now();
  const silent = await Promise.all(Array.from({ length: 500 }, () => openRaw(gateway.port, { t })));
  const opened = performance.now() - start;
  const served = await rawRequest(gateway.port, chatCall());
  t.equal(served.responses[0]?.status, 200, 'a call beside them is served');
  t.comment(
    `500 connections in ${Math.round(opened)} ms, a call beside them ${Math.round(performance.now() - start - opened)} ms`,
  );
  await waitFor('all to be closed', () => silent.every((each) => each.exchange().closedByServer));
  for (const { responses } of silent.map((each) => each.exchange())) {
    if (responses.length === 0) continue;
    if (responses.length > 1 || responses[0]?.status !== 408) t.fail(`answered ${responses[0]?.status}`);
  }
  for (const each of silent) each.close();
}

/** Status, headers and body without what differs between two requests anyway. */
function comparable(response: RawResponse | undefined): string {
  if (!response) return 'none';
  const headers = response.headers.filter(([name]) => !/^(date|x-request-id)$/i.test(name));
  return `${response.status} ${JSON.stringify(headers)} ${response.text()}`;
}
