// The fake upstream: each behaviour does what its name says, and the ledger is exact.
import { connect } from 'node:net';
import OpenAI, {
  AuthenticationError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { test } from 'tap';
import { createGate, type FakeUpstream, fin, startFakeUpstream } from './fake-upstream.ts';
import { openRaw, rawRequest } from './raw-http.ts';
import { waitFor, waitForStandstill } from './wait-for.ts';

const chat = (extra: object = {}) =>
  JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'say hello' }], ...extra });

const post = (body: string, path = '/v1/chat/completions', headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: up\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const events = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '' && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice('data: '.length)));

function sdk(upstream: FakeUpstream): OpenAI {
  return new OpenAI({ apiKey: 'sk-any', baseURL: upstream.url, maxRetries: 0 });
}

await test('the official client is content with the believable answers', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const client = sdk(upstream);
  const messages = [{ role: 'user' as const, content: 'two words' }];

  const answer = await client.chat.completions.create({ model: 'fake-small', messages });
  t.match(answer.choices[0]?.message.content, /^Hello from the fake upstream/);
  t.match(answer, { model: 'fake-small', usage: { prompt_tokens: 3, completion_tokens: 10, total_tokens: 13 } });
  t.same(upstream.ledger[0]?.usage, answer.usage, 'the ledger knows the usage');

  let text = '';
  const usages: unknown[] = [];
  const options = { stream: true, stream_options: { include_usage: true } } as const;
  for await (const chunk of await client.chat.completions.create({ model: 'fake-small', messages, ...options })) {
    text += chunk.choices[0]?.delta.content ?? '';
    usages.push(chunk.usage);
  }
  t.equal(text, answer.choices[0]?.message.content);
  t.same(usages.pop(), answer.usage, 'the last chunk carries the usage');
  t.ok(
    usages.every((usage) => usage === null),
    'every other chunk carries null',
  );

  const { data, usage } = await client.embeddings.create({ model: 'fake-embedding', input: ['a b', 'c'] });
  t.equal(data.length, 2);
  t.ok(Math.abs(Math.hypot(...(data[0]?.embedding ?? [])) - 1) < 1e-5, 'a unit vector');
  t.equal(usage.total_tokens, 3);

  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  t.same(listed, upstream.models);
  t.equal((await client.models.retrieve('fake-large')).id, 'fake-large');
  await t.rejects(client.models.retrieve('absent'), { status: 404, code: 'model_not_found' });
});

await test('a stream has a usage chunk only if the request asked for one', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const plain = await rawRequest(upstream.port, post(chat({ stream: true })));
  t.notMatch(plain.responses[0]?.text(), 'usage');
  t.match(plain.responses[0]?.text(), /data: \[DONE\]\n\n$/);
  const asked = await rawRequest(upstream.port, post(chat({ stream: true, stream_options: { include_usage: true } })));
  const last = events(asked.responses[0]?.text() ?? '').at(-1);
  t.same(last.choices, []);
  t.equal(last.usage.completion_tokens, 10);
});

await test('the ledger has every request as it was on the wire', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const body = chat({ big: 1 });
  const chunked = `5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\nX-Trailer: t\r\n\r\n`;
  const back = await rawRequest(
    upstream.port,
    `${post(body, '/v1/chat/completions?a=1', 'X-Odd:  Spelled \r\nx-odd: twice\r\n')}POST /v1/embeddings HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}GET /v1/models HTTP/1.1\r\nHost: up\r\n\r\n`,
    { until: 3 },
  );
  t.same(
    back.responses.map(({ status }) => status),
    [200, 200, 200],
    'pipelined requests are answered in order',
  );
  const [first, second, third] = upstream.ledger;
  t.match(first, {
    id: 0,
    method: 'POST',
    target: '/v1/chat/completions?a=1',
    path: '/v1/chat/completions',
    version: '1.1',
    finished: true,
    clientClosedAtMs: undefined,
  });
  t.same(first?.headers.slice(1, 3), [
    ['X-Odd', 'Spelled'],
    ['x-odd', 'twice'],
  ]);
  t.equal(first?.body.toString(), body);
  t.equal(second?.body.toString(), body, 'chunks are joined');
  t.same(second?.trailers, [['X-Trailer', 't']]);
  t.equal(third?.method, 'GET');
  t.same(
    upstream.ledger.map(({ connection }) => connection),
    [0, 0, 0],
    'one connection carried all three',
  );
  const sent = upstream.ledger.reduce((sum, entry) => sum + entry.bytesSent, 0);
  t.equal(sent, back.raw.length, 'bytes sent are the bytes that came');
  t.ok(
    first &&
      first.receivedAtMs <= (first.firstByteAtMs ?? 0) &&
      (first.firstByteAtMs ?? 0) <= (first.finishedAtMs ?? 0),
  );
  t.same(upstream.malformed, []);
});

