// Request bodies are read after the key and the limits are checked, held within a budget, and given back in every case.
import { t as suite, test } from 'tap';
import { chatCall, chatHead } from '../support/chat-call.ts';
import { ask, usageOf } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { sendAdminBodies } from '../support/floods.ts';
import { type Gateway, masterKey, startGateway } from '../support/gateway.ts';
import { openRaw, type RawConnection, type RawResponse } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const kibibyte = 1024;
const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, {
  upstream,
  config: {
    server: { body_limit: '512KiB', body_budget: '2MiB' },
    rate_limits: {
      user_paths: [
        { path: '/one', limits: [{ period: 'minute', max_requests: 1 }] },
        { path: '/slots', limits: [{ period: 'concurrent', max_requests: 1 }] },
        { path: '/late', limits: [{ period_seconds: 1, max_requests: 1 }] },
        {
          path: '/refused',
          limits: [
            { period: 'minute', max_requests: 1 },
            { period: 'concurrent', max_requests: 1 },
          ],
        },
      ],
    },
  },
});
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

const of = (path: string) => ({ 'X-Gateway-User-Path': path });
const body = { model: 'fake-small', messages: [{ role: 'user', content: 'hello' }] };
const text = JSON.stringify(body);
/** A call of so many bytes. */
const padded = (bytes: number): string => `${`${text.slice(0, -1)},"pad":"`.padEnd(bytes - 2, 'x')}"}`;

/** Sends bytes on a connection of its own; the answer, when it comes. */
async function knock(bytes: string): Promise<{ connection: RawConnection; answer: () => Promise<RawResponse> }> {
  const connection = await openRaw(gateway.port, { t: suite });
  await connection.send(bytes);
  return { connection, answer: () => answerOf(connection) };
}

const answerOf = (connection: RawConnection): Promise<RawResponse> =>
  connection.waitFor(({ responses }) => responses.find(({ complete, status }) => complete && status >= 200));

const codeOf = (answer: RawResponse): string => {
  const said = answer.json() as { code?: string; error?: { code: string } };
  return said.error?.code ?? said.code ?? 'none';
};

/** What an answer says in short, such as `429 rate_limit_exceeded`. */
const inShort = (answer: RawResponse): string => `${answer.status} ${answer.status < 300 ? 'ok' : codeOf(answer)}`;

const bodyBytes = async (through: Gateway = gateway): Promise<number> =>
  (await through.metric('gateway_request_body_bytes')) ?? Number.NaN;

/** The slots and the requests of a consumer that are taken. */
async function takenOf(path: string): Promise<{ inFlight: number; requests: number }> {
  const rules = await usageOf(gateway, path);
  const sum = (read: (rule: (typeof rules)[number]) => number): number =>
    rules.reduce((so, rule) => so + read(rule), 0);
  return { inFlight: sum((rule) => rule.in_flight), requests: sum((rule) => rule.requests_used) };
}

await test('under /admin the key is asked for before a byte of the body', async (t) => {
  const adminHead = (...lines: string[]): string =>
    [...lines, 'Host: a', 'Content-Type: application/json', 'Content-Length: 1048576', '', ''].join('\r\n');
  const post = 'POST /admin/auth-keys HTTP/1.1';
  const rows: [what: string, head: string, status: number, code: string][] = [
    ['no key', adminHead(post), 401, 'invalid_api_key'],
    ['a wrong key', adminHead(post, 'Authorization: Bearer wrong'), 401, 'invalid_api_key'],
    ['a key that only models know', adminHead(post, `x-api-key: ${masterKey}`), 401, 'invalid_api_key'],
    ['a path that is not there', adminHead('PATCH /admin/nothing HTTP/1.1'), 401, 'invalid_api_key'],
    ['a body that is awaited', adminHead(post, 'Expect: 100-continue'), 401, 'invalid_api_key'],
    ['too long a body', adminHead(post).replace('1048576', '1048577'), 401, 'invalid_api_key'],
    [
      'too long a body of an operator',
      adminHead(post, `Authorization: Bearer ${masterKey}`).replace('1048576', '1048577'),
      413,
      'body_too_large',
    ],
  ];
  for (const [what, head, status, code] of rows) {
    const { connection, answer } = await knock(head);
    const said = await answer();
    t.match(said.json(), { code, status_code: status }, what);
    t.same(
      connection.exchange().responses.map((response) => response.status),
      [status],
      `${what}: no client is asked to go on`,
    );
    connection.close();
  }
});

await test('at /v1 the key is asked for before a byte of the body', async (t) => {
  for (const more of [{}, { Expect: '100-continue' }]) {
    const head = chatHead(400 * kibibyte, more).replace(masterKey, 'wrong');
    const { connection, answer } = await knock(head);
    t.equal(inShort(await answer()), '401 invalid_api_key');
    t.equal(connection.exchange().responses.length, 1, 'no client is asked to go on');
    connection.close();
  }
});

await test('of refused clients that go on sending, sixteen are cut soon; the others wait, so that they cannot come back', async (t) => {
  const beganMs = performance.now();
  const flood = sendAdminBodies(t, gateway.port, { connections: 200 });
  await waitFor('two seconds', () => performance.now() - beganMs > 2_000);
  t.ok(flood.ended > 0, `${flood.ended} were cut`);
  // Sixteen every half second at most, not all 200 of them.
  t.ok(flood.ended <= 100, `${flood.ended} came back`);
  t.equal((await ask(gateway, '/free')).status, 200, 'others are served');
  flood.stop();
});

await test('a client that keeps trying keys under /admin has to wait', async (t) => {
  let last: RawResponse | undefined;
  const head = 'GET /admin/rate-limits HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n';
  for (let count = 0; count < 21 && last?.status !== 429; count += 1) {
    const { connection, answer } = await knock(head);
    last = await answer();
    connection.close();
  }
  t.equal(last?.status, 429);
  t.match(last?.json(), { code: 'too_many_failed_logins', type: 'rate_limit_error', status_code: 429 });
  t.equal(last?.header('x-should-retry'), 'false');
  t.ok(Number(last?.header('retry-after')) >= 1);
  const right = await gateway.fetch('/admin/rate-limits');
  t.equal(right.status, 429, 'no key of this address is looked at');
  await right.body?.cancel();
});

await test('a request beyond its limits is refused before its body is read', async (t) => {
  t.equal((await ask(gateway, '/one')).status, 200);
  const { answer } = await knock(chatHead(400 * kibibyte, of('/one')));
  t.equal(inShort(await answer()), '429 rate_limit_exceeded');
  const before = upstream.ledger.length;
  const knocks = await Promise.all(Array.from({ length: 20 }, () => knock(chatHead(400 * kibibyte, of('/slots')))));
  const refused = (): RawConnection[] =>
    knocks.map(({ connection }) => connection).filter((connection) => connection.exchange().raw.length > 0);
  await waitFor('all but one to be refused', () => refused().length === 19);
  for (const connection of refused()) t.equal(inShort(await answerOf(connection)), '429 rate_limit_exceeded');
  const [first] = knocks.filter(({ connection }) => connection.exchange().raw.length === 0);
  await first?.connection.send(padded(400 * kibibyte));
  t.equal((await first?.answer())?.status, 200, 'the first one holds the only slot, and is served');
  t.equal(upstream.ledger.length, before + 1);
});

await test('a request that the gateway refuses costs nothing, and its slot is free again', async (t) => {
  const json = { ...of('/refused') };
  const rows: [refusal: string, bytes: string][] = [
    ['400 invalid_json', chatCall('{', json)],
    ['400 invalid_model', chatCall('{}', json)],
    ['404 model_not_found', chatCall({ ...body, model: 'nothing' }, json)],
    ['413 body_too_large', chatHead(512 * kibibyte + 1, json)],
    [
      '413 body_too_large',
      `${chatHead('chunked', json)}${(512 * kibibyte + 1).toString(16)}\r\n${padded(512 * kibibyte + 1)}\r\n`,
    ],
    ['415 unsupported_encoding', chatCall(text, { ...json, 'Content-Encoding': 'gzip' })],
    ['400 malformed_request', `${chatHead('chunked', json)}no chunk`],
  ];
  for (const [refusal, bytes] of rows) {
    const { connection, answer } = await knock(bytes);
    t.equal(inShort(await answer()), refusal);
    t.same(await takenOf('/refused'), { inFlight: 0, requests: 0 }, refusal);
    connection.close();
  }
  for (const end of ['close', 'reset'] as const) {
    const { connection } = await knock(chatHead(1_000, json) + text);
    await waitFor('the body to be awaited', async () => (await takenOf('/refused')).inFlight === 1);
    t.equal((await takenOf('/refused')).requests, 1);
    connection[end]();
    await waitFor('the client to be missed', async () => (await takenOf('/refused')).inFlight === 0);
    t.same(await takenOf('/refused'), { inFlight: 0, requests: 0 });
  }
  t.equal((await ask(gateway, '/refused')).status, 200);
  t.equal(await bodyBytes(), 0);
});

await test('a body that takes longer than the window counts when it is there', async (t) => {
  const { connection, answer } = await knock(chatHead(text.length, of('/late')));
  await waitFor('it to be admitted', async () => (await takenOf('/late')).requests === 1);
  await waitFor('the window to forget it', async () => (await takenOf('/late')).requests === 0);
  const before = upstream.ledger.length;
  t.equal((await ask(gateway, '/late')).status, 200, 'another takes its place');
  await connection.send(text);
  t.equal(inShort(await answer()), '429 rate_limit_exceeded');
  t.equal(upstream.ledger.length, before + 1);
});

await test('bodies share a budget: beyond it they are refused before they are read, or while they come', async (t) => {
  const refusals = async () => (await gateway.metric('gateway_request_bodies_refused_total')) ?? 0;
  const before = await refusals();
  const size = 400 * kibibyte;
  const half = 300 * kibibyte;
  const open: RawConnection[] = [];
  /** Sends the beginning of a declared body and waits until it is held. */
  const hold = async (path: string): Promise<void> => {
    const atFirst = await bodyBytes();
    const { connection } = await knock(chatHead(size, of(path)) + padded(half));
    await waitFor('its bytes to be held', async () => (await bodyBytes()) >= atFirst + half);
    open.push(connection);
  };
  await hold('/x');
  const held = await bodyBytes();
  t.ok(held <= size, `${held} bytes are held of ${half} that were sent`);
  await hold('/x');
  const third = await (await knock(chatHead(size, of('/x')))).answer();
  t.equal(inShort(third), '503 overloaded', 'one consumer gets half of the budget');
  t.equal(third.header('retry-after'), '1');
  await hold('/y');
  await hold('/y');
  await hold('/z');
  t.equal(inShort(await (await knock(chatHead(size, of('/z')))).answer()), '503 overloaded', 'the budget is used up');
  const chunk = padded(200 * kibibyte);
  const chunked = `${chatHead('chunked', of('/z'))}${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  t.equal(inShort(await (await knock(chunked)).answer()), '503 overloaded', 'a body that does not say how long it is');
  t.equal((await ask(gateway, '/z')).status, 200, 'a short one still fits');
  t.equal((await refusals()) - before, 3);
  t.ok((await bodyBytes()) <= 2048 * kibibyte);
  await open[0]?.send(padded(size - half));
  for (const connection of open) connection.close();
  await waitFor('all to be given back', async () => (await bodyBytes()) === 0);
});

await test('a body counts until its request has ended, because it is in memory until then', async (t) => {
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate, next: { kind: 'openai' } });
  const size = 100 * kibibyte;
  const asked = upstream.ledger.length;
  const { answer } = await knock(chatHead(size, of('/x')) + padded(size));
  await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
  t.ok((await bodyBytes()) >= size);
  gate.release();
  t.equal((await answer()).status, 200);
  await waitFor('the body to be let go', async () => (await bodyBytes()) === 0);
});
