// Abusive clients on few connections: the memory and work they cause are bounded, and other clients are served meanwhile.
import { readdirSync } from 'node:fs';
import { t as suite, type Test, test } from 'tap';
import { chatHead, firstEvent } from '../support/chat-call.ts';
import { extent } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import {
  dripBehindUnread,
  type Flood,
  openIdle,
  pipelineAdmin,
  pipelineBehindStream,
  sendGarbage,
  sendTinyChunks,
} from '../support/floods.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { type HealthProbe, startHealthProbe } from '../support/health-probe.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
/** What a flood may add to the memory of the process; most of it is garbage that V8 has not collected yet. */
const mostGrownBytes = 64 * mebibyte;
/** What the buffers of the kernel take of a flood that is not read any more. */
const mostUnreadBytes = 16 * mebibyte;
/** How long others may wait while the machine does other things, too. Milliseconds. */
const mostWaitMs = 500;

/** How long a flood is endured. Milliseconds. */
const enduredMs = extent(1_200, 250);

suite.setTimeout(240_000);
const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, {
  upstream,
  config: '{}',
  execArgv: ['--max-old-space-size=256'],
  env: { NODE_V8_COVERAGE: undefined },
});
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

/** A stream that says one thing and then nothing, until it is let go. */
async function silentStreams(t: Test): Promise<void> {
  const gate = createGate();
  t.teardown(() => gate.release());
  await upstream.behave({ kind: 'sse', chunks: [firstEvent, gate] });
}

/** One for all floods of a test: its thread takes long to start. */
async function startProbe(t: Test): Promise<HealthProbe> {
  const probe = startHealthProbe(t, gateway.port);
  await waitFor('the probe to run', async () => (await probe.look()).answers > 0);
  return probe;
}

/** Lets a flood go on for a while: memory stays, and others are served. Gives the flood, which goes on. */
async function endure(t: Test, probe: HealthProbe, name: string, start: () => Flood): Promise<Flood> {
  const before = residentBytes(gateway.process);
  let most = before;
  const endMs = performance.now() + enduredMs;
  await probe.look();
  const slowdown = watchSlowdown(gateway.process);
  const flood = start();
  await waitFor('the flood to have lasted', () => {
    most = Math.max(most, residentBytes(gateway.process));
    return performance.now() > endMs || most - before > 2 * mostGrownBytes;
  });
  const looks = [await probe.look()];
  // The flood may be shorter than the longest wait that is allowed: the question that is open now is answered in time, too.
  await waitFor('one more answer', async () => looks.push(await probe.look()) && looks.at(-1)?.answers);
  const answers = looks.reduce((sum, look) => sum + look.answers, 0);
  const failures = looks.reduce((sum, look) => sum + look.failures, 0);
  const p99Ms = Math.max(...looks.map((look) => look.p99Ms));
  const slowestMs = Math.max(...looks.map((look) => look.slowestMs));
  const mib = (bytes: number): string => (bytes / mebibyte).toFixed(0);
  t.comment(
    `${name}: ${mib(before)} MiB before, at most ${mib(most)} MiB; ${mib(flood.sentBytes)} MiB sent, ${flood.ended} connections ended; ` +
      `/health p99 ${p99Ms.toFixed(0)} ms, slowest ${slowestMs.toFixed(0)} ms of ${answers}`,
  );
  t.ok(most - before < mostGrownBytes, `${name}: memory stays`);
  t.equal(failures, 0, `${name}: others are served`);
  t.ok(p99Ms < mostWaitMs * slowdown(), `${name}: within ${mostWaitMs} ms`);
  return flood;
}

const cutFor = async (reason: string): Promise<number> =>
  (await gateway.metric('gateway_connections_cut_total', { reason })) ?? Number.NaN;

