// How bytes leave and come back: failures named, provider words made harmless, event streams watched, deadlines kept.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { type Test, test } from 'tap';
import { type Dispatcher, Pool } from 'undici';
import { dataOf } from '../../proxy/bytes/events.ts';
import { StreamTap } from '../../proxy/dialects/openai/stream-tap.ts';
import { envelope, errors, type Refusal } from '../../proxy/errors.ts';
import { failureRefusal, rejectionOf } from '../../proxy/providers/provider-error.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Upstream } from '../../proxy/snapshot/snapshot.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { failureOf, UpstreamFailure } from '../../proxy/upstream/failure.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { send } from '../../proxy/upstream/send.ts';
import { type Patience, UpstreamAnswer } from '../../proxy/upstream/upstream-answer.ts';
import { credentialsOf } from '../../schemas/keys/credentials.ts';
import { runs } from '../support/extent.ts';
import { type Behaviour, createGate, fin, startFakeUpstream } from '../support/fake-upstream.ts';
import { freePort, listen } from '../support/ports.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';

const nowMs = (): number => performance.now();

// --- failures

await test('each code stands for one failure, and its words name no address', async (t) => {
  const codes: Record<string, string> = {
    upstream_dns: 'ENOTFOUND EAI_AGAIN',
    upstream_unavailable:
      'ECONNREFUSED EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL EMFILE ENFILE UND_ERR_CONNECT_TIMEOUT ETIMEDOUT',
    upstream_disconnected: 'ECONNRESET EPIPE UND_ERR_SOCKET UND_ERR_CLOSED UND_ERR_DESTROYED',
    upstream_invalid_response:
      'UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_EXCEEDED_MAX_SIZE ERR_ASSERTION HPE_INVALID_CONSTANT HPE_NEW ODD',
    upstream_tls:
      'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER ERR_TLS_NEW CERT_NOT_YET_VALID CERT_REVOKED CERT_UNTRUSTED UNABLE_TO_GET_ISSUER_CERT HOSTNAME_MISMATCH INVALID_CA EPROTO',
  };
  for (const [code, causes] of Object.entries(codes)) {
    for (const cause of causes.split(' ')) {
      const failure = failureOf(Object.assign(new Error('connect to 10.1.2.3:443 with sk-secret'), { code: cause }));
      t.equal(failure.code, code, cause);
      t.notMatch(failure.reason, /10\.1|sk-secret/);
      t.equal(
        failure.reason !== '',
        errors[failure.code].message.includes('{reason}'),
        `${cause} says why where there is room`,
      );
    }
  }
});

await test('several addresses failing at once fail like the first', async (t) => {
  const each = ['ECONNREFUSED', 'ETIMEDOUT'].map((code) => Object.assign(new Error(code), { code }));
  t.match(failureOf(new AggregateError(each)), { code: 'upstream_unavailable', reason: 'connection refused' });
  t.match(failureOf(new AggregateError([])), { code: 'upstream_invalid_response' });
  for (const odd of [undefined, 'ECONNRESET', { code: 'ECONNRESET' }, Object.assign(new Error('x'), { code: 7 })]) {
    t.match(failureOf(odd), { code: 'upstream_invalid_response' });
  }
});

/** The error a POST meets, or its status. */
async function fateOf(t: Test, origin: string, connect: object = {}): Promise<unknown> {
  const pool = new Pool(origin, { connect: { timeout: 300, ...connect } });
  t.teardown(() => pool.destroy());
  return new Promise((done) => {
    const handler: Dispatcher.DispatchHandler = {
      onConnect: () => undefined,
      onHeaders: (status) => {
        done(status);
        return true;
      },
      onData: () => true,
      onComplete: () => undefined,
      onError: done,
    };
    pool.dispatch({ method: 'POST', path: '/', headers: [], body: '{}' }, handler);
  });
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, ...parts);
const text = (tag: number, value: string): Buffer => tagged(tag, Buffer.from(value));
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

/** One DER element. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

/** A new key and its self-signed certificate for `provider.test`, valid between two years. */
function certificate(from: number, to: number): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(bytes('06082a8648ce3d040302'));
  const name = sequence(tagged(0x31, sequence(bytes('0603550403'), text(0x0c, 'provider.test'))));
  const validity = sequence(text(0x18, `${from}0101000000Z`), text(0x18, `${to}0101000000Z`));
  const alternatives = sequence(bytes('0603551d11'), tagged(0x04, sequence(text(0x82, 'provider.test'))));
  const content = sequence(
    tagged(0xa0, bytes('020102')),
    bytes('020101'),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternatives)),
  );
  const signature = sign('sha256', content, privateKey);
  const der = sequence(content, algorithm, tagged(0x03, bytes('00'), signature));
  const cert = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

await test('a certificate that proves nothing is a TLS failure that says what is wrong with it', async (t) => {
  const start = async (from: number, to: number): Promise<{ origin: string; cert: string }> => {
    const { key, cert } = certificate(from, to);
    const server = createTlsServer({ key, cert }, (socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    server.on('tlsClientError', () => undefined);
    t.teardown(() => server.close());
    return { origin: `https://localhost:${await listen(server)}`, cert };
  };
  const valid = await start(2000, 2100);
  const old = await start(2000, 2001);
  const trusted = { ca: valid.cert, servername: 'provider.test' };
  t.equal(await fateOf(t, valid.origin, trusted), 204, 'the certificate itself is sound');
  const fates: [fate: Promise<unknown>, reason: string][] = [
    [fateOf(t, valid.origin), 'self-signed'],
    [fateOf(t, valid.origin, { ca: valid.cert }), 'for another host'],
    [fateOf(t, old.origin, { ca: old.cert, servername: 'provider.test' }), 'has expired'],
  ];
  for (const [fate, reason] of fates) t.match(failureOf(await fate), { code: 'upstream_tls', reason });
});

await test('a port without TLS, without HTTP or without a server has its own failure', async (t) => {
  const speak = async (words: string | undefined): Promise<number> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (words === undefined) socket.resetAndDestroy();
      else socket.end(Buffer.from(words, 'latin1'));
    });
    t.teardown(() => server.close());
    return listen(server);
  };
  const fates: [origin: string, code: string][] = [
    [`https://localhost:${await speak('HTTP/1.1 400 Bad Request\r\n\r\n')}`, 'upstream_tls'],
    [`https://localhost:${await speak('\x15\x03\x03\x00\x02\x02\x28')}`, 'upstream_tls'],
    [`https://localhost:${await speak('')}`, 'upstream_tls'],
    [`http://127.0.0.1:${await speak('SSH-2.0-odd\r\n')}`, 'upstream_invalid_response'],
    [`http://127.0.0.1:${await speak('')}`, 'upstream_disconnected'],
    [`http://127.0.0.1:${await speak(undefined)}`, 'upstream_disconnected'],
    [`http://localhost:${await freePort()}`, 'upstream_unavailable'],
    ['http://no-such-host.invalid', 'upstream_dns'],
  ];
  for (const [origin, code] of fates) t.equal(failureOf(await fateOf(t, origin)).code, code, `${origin} ${code}`);
});

