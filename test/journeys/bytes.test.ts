// Bytes pass the gateway unchanged, except the name of the model and the usage that the gateway itself asked for.
import { createHash, randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { array, asyncProperty, boolean, assert as check, constantFrom, nat, record } from 'fast-check';
import { t as suite, test } from 'tap';
import { chatCall, chatHead } from '../support/chat-call.ts';
import { extent, runs } from '../support/extent.ts';
import { createGate, type Entry, type Field, type Step, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, providerKey, startGateway, untilIdle } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, pause, rawRequest } from '../support/raw-http.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';
import {
  allowedHeaders,
  clientHead,
  foreignHeaders,
  strangeBody,
  streamParts,
  tellingAnswers,
  usageEvent,
} from './bytes-cases.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, api_key: providerKey, models: upstream.models };
const config = {
  providers: {
    fake: { ...provider, headers: { 'OpenAI-Organization': 'org-of-the-gateway' } },
    silent: { ...provider, stream_usage: false },
  },
  aliases: [
    { source: 'chat', target: 'fake/fake-small' },
    { source: 'quiet', target: 'silent/fake-small' },
  ],
};
const gateway = await startGateway(suite, { config });
const withoutUsage = await startGateway(suite, { config, env: { USAGE_ENABLED: 'false' } });
const path = '/v1/chat/completions';

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));
suite.afterEach(async () => {
  for (const each of [gateway, withoutUsage]) await untilIdle(each);
});

/** Posts exactly these bytes; gives the answer, and what the provider saw. */
async function post(body: string | Uint8Array, through: Gateway = gateway, headers: Record<string, string> = {}) {
  const before = upstream.ledger.length;
  const response = await through.fetch(path, { method: 'POST', body, headers, signal: AbortSignal.timeout(10_000) });
  const bytes = Buffer.from(await response.arrayBuffer());
  const entry = upstream.ledger[before];
  if (!entry) throw new Error(`no request reached the provider: ${response.status} ${bytes.toString()}`);
  return { response, bytes, entry };
}

