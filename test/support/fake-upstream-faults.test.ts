// The fake upstream: each fault looks on the wire, and to a real client, as its name says.
import { gunzipSync } from 'node:zlib';
import { test } from 'tap';
import { Agent, request } from 'undici';
import { type Behaviour, rst, startFakeUpstream, upstreamFaults } from './fake-upstream.ts';
import { openRaw, rawRequest } from './raw-http.ts';

const chat = (extra: object = {}) =>
  JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'say hello' }], ...extra });

const post = (body: string, path = '/v1/chat/completions', headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: up\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const events = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '' && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice('data: '.length)));

await test('each fault looks on the wire as its name says', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const ask = async (behaviour: Behaviour, stream = true, options: object = {}) => {
    await upstream.behave(behaviour);
    const exchange = await rawRequest(upstream.port, post(chat({ stream })), options);
    return { ...exchange, first: exchange.responses[0], text: exchange.raw.toString('latin1') };
  };

  t.match(await ask({ kind: 'reset' }), { closedHow: 'rst', text: '' });
  t.match(await ask({ kind: 'fin' }), { closedHow: 'fin', text: '' });
  t.match(upstream.ledger, [
    { finished: true, clientClosedAtMs: undefined },
    { finished: true, clientClosedAtMs: undefined },
  ]);
  t.match(await ask({ kind: 'hang' }, true, { deadlineMs: 50 }), { closedByServer: false, text: '' });
  t.match(await ask({ kind: 'not-http' }), { responses: [], text: /^SSH-2/ });
  t.equal((await ask({ kind: 'header-bomb' })).first?.header('x-bomb')?.length, 1 << 20);
  t.equal(
    (await ask({ kind: 'many-headers' })).first?.headers.filter(([name]) => name.startsWith('x-many-')).length,
    20_000,
  );
  const flood = await ask({ kind: 'informational-flood' });
  t.equal(flood.responses.filter(({ status }) => status === 103).length, 2000);
  t.match(flood.responses.at(-1), { status: 200, complete: true });
  t.equal(
    (await ask({ kind: 'two-content-lengths' })).first?.headers.filter(([name]) => name === 'content-length').length,
    2,
  );
  t.match((await ask({ kind: 'cl-and-te' })).text, /transfer-encoding: chunked\r\ncontent-length: 5\r\n/);
  for (const stream of [true, false]) {
    t.match(await ask({ kind: 'short-body' }, stream), { closedHow: 'fin', first: { status: 200, complete: false } });
    t.match(await ask({ kind: 'cut-chunk' }, stream), {
      closedHow: 'fin',
      first: { complete: false },
      text: /\r\nffff\r\n/,
    });
    t.match(await ask({ kind: 'reset-in-chunk' }, stream), {
      closedHow: 'rst',
      first: { complete: false },
      text: /\r\nffff\r\n/,
    });
    t.match(await ask({ kind: 'bad-chunk-size' }, stream, { deadlineMs: 100 }), {
      first: { complete: false },
      text: /\r\nxyz\r\n/,
    });
    const cut = await ask({ kind: 'eof-cut' }, stream);
    t.match(cut, { closedHow: 'fin', first: { complete: true } }, 'HTTP sees nothing wrong');
    t.notMatch(cut.text, /\[DONE\]|usage|transfer-encoding|content-length/);
    t.match(await ask({ kind: 'stall' }, stream, { deadlineMs: 50 }), {
      closedByServer: false,
      first: { complete: false },
    });
  }
  t.equal(events((await ask({ kind: 'stall', after: 4 }, true, { deadlineMs: 50 })).first?.text() ?? '').length, 4);

  await upstream.behave({ kind: 'drip', everyMs: 1 });
  const drip = await openRaw(upstream.port);
  await drip.send(post(chat()));
  await drip.waitFor(({ responses: [response] }) => (response?.body.length ?? 0) > 20);
  t.match(drip.exchange().raw.toString(), /\r\n1\r\n\{\r\n1\r\n"\r\n/, 'a byte per chunk');
  drip.close();

  const endless = await ask({ kind: 'endless-body', bytes: 1 << 20 });
  t.ok(endless.first?.complete && endless.first.body.length >= 1 << 20);
  t.ok(events(endless.first?.text() ?? '').length > 1000, 'of well-formed events');
  const line = await ask({ kind: 'long-sse-line', bytes: 1_000_000 });
  t.equal(line.first?.text().indexOf('\n'), 'data: '.length + 1_000_000);

  const bomb = await ask({ kind: 'gzip', expandsTo: 4 << 20 });
  t.equal(gunzipSync(bomb.first?.body ?? '').length, 4 << 20);
  t.ok((bomb.first?.body.length ?? 0) < 65_536);
  const stacked = await ask({ kind: 'stacked-encodings' });
  t.equal(stacked.first?.header('content-encoding'), 'gzip, gzip, gzip, gzip, gzip, gzip');
  let inner = stacked.first?.body ?? Buffer.alloc(0);
  for (let layer = 0; layer < 6; layer += 1) inner = gunzipSync(inner);
  t.match(inner.toString(), /\[DONE\]/);

  for (const status of ['101', '099', '999', '204'] as const) {
    const { text } = await ask({ kind: 'odd-status', status }, false);
    t.ok(text.startsWith(`HTTP/1.1 ${status} `) && text.includes('"object"'), status);
  }
  const twice = await ask({ kind: 'two-responses' }, true, { until: 2 });
  t.equal(twice.responses[1]?.text(), '{"smuggled":true}');
  t.match(
    (await ask({ kind: 'redirect', location: 'http://evil/' })).text,
    /^HTTP\/1.1 307 [\s\S]*location: http:\/\/evil\/\r\n/,
  );
  t.match((await ask({ kind: 'html' })).text, /^HTTP\/1.1 200 [\s\S]*text\/html[\s\S]*<!doctype html>/);
  const plain = await ask({ kind: 'openai', content: 'one two', pauseMs: 1 });
  t.equal(events(plain.first?.text() ?? '').length, 4);
  t.match(await ask({ kind: 'sse', chunks: ['data: 1\n\n'], framing: 'eof' }), {
    closedHow: 'fin',
    first: { complete: true },
  });
  t.match(await ask({ kind: 'sse', chunks: ['data: 1\n\n', rst] }), { closedHow: 'rst' });
});

await test('a real client sees every named fault as a fault or an odd answer', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const agent = new Agent({ connect: { timeout: 200 }, headersTimeout: 1000, bodyTimeout: 1000 });
  t.teardown(() => agent.destroy());
  const seen: Record<string, string> = {};
  const endless = ['never answers', 'stalls in the middle', 'drips for ever', 'never ends its body'];
  for (const [name, behaviour] of Object.entries(upstreamFaults)) {
    await upstream.behave(smaller(behaviour));
    const patience = new AbortController();
    const giveUp = () => patience.abort();
    const timers = [setTimeout(giveUp, name === 'never answers' ? 100 : 3000)];
    seen[name] = await request(`${upstream.url}/chat/completions`, {
      method: 'POST',
      body: chat({ stream: true }),
      dispatcher: agent,
      signal: patience.signal,
    }).then(async ({ statusCode, headers, body }) => {
      if (endless.includes(name)) timers.push(setTimeout(giveUp, 100));
      let tail = '';
      try {
        for await (const piece of body) tail = piece.toString('latin1').slice(-40);
      } catch (error) {
        tail = `! ${nameOf(error)}`;
      }
      return `${statusCode} ${String(headers['content-type']).split(';')[0]} ${tail}`;
    }, nameOf);
    for (const timer of timers) clearTimeout(timer);
  }
  t.match(seen, {
    'refuses the connection': 'ECONNREFUSED',
    'never accepts the connection': 'UND_ERR_CONNECT_TIMEOUT',
    'resets before the headers': 'ECONNRESET',
    'closes before the headers': 'UND_ERR_SOCKET',
    'never answers': 'AbortError',
    'speaks no HTTP': 'HTTPParserError',
    'sends a header of 1 MB': 'UND_ERR_HEADERS_OVERFLOW',
    'sends 20,000 headers': 'UND_ERR_HEADERS_OVERFLOW',
    'sends 2,000 informational responses': /^200 .*\[DONE\]/s,
    'sends two Content-Lengths': 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    'sends Content-Length with Transfer-Encoding': 'HTTPParserError',
    'sends less than its Content-Length': '200 text/event-stream ! UND_ERR_SOCKET',
    'closes inside a chunk': '200 text/event-stream ! UND_ERR_SOCKET',
    'resets inside a chunk': '200 text/event-stream ! ECONNRESET',
    'sends a bad chunk size': '200 text/event-stream ! HTTPParserError',
    'cuts a body that ends with the connection': /^200 text\/event-stream (?!!)(?!.*\[DONE\])/s,
    'stalls in the middle': '200 text/event-stream ! AbortError',
    'drips for ever': '200 text/event-stream ! AbortError',
    'never ends its body': '200 text/event-stream ! AbortError',
    'sends an event line of 100 MB': /^200 .*\[DONE\]/s,
    'sends a gzip bomb': /^200 text\/event-stream (?!!)/,
    'stacks six encodings': /^200 text\/event-stream (?!!)/,
    'answers 101': 'UND_ERR_SOCKET',
    'answers 099': 'ERR_ASSERTION',
    'answers 999': /^999 /,
    'answers 204 with a body': '204 text/event-stream ! UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    'answers twice': /^200 .*\[DONE\]/s,
    'redirects elsewhere': /^307 /,
    'answers 200 with HTML': /^200 text\/html /,
  });
});

/** The big ones at a size that takes no time. */
function smaller(behaviour: Behaviour): Behaviour {
  if (behaviour.kind === 'long-sse-line') return { ...behaviour, bytes: 1_000_000 };
  return behaviour.kind === 'gzip' ? { ...behaviour, expandsTo: 1_000_000 } : behaviour;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