// --- what an answer means

const patience: Patience = { firstByteMs: 300, streamIdleMs: 300, totalMs: 3_000, usageDrainMs: 300 };
const idle = createDeadlines(() => 0);
const upstream = compile(
  sampleConfig({ providers: { p: { api_key: 'canary+key/1234', headers: { 'X-Org': 'canary-org' } } } }),
  '',
  credentialsOf(undefined, []),
).upstreams[0] as Upstream;

/** An answer as it stands when it is handed over: its head, and all or the first of its body. */
function answerOf(
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
  complete = true,
): UpstreamAnswer {
  const answer = new UpstreamAnswer(patience, idle);
  const raw = Object.entries(headers)
    .flat()
    .map((part) => Buffer.from(part, 'latin1'));
  answer.onHeaders(status, raw, () => undefined);
  if (body.length > 0) answer.onData(Buffer.from(body));
  if (complete) answer.onComplete();
  return answer;
}

const json = { 'Content-Type': 'application/json', 'Content-Length': '1' };
const sse = { 'content-type': 'text/event-stream; charset=utf-8', 'transfer-encoding': 'chunked' };
/** 21 Oct 2026, 07:28:00 UTC. */
const wednesdayMs = 1_792_567_680_000;
const refusalOf = (status: number, body: string | Buffer, headers: Record<string, string> = json) =>
  rejectionOf(answerOf(status, headers, body), upstream, () => wednesdayMs);
const said = (error: unknown): string => JSON.stringify({ error });

await test('a provider’s status keeps its number and gets its type', async (t) => {
  const types: Record<string, number[]> = {
    authentication_error: [401],
    permission_error: [403],
    not_found_error: [404],
    rate_limit_error: [429],
    invalid_request_error: [400, 402, 405, 408, 409, 413, 415, 418, 422, 451, 499],
    provider_error: [500, 501, 502, 503, 504, 529, 599],
  };
  for (const [type, statuses] of Object.entries(types)) {
    for (const status of statuses) {
      const refused = refusalOf(status, said({ message: 'no', code: 'c', param: 'q' }));
      t.match(refused, { status, type, message: 'no', code: 'c', param: 'q', provider: 'p' }, String(status));
    }
  }
});

await test('a status that no client can use is a bad answer', async (t) => {
  for (const status of [204, 300, 301, 302, 304, 307, 399, 600, 999]) {
    const refused = refusalOf(status, '{"a":1}', { ...json, location: 'http://elsewhere/' });
    t.match(
      refused,
      { status: 502, type: 'provider_error', code: 'upstream_invalid_response', provider: 'p' },
      String(status),
    );
    t.match(refused?.message, String(status));
  }
});

await test('a success is what the client can read', async (t) => {
  const usable: [headers: Record<string, string>, body: string][] = [
    [json, '{"choices":[]}'],
    [{ 'CONTENT-TYPE': 'Application/JSON; charset=utf-8' }, ' {"a":1}\n'],
    [{ 'content-type': 'application/vnd.api+json' }, '{"a":1}'],
    [sse, 'data: {"choices":[]}\n\n'],
    [sse, ': hello\n\n'],
  ];
  for (const [headers, body] of usable) t.equal(refusalOf(200, body, headers), undefined, body);
  t.equal(refusalOf(201, '{"a":1}'), undefined);
  const useless: [headers: Record<string, string>, body: string][] = [
    [{ 'content-type': 'text/html' }, '<html>'],
    [{}, '{"a":1}'],
    [{ 'content-type': 'text/jsonish' }, '{"a":1}'],
    [json, ''],
    [json, 'null'],
    [json, '[]'],
    [json, '{'],
    [{ 'content-type': 'application/json' }, '{"a":1'],
    [{ 'content-type': 'application/json' }, '{"a":1}}'],
    [sse, ''],
  ];
  for (const [headers, body] of useless) {
    t.match(
      refusalOf(200, body, headers),
      { status: 502, code: 'upstream_invalid_response' },
      `${JSON.stringify(headers)} ${body}`,
    );
  }
});

