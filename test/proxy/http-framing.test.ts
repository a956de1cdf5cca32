// Requests with no single meaning, byte by byte: each gets one answer in the envelope, and the provider never hears of it.
import { type Test, test } from 'tap';
import { openRaw, type RawResponse, rawRequest } from '../support/raw-http.ts';
import {
  accepted,
  base,
  chunkedCoding,
  codings,
  grammar,
  hosts,
  length,
  lengths,
  noKey,
  noRoute,
  routes,
  sizes,
  targets,
} from './http-framing-cases.ts';
import {
  checkBrokenSecond,
  checkPipeline,
  checkSilent,
  checkSlow,
  checkSlowPipeline,
  manyCalls,
} from './http-framing-connections.ts';
import {
  accepts,
  authorization,
  chat,
  chatCall,
  chatLine,
  checkRefusal,
  checkStand,
  chunked,
  converse,
  converseAll,
  get,
  head,
  host,
  join,
  jsonType,
  refusalFaults,
  refuses,
  request,
  type Stand,
  startStand,
  traffic,
} from './raw-cases.ts';

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
  await t.test('the last request on a connection: nothing behind it is read', (inner) => checkLast(inner, stand));
  await t.test('a body where none belongs', (inner) => checkIdleBodies(inner, stand));
  await t.test('three pipelined calls get three answers in order', (inner) => checkPipeline(inner, stand, 3));
  await t.test('many pipelined calls: none is lost, few at once', (inner) => checkPipeline(inner, stand, manyCalls));
  await t.test('calls pipelined behind a slow one are not timed out', (inner) => checkSlowPipeline(inner, stand));
  await t.test('a broken request behind a good one', (inner) => checkBrokenSecond(inner, stand));
  await t.test('slow clients are cut', (inner) => checkSlow(inner, stand));
  await t.test('silent connections are cut, others are served', (inner) => checkSilent(inner, stand));

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

async function checkHosts(t: Test, stand: Stand): Promise<void> {
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
    const requests = [...names, ...more].map((name) =>
      head('GET /v1/models HTTP/1.1', `Host: ${name}`, ...(key === undefined ? [] : [key])),
    );
    const verdicts = new Set((await converseAll(t, stand, requests)).map(comparable));
    t.equal(verdicts.size, 1, key ? 'with a key' : 'without');
    t.match([...verdicts][0], key ? /^200 / : /^401 /);
  }
}

async function checkSpellings(t: Test, stand: Stand): Promise<void> {
  const { upstream } = stand;
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
  const line = (spelling: string) => `POST ${spelling} HTTP/1.1`;
  const anonymous = await converseAll(
    t,
    stand,
    [...spellings, '/v1/chat/completions'].map((spelling) => request(line(spelling), [host, jsonType], chat)),
  );
  t.same(refusalFaults(anonymous[0], noKey), [], 'without a key it is refused');
  t.equal(new Set(anonymous.map(comparable)).size, 1, 'a client without a key cannot tell a path that exists');
  const known = await converseAll(
    t,
    stand,
    spellings.map((spelling) => request(line(spelling), base, chat)),
  );
  const wrong = spellings.flatMap((spelling, index) => {
    const faults = refusalFaults(known[index], noRoute);
    if (!known[index]?.text().includes(line(spelling).slice(0, -9))) faults.push('the answer does not name the path');
    return faults.map((fault) => `${spelling}: ${fault}`);
  });
  t.same(wrong, [], 'with a key it is not found');
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

async function checkRequestIds(t: Test, stand: Stand): Promise<void> {
  const { upstream } = stand;
  const harmless = ['a', '0', 'A-b_c.9', 'x'.repeat(128), '018f6b2e-0000-7000-8000-000000000000'];
  const others = ['', 'a b', 'a/b', 'a:b', 'x'.repeat(129), 'é', 'a%0d%0ab', '<script>', '"', 'a\tb'];
  const ids = [...harmless, ...others];
  const before = upstream.ledger.length;
  const served = await converseAll(
    t,
    stand,
    ids.map((id) => chatCall(chat, `X-Request-Id: ${id}`)),
  );
  const refused = await converseAll(
    t,
    stand,
    ids.map((id) => get('/nope', `X-Request-Id: ${id}`)),
  );
  const isRight = (id: string, given = '') =>
    harmless.includes(id) ? given === id : /^req_[a-z0-9]{10,}$/.test(given);
  const wrong = ids.flatMap((id, index) => {
    const given = served[index]?.header('x-request-id');
    const sent = upstream.ledger[before + index]?.header('x-request-id');
    const other = refused[index]?.header('x-request-id');
    const isServed = served[index]?.status === 200 && isRight(id, given);
    return isServed && sent === given && isRight(id, other) ? [] : [{ id, given, sent, other }];
  });
  t.same(wrong, [], 'harmless ones are kept, others are replaced, and the provider gets the same');
  t.equal(new Set(refused.map((response) => response?.status)).size, 1, 'a refusal has an id, too');
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
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
  for (const last of [
    // What comes with it is lost with the parser, so the client must learn that it has to send it again.
    Buffer.from(get('/v1/models', ...offer)),
    Buffer.from(get('/v1/models', 'Connection: Upgrade', 'Upgrade: websocket')),
    chatCall(chat, ...offer),
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
    t.equal(responses[0]?.header('connection'), 'close', 'it says so');
    t.ok(closedByServer, 'closed');
  }
  t.equal(upstream.ledger.length, before + 3, 'what follows is not served');
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
    const faults = refusalFaults(first, { status: 400, code: 'unexpected_body' });
    if (second !== undefined) faults.push('what stands behind it is served');
    if (!closedByServer || rest.length > 0) faults.push('the connection goes on');
    t.same(faults, [], `${name} is refused, and the connection is closed`);
  }
  t.same(traffic(upstream), seen, 'its bytes are never taken for a call');
}

/** Status, headers and body without what differs between two requests anyway. */
function comparable(response: RawResponse | undefined): string {
  if (!response) return 'none';
  const headers = response.headers.filter(([name]) => !/^(date|x-request-id)$/i.test(name));
  return `${response.status} ${JSON.stringify(headers)} ${response.text()}`;
}
