// How uploads end that do not just go through: refused, answered early, flooded, or cut by the end of the process.
import { t as suite, test } from 'tap';
import { createGate, type Field, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, startGateway, untilIdle } from '../support/gateway.ts';
import { openRaw, type RawConnection, rawRequest } from '../support/raw-http.ts';
import type { Teardown } from '../support/teardown.ts';
import { chunk, inChunks, inShort, lastAnswer, ofLength, uploadHead } from '../support/upload.ts';
import { waitFor } from '../support/wait-for.ts';

const kibibyte = 1024;
const upstream = await startFakeUpstream({ t: suite });
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { ok: true } }));

function start(t: Teardown, server: object): Promise<Gateway> {
  const limits = [{ period: 'concurrent', max_requests: 1 }];
  const rate_limits = { user_paths: [{ path: '/slots', limits }] };
  return startGateway(t, { upstream, config: { server, rate_limits } });
}
const gateway = await start(suite, { upload_limit: '200KiB' });

async function openUpload(t: Teardown, { port }: Gateway, framing: string, first: string): Promise<RawConnection> {
  const before = upstream.ledger.length;
  const connection = await openRaw(port, { t });
  await connection.send(uploadHead(framing), first);
  await upstream.waitFor((ledger) => (ledger[before]?.body.length ?? 0) > 0);
  return connection;
}

/** What comes back of it, without waiting for the end of the connection. */
async function ask(t: Teardown, bytes: string): Promise<string[]> {
  const connection = await openRaw(gateway.port, { t });
  await connection.send(bytes);
  await lastAnswer(connection);
  connection.close();
  return connection.exchange().responses.map(inShort);
}

await test('a body beyond the limit: before a byte when it says so, else in the middle', async (t) => {
  const before = upstream.ledger.length;
  t.same(await ask(t, uploadHead(ofLength(200 * kibibyte + 1))), ['413 body_too_large']);
  t.equal(upstream.ledger.length, before, 'the provider heard nothing');
  const piece = chunk('x'.repeat(100 * kibibyte));
  t.same(await ask(t, uploadHead(inChunks) + piece.repeat(3)), ['413 body_too_large']);
  await waitFor('the provider to be let go', () => upstream.ledger.at(-1)?.clientClosedAtMs);
  await untilIdle(gateway);
});

await test('Expect: 100-continue is answered by whoever wants the body', async (t) => {
  const wanted = ['fake', 'Expect: 100-continue'] as const;
  const size = 100 * kibibyte;
  const connection = await openRaw(gateway.port, { t });
  await connection.send(uploadHead(ofLength(size), ...wanted));
  await connection.waitFor(({ responses }) => responses[0]?.status === 100);
  await connection.send('x'.repeat(size));
  t.equal(inShort(await lastAnswer(connection)), '200 ok');
  t.equal(upstream.ledger.at(-1)?.header('expect'), undefined);

  const refused: [what: string, head: string, answer: string][] = [
    ['no key', uploadHead(ofLength(size), ...wanted).replace(masterKey, 'wrong'), '401 invalid_api_key'],
    ['too long', uploadHead(ofLength(size * 3), ...wanted), '413 body_too_large'],
    ['no such provider', uploadHead(ofLength(size), 'nobody', wanted[1]), '400 unknown_provider'],
  ];
  for (const [what, head, answer] of refused) {
    t.same(await ask(t, head), [answer], `${what}: nobody is asked to go on`);
  }
  await upstream.behave({ kind: 'refused' });
  const unreachable = await ask(t, uploadHead(ofLength(size), ...wanted));
  t.same(unreachable, ['502 upstream_unavailable'], 'nor where the provider is not there');
});

await test('an answer that comes before the body is complete reaches the client', async (t) => {
  const size = 150 * kibibyte;
  const early = [
    [{ kind: 'error', status: 409 }, '409 null'],
    [{ kind: 'json', body: { early: true } }, '200 ok'],
  ] as const;
  for (const [next, expected] of early) {
    await upstream.behave({ kind: 'early', next });
    const connection = await openRaw(gateway.port, { t });
    await connection.send(uploadHead(ofLength(size)), 'x'.repeat(70 * kibibyte));
    const answer = await lastAnswer(connection);
    t.equal(inShort(answer), expected);
    t.equal(answer.header('connection'), 'close');
    await connection.send('x'.repeat(size - 70 * kibibyte));
    await connection.waitFor(({ closedByServer }) => closedByServer);
    t.equal(connection.exchange().closedHow, 'fin', 'the rest is read, so that the answer is not lost');
    await untilIdle(gateway);
  }
});