await test('what one connection sends behind an open request is bounded, whatever it is', async (t) => {
  const probe = await startProbe(t);
  for (const padding of [0, 300]) {
    const flood = await endure(t, probe, `admin requests, padded by ${padding}`, () =>
      pipelineAdmin(t, gateway.port, { padding }),
    );
    flood.stop();
  }
  t.ok((await cutFor('pipelined')) > 0, 'a connection that sends hundreds at once is cut');
  for (const reads of [true, false]) {
    for (const padding of [0, 300]) {
      if (reads) await silentStreams(t);
      else await upstream.behave({ kind: 'endless-body' });
      const name = `chunked requests behind ${reads ? 'an open stream' : 'an unread answer'}, padded by ${padding}`;
      const flood = await endure(t, probe, name, () => pipelineBehindStream(t, gateway.port, { reads, padding }));
      if (padding > 0) t.ok(flood.sentBytes < mostUnreadBytes, 'what it sends is not read for now');
      flood.stop();
    }
  }
});

await test('requests that wait behind an answer are served in order, with bodies and without', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.release());
  await upstream.behave([{ kind: 'sse', chunks: [firstEvent, gate] }]);
  const call = '{"model":"fake-small","messages":[],"stream":true}';
  const connection = await openRaw(gateway.port, { t });
  await connection.send(`${chatHead(call.length, { 'X-Request-Id': 'first' })}${call}`);
  await connection.waitFor(({ responses }) => responses[0]?.body.length);
  const ids = Array.from({ length: 15 }, (_, index) => `waiting-${index}`);
  for (const [index, id] of ids.entries()) {
    const idLine = `X-Request-Id: ${id}\r\n`;
    const get = `GET /health HTTP/1.1\r\nHost: a\r\n${idLine}\r\n`;
    await connection.send(index % 2 === 0 ? get : `${chatHead(call.length, { 'X-Request-Id': id })}${call}`);
  }
  gate.release();
  const finals = await connection.waitFor(
    ({ responses }) => responses.length === 16 && responses.at(-1)?.complete && responses,
  );
  t.same(
    finals.map((response) => `${response.status} ${response.header('x-request-id')}`),
    ['first', ...ids].map((id) => `200 ${id}`),
  );
});

