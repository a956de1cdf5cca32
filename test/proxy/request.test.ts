// What the proxy reads in a request's bytes: the call in its body, its head, its path, its id.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'tap';
import { type Call, readCall, readLargeCall } from '../../proxy/call/call.ts';
import { checkPath, type Head, maxHeaders, originForm, pathOf, readHead } from '../../proxy/call/head.ts';
import { Refusal } from '../../proxy/errors.ts';
import { connectionRoom } from '../../proxy/http/connections.ts';
import { closeExchange, openExchange, requestId } from '../../proxy/http/exchange.ts';

/** The code of the refusal, with the parameter it names. */
function refusedAs(run: () => unknown): { code: string | null; param: string | null; status: number; message: string } {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const call = (text: string): Call => readCall(Buffer.from(text));

await test('a call knows its model, and where it stands', async (t) => {
  const models: [text: string, model: string, slice: string][] = [
    ['{"model":"openai/gpt-4o"}', 'openai/gpt-4o', '"openai/gpt-4o"'],
    [' {\n"x":{"model":"no"} , "model" :\t"yes" }\r\n', 'yes', '"yes"'],
    ['{"\\u006dodel":"g\\u0070t"}', 'gpt', '"g\\u0070t"'],
    ['{"é":"😀","model":"modèle"}', 'modèle', '"modèle"'],
    ['{"model":"a\\/b\\"c"}', 'a/b"c', '"a\\/b\\"c"'],
    ['\ufeff{"model":"after-a-mark"}', 'after-a-mark', '"after-a-mark"'],
    [`{"model":"${'m'.repeat(1024)}"}`, 'm'.repeat(1024), `"${'m'.repeat(1024)}"`],
    ['{"x":1,"x":2,"a":{"model":1,"model":2},"model":"m"}', 'm', '"m"'],
  ];
  for (const [text, model, slice] of models) {
    const read = call(text);
    t.equal(read.model, model);
    t.equal(read.body.toString('utf8', read.modelStart, read.modelEnd), slice);
    t.equal(read.body.toString(), text.replace('\ufeff', ''), 'every byte but the mark is kept');
  }
});

await test('a model that is no name is refused', async (t) => {
  const values = [
    '1',
    'null',
    'true',
    '[]',
    '{"a":1}',
    '""',
    '" \\t "',
    '"\\u2003"',
    '"a\\u0000b"',
    `"${'m'.repeat(1025)}"`,
  ];
  for (const value of values) {
    t.match(
      refusedAs(() => call(`{"model":${value}}`)),
      { status: 400, code: 'invalid_model', param: 'model' },
      value.slice(0, 20),
    );
  }
  for (const body of ['{}', '{"Model":"m"}', '{"a":{"model":"m"}}']) {
    t.match(
      refusedAs(() => call(body)),
      { code: 'invalid_model' },
      body,
    );
  }
});

await test('a guarded key stands once, however it is written', async (t) => {
  for (const key of ['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'user']) {
    const escaped = Array.from(key, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    for (const again of [key, key.toUpperCase(), escaped]) {
      const refused = refusedAs(() => call(`{"model":"m","${key}":null,"x":1,"${again}":null}`));
      t.match(refused, { status: 400, code: 'duplicate_key', param: key }, `${key} and ${again}`);
    }
  }
});

await test('a member that may lead a provider elsewhere is found, however it is written', async (t) => {
  const escapeEach = (key: string): string =>
    Array.from(key, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  const keys =
    'models fallbacks route api_base api_key base_url content_policy_fallbacks ' +
    'provider preset provideroptions extra_body custom_llm_provider';
  for (const key of keys.split(' ')) {
    for (const spelling of [key, key.toUpperCase(), escapeEach(key), key.replace('s', '\u017f')]) {
      t.equal(call(`{"model":"m","x":1,"${spelling}":null}`).routingMember, key, spelling);
      t.equal(call(`{"${spelling}":1,"model":"m","${spelling}":2}`).routingMember, key, 'twice is not for us to judge');
    }
  }
  t.equal(call('{"model":"m","api_key":1,"models":[]}').routingMember, 'api_key', 'the first one');
  const innocent =
    '{"model":"m","messages":[{"models":[],"api_key":1}],"router":1,"providers":0,"model_":2,"fallback":3,"base_uri":4}';
  t.equal(call(innocent).routingMember, undefined);
});

await test('stream is true, false or null', async (t) => {
  t.equal(call('{"model":"m"}').stream, false);
  t.equal(call('{"model":"m","stream":true}').stream, true);
  t.equal(call('{"model":"m","stream":false}').stream, false);
  t.equal(call('{"model":"m","stream":null}').stream, false);
  for (const value of ['"true"', '1', '0', '{}', '[]']) {
    t.match(
      refusedAs(() => call(`{"model":"m","stream":${value}}`)),
      { code: 'invalid_stream', param: 'stream' },
      value,
    );
  }
});

await test('only include_usage: true asks for the usage event', async (t) => {
  const long = refusedAs(() => call(`{"model":"m","stream_options":{"x":"${'x'.repeat(16_384)}"}}`));
  t.match(long, { code: 'invalid_parameter', param: 'stream_options' });
  const asks = (options: string): boolean => call(`{"model":"m","stream_options":${options}}`).wantsUsage;
  t.equal(call('{"model":"m"}').wantsUsage, false);
  t.equal(asks('{"include_usage":true}'), true);
  t.equal(asks('{ "x":{}, "include\\u005fusage" : true }'), true);
  for (const options of [
    '{}',
    '{"include_usage":false}',
    '{"include_usage":"true"}',
    '{"x":{"include_usage":true}}',
    'null',
    '[]',
    '1',
  ]) {
    t.equal(asks(options), false, options);
  }
});

await test('what is not one JSON object in UTF-8 is refused with the reason', async (t) => {
  const bodies: [body: Buffer | string, code: string, message: RegExp][] = [
    ['', 'invalid_json', /empty/],
    ['\ufeff', 'invalid_json', /empty/],
    ['  ', 'invalid_json', /offset 2/],
    ['\ufeff\ufeff{"model":"m"}', 'invalid_json', /offset 0/],
    ['[]', 'invalid_json', /object/],
    ['"model"', 'invalid_json', /object/],
    ['{"model":"m",}', 'invalid_json', /offset 13/],
    ['{"model":"m"}{}', 'invalid_json', /offset 13/],
    [Buffer.from('{"model":"\xe9"}', 'latin1'), 'invalid_json', /UTF-8/],
    [Buffer.from('{"model":"m"}', 'utf16le'), 'invalid_json', /offset 1/],
    [`{"model":"m","a":${'['.repeat(128)}${']'.repeat(128)}}`, 'body_too_deep', /128/],
    [`{"model":"m",${'"k":0,'.repeat(512)}"k":0}`, 'body_too_many_keys', /keys/],
    ['{"model":"m","__proto__":{}}', 'forbidden_key', /__proto__/],
  ];
  for (const [body, code, message] of bodies) {
    t.match(
      refusedAs(() => readCall(Buffer.from(body))),
      { status: 400, code, message },
      body.toString().slice(0, 30),
    );
  }
});

await test('a large body is read as a short one is, in turns with others', async (t) => {
  const filler = `{"a":["${'x'.repeat(1_000)}",[1,{"b":null}]]}`;
  const large = (text: string): Buffer =>
    Buffer.from(`{"filler":[${`${filler},`.repeat(3_000)}${filler}],"constructor":{"a":1},${text}}`);
  const whole = large('"\\u006dodel":"g\u00e9","stream":true,"stream_options":{"include_usage":true}');
  let turns = 0;
  const count = (): void => {
    turns += 1;
    ticking = setImmediate(count);
  };
  let ticking = setImmediate(count);
  const [first, second] = await Promise.all([readLargeCall(whole), readLargeCall(whole)]);
  clearImmediate(ticking);
  t.ok(turns >= 2, `${turns} turns for others in ${whole.length} bytes`);
  t.strictSame(first, readCall(whole));
  t.strictSame(second, first, 'two at a time do not mix');

  const refused: [text: string, code: string][] = [
    ['"model":"m","model":"m"', 'duplicate_key'],
    ['"model":7', 'invalid_model'],
    ['"model":"m",', 'invalid_json'],
    [`"model":"m","x":${'['.repeat(128)}${']'.repeat(128)}`, 'body_too_deep'],
    ['"model":"m","constructor":{"prototype":1}', 'forbidden_key'],
  ];
  for (const [text, code] of refused) {
    const body = large(text);
    const { message } = refusedAs(() => readCall(body));
    await t.rejects(readLargeCall(body), { status: 400, code, message }, code);
  }
  await t.rejects(readLargeCall(Buffer.alloc(0)), { code: 'invalid_json' });
});

function requestWith(rawHeaders: string[], url = '/v1/chat/completions', version = '1.1'): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  const [major, minor] = version.split('.').map(Number);
  return Object.assign(request, {
    rawHeaders,
    url,
    httpVersionMajor: major,
    httpVersionMinor: minor,
    httpVersion: version,
  });
}

const host = ['Host', 'gateway.test'];
const settings = { userPathHeader: 'x-path', gatewayKeyHeader: 'x-own', trustedProxies: undefined };
const head = (raw: string[], version?: string): Head =>
  readHead(requestWith([...host, ...raw], '/', version), settings);

await test('a head gives the few values the gateway acts on, whatever the letter case', async (t) => {
  const read = head([
    'AUTHORIZATION',
    'Bearer k',
    'X-Api-Key',
    'k',
    'content-TYPE',
    'application/json',
    'Content-Length',
    '12',
    'X-Request-Id',
    'abc',
    'Expect',
    '100-continue',
    'Content-Encoding',
    'gzip',
    'content-encoding',
    'br',
    'X-PATH',
    '/team/app',
    'X-GATEWAY-Explain',
    '1',
  ]);
  t.strictSame(read, {
    authorization: 'Bearer k',
    gatewayKey: undefined,
    apiKey: 'k',
    contentType: 'application/json',
    contentEncoding: 'gzip, br',
    contentLength: 12,
    chunked: false,
    requestId: 'abc',
    host: 'gateway.test',
    expectsContinue: true,
    userPath: '/team/app',
    wantsExplanation: true,
    ambiguousCredentials: false,
    fault: undefined,
  });
  const bare = head(['X-Unknown', 'a', 'Hosts', 'b', 'Content-Typ', 'c']);
  t.match(bare, { authorization: undefined, contentType: undefined, contentLength: undefined, fault: undefined });
});

await test('two different credentials of a kind are ambiguous', async (t) => {
  const ambiguous = (...rawHeaders: string[]): boolean => head(rawHeaders).ambiguousCredentials;
  t.equal(ambiguous('Authorization', 'Bearer a', 'authorization', 'Bearer b'), true);
  t.equal(ambiguous('Authorization', 'Bearer a', 'authorization', 'Bearer a'), true, 'a second line is never wanted');
  t.equal(ambiguous('x-api-key', 'a', 'X-API-KEY', 'b'), true);
  t.equal(ambiguous('x-api-key', 'a', 'x-api-key', 'b', 'x-api-key', 'b'), true);
  t.equal(ambiguous('x-api-key', 'a', 'api-key', 'b'), true);
  t.equal(ambiguous('x-api-key', 'a', 'Api-Key', 'a'), false);
  t.equal(ambiguous('x-api-key', 'a', 'Authorization', 'Bearer a'), false);
});

await test('a head that could be read in two ways has a fault', async (t) => {
  const faults: [rawHeaders: string[], version: string, code: string | undefined][] = [
    [[], '1.1', 'invalid_header'],
    [[], '1.0', undefined],
    [host, '0.9', 'malformed_request'],
    [host, '2.0', 'malformed_request'],
    [[...host, 'host', 'gateway.test'], '1.1', 'invalid_header'],
    [[...host, 'Content-Type', 'a', 'content-type', 'a'], '1.1', 'invalid_header'],
    [[...host, 'Transfer-Encoding', 'chunked'], '1.1', undefined],
    [[...host, 'Transfer-Encoding', 'Chunked'], '1.1', undefined],
    [[...host, 'Transfer-Encoding', 'chunked'], '1.0', 'invalid_header'],
    [[...host, 'Transfer-Encoding', 'gzip, chunked'], '1.1', 'invalid_header'],
    [[...host, 'Transfer-Encoding', 'identity'], '1.1', 'invalid_header'],
    [[...host, 'Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'], '1.1', 'invalid_header'],
    [[...host, ...'x y '.repeat(99).trim().split(' ')], '1.1', undefined],
    [[...host, ...'x y '.repeat(100).trim().split(' ')], '1.1', 'headers_too_large'],
  ];
  t.equal(maxHeaders, 100);
  for (const [rawHeaders, version, code] of faults) {
    const { fault } = readHead(requestWith(rawHeaders, '/', version), settings);
    t.equal(fault?.code, code, `${rawHeaders.slice(0, 6).join(' ')} on HTTP/${version}`);
  }
});

await test('a Host is a name or an address, perhaps with a port', async (t) => {
  const fault = (value: string): unknown => readHead(requestWith(['Host', value]), settings).fault?.code;
  for (const value of ['a', 'a.b-c_d.test:80', '127.0.0.1:8080', '[::1]', '[fe80::1]:443', 'localhost:65535']) {
    t.equal(fault(value), undefined, value);
  }
  for (const value of [
    '',
    ' ',
    'a b',
    'a,b',
    'user@a',
    'a/b',
    'a:b',
    'a:',
    'a:123456',
    '[::1',
    '::1',
    'a?b',
    'é',
    'a:80:80',
  ]) {
    t.equal(fault(value), 'invalid_header', value);
  }
});

await test('an absolute target of this very host is its path', async (t) => {
  const forms: [url: string, host: string | undefined, path: string][] = [
    ['/v1/models', 'a', '/v1/models'],
    ['//a/v1', 'a', '//a/v1'],
    ['*', 'a', '*'],
    ['http://a/v1/models?x=1', 'a', '/v1/models?x=1'],
    ['HTTPS://A:80/v1', 'a:80', '/v1'],
    ['http://a', 'a', '/'],
    ['http://a?x', 'a', '/?x'],
    ['ftp://a/v1', 'a', 'ftp://a/v1'],
  ];
  for (const [url, authority, path] of forms) t.equal(originForm(url, authority), path, url);
  for (const [url, authority] of [
    ['http://b/v1', 'a'],
    ['http://a:81/', 'a'],
    ['http://a/', undefined],
    ['http://u@a/', 'a'],
  ] as const) {
    t.match(
      refusedAs(() => originForm(url, authority)),
      { status: 400, code: 'invalid_path' },
      url,
    );
  }
});

await test('a path is what stands before the query', async (t) => {
  t.equal(pathOf('/v1/models'), '/v1/models');
  t.equal(pathOf('/v1/models?a?b'), '/v1/models');
  t.equal(pathOf('?'), '');
});

await test('a path is ASCII and its escapes are text', async (t) => {
  for (const path of ['/', '/a/b', '*', '/%C3%A9', '/a%2Fb', '/a?%zz\xff', '/..', '//']) {
    t.doesNotThrow(() => checkPath(requestWith([], path)), path);
  }
  for (const path of ['', 'a', 'http://a/', '/\xe9', '/a b', '/%', '/%zz', '/%C3', '/%FF', '/a%00b', '/\x7f']) {
    t.match(
      refusedAs(() => checkPath(requestWith([], path))),
      { status: 400, code: 'invalid_path' },
      JSON.stringify(path),
    );
  }
});

await test('the request id is the client’s own when it is harmless, else a new one', async (t) => {
  for (const own of ['a', 'A-z_0.9', 'x'.repeat(128)]) t.equal(requestId(own), own);
  for (const odd of [undefined, '', 'x'.repeat(129), 'a b', 'a\nb', 'é', 'a/b', 'a;b', '{a}']) {
    t.match(requestId(odd), /^req_[0-9a-z]{12,}$/, String(odd));
  }
  const ids = new Set(Array.from({ length: 10_000 }, () => requestId(undefined)));
  t.equal(ids.size, 10_000);
});

await test('an exchange whose answer is not complete when it closes tells who waits that the client left', async (t) => {
  const request = requestWith(host);
  const response = new ServerResponse(request);
  const exchange = openExchange(request, response, settings, 5);
  t.match(exchange, { startedAtMs: 5, gone: false, waiting: undefined });
  let told = 0;
  exchange.waiting = {
    gone() {
      told += 1;
    },
  };
  closeExchange(exchange);
  t.same({ told, gone: exchange.gone }, { told: 1, gone: true });

  const answered = openExchange(
    request,
    Object.defineProperty(new ServerResponse(request), 'writableFinished', { value: true }),
    settings,
    5,
  );
  answered.waiting = { gone: () => t.fail('the answer was complete') };
  closeExchange(answered);
  t.equal(answered.gone, false);
});

await test('there is room for a connection and its call to a provider, and for the files of the process itself', async (t) => {
  const gibibyte = 2 ** 30;
  t.same(connectionRoom(1024, 4 * gibibyte), { most: 480, default: 480 });
  t.same(
    connectionRoom(1_000_000, gibibyte),
    { most: 499_968, default: 32_768 },
    'a heap has less room than there are files',
  );
  t.same(connectionRoom(16, gibibyte), { most: 1, default: 1 });
  t.same(connectionRoom(undefined, gibibyte), { most: Number.POSITIVE_INFINITY, default: 32_768 });
});