await test('an error inside a success is an error', async (t) => {
  const overload = said({ message: 'slow down', code: 429, param: null });
  const errorsInside: [headers: Record<string, string>, body: string, status: number, type: string, message: string][] =
    [
      [json, overload, 429, 'rate_limit_error', 'slow down'],
      [json, said({ message: 'no', code: 'server_error' }), 502, 'provider_error', 'no'],
      [json, said({ message: 'no', code: 200 }), 502, 'provider_error', 'no'],
      [json, said({ message: 'no' }), 502, 'provider_error', 'no'],
      [sse, `data: ${overload}\n\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `data:${overload}\r\n\r\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `: hi\nevent: error\ndata: ${said({ message: 'no', code: 404 })}\n\n`, 404, 'not_found_error', 'no'],
      [sse, `data: ${overload}\n\ndata: [DONE]\n\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `data: ${said({ message: 'no' })}\n\n`, 502, 'provider_error', 'no'],
    ];
  for (const [headers, body, status, type, message] of errorsInside) {
    t.match(refusalOf(200, body, headers), { status, type, message, provider: 'p' }, body);
  }
  for (const body of [
    '{"choices":[{"text":"\\"error\\""}]}',
    '{"error":null,"choices":[]}',
    '{"error":{},"data":[]}',
  ]) {
    t.equal(refusalOf(200, body), undefined, body);
    t.equal(refusalOf(200, `data: ${body}\n\n`, sse), undefined, body);
  }
  t.equal(
    refusalOf(200, 'data: {"choices":[]}\n\ndata: {"error":{"code":429}}\n\n', sse),
    undefined,
    'only the first event',
  );
});

await test('a provider’s words lose every secret and every excess', async (t) => {
  const message = (words: string): string | undefined => refusalOf(400, said({ message: words }))?.message;
  t.equal(message('key canary+key/1234 of canary-org'), 'key [redacted] of [redacted]');
  t.equal(message('canary+key/1234canary+key/1234'), '[redacted][redacted]');
  t.equal(message('Incorrect API key: sk-proj-abc_DEF*1234.'), 'Incorrect API key: [redacted].');
  t.equal(
    message('a task-1234 is no key, nor is risk-free or sk-1'),
    'a task-1234 is no key, nor is risk-free or sk-1',
  );
  t.equal(message('x'.repeat(3_000))?.length, 2_000);
  t.equal(message('  '), 'The provider answered with status 400.');
  const coded = refusalOf(
    400,
    said({ message: 'no', code: 'canary+key/1234', param: `sk-abcd1234${'x'.repeat(3_000)}` }),
  );
  t.match(coded, { code: '[redacted]', param: '[redacted]' });
  t.equal(refusalOf(500, 'plain canary-org words', {})?.message, 'plain [redacted] words');
  t.equal(refusalOf(500, '', {})?.message, 'The provider answered with status 500.');
  t.equal(
    refusalOf(500, '\u001f\u008b\b', { 'content-encoding': 'gzip' })?.message,
    'The provider answered with status 500.',
    'what cannot be unpacked is not shown',
  );
});

await test('what is compressed in spite of our wish is read, within bounds', async (t) => {
  const plain = Buffer.from(said({ message: 'no canary-org', code: 'c' }));
  const encodings: Record<string, Buffer> = {
    gzip: gzipSync(plain),
    'X-GZIP': gzipSync(plain),
    deflate: deflateSync(plain),
    'deflate ': deflateRawSync(plain),
    br: brotliCompressSync(plain),
    zstd: zstdCompressSync(plain),
    identity: plain,
  };
  for (const [encoding, body] of Object.entries(encodings)) {
    const headers = { ...json, 'content-encoding': encoding };
    t.match(refusalOf(429, body, headers), { status: 429, message: 'no [redacted]', code: 'c' }, encoding);
    t.match(refusalOf(200, body, headers), { status: 502, message: 'no [redacted]' }, `${encoding}, with status 200`);
  }
  const zip = { ...json, 'content-encoding': 'gzip' };
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, 'a'));
  const before = process.memoryUsage().rss;
  t.equal(refusalOf(500, bomb.subarray(0, 65_536), zip)?.message, 'The provider answered with status 500.');
  t.ok(process.memoryUsage().rss - before < 8 * 1024 * 1024, 'a bomb does not go off');
  for (const odd of ['gzip, br', 'toString', 'aws-chunked']) {
    t.equal(refusalOf(500, plain, { 'content-encoding': odd })?.message, 'The provider answered with status 500.', odd);
  }
});

await test('a page for browsers becomes a sentence', async (t) => {
  const message = (body: string, headers: Record<string, string> = { 'content-type': 'text/html' }) =>
    refusalOf(502, body, headers)?.message;
  const plain = 'The provider answered with an HTML page, status 502.';
  t.equal(
    message('<html><head><title>502  Bad\nGateway</title></head><body><h1>canary</h1></body></html>'),
    `${plain.slice(0, -1)}: 502 Bad Gateway`,
  );
  t.equal(message('<h1>Bad Gateway</h1>'), plain);
  t.equal(message(`<title>key canary-org</title>`), `${plain.slice(0, -1)}: key [redacted]`);
  for (const page of [
    '\n<!DOCTYPE html><p>x',
    '<HTML>x',
    '<?xml version="1.0"?><Error/>',
    said('<html><body>x</html>'),
  ]) {
    t.equal(message(page, {}), plain, page);
  }
  t.equal(message('a < b', {}), 'a < b');
  t.equal(message('<eos> is no token of this model', {}), '<eos> is no token of this model');
});

await test('what else an error of OpenAI’s shape holds survives', async (t) => {
  const error = { message: 'no', code: 'c', param: 'p', type: 'insufficient_quota' };
  const further = { innererror: { code: 'ContentFilter', list: [1, null, true] }, metadata: { raw: 'x' } };
  const sent = (members: object): object => {
    const refused = refusalOf(429, said(members));
    return refused === undefined ? {} : JSON.parse(envelope(refused)).error;
  };
  t.same(sent({ ...error, ...further }), {
    ...further,
    ...error,
    type: 'rate_limit_error',
    provider_type: 'insufficient_quota',
    provider: 'p',
  });
  t.same(sent({ ...error, type: 'rate_limit_error' }), { ...error, type: 'rate_limit_error', provider: 'p' });
  t.match(refusalOf(402, said({ message: 'no', type: 'rate_limit_error' })), { type: 'rate_limit_error', further: {} });
  t.match(refusalOf(401, said({ message: 'no', type: 'invalid_request_error' })), {
    type: 'authentication_error',
    further: { provider_type: 'invalid_request_error' },
  });
  t.match(sent({ message: 'no', provider: 'them', provider_type: 'x' }), { provider: 'p', provider_type: undefined });
  const big = { small: 1, big: 'x'.repeat(9_000), after: 2 };
  t.same(sent({ ...error, ...big }), { ...sent(error), small: 1, after: 2 }, 'what is too long is left out');
  const deep = `{"error":{"message":"no","deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`;
  t.equal(refusalOf(400, deep)?.message, 'no');
  t.notMatch(envelope(refusalOf(400, '{"error":{"message":"no","a":{"__proto__":{"b":1}}}}') as Refusal), '__proto__');
});

await test('no shape of an error, no place in it and no spelling carries a secret to the client', async (t) => {
  const key = 'canary+key/1234';
  const escapeEach = (write: (code: number) => string): string =>
    key
      .split('')
      .map((character) => write(character.charCodeAt(0)))
      .join('');
  const hex = (code: number): string => code.toString(16);
  const spellings: Record<string, string> = {
    plain: key,
    'in capitals': key.toUpperCase(),
    'percent-encoded': encodeURIComponent(key),
    'percent-encoded throughout': escapeEach((code) => `%${hex(code).toUpperCase()}`),
    'percent-encoded twice': encodeURIComponent(encodeURIComponent(key)),
    'escaped as in JSON': escapeEach((code) => `\\u00${hex(code)}`),
    'with one escape': key.replace('c', '\\u0063'),
    'with an escaped slash': key.replace('/', '\\/'),
    'escaped twice': escapeEach((code) => `\\\\u00${hex(code)}`),
    'escaped as in HTML': escapeEach((code) => (code % 2 ? `&#${code};` : `&#x${hex(code)};`)),
    'in base64': Buffer.from(key).toString('base64'),
    'in base64, behind others': Buffer.from(`user:${key}`).toString('base64'),
    'in base64, between others': Buffer.from(`user1:${key}@host`).toString('base64url'),
    'masked in the middle': 'sk-canary****1234',
  };
  const leak = /canary|1234|key%|y2FuYXJ5|NhbmFye|YW5hcn|63\W*61/i;
  const shapes = (word: string): [status: number, body: string, headers?: Record<string, string>][] => {
    const quoted = JSON.stringify(`x ${word} y`);
    // Where a body is JSON, escapes of the spelling are also those of the text itself.
    const raw = `"x ${word} y"`;
    const each = [quoted, ...(isJsonText(raw) ? [raw] : [])].flatMap((value) => [
      `{"error":{"message":${value},"code":${value},"param":${value},"type":${value}}}`,
      `{"error":{"message":"no","a":{"b":[{"c":${value}}]},"d":${value},${value}:{${value}:1}}}`,
      `{"error":${value}}`,
      `{"object":"error","message":${value},"more":${value}}`,
      `[{"error":{"message":${value},"details":[${value}]}}]`,
      `{"detail":${value}}`,
      `{"detail":[{"loc":["body",${value}],"msg":${value},"type":${value}}]}`,
      `{"message":${value}}`,
      `{"errors":[${value}]}`,
      `{"unknown":${value}}`,
      `{"error":{"unknown":${value}}}`,
    ]);
    return [
      ...each.flatMap((body): [number, string][] => [
        [401, body],
        [500, body],
        [200, `{"error":${body}}`],
      ]),
      [200, `{"padding":"${'x'.repeat(500)}","error":{"message":${quoted}}}`],
      [200, `{"error":{"message":${quoted},"padding":"${'x'.repeat(70_000)}`],
      [200, `data: {"error":{"message":${quoted}}}\n\n`, sse],
      [429, `data: {"error":{"message":${quoted}}}\n\n`, sse],
      [500, `x ${word} y`, {}],
      [500, `{"error":{"message":${quoted}`, {}],
      [502, `<html><title>x ${word} y</title><p>x ${word} y</p>`, { 'content-type': 'text/html' }],
      [302, `x ${word} y`],
    ];
  };
  for (const [spelling, word] of Object.entries(spellings)) {
    for (const [status, body, headers] of shapes(word)) {
      const isOpen = body.length > 60_000;
      const answer = answerOf(status, headers ?? json, body, !isOpen);
      const refused = rejectionOf(answer, upstream, () => wednesdayMs);
      const sent = refused === undefined ? `not refused: ${body}` : envelope(refused);
      if (leak.test(sent) || refused === undefined)
        t.fail(`${spelling}: ${status} ${body.slice(0, 200)} became ${sent}`);
    }
  }
});

await test('a hostile text is searched for secrets in bounded time', async (t) => {
  const startedMs = nowMs();
  for (const part of ['\\', '%', '%25', '&#0', '&amp;', 'canary+key/123', '\\\\\\\\u0063', 'sk-']) {
    refusalOf(500, part.repeat(60_000 / part.length), {});
  }
  t.ok(nowMs() - startedMs < 1_000, `${Math.round(nowMs() - startedMs)} ms`);
});

await test('what a provider says about trying again is passed on when it is sane', async (t) => {
  const header = (value: string, status = 429, name = 'Retry-After'): unknown =>
    refusalOf(status, said('no'), { ...json, [name]: value })?.headers[name.toLowerCase()];
  t.equal(header('7'), '7');
  t.equal(header('7', 503), '7');
  t.equal(header('7', 500), undefined);
  t.equal(header('0'), '1');
  t.equal(header('007'), '7');
  t.equal(header('1.5'), '2', 'a fraction is rounded up');
  t.equal(header('0.2'), '1');
  t.equal(header('999999999'), '86400');
  t.equal(header('Wed, 21 Oct 2026 07:28:30 GMT'), '30', 'a date counts from now');
  t.equal(header('Wed, 21 Oct 2015 07:28:00 GMT'), '1', 'one that has passed');
  t.equal(header('Fri, 21 Oct 2095 07:28:00 GMT'), '86400');
  for (const odd of ['', '-1', 'soon', '1e3', '7, 8', '1.', '.5', 'Wed, 21 Foo 2026 07:28:00 GMT', '9'.repeat(16)]) {
    t.equal(header(odd), undefined, odd);
  }
  const inMs = (value: string, status = 429): unknown => header(value, status, 'Retry-After-Ms');
  t.equal(inMs('1500'), '1500');
  t.equal(inMs('0.5'), '1');
  t.equal(inMs('999999999999'), '86400000');
  for (const odd of ['', 'soon', '-1']) t.equal(inMs(odd), undefined, odd);
  t.equal(inMs('1500', 500), undefined);
  for (const status of [400, 429, 500]) {
    t.equal(header('false', status, 'X-Should-Retry'), 'false');
    t.equal(header('true', status, 'X-Should-Retry'), 'true');
  }
  t.equal(header('perhaps', 429, 'X-Should-Retry'), undefined);
});

await test('a failed call is refused by the table, naming the provider', async (t) => {
  const failure = new UpstreamFailure({ code: 'upstream_timeout', reason: 'too slow' }, true);
  t.match(failureRefusal(failure, 'p'), { status: 504, code: 'upstream_timeout', provider: 'p', message: /too slow/ });
});

// --- event streams

/** Pushes a text in pieces of the given sizes (again and again) and gives all that came out. */
function tapped(stream: Buffer, sizes: readonly number[], dropsUsage = true, secrets: readonly string[] = []) {
  const tap = new StreamTap({ dropsUsage, readsUsage: true, watchesEnd: true, secrets });
  const out: Buffer[] = [];
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? stream.length;
    out.push(tap.push(stream.subarray(at, at + size)));
    at += size;
  }
  return {
    passed: Buffer.concat(out).toString(),
    rest: tap.rest().toString(),
    finished: tap.finished(),
    inside: tap.insideEvent,
    usage: tap.usage(),
    events: tap.events(),
    bytes: tap.bytes,
  };
}

const eol = fc.constantFrom('\n', '\r\n', '\r');
const usageEvents = [
  'data: {"id":"1","choices":[],"usage":{"total_tokens":3}}',
  'data:{"choices":[],"usage":{}}',
  ': note\ndata: {"usage":{"a":[]},\ndata: "choices":[]}',
  'event: x\nid: 1\ndata: {"choices": [], "usage" : {"prompt_tokens":1}}',
  'data: {"choices": [ ], "usage" : {"total_tokens":3}}',
  'data: {"choices":[\ndata: ],"usage":{"total_tokens":3}}',
  'data: {"choices":null,"usage":{"total_tokens":3},"error":null}',
  'data: {"usage":{"total_tokens":3}}',
];
const otherEvents = [
  'data: {"choices":[{"delta":{"content":"hi"}}],"usage":null}',
  'data: {"choices":[],"usage":null}',
  'data: {"choices":[],"prompt_filter_results":[]}',
  'data: {"choices":[{"index":0}],"usage":{"total_tokens":3}}',
  'data: {"choices":[{"delta":{"content":"\\"choices\\":[],\\"usage\\":{}"}}]}',
  'data: {"choices":[],"usage":{"total_tokens":3},"error":{"message":"no"}}',
  'data: {"error":{"message":"no"},"usage":{"total_tokens":3}}',
  'data: {"choices":{},"usage":{"total_tokens":3}}',
  'data: {"usage":null}',
  'data: [DONE]',
  'data: []',
  ': keep-alive []',
  'data: {"choices":[],"usage":{}',
  'data: é😀[]\u2028',
  'event: ping\ndata',
  ': ',
];

await test('however a stream is cut into chunks, all its bytes pass but those of the usage event', async () => {
  const events = fc.array(fc.tuple(fc.boolean(), fc.nat(20), eol), { maxLength: 8 });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(events, sizes, fc.boolean(), (parts, cuts, dropsUsage) => {
      let stream = '';
      let expected = '';
      for (const [usage, pick, end] of parts) {
        const list = usage ? usageEvents : otherEvents;
        const event = (list[pick % list.length] ?? '').replaceAll('\n', end) + end + end;
        stream += event;
        expected += usage && dropsUsage ? '' : event;
      }
      const { passed, rest } = tapped(Buffer.from(stream), cuts, dropsUsage);
      return passed === expected && rest === '';
    }),
    runs(4_000),
  );
});

const secret = 'canary+key/1234';
const errorEvents = [
  `data: {"error":{"message":"the key ${secret} is wrong"}}`,
  `event: error\ndata: ${secret} is wrong, and so is sk-proj-abcdef`,
  `data: {"choices":[],\ndata: "error" : {"message":"sk-proj-abc***xyz"}}`,
  `data: {"object":"error","message":"${secret}"}`,
  `data: {"type":"server_error","message":"${secret}${secret}"}`,
  'data: {"error":{"message":"canary+key\\/1234","more":"canary\\u002bkey/1234"}}',
];
const harmlessEvents = [
  'data: {"choices":[{"delta":{"content":"an error of sk-proj-abcdef"}}],"error":null}',
  'data: {"choices":[{"delta":{"content":"{\\"error\\":\\"sk-proj-abcdef\\"}"}}]}',
  'data: {"error":{"message":"é😀 too many tokens"}}',
  ': error',
  'data: [DONE]',
];

await test('an event that is an error loses every secret, however it is cut; all others keep every byte', async () => {
  const events = fc.array(fc.tuple(fc.boolean(), fc.nat(20), eol), { maxLength: 6 });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  const told = /canary\+key|canary\\u002bkey|sk-proj/;
  fc.assert(
    fc.property(events, sizes, fc.boolean(), (parts, cuts, dropsUsage) => {
      const list = parts.map(([isError, pick, end]) => {
        const from = isError ? errorEvents : harmlessEvents;
        return { isError, event: `${(from[pick % from.length] ?? '').replaceAll('\n', end)}${end}${end}` };
      });
      const stream = Buffer.from(list.map(({ event }) => event).join(''));
      const { passed, rest } = tapped(stream, cuts, dropsUsage, [secret]);
      const kept = list.filter(({ isError }) => !isError).map(({ event }) => event);
      const errorsPassed = kept.reduce((left, event) => left.replace(event, ''), passed);
      return rest === '' && kept.every((event) => passed.includes(event)) && !told.test(errorsPassed);
    }),
    runs(2_000),
  );
});

await test('the last event of a stream, which did not end, tells no secret either', async (t) => {
  t.notMatch(tapped(Buffer.from(errorEvents[0] ?? ''), [7], true, [secret]).rest, secret);
  t.equal(tapped(Buffer.from('data: {"half": an error'), [7], true, [secret]).rest, 'data: {"half": an error');
});

await test('an event too long to be read loses known secrets wherever they are cut, and nothing else', async (t) => {
  const pad = 'x'.repeat(300 * 1024);
  const long = (inside: string) => `data: {"a":"${pad}${inside}${pad}${inside}"}\n\ndata: {"b":"${inside}"}\n\n`;
  for (const size of [7, 999, 16_384, 65_536]) {
    const { passed, rest, inside } = tapped(Buffer.from(long(secret)), [size], true, [secret, 'canary-org']);
    const expected = `data: {"a":"${pad}[redacted]${pad}[redacted]"}\n\ndata: {"b":"${secret}"}\n\n`;
    t.ok(passed === expected, `by ${size}: what is no error is left alone again behind it`);
    t.same([rest, inside], ['', false]);
  }
  const cut = tapped(Buffer.from(`data: {"a":"${pad}${secret}`), [999], true, [secret]);
  t.ok(cut.inside && !`${cut.passed}${cut.rest}`.includes('canary'), 'nor does one that breaks off');
});

await test('the usage is known to come next when the last words gave a reason to end', async (t) => {
  const tapOf = (...events: string[]) => {
    const tap = new StreamTap({ dropsUsage: true, readsUsage: true, watchesEnd: false, secrets: [] });
    for (const event of events) tap.push(Buffer.from(event.endsWith('\n') ? event : `${event}\n\n`));
    return tap.awaitsUsage();
  };
  const middle = 'data: {"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""},"finish_reason":null}]}';
  const last = 'data: {"choices":[{"delta":{},"finish_reason": "stop"}],"usage":null}';
  t.equal(tapOf(middle), false);
  t.equal(tapOf(), false);
  t.equal(tapOf(middle, last), true);
  t.equal(tapOf(middle, last, ': ping'), true, 'a ping says nothing');
  t.equal(tapOf(last, middle), false, 'another choice goes on');
  t.equal(tapOf(last, usageEvents[0] ?? ''), false, 'it has come');
  t.equal(tapOf(`${last}\n\ndata: [DONE]\n\n`), false, 'it will not come');
});

await test('an event that has not ended is held, and given back when the stream ends', async (t) => {
  const stream = Buffer.from('data: 1\n\ndata: {"choices":[],"usage":{}}\n\ndata: {"half":');
  for (const size of [1, 2, 3, 7, 1_000]) {
    t.match(tapped(stream, [size]), { passed: 'data: 1\n\n', rest: 'data: {"half":', inside: false, finished: false });
  }
});

await test('an event beyond 256 KiB passes in pieces, and what follows is read again', async (t) => {
  const long = `data: {"choices":[{"text":"${'x'.repeat(300 * 1024)} []"}],"usage":{}}\n\n`;
  const usage = `${usageEvents[0]}\n\n`;
  for (const size of [999, 16_384, 65_536, 300 * 1024]) {
    const { passed, rest } = tapped(Buffer.from(`data: 1\n\n${long}data: 2\n\n${usage}data: 3\n\n`), [size]);
    t.equal(rest, '');
    t.ok(passed === `data: 1\n\n${long}data: 2\n\ndata: 3\n\n`, `in chunks of ${size}`);
  }
  t.equal(
    tapped(Buffer.from(`data: 1\n\n${long.slice(0, -2)}`), [16_384]).inside,
    true,
    'a cut would be inside an event',
  );
  t.equal(tapped(Buffer.from(`data: 1\n\n${long}`), [16_384]).inside, false);
});

await test('a stream in single bytes costs time in proportion to its length', async (t) => {
  const stream = Buffer.from(`data: ${'x'.repeat(200 * 1024)}\n\n`);
  const startedMs = nowMs();
  t.equal(tapped(stream, [1]).passed.length, stream.length);
  t.ok(nowMs() - startedMs < 1_500, `${Math.round(nowMs() - startedMs)} ms`);
});

await test('a stream is finished by its terminal event and by nothing that resembles it', async (t) => {
  const finished = [
    'data: [DONE]\n\n',
    'data:[DONE]\r\n\r\n',
    'data: [DONE]',
    `data: ${'x'.repeat(50)}\n\ndata: [DONE]\n\n`,
  ];
  const unfinished = [
    '',
    'data: 1\n\n',
    'data: {"content":"[DONE]"}\n\n',
    'data: {"content":"data: [DONE]"}\n\n',
    'data: [DONE',
    ': [DONE]\n\n',
  ];
  for (const size of [1, 5, 13, 1_000]) {
    for (const stream of finished) t.equal(tapped(Buffer.from(stream), [size]).finished, true, `${stream} by ${size}`);
    for (const stream of unfinished)
      t.equal(tapped(Buffer.from(stream), [size]).finished, false, `${stream} by ${size}`);
  }
});

await test('usage is read from the whole event, whatever lines it has, and dropped or not', async (t) => {
  const counts = '{"prompt_tokens":3,"completion_tokens":4}';
  const reports = [
    `data: {"choices":[],"usage":${counts}}`,
    `data: {"choices":[],"usage":\ndata: {"prompt_tokens":3,\ndata:"completion_tokens":4}}`,
    `event: x\ndata: {"choices":[],"x_groq":{"usage":{"total_tokens":9}},"usage" : ${counts},"a":{"usage":null}}\nid: 1`,
    `: {"usage":{"total_tokens":9}}\ndata: {"choices":[],"usage":${counts}}`,
  ];
  const before = `data: {"choices":[{"delta":{"content":"usage"}}],"usage":null}\n\n`;
  const after = `data: {"choices":[{"delta":{"content":"_tokens"}}],"usage":null}\n\ndata: [DONE]\n\n`;
  for (const report of reports) {
    for (const size of [1, 7, 1_000]) {
      for (const end of ['\n', '\r\n', '\r']) {
        const stream = Buffer.from(`${before}${report}\n\n${after}`.replaceAll('\n', end));
        const dropped = tapped(stream, [size]);
        t.same(
          [dropped.usage?.totalTokens, dropped.events, dropped.bytes],
          [7, 3, stream.length],
          `${report} by ${size}`,
        );
        t.equal(dropped.passed, `${before}${after}`.replaceAll('\n', end));
        t.match(tapped(stream, [size], false), { usage: { totalTokens: 7 }, events: 3, passed: stream.toString() });
      }
    }
  }
});

await test('an event too long to be held says nothing, but is an event', async (t) => {
  const long = `data: {"choices":[{"text":"${'x'.repeat(400 * 1024)}"}],"usage":{"total_tokens":9}}\n\n`;
  const stream = Buffer.from(`data: {"usage":{"total_tokens":7}}\n\n${long}data: 2\n\n`);
  for (const size of [1_000, 16_384, 65_536]) {
    t.match(tapped(stream, [size]), { usage: { totalTokens: 7 }, events: 3, bytes: stream.length }, `by ${size}`);
    t.equal(tapped(Buffer.from(long), [size]).usage, undefined, `alone, by ${size}`);
  }
});

await test('the data of an event are its data lines, joined', async (t) => {
  t.equal(dataOf(Buffer.from(': c\nevent: x\ndata: a\ndata:b\r\ndata:  c\ndatab: d\nid: 1\n\n')), 'a\nb\n c');
  t.equal(dataOf(Buffer.from('event: x\n\n')), '');
  t.equal(dataOf(Buffer.from('data: a\rdata: b\r\ndata: c\r\r')), 'a\nb\nc');
});

// --- deadlines and pools

await test('a deadline fires when the clock has passed it, and not before', async (t) => {
  let clockMs = 1_000;
  const deadlines = createDeadlines(() => clockMs);
  t.equal(deadlines.coarseNowMs, 1_000);
  const expired: string[] = [];
  const timed = (name: string, deadlineMs: number) => {
    const each = {
      deadlineMs,
      expire() {
        expired.push(name);
        deadlines.remove(each);
      },
    };
    deadlines.add(each);
    return each;
  };
  const ticked = (toMs: number): Promise<unknown> => {
    clockMs = toMs;
    return waitFor(`the tick at ${toMs}`, () => deadlines.coarseNowMs === toMs);
  };
  timed('at 1300', 1_300);
  const moved = timed('moved', 1_300);
  const removed = timed('removed', 1_300);
  timed('later', 9_000);
  await ticked(1_299);
  t.same(expired, []);
  moved.deadlineMs = 1_500;
  deadlines.remove(removed);
  await ticked(1_300);
  t.same(expired, ['at 1300']);
  await ticked(1_499);
  t.same(expired, ['at 1300']);
  await ticked(1_600);
  t.same(expired, ['at 1300', 'moved']);
});

await test('time in which the process stood still is not counted as waiting', async (t) => {
  let clockMs = 0;
  const deadlines = createDeadlines(() => clockMs);
  const expired: number[] = [];
  const timed = { deadlineMs: 300, expire: () => expired.push(clockMs) && deadlines.remove(timed) };
  deadlines.add(timed);
  clockMs = 60_000;
  await waitFor('the tick after the pause', () => deadlines.coarseNowMs === 60_000);
  t.same(expired, []);
  clockMs = 60_200;
  await waitFor('the next tick', () => deadlines.coarseNowMs === 60_200);
  clockMs = 60_400;
  await waitFor('the deadline', () => expired.length > 0);
  t.same(expired, [60_400]);
});

await test('providers of one origin and connect timeout share a pool, which a reload keeps while one uses it', async (t) => {
  const pools = createPools();
  const origin = 'http://127.0.0.1:9';
  const pool = pools.get({ origin, connectTimeoutMs: 300 });
  t.equal(pools.get({ origin, connectTimeoutMs: 300 }), pool);
  t.not(pools.get({ origin, connectTimeoutMs: 200 }), pool);
  t.not(pools.get({ origin: 'http://127.0.0.1:10', connectTimeoutMs: 300 }), pool);
  pools.keep([{ origin, connectTimeoutMs: 300 }]);
  t.equal(pools.get({ origin, connectTimeoutMs: 300 }), pool);
  t.equal(pool.closed, false);
  pools.keep([]);
  t.equal(pool.closed, false, 'calls in flight on it go on');
  t.not(pools.get({ origin, connectTimeoutMs: 300 }), pool);
});

// --- sending

interface Sent {
  answer?: UpstreamAnswer;
  failure?: UpstreamFailure;
}

/** A provider and a way to call it; `changes` shorten the patience. */
async function startProvider(t: Test) {
  const provider = await startFakeUpstream({ t, models: ['m'] });
  const deadlines = createDeadlines(nowMs);
  const pool = createPools().get({ origin: new URL(provider.url).origin, connectTimeoutMs: 300 });
  t.teardown(() => pool.destroy());
  const call = (
    stream: boolean,
    changes: Partial<Patience> = {},
    started: (answer: UpstreamAnswer) => void = () => undefined,
  ) => {
    const body = Buffer.from(JSON.stringify({ model: 'm', stream, messages: [] }));
    const outgoing = { path: '/v1/chat/completions', headers: ['content-type', 'application/json'], body };
    const answer = send(pool, outgoing, { ...patience, ...changes }, deadlines);
    started(answer);
    return answer.ready.then(
      (): Sent => ({ answer }),
      (failure: UpstreamFailure): Sent => ({ failure }),
    );
  };
  return { provider, call };
}

/** All bytes of an open answer, and how it ended. */
function drain(answer: UpstreamAnswer): Promise<{ body: string; failure: unknown }> {
  return new Promise((done) => {
    let body = '';
    answer.attach({
      write(chunk) {
        body += chunk.toString('latin1');
        return true;
      },
      end: (failure) => done({ body, failure }),
    });
  });
}

await test('a short answer is whole when it is handed over, a long one or a stream still open', async (t) => {
  const { provider, call } = await startProvider(t);
  const gate = createGate();
  await provider.behave([
    { kind: 'json', body: '{"a":1}' },
    { kind: 'json', body: `{"a":"${'x'.repeat(65_528)}"}` },
    { kind: 'json', body: `{"a":"${'x'.repeat(300_000)}"}` },
    { kind: 'sse', chunks: ['data: 1\n\n', gate, 'data: [DONE]\n\n'] },
  ]);
  const short = await call(false);
  t.match(short.answer, { status: 200, complete: true, stream: false, framed: true });
  t.equal(short.answer?.body().toString(), '{"a":1}');
  t.match((await call(false)).answer, { complete: true }, '64 KiB are still held');
  const long = (await call(false)).answer as UpstreamAnswer;
  t.equal(long.complete, false);
  t.match(await drain(long), { body: /^\{"a":"x{300000}"\}$/, failure: undefined });
  const stream = (await call(true)).answer as UpstreamAnswer;
  t.match(stream, { complete: false, stream: true, framed: true });
  t.equal(stream.body().toString(), 'data: 1\n\n', 'handed over with its first bytes');
  const rest = drain(stream);
  gate.release();
  t.match(await rest, { body: 'data: 1\n\ndata: [DONE]\n\n', failure: undefined });
});

await test('a call that fails before its answer says whether the provider may have seen it', async (t) => {
  const { provider, call } = await startProvider(t);
  const faults: [behaviour: Behaviour, code: string, sent: boolean][] = [
    [{ kind: 'reset' }, 'upstream_disconnected', true],
    [{ kind: 'fin' }, 'upstream_disconnected', true],
    [{ kind: 'not-http' }, 'upstream_invalid_response', true],
    [{ kind: 'header-bomb' }, 'upstream_invalid_response', true],
    [{ kind: 'odd-status', status: '101' }, 'upstream_invalid_response', true],
    [{ kind: 'informational-flood' }, 'upstream_invalid_response', true],
    [{ kind: 'short-body' }, 'upstream_disconnected', true],
    [{ kind: 'cut-chunk', after: 0 }, 'upstream_disconnected', true],
    [{ kind: 'bad-chunk-size', after: 0 }, 'upstream_invalid_response', true],
    [{ kind: 'refused' }, 'upstream_unavailable', false],
  ];
  for (const [behaviour, code, sent] of faults) {
    await provider.behave(behaviour);
    const { failure } = await call(false);
    t.match(failure, { failure: { code }, sent }, JSON.stringify(behaviour));
  }
});

await test('patience ends when it says: first byte, silence, all of it', async (t) => {
  const { provider, call } = await startProvider(t);
  const short = { firstByteMs: 100, streamIdleMs: 100, totalMs: 3_000, usageDrainMs: 300 };
  const timedOut = (reason: RegExp) => ({ code: 'upstream_timeout', reason });
  await provider.behave({ kind: 'hang' });
  t.match((await call(false, short)).failure, { failure: timedOut(/first_byte/), sent: true });
  await provider.behave({ kind: 'stall', after: 1 });
  const stalled = (await call(true, short)).answer as UpstreamAnswer;
  t.match((await drain(stalled)).failure, timedOut(/stream_idle/));
  await provider.behave({ kind: 'sse', chunks: Array.from({ length: 400 }, () => [': still here\n\n', 20]).flat() });
  const endless = (await call(true, { ...short, totalMs: 250 })).answer as UpstreamAnswer;
  t.match((await drain(endless)).failure, timedOut(/total/));
  await provider.waitFor((ledger) => ledger.every(({ clientClosedAtMs }) => clientClosedAtMs !== undefined));
});

await test('no deadline runs for the provider while the client does not read', async (t) => {
  const { provider, call } = await startProvider(t);
  await provider.behave({ kind: 'endless-body', bytes: 4 << 20 });
  const answer = (await call(true, { streamIdleMs: 300 })).answer as UpstreamAnswer;
  let taken = 0;
  let paused = false;
  const over = new Promise<unknown>((done) => {
    answer.attach({
      write(chunk) {
        taken += chunk.length;
        if (paused || taken < 1 << 20) return true;
        paused = true;
        return false;
      },
      end: done,
    });
  });
  await waitFor('the pause', () => paused);
  const pausedAt = nowMs();
  await waitFor('twice the patience', () => nowMs() - pausedAt > 600);
  answer.resume();
  t.equal(await over, undefined, 'the answer goes on where it was');
  t.ok(taken >= 4 << 20);
});

await test('an answer in tiny chunks is a bad answer, one in small events is not', async (t) => {
  const { provider, call } = await startProvider(t);
  const head = (type: string) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const crumbs = '1\r\nx\r\n'.repeat(6_000);
  const crumbled = { code: 'upstream_invalid_response', reason: 'it comes in chunks of a few bytes each' };
  await provider.behave({ kind: 'raw', steps: [head('application/json'), crumbs, '0\r\n\r\n'] });
  t.match((await call(false)).failure, { failure: crumbled, sent: true });
  await provider.behave({ kind: 'raw', steps: [head('text/event-stream'), crumbs, '0\r\n\r\n'] });
  t.match((await drain((await call(true)).answer as UpstreamAnswer)).failure, crumbled);
  const event = 'data: {"a":"b"}\n\n';
  const events = `11\r\n${event}\r\n`.repeat(6_000);
  await provider.behave({ kind: 'raw', steps: [head('text/event-stream'), events, '0\r\n\r\n'] });
  const { failure, body } = await drain((await call(true)).answer as UpstreamAnswer);
  t.same([failure, body.length], [undefined, 6_000 * event.length]);
});

await test('cancelling cuts the call at once, whatever it was doing', async (t) => {
  const { provider, call } = await startProvider(t);
  const gate = createGate();
  await provider.behave([
    { kind: 'hold', gate },
    { kind: 'sse', chunks: ['data: 1\n\n', gate, fin] },
  ]);
  let started: UpstreamAnswer | undefined;
  const waiting = call(false, {}, (answer) => {
    started = answer;
  });
  await waitFor('the provider to hold it', () => gate.waiting === 1);
  started?.cancel();
  t.match((await waiting).failure, { failure: { code: 'upstream_disconnected', reason: 'the client left' } });
  const open = (await call(true)).answer as UpstreamAnswer;
  const rest = drain(open);
  open.cancel();
  t.match((await rest).failure, { code: 'upstream_disconnected' });
  open.cancel();
  open.onComplete();
  open.onError(new Error('late'));
  await provider.waitFor(
    (ledger) => ledger.length === 2 && ledger.every((entry) => entry.clientClosedAtMs !== undefined),
  );
});

await test('a call cancelled before it was connected never leaves', async (t) => {
  const { provider, call } = await startProvider(t);
  const { failure } = await call(false, {}, (answer) => answer.cancel());
  t.match(failure, { sent: false });
  t.match(await call(false), { answer: { status: 200 } });
  t.equal(provider.ledger.length, 1);
});

function isJsonText(candidate: string): boolean {
  try {
    JSON.parse(candidate);
    return true;
  } catch {
    return false;
  }
}