await test('a request with two meanings is malformed', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const bad = [
    'GET /v1/models HTTP/1.1\nHost: up\n\n',
    'GET /v1/models HTTP/1.1\r\n\r\n',
    'GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'POST /v1/x HTTP/1.1\r\nHost: up\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/x HTTP/1.1\r\nHost: up\r\nContent-Length: +1\r\n\r\nx',
    'POST /v1/x HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n',
    'GET /v1/models HTTP/1.1\r\nHost: up\r\nX y: z\r\n\r\n',
    `${post('{}')}garbage\r\n\r\n`,
  ];
  for (const [index, bytes] of bad.entries()) {
    const { closedHow } = await rawRequest(upstream.port, bytes, { until: 'close' });
    t.equal(closedHow, 'rst', JSON.stringify(bytes.slice(0, 60)));
    t.equal(upstream.malformed.length, index + 1);
  }
});

await test('a list of behaviours is used up in order', async (t) => {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave([
    { kind: 'error', status: 503 },
    { kind: 'error', status: 429, retryAfter: '7' },
  ]);
  const statuses = [];
  for (let index = 0; index < 3; index += 1) {
    const { responses } = await rawRequest(upstream.port, post(chat()));
    statuses.push(responses[0]?.status);
    if (index === 1) t.equal(responses[0]?.header('retry-after'), '7');
  }
  t.same(statuses, [503, 429, 200]);
});

await test('a function chooses by the whole request', async (t) => {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave((entry) =>
    entry.body.includes('teapot') ? { kind: 'json', status: 418, body: '{ }' } : undefined,
  );
  t.match((await rawRequest(upstream.port, post(chat({ user: 'teapot' })))).responses[0], { status: 418 });
  t.match((await rawRequest(upstream.port, post(chat()))).responses[0], { status: 200 });
});

await test('refusals speak the words of the provider', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const create = () => sdk(upstream).chat.completions.create({ model: 'm', messages: [] });
  for (const [status, error] of [
    [401, AuthenticationError],
    [403, PermissionDeniedError],
    [404, NotFoundError],
    [429, RateLimitError],
    [500, InternalServerError],
    [503, InternalServerError],
  ] as const) {
    await upstream.behave({ kind: 'error', status });
    const thrown = await create().catch((reason: unknown) => reason);
    t.ok(thrown instanceof error, `${status}`);
  }
});

await test('given bytes are sent as given', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const odd = Buffer.from([0x7b, 0x20, 0xff, 0x00, 0x7d]);
  await upstream.behave({ kind: 'json', body: odd, headers: [['X-Kept', 'As Is']] });
  const { responses } = await rawRequest(upstream.port, post(chat()));
  t.same(responses[0]?.body, odd);
  t.same(responses[0]?.headers[1], ['X-Kept', 'As Is']);

  const gate = createGate();
  const cut = Buffer.from('data: {"é":1}\n\n');
  await upstream.behave({ kind: 'sse', chunks: [cut.subarray(0, 8), gate, 1, cut.subarray(8), 'data: [DONE]\n\n'] });
  const connection = await openRaw(upstream.port, { t });
  await connection.send(post(chat({ stream: true })));
  await connection.waitFor(({ responses: [response] }) => response?.body.length === 8);
  await waitFor('the upstream to stand at the gate', () => gate.waiting === 1);
  t.notOk(connection.exchange().responses[0]?.complete);
  gate.release();
  await connection.waitFor(({ responses: [response] }) => response?.complete);
  t.equal(connection.exchange().responses[0]?.text(), 'data: {"é":1}\n\ndata: [DONE]\n\n');

  await upstream.behave({ kind: 'raw', steps: ['HTTP/1.1 200 Sure\r\n', { pauseMs: 1 }, '\r\nx', fin] });
  const raw = await rawRequest(upstream.port, post(chat()), { until: 'close' });
  t.match(raw.responses[0], { status: 200, reason: 'Sure', complete: true });
});