await test('requests before a broken one are all answered, then it is', async (t) => {
  const get = (id: string): string => `GET /health HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`;
  const chunked = `POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
  const broken = await rawRequest(gateway.port, `${get('a')}${get('b')}${get('c')}GET / HTTP/1.1\r\nX A: b\r\n\r\n`, {
    until: 'close',
  });
  t.same(
    broken.responses.map(({ status }) => status),
    [200, 200, 200, 400],
  );
  const long = await rawRequest(gateway.port, `${get('a')}${get('b')}${chunked}${get('c')}`, { until: 'close' });
  t.same(
    long.responses.map((response) => response.header('x-request-id')),
    ['a', 'b'],
    'one whose body cannot wait ends the connection',
  );
});

await test('a body in tiny chunks ends its connection at once', async (t) => {
  const probe = await startProbe(t);
  for (const isCall of [false, true]) {
    const before = await cutFor('tiny_chunks');
    const flood = await endure(t, probe, `tiny chunks ${isCall ? 'of a call' : 'to /health'}`, () =>
      sendTinyChunks(t, gateway.port, { isCall }),
    );
    flood.stop();
    t.ok(flood.ended > 0);
    t.ok((await cutFor('tiny_chunks')) > before, 'and is counted');
  }
  t.equal(upstream.ledger.filter(({ body }) => /^ +$/.test(body.toString())).length, 0, 'the provider gets none of it');
});

await test('a slow client that sends its body byte by byte is served', async (t) => {
  const body = JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'x'.repeat(6_000) }] });
  const { responses } = await rawRequest(gateway.port, [chatHead(body.length), ...Array.from(body)]);
  t.equal(responses[0]?.status, 200);
  const words = body.match(/.{1,20}/g) ?? [];
  const pieces = words.map((word) => `${word.length.toString(16)}\r\n${word}\r\n`).join('');
  const chunked = await rawRequest(gateway.port, `${chatHead('chunked')}${pieces}0\r\n\r\n`);
  t.equal(chunked.responses[0]?.status, 200);
});

await test('garbage behind an open answer is noticed once', async (t) => {
  const probe = await startProbe(t);
  await silentStreams(t);
  const flood = await endure(t, probe, 'garbage', () => sendGarbage(t, gateway.port));
  t.equal(flood.ended, 0, 'the answer before it goes on');
  t.ok(flood.sentBytes < mostUnreadBytes, 'nothing behind the first error is read');
  flood.stop();
  t.notMatch(gateway.process.stderr.join('\n'), /MaxListeners|Warning/);
});

await test('a client that reads nothing of its answer is cut after write_idle, even while it sends; one that reads is not', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': { server: { timeouts: { write_idle: '400ms' } } } });
  await upstream.behave({ kind: 'endless-body' });
  const call = '{"model":"fake-small","stream":true,"messages":[]}';
  const reader = await openRaw(gateway.port, { t });
  await reader.send(`${chatHead(call.length)}${call}`);
  await reader.waitFor(({ raw }) => raw.length);
  reader.pause();
  let readMiB = 0;
  reader.socket.on('data', (bytes: Buffer) => {
    readMiB += bytes.length / mebibyte;
  });
  // It reads for a moment only, again and again, so that the gateway always has more than it takes.
  const timer = setInterval(() => {
    reader.resume();
    setTimeout(() => reader.pause(), 5);
  }, 50);
  t.teardown(() => clearInterval(timer));

  const cutBefore = await cutFor('unread');
  const flood = dripBehindUnread(t, gateway.port, { everyMs: 50, again: false, connections: 3 });
  const startedMs = performance.now();
  await waitFor('them to be cut', () => flood.ended === 3);
  const cutMs = performance.now() - startedMs;
  t.comment(`cut after ${cutMs.toFixed(0)} ms`);
  t.ok(cutMs >= 400);
  await waitFor('them to be counted', async () => (await cutFor('unread')) === cutBefore + 3);
  const before = readMiB;
  await waitFor('the slow reader to have read on', () => readMiB > before + 4);
  t.notOk(reader.exchange().closedByServer);
});

await test('connections beyond the limit of files are refused, and all else goes on', async (t) => {
  const few = await startGateway(t, { upstream, config: '{}', descriptors: 256, env: { NODE_V8_COVERAGE: undefined } });
  // Those of the test itself come first.
  await few.metrics();
  const early = await openRaw(few.port, { t });
  await early.send('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  await early.waitFor(({ responses }) => responses[0]?.complete);
  const idle = openIdle(t, few.port, 400);
  await waitFor('most of them to be refused', () => idle.ended >= 300);
  const open = readdirSync(`/proc/${few.process.pid}/fd`).length;
  t.ok(open < 200, `${open} descriptors`);

  await early.send('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  await early.waitFor(({ responses }) => responses.length === 2 && responses[1]?.complete);
  t.equal(early.exchange().responses[1]?.status, 200, 'a connected client is served');
  t.equal((await chat(few)).status, 200, 'a provider is reached');
  await few.applyConfig({ 'gateway.yaml': { server: { max_connections_per_address: 20 } } });
  t.equal((await chat(few)).status, 200, 'a new config is in force');
  const refused = await few.metric('gateway_connections_refused_total', { reason: 'max_connections' });
  t.ok((refused ?? 0) >= 300, `${refused} were refused`);
  t.ok(((await few.metric('gateway_connections_open')) ?? 0) <= 96);

  idle.stop();
  await waitFor('them to be gone', async () => ((await few.metric('gateway_connections_open')) ?? 99) < 5);
  const some = openIdle(t, few.port, 30);
  await waitFor('those beyond the limit of an address to be refused', () => some.ended >= 10);
  const reason = 'max_connections_per_address';
  t.ok(((await few.metric('gateway_connections_refused_total', { reason })) ?? 0) >= 10);
  some.stop();
  await few.applyConfig({ 'gateway.yaml': { server: { max_connections: 10 } } });
  const more = openIdle(t, few.port, 20);
  await waitFor('those beyond the setting to be refused', () => more.ended >= 10);
  t.notMatch([...few.process.stdout, ...few.process.stderr].join('\n'), /EMFILE|"level":"(error|fatal)"/);
});

function chat(through: Gateway): Promise<{ status: number }> {
  return through.fetch('/v1/chat/completions', { method: 'POST', body: { model: 'fake-small', messages: [] } });
}

await test('nothing unexpected happened inside', async (t) => {
  t.notMatch(
    [...gateway.process.stdout, ...gateway.process.stderr].join('\n'),
    /unexpected failure|"level":"(error|fatal)"|Warning/,
  );
  t.ok(gateway.process.running);
});
