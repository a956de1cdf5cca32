// How uploads end that do not just go through: refused, answered early, flooded, or cut by the end of the process.
import { t as suite, test } from 'tap';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, providerKey, startGateway, untilIdle } from '../support/gateway.ts';
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
  const { url: base_url, models } = upstream;
  const fake = { type: 'openai', base_url, api_key: providerKey, models: [...models], dialects: ['chat', 'audio'] };
  return startGateway(t, { config: { server, rate_limits, providers: { fake } } });
}
const gateway = await start(suite, { upload_limit: '200KiB' });

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

await test('Expect: 100-continue is answered only when the body is wanted', async (t) => {
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
    t.same(await ask(t, head), [answer], `${what}: the client is not asked to go on`);
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

await test('many slow uploads and bodies of one-byte chunks hold up no other request', async (t) => {
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

/** A call that is open when SIGTERM comes. */
interface OpenCall {
  readonly what: string;
  readonly sent: string;
  /** What the client still has to send; empty: the provider still has to answer. */
  readonly rest: string;
  /** Of the answer, when the call can end. Bytes. */
  readonly length: number;
}

const half = Buffer.alloc(1000, 0xff);
const event = 'data: {"delta":"a"}\n\n';
const form = (name: string, more = '') => `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
const file = `${form('purpose')}user_data\r\n${form('file', '; filename="a"')}${'x'.repeat(70_000)}`;
const speech = '{"model":"fake-small","input":"a","voice":"b"}';
const headOf = (line: string, ...lines: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: gateway.test', `Authorization: Bearer ${masterKey}`, ...lines, '', ''].join('\r\n');
const openCalls: readonly OpenCall[] = [
  {
    what: 'an upload through the passthrough',
    sent: uploadHead(ofLength(100_000)) + 'x'.repeat(70_000),
    rest: 'x'.repeat(30_000),
    length: 11,
  },
  {
    what: 'a file',
    sent: headOf('POST /v1/files', 'Content-Type: multipart/form-data; boundary=b', inChunks) + chunk(file),
    rest: `${chunk('\r\n--b--\r\n')}0\r\n\r\n`,
    length: 11,
  },
  { what: 'a picture from the passthrough', sent: headOf('GET /p/fake/picture'), rest: '', length: 2 * half.length },
  { what: 'events from the passthrough', sent: headOf('GET /p/fake/events'), rest: '', length: 2 * event.length },
  {
    what: 'speech',
    sent: headOf('POST /v1/audio/speech', 'Content-Type: application/json', ofLength(speech.length)) + speech,
    rest: '',
    length: 2 * half.length,
  },
];

/** Begins each call, until the provider has half of it, or the client half of its answer. */
async function openAll(t: Teardown, { port }: Gateway): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  for (const { what, sent, rest } of openCalls) {
    const before = upstream.ledger.length;
    const connection = await openRaw(port, { t });
    await connection.send(sent);
    await waitFor(`${what} to be open`, () =>
      rest === '' ? connection.exchange().responses[0]?.body.length : upstream.ledger[before]?.body.length,
    );
    connections.push(connection);
  }
  return connections;
}

await test('SIGTERM: calls that are passed on end if they can; past the grace they are cut, and look so', async (t) => {
  for (const [grace, ends] of [
    ['10s', true],
    ['200ms', false],
  ] as const) {
    const ending = await start(t, { shutdown_grace: grace });
    const gate = createGate();
    const halves = (type: string, part: Buffer | string): Behaviour => {
      return { kind: 'sse', chunks: [part, gate, part], headers: [['content-type', type]] };
    };
    await upstream.behave(({ path }) => {
      if (path === '/v1/files') return { kind: 'json', body: { ok: true } };
      if (path === '/v1/events') return halves('text/event-stream', event);
      return halves(path === '/v1/picture' ? 'image/png' : 'audio/mpeg', half);
    });
    const connections = await openAll(t, ending);
    ending.process.signal('SIGTERM');
    await ending.process.waitForLine('"draining"');
    if (ends) {
      gate.release();
      for (const [index, { what, rest, length }] of openCalls.entries()) {
        const connection = connections[index] as RawConnection;
        if (rest !== '') await connection.send(rest);
        const { status, body } = await lastAnswer(connection);
        t.same([status, body.length], [200, length], what);
      }
    }
    t.same(await ending.process.exited, { code: 0, signal: null });
    if (ends) continue;
    for (const [index, { what }] of openCalls.entries()) {
      const connection = connections[index] as RawConnection;
      const { responses } = await connection.waitFor((exchange) => exchange.closedByServer && exchange);
      t.notOk(responses[0]?.complete, `${what}: an answer that is cut does not look whole`);
    }
    for (const entry of upstream.ledger.slice(-openCalls.length))
      await waitFor('the provider to be let go', () => entry.clientClosedAtMs);
  }
});