await test('a held request waits for the test', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate, next: { kind: 'delay', ms: 5, next: { kind: 'error', status: 500 } } });
  const pending = [1, 2, 3].map(() => rawRequest(upstream.port, post(chat())));
  await waitFor('three held requests', () => gate.waiting === 3);
  t.ok(upstream.ledger.every((entry) => entry.bytesSent === 0));
  gate.release();
  for (const { responses } of await Promise.all(pending)) t.equal(responses[0]?.status, 500);
  t.equal(gate.waiting, 0);
});

await test('an upstream that stops reading makes its client wait', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gate = createGate();
  await upstream.behave({ kind: 'stop-reading', gate });
  const connection = await openRaw(upstream.port, { t });
  const body = chat({ padding: 'x'.repeat(32 << 20) });
  const sent = connection.send(post(body));
  const entry = await upstream.waitFor(([first]) => first);
  await waitForStandstill('the upload', () => connection.socket.bytesWritten - connection.socket.writableLength);
  t.notOk(entry.bodyComplete);
  t.ok(upstream.connections[0] && upstream.connections[0].bytesReceived < 16 << 20, 'it holds back most of 32 MiB');
  gate.release();
  await sent;
  await connection.waitFor(({ responses }) => responses[0]?.complete);
  t.equal(entry.body.length, Buffer.byteLength(body));
});

await test('an early answer comes before the body', async (t) => {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave([{ kind: 'early', next: { kind: 'error', status: 413 } }]);
  const gate = createGate();
  const connection = await openRaw(upstream.port, { t });
  const bytes = post(chat());
  const sent = connection.send(bytes.slice(0, -5), gate, bytes.slice(-5));
  await connection.waitFor(({ responses }) => responses[0]?.status === 413);
  t.notOk(upstream.ledger[0]?.bodyComplete);
  gate.release();
  await sent;
  await connection.send(post(chat()));
  await connection.waitFor(({ responses }) => responses[1]?.complete);
  t.equal(connection.exchange().responses[1]?.status, 200, 'the connection is in step afterwards');
});

await test('the ledger knows when and how a client left', async (t) => {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave({ kind: 'hang' });
  for (const [index, how] of (['fin', 'rst'] as const).entries()) {
    const connection = await openRaw(upstream.port);
    await connection.send(post(chat()));
    const entry = await upstream.waitFor((ledger) => ledger[index]?.bodyComplete && ledger[index]);
    if (how === 'fin') connection.close();
    else connection.reset();
    const leftAtMs = performance.now();
    await upstream.waitFor(() => entry.clientClosedAtMs);
    t.match(entry, { finished: false, clientClose: how, bytesSent: 0 });
    t.ok(Math.abs((entry.clientClosedAtMs ?? 0) - leftAtMs) < 100, 'at that time');
  }

  const inBody = await openRaw(upstream.port);
  await inBody.send(post(chat()).slice(0, -5));
  await upstream.waitFor((ledger) => ledger[2]?.body.length);
  inBody.close();
  await upstream.waitFor((ledger) => ledger[2]?.clientClosedAtMs);
  t.match(upstream.ledger[2], { bodyComplete: false, clientClose: 'fin' });
});

await test('bytes sent stand still when the client stops reading', async (t) => {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave({ kind: 'endless-body' });
  const connection = await openRaw(upstream.port, { t });
  connection.pause();
  await connection.send(post(chat({ stream: true })));
  const entry = await upstream.waitFor(([first]) => first?.bytesSent && first);
  const last = await waitForStandstill('the stream', () => entry.bytesSent);
  connection.resume();
  await waitFor('the stream to go on', () => entry.bytesSent > last);
});

await test('the port behaves before any request', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const idle = await openRaw(upstream.port);
  await upstream.behave({ kind: 'refused' });
  await idle.waitFor(({ closedByServer }) => closedByServer);
  await t.rejects(rawRequest(upstream.port, post(chat())), { code: 'ECONNREFUSED' });

  await upstream.behave({ kind: 'full-backlog' });
  const socket = connect(upstream.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let connected = false;
  socket.on('connect', () => {
    connected = true;
  });
  socket.on('error', () => {});
  await new Promise((done) => setTimeout(done, 100));
  t.notOk(connected, 'a connect hangs');
  t.ok(socket.connecting);

  await upstream.behave({ kind: 'openai' });
  t.match((await rawRequest(upstream.port, post(chat()))).responses[0], { status: 200 }, 'the same port answers again');
  t.equal(upstream.ledger.length, 1, 'and saw nothing in between');

  const open = await openRaw(upstream.port);
  upstream.dropConnections('rst');
  await open.waitFor(({ closedHow }) => closedHow === 'rst');
});