/** The bytes cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [...new Set([0, ...places.map((place) => place % bytes.length), bytes.length])].sort((a, b) => a - b);
  return borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

await test('a body of 1 MiB arrives byte-identical but for the value of model', async (t) => {
  const [before, after] = strangeBody();
  const expected = digest(Buffer.from(`${before}"fake-small"${after}`));
  t.doesNotThrow(() => JSON.parse(`${before}"fake-small"${after}`), 'strange, and still JSON');
  const spellings = ['"chat"', '"fake-small"', '"fake/fake-small"', '"fake\\/fake-sm\\u0061ll"', '"\\u0063\\u0068at"'];
  for (const spelling of spellings) {
    const sent = Buffer.from(before + spelling + after);
    t.ok(Math.abs(sent.length - 2 ** 20) < 256, 'about 1 MiB');
    const { response, entry } = await post(sent);
    t.equal(response.status, 200, spelling);
    t.equal(digest(entry.body), expected, spelling);
    t.equal(entry.header('content-length'), String(entry.body.length));
  }
});

await test('a body sent in chunks of any size arrives whole', async (t) => {
  const [before, after] = strangeBody();
  const sent = Buffer.from(`${before}"chat"${after}`);
  const places = Array.from({ length: 60 }, () => randomBytes(4).readUInt32BE());
  const chunks = cut(sent, [...places, 1, 2, 3, sent.length - 1]);
  const id = upstream.ledger.length;
  const framed = [chatHead('chunked'), ...chunks.map(chunk), '0\r\n\r\n'];
  const { responses } = await rawRequest(gateway.port, framed);
  t.equal(responses[0]?.status, 200);
  const { body } = upstream.ledger[id] ?? {};
  t.equal(digest(body ?? Buffer.alloc(0)), digest(Buffer.from(`${before}"fake-small"${after}`)), places.join());
});

await test('embeddings pass unchanged, too', async (t) => {
  const body = (model: string) => `{ "input":["a\\u0000", 12345678901234567890],\n"model" : ${model},"stream":false }`;
  const before = upstream.ledger.length;
  const response = await gateway.fetch('/v1/embeddings', { method: 'POST', body: body('"fake/fake-embedding"') });
  t.equal(response.status, 200);
  await response.text();
  t.equal(upstream.ledger[before]?.body.toString(), body('"fake-embedding"'));
});

await test('a stream asks for usage with the fewest changed bytes', async (t) => {
  const asked = '"include_usage":true';
  const cases: [name: string, sent: string, arrived: string][] = [
    ['no stream_options', '{"stream":true@ }\n', `{"stream":true@ ,"stream_options":{${asked}}}\n`],
    ['empty ones', '{"stream_options": { } ,"stream":true@}', `{"stream_options": {${asked} } ,"stream":true@}`],
    ['null', '{"stream_options":null,"stream":true@}', `{"stream_options":{${asked}},"stream":true@}`],
    [
      'others',
      '{"stream":true@,"stream_options":{ "big":12345678901234567890 } }',
      `{"stream":true@,"stream_options":{${asked}, "big":12345678901234567890 } }`,
    ],
    [
      'switched off, beside a big integer',
      '{"stream":true@,"stream_options":{"big":12345678901234567890,"include_usage":false} }',
      `{"stream":true@,"stream_options":{"big":12345678901234567890,${asked}} }`,
    ],
  ];
  for (const [name, sent, arrived] of cases) {
    const { entry } = await post(sent.replace('@', ',"model":"chat"'));
    t.equal(entry.body.toString(), arrived.replace('@', ',"model":"fake-small"'), name);
  }
});

await test('nothing is injected when usage is not counted, the provider cannot report it, or the client asked for it', async (t) => {
  const stream = (model: string, more = '') => `{"model":"${model}","stream":true${more}}`;
  const own = ',"stream_options":{"include_usage":true}';
  for (const [name, sent, arrived, through] of [
    ['not a stream', '{"model":"chat","stream":false}', '{"model":"fake-small","stream":false}', gateway],
    ['usage is off', stream('chat'), stream('fake-small'), withoutUsage],
    ['stream_usage is false', stream('quiet'), stream('fake-small'), gateway],
    ['the client asked', stream('chat', own), stream('fake-small', own), gateway],
  ] as const) {
    const { entry, bytes } = await post(sent, through);
    t.equal(entry.body.toString(), arrived, name);
    if (name === 'the client asked') t.match(bytes.toString(), /"choices":\[\],"usage":\{/, 'and gets its usage');
  }
});

await test('a stream comes back byte-identical however it is cut, but for the usage the gateway asked for', async (t) => {
  const [before, after] = streamParts;
  const sent = Buffer.from(before + usageEvent + after);
  const own = ',"stream_options":{"include_usage":true}';
  const callers = [
    { name: 'injected', model: 'chat', more: '', through: gateway, expected: before + after },
    { name: 'asked', model: 'chat', more: own, through: gateway, expected: before + usageEvent + after },
    { name: 'cannot', model: 'quiet', more: '', through: gateway, expected: before + usageEvent + after },
    { name: 'off', model: 'chat', more: '', through: withoutUsage, expected: before + usageEvent + after },
  ];
  const cutting = record({
    places: array(nat(sent.length), { maxLength: 60 }),
    isPaced: boolean(),
    framing: constantFrom('chunked' as const, 'eof' as const),
  });
  const cuttingRuns = extent(30, 8);
  let cuttings = 0;
  await check(
    asyncProperty(cutting, async ({ places, isPaced, framing }) => {
      cuttings += 1;
      const pieces = cut(sent, places);
      for (const { name, model, more, through, expected } of callers) {
        const chunks: Step[] = isPaced ? pieces.flatMap((piece) => [piece, pause(1)]) : pieces;
        await upstream.behave({ kind: 'sse', chunks, framing });
        const { response, bytes } = await post(`{"model":"${model}","stream":true${more}}`, through);
        if (response.status !== 200) throw new Error(`${name}: status ${response.status}`);
        if (bytes.toString() !== expected) throw new Error(`${name}: got ${JSON.stringify(bytes.toString())}`);
      }
    }),
    {
      ...runs(30),
      numRuns: cuttingRuns,
      examples: [[{ places: [...sent.keys()].slice(0, 700), isPaced: false, framing: 'eof' }]],
    },
  );
  t.ok(cuttings >= cuttingRuns, `${cuttings} ways to cut it`);
});

await test('a stream that comes compressed, although plain bytes were asked for, is undone; one that cannot be is refused', async (t) => {
  const plain = `${streamParts[0]}${usageEvent}${streamParts[1]}`;
  const own = ',"stream_options":{"include_usage":true}';
  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['Deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const bytes = compress(Buffer.from(plain));
    for (const [more, expected] of [
      ['', streamParts.join('')],
      [own, plain],
    ] as const) {
      const before = (await gateway.metric('gateway_rate_limit_tokens_total', { source: 'reported' })) ?? 0;
      const headers: Field[] = [['content-encoding', encoding]];
      await upstream.behave({ kind: 'sse', chunks: cut(bytes, [1, 7, 20, 21, 300]), headers });
      const { response, bytes: got } = await post(`{"model":"chat","stream":true${more}}`);
      t.equal(got.toString(), expected, `${encoding}${more}`);
      t.equal(response.headers.get('content-encoding'), null);
      await untilIdle(gateway);
      const after = await gateway.metric('gateway_rate_limit_tokens_total', { source: 'reported' });
      t.equal(Number(after) - before, 3, 'and its usage is read');
    }
  }
  for (const [encoding, body, words] of [
    ['compress', Buffer.from(plain), /encoded as compress/],
    ['gzip, br', gzipSync(plain), /encoded as gzip, br/],
    ['gzip', Buffer.from(plain), /not gzip/],
    ['gzip', gzipSync(Buffer.alloc(8 << 20)), /beyond measure/],
  ] as const) {
    await upstream.behave({ kind: 'sse', chunks: [body], headers: [['content-encoding', encoding]] });
    const { bytes } = await post('{"model":"chat","stream":true}');
    t.match(bytes.subarray(-1_000).toString(), words, encoding);
    t.match(bytes.subarray(-1_000).toString(), '"code":"upstream_invalid_response"');
  }
});

await test('a line end may arrive in a separate packet, or behind one byte', async (t) => {
  for (const text of [
    'data: 1|\r\n|\r\n|data: [DONE]\r\n|\r\n',
    'data: 1\n|\n|data: 2|2\n|\n|data: [DONE|]\n\n',
    ':|c\nd|\n\n|data: [DONE]\n\n',
  ]) {
    for (const more of ['', ',"stream_options":{"include_usage":true}']) {
      const chunks = text.split('|').flatMap((piece) => [piece, pause(15)]);
      await upstream.behave({ kind: 'sse', chunks });
      const { bytes } = await post(`{"model":"chat","stream":true${more}}`);
      t.equal(bytes.toString(), text.replaceAll('|', ''));
    }
  }
});

await test('a JSON answer comes back byte-identical, short or long, with a length or in chunks', async (t) => {
  const strange =
    '\n{ "id" :"x\\u00e9é😀","big":12345678901234567890 ,"choices":[ ],"usage":{"total_tokens":1.0}, "pad":"';
  for (const size of [10, 64 * 1024 - 200, 64 * 1024, 700_000]) {
    const body = Buffer.from(`${strange}${'p'.repeat(size)}"}\r\n `);
    const type = 'application/json; charset=utf-8; profile=strange';
    const head = (framing: string) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`;
    const places = Array.from({ length: 9 }, () => randomBytes(4).readUInt32BE());
    const forms: Step[][] = [
      [head(`Content-Length: ${body.length}`), ...cut(body, places)],
      [head('Transfer-Encoding: chunked'), ...cut(body, places).map(chunk), '0\r\n\r\n'],
    ];
    for (const steps of forms) {
      await upstream.behave({ kind: 'raw', steps });
      const { response, bytes } = await post('{"model":"chat"}');
      t.equal(response.status, 200);
      t.equal(digest(bytes), digest(body), `${size} bytes, cut at ${places.join()}`);
      t.equal(response.headers.get('content-type'), type);
    }
  }
});

await test('the first event reaches the client while the provider still holds the second', async (t) => {
  for (const model of ['chat', 'quiet']) {
    const gate = createGate();
    const first = 'data: {"choices":[{"index":0,"delta":{"content":"first"}}]}\n\n';
    await upstream.behave({ kind: 'sse', chunks: [first, gate, 'data: [DONE]\n\n'] });
    const connection = await openRaw(gateway.port, { t });
    await connection.send(chatCall(`{"model":"${model}","stream":true}`));
    const early = await connection.waitFor(({ responses }) => responses[0]?.body.length && responses[0]);
    t.equal(early.text(), first);
    t.equal(early.complete, false);
    t.equal(gate.waiting, 1, 'the second is still held');
    gate.release();
    const whole = await connection.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
    t.equal(whole.text(), `${first}data: [DONE]\n\n`);
  }
});

await test('a client that does not read pauses the provider; when it reads on it gets everything', async (t) => {
  // Buffers of the kernel take 30 MiB, and up to 90 MiB of chunks that were passed on wait for the garbage collector.
  const bytes = extent(384, 160) << 20;
  for (const [name, more] of [
    ['JSON', ''],
    ['a stream', ',"stream":true'],
    ['a stream that asked for usage', ',"stream":true,"stream_options":{"include_usage":true}'],
  ] as const) {
    await upstream.behave({ kind: 'endless-body', bytes: 1 << 20 });
    await post(`{"model":"chat"${more}}`);
    await upstream.behave({ kind: 'endless-body', bytes });
    const restingBytes = residentBytes(gateway.process);
    const id = upstream.ledger.length;
    const connection = await openRaw(gateway.port, { t });
    connection.pause();
    const received = { bytes: 0, end: '' };
    connection.socket.on('data', (piece: Buffer) => {
      received.bytes += piece.length;
      received.end = (received.end + piece.toString('latin1', Math.max(0, piece.length - 5))).slice(-5);
    });
    connection.pause();
    await connection.send(chatCall(`{"model":"chat"${more}}`));
    const entry: Entry = await upstream.waitFor((ledger) => ledger[id]);
    const stoodAt = await waitForStandstill('the provider', () => entry.bytesSent, 300);
    const grownBytes = residentBytes(gateway.process) - restingBytes;
    const shown = (count: number) => `${(count / 2 ** 20).toFixed(1)} MiB`;
    t.comment(
      `${name}: the provider stands at ${shown(stoodAt)} of ${shown(bytes)}, the gateway has grown by ${shown(grownBytes)}`,
    );
    t.ok(stoodAt < bytes, 'the provider is paused: only the buffers of the kernel are full');
    t.ok(grownBytes < 16 << 20, 'the gateway holds next to nothing');
    t.equal(entry.finished, false);

    connection.resume();
    await waitFor('the last chunk', () => received.end === '0\r\n\r\n', 20_000);
    t.equal(entry.finished, true);
    const { responses } = connection.exchange();
    t.equal(responses[0]?.complete, true);
    t.ok((responses[0]?.body.length ?? 0) >= bytes, 'all of it');
    connection.close();
    const finallyBytes = residentBytes(gateway.process) - restingBytes;
    t.ok(finallyBytes < (bytes / 6) * 5, `and did not pile it up afterwards: ${shown(finallyBytes)}`);
  }
});

await test('the provider gets only the headers that are meant for it', async (t) => {
  const id = upstream.ledger.length;
  const body = '{"model":"chat"}';
  const { responses } = await rawRequest(gateway.port, `${clientHead(body.length).join('\r\n')}\r\n\r\n${body}`);
  t.equal(responses[0]?.status, 200);
  const seen = new Map(upstream.ledger[id]?.headers.map(([name, value]) => [name.toLowerCase(), value]));
  t.same(Object.fromEntries([...seen].sort(([a], [b]) => (a < b ? -1 : 1))), {
    'accept-encoding': 'identity',
    authorization: `Bearer ${providerKey}`,
    connection: 'keep-alive',
    'content-length': '22',
    'content-type': 'application/json',
    host: `127.0.0.1:${upstream.port}`,
    'openai-organization': 'org-of-the-gateway',
    'x-request-id': 'the-client.s_own',
  });
  t.equal(upstream.ledger[id]?.headers.length, seen.size, 'each once');
  t.equal(upstream.ledger[id]?.target, path, 'without the query');
});

await test("the client gets only the headers that are meant for it, and the gateway's request id", async (t) => {
  const json = '{"choices":[],"usage":{}}';
  const hop: Field[] = [...foreignHeaders, ['connection', 'keep-alive, x-hop'], ['x-hop', '1']];
  for (const behaviour of [
    { kind: 'json', body: json, headers: hop },
    { kind: 'sse', chunks: [`data: ${json}\n\n`, 'data: [DONE]\n\n'], headers: foreignHeaders },
    { kind: 'json', body: '{"error":{"message":"no"}}', status: 429, headers: hop },
  ] as const) {
    await upstream.behave({ ...behaviour, headers: [...behaviour.headers] });
    const { response, entry } = await post('{"model":"chat"}', gateway, { 'x-request-id': 'bad id, with blanks' });
    const names = [...response.headers.keys()];
    t.same(
      // A 429 always says when to come again.
      names.filter((name) => !allowedHeaders.has(name) && !(name === 'retry-after' && response.status === 429)),
      [],
      `${behaviour.kind} ${response.status}: nothing else`,
    );
    t.notMatch(JSON.stringify([...response.headers]), /canary|provider|timeout=7777/);
    const id = response.headers.get('x-request-id') ?? '';
    t.match(id, /^req_[a-z0-9]+$/, 'a new id, because the client sent no valid one');
    t.equal(id, entry.header('x-request-id'));
  }
});

await test("the provider's key never comes down, the client's never goes up", async (t) => {
  const heard: string[] = [];
  for (const behaviour of tellingAnswers) {
    for (const more of ['', ',"stream":true']) {
      await upstream.behave(behaviour);
      const { response, bytes } = await post(`{"model":"chat"${more}}`);
      const all = `${response.status} ${JSON.stringify([...response.headers])} ${bytes.toString()}`;
      t.notMatch(all, providerKey, `${behaviour.kind}${more}`);
      t.notMatch(all, /sk-proj-abc/);
      heard.push(bytes.toString());
    }
  }
  t.match(heard[0], /Incorrect API key provided/, 'the words around it are kept');
  for (const { headers, body, target } of upstream.ledger) {
    const all = `${target} ${JSON.stringify(headers)} ${body.length < 4096 ? body.toString() : ''}`;
    if (all.includes(masterKey)) t.fail(`a client's key went up: ${all}`);
  }
  for (const each of [gateway, withoutUsage]) {
    const said = [...each.process.stdout, ...each.process.stderr, await each.metrics()].join('\n');
    t.notOk(said.includes(providerKey) || said.includes(masterKey), 'nor are keys logged or counted');
  }
});

await test('every request that reached the provider was well-formed', async (t) => {
  t.same(upstream.malformed, []);
});