await test('a kept connection that was closed meanwhile: what is short is sent again, an upload never needs to be', async (t) => {
  for (const body of ['{"a":1}', 'x'.repeat(100 * kibibyte)]) {
    const idle = await rawRequest(gateway.port, `${uploadHead(ofLength(1))}x`);
    t.equal(inShort(idle.responses[0]), '200 ok');
    upstream.dropConnections('rst');
    const { responses } = await rawRequest(gateway.port, uploadHead(ofLength(body.length)) + body);
    t.equal(inShort(responses[0]), '200 ok');
    t.equal(upstream.ledger.at(-1)?.body.toString(), body);
  }
});

await test('many slow uploads and bodies of one-byte chunks hold up nobody', async (t) => {
  const free = (head: string): string => head.replace('/slots', '/free');
  const slow = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const connection = await openRaw(gateway.port, { t });
      await connection.send(free(uploadHead(ofLength(150 * kibibyte))), 'x'.repeat(64));
      return connection;
    }),
  );
  const tiny = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const connection = await openRaw(gateway.port, { t });
      await connection.send(free(uploadHead(inChunks)));
      return connection;
    }),
  );
  await waitFor(
    'the provider to be asked for all',
    () => upstream.ledger.filter(({ bodyComplete }) => !bodyComplete).length >= 100,
  );
  const crumbs = '1\r\nx\r\n'.repeat(10_000);
  await Promise.all(tiny.map((connection) => connection.send(crumbs).catch(() => undefined)));
  await Promise.all(tiny.map((connection) => connection.waitFor(({ closedByServer }) => closedByServer)));
  const startedMs = performance.now();
  const { responses } = await rawRequest(gateway.port, `${uploadHead(ofLength(1))}x`);
  t.equal(inShort(responses[0]), '200 ok');
  t.comment(`another client is served in ${(performance.now() - startedMs).toFixed(0)} ms`);
  for (const connection of slow) connection.reset();
  await untilIdle(gateway);
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
  t.same(gateway.process.stderr, []);
});

await test('SIGTERM: an upload and a binary answer that can end do so; past the grace they are cut', async (t) => {
  for (const [grace, ends] of [
    ['10s', true],
    ['200ms', false],
  ] as const) {
    const ending = await start(t, { shutdown_grace: grace });
    const gate = createGate();
    const headers: Field[] = [['content-type', 'image/png']];
    const half = Buffer.alloc(1000, 0xff);
    await upstream.behave([
      { kind: 'json', body: { ok: true } },
      { kind: 'sse', chunks: [half, gate, half], headers },
    ]);
    const upload = await openUpload(t, ending, ofLength(100_000), 'x'.repeat(70_000));
    const download = await openRaw(ending.port, { t });
    await download.send(uploadHead(ofLength(0)).replace('POST', 'GET').replace('/slots', '/free'));
    await download.waitFor(({ responses }) => responses[0]?.body.length === 1000);
    ending.process.signal('SIGTERM');
    await ending.process.waitForLine('"draining"');
    if (ends) {
      gate.release();
      await upload.send('x'.repeat(30_000));
      t.equal(inShort(await lastAnswer(upload)), '200 ok');
      t.equal((await lastAnswer(download)).body.length, 2000);
    }
    t.same(await ending.process.exited, { code: 0, signal: null });
    if (ends) continue;
    await upload.waitFor(({ closedByServer }) => closedByServer);
    const { responses } = await download.waitFor((exchange) => exchange.closedByServer && exchange);
    t.notOk(responses[0]?.complete, 'a cut answer does not look whole');
    for (const entry of upstream.ledger.slice(-2))
      await waitFor('the provider to be let go', () => entry.clientClosedAtMs);
  }
});
