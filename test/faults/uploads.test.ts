// Bodies that are passed on while they come: they take no memory, and a client that stalls, leaves or floods holds nothing for long.
import { t as suite, test } from 'tap';
import { createServer } from '../../plane/http.ts';
import { extent } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, pause, type RawConnection, rawRequest } from '../support/raw-http.ts';
import { chunk, inChunks, inShort, lastAnswer, ofLength, uploadHead } from '../support/upload.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
const upstream = await startFakeUpstream({ t: suite });
/** A provider that counts what it is sent, and keeps nothing. */
const taken = { bytes: 0 };
const sink = createServer((request, response) => {
  request.on('data', (piece: Buffer) => {
    taken.bytes += piece.length;
  });
  request.on('end', () => response.end('{}'));
});
suite.teardown(() => sink.close());
const of = (base_url: string, more: object = {}) => {
  return { type: 'openai', base_url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['m'], ...more };
};
const providers = {
  fake: of(upstream.url),
  hasty: of(upstream.url, { timeouts: { first_byte: '300ms' } }),
  sink: of(`http://127.0.0.1:${await listen(sink)}/v1`),
};
const config = (timeouts: object) => ({
  server: { upload_limit: '400MiB', timeouts },
  providers,
  rate_limits: { user_paths: [{ path: '/slots', limits: [{ period: 'concurrent', max_requests: 1 }] }] },
});
const gateway = await startGateway(suite, { config: config({}) });
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { ok: true } }));

/** An upload of which a part has reached the provider. */
async function openUpload(framing: string, first: string, provider?: string): Promise<RawConnection> {
  const before = upstream.ledger.length;
  const connection = await openRaw(gateway.port, { t: suite });
  await connection.send(uploadHead(framing, provider), first);
  await upstream.waitFor((ledger) => (ledger[before]?.body.length ?? 0) > 0);
  return connection;
}

/** The provider was let go, and the consumer's only slot is free. */
async function untilLetGo(): Promise<void> {
  await waitFor('the provider to be let go', () => upstream.ledger.at(-1)?.clientClosedAtMs);
  await untilIdle(gateway);
  const { responses } = await rawRequest(gateway.port, `${uploadHead(ofLength(1), 'sink')}x`);
  if (responses[0]?.status !== 200) throw new Error(`the slot is still held: ${responses[0]?.text()}`);
}

await test('an upload takes no memory, with a length and in chunks', async (t) => {
  const piece = Buffer.alloc(mebibyte, 'u');
  const longMiB = extent(200, 96);
  await rawRequest(gateway.port, `${uploadHead(ofLength(8 * mebibyte), 'sink')}${'x'.repeat(8 * mebibyte)}`);
  for (const [framing, sizeMiB] of [
    [ofLength(longMiB * mebibyte), longMiB],
    [inChunks, 64],
  ] as const) {
    taken.bytes = 0;
    const before = residentBytes(gateway.process);
    let most = 0;
    const connection = await openRaw(gateway.port, { t });
    await connection.send(uploadHead(framing, 'sink'));
    const startedMs = performance.now();
    for (let sent = 0; sent < sizeMiB; sent += 1) {
      if (framing === inChunks) await connection.send(`${mebibyte.toString(16)}\r\n`, piece, '\r\n');
      else await connection.send(piece);
      most = Math.max(most, residentBytes(gateway.process));
    }
    if (framing === inChunks) await connection.send('0\r\n\r\n');
    t.equal((await lastAnswer(connection)).status, 200);
    t.equal(taken.bytes, sizeMiB * mebibyte);
    const moreMiB = (most - before) / mebibyte;
    const tookMs = performance.now() - startedMs;
    t.comment(`${sizeMiB} MiB in ${tookMs.toFixed(0)} ms, ${moreMiB.toFixed(1)} MiB more memory`);
    t.ok(moreMiB <= 32, `${framing}: ${moreMiB.toFixed(1)} MiB`);
    connection.close();
  }
});

await test('the framing of the client is that of the provider', async (t) => {
  for (const [framing, body, length, coding] of [
    [ofLength(70_000), 'b'.repeat(70_000), '70000', undefined],
    [inChunks, `${chunk('c'.repeat(70_000))}${chunk('d')}0\r\n\r\n`, undefined, 'chunked'],
    [inChunks, `${chunk('short')}0\r\n\r\n`, '5', undefined],
  ] as const) {
    const before = upstream.ledger.length;
    await rawRequest(gateway.port, uploadHead(framing) + body);
    const entry = upstream.ledger[before];
    t.same([entry?.header('content-length'), entry?.header('transfer-encoding')], [length, coding]);
    t.ok(entry?.bodyComplete);
  }
});

// Not before: what this process does on a busy machine may take longer.
await gateway.applyConfig({ 'gateway.yaml': config({ headers: '300ms', body: '300ms' }) });

await test('a provider that does not read holds its client up, and is given up in the end', async (t) => {
  const gate = createGate();
  await upstream.behave({ kind: 'stop-reading', gate, next: { kind: 'json', body: { ok: true } } });
  const before = residentBytes(gateway.process);
  const connection = await openRaw(gateway.port, { t });
  await connection.send(uploadHead(ofLength(64 * mebibyte)));
  for (let sent = 0; sent < 64; sent += 1) connection.socket.write(Buffer.alloc(mebibyte));
  const leftBytes = await waitForStandstill('the client', () => connection.socket.writableLength, 300);
  t.ok(leftBytes > 32 * mebibyte, `${leftBytes} bytes are held up at the client, for longer than timeouts.body`);
  t.ok(residentBytes(gateway.process) - before < 20 * mebibyte);
  gate.release();
  t.equal(inShort(await lastAnswer(connection)), '200 ok');
  t.equal(upstream.ledger.at(-1)?.body.length, 64 * mebibyte);
  connection.close();

  await upstream.behave({ kind: 'stop-reading' });
  const late = await openRaw(gateway.port, { t });
  await late.send(uploadHead(ofLength(64 * mebibyte), 'hasty'));
  for (let sent = 0; sent < 64; sent += 1) late.socket.write(Buffer.alloc(mebibyte));
  t.equal(inShort(await lastAnswer(late)), '504 upstream_timeout');
  late.close();
  upstream.dropConnections('rst');
});

await test('a client that leaves or stalls is not waited for; one that only takes its time is', async (t) => {
  const left = await openUpload(ofLength(mebibyte), 'a'.repeat(70_000));
  left.reset();
  await untilLetGo();
  const half = await openUpload(inChunks, chunk('a'.repeat(70_000)));
  half.reset();
  await untilLetGo();

  for (const [framing, first] of [
    [ofLength(mebibyte), 'a'.repeat(70_000)],
    [inChunks, chunk('a'.repeat(70_000))],
  ] as const) {
    const stalled = await openUpload(framing, first);
    t.equal(inShort(await lastAnswer(stalled)), '408 request_timeout', framing);
    await untilLetGo();
  }

  const slow = await openUpload(ofLength(70_020), 'a'.repeat(70_000));
  for (let sent = 0; sent < 20; sent += 1) await slow.send('b', pause(50));
  t.equal(inShort(await lastAnswer(slow)), '200 ok', 'a second in all, and never 300 ms of silence');
  slow.close();
});
