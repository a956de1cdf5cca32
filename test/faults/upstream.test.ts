// A provider may do anything at all: the client gets an honest answer in time, and nothing of the gateway stays occupied.
import { writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import { chatCall, firstEvent } from '../support/chat-call.ts';
import {
  type Behaviour,
  createGate,
  type FakeUpstream,
  fin,
  rst,
  type Step,
  silence,
  startFakeUpstream,
  upstreamFaults,
} from '../support/fake-upstream.ts';
import { type Gateway, providerKey, startGateway, untilIdle } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const path = '/v1/chat/completions';
const impatient = { connect: '300ms', first_byte: '300ms', stream_idle: '300ms' };
const upstream = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });
const third = await startFakeUpstream({ t: suite });

function provider({ url, models }: FakeUpstream, timeouts: object = impatient) {
  return { type: 'openai', base_url: url, api_key: providerKey, models, timeouts };
}

const config = {
  providers: {
    fake: provider(upstream),
    // Nothing but the connect timeout can end a call that is not accepted.
    patient: provider(upstream, { connect: '300ms' }),
    hurried: provider(upstream, { ...impatient, total: '300ms' }),
    second: provider(second),
    unknown: { ...provider(upstream), base_url: 'http://no-such-host.invalid/v1' },
  },
  aliases: [
    { source: 'pair', targets: [{ model: 'fake/fake-small', weight: 100_000 }, { model: 'second/fake-small' }] },
    { source: 'lost', targets: [{ model: 'unknown/fake-small', weight: 100_000 }, { model: 'second/fake-small' }] },
    {
      source: 'weighted',
      targets: [
        { model: 'fake/fake-small', weight: 5 },
        { model: 'fake/fake-large', weight: 3 },
        { model: 'fake/fake-embedding', weight: 2 },
      ],
    },
  ],
};
const gateway = await startGateway(suite, { config });
/** With more patience than the tests have: what it frees it frees because the client left. */
const patient = await startGateway(suite, { config: { providers: { fake: provider(upstream, {}) } } });

suite.beforeEach(async () => {
  await upstream.behave({ kind: 'openai' });
  await second.behave({ kind: 'openai' });
});
suite.afterEach(() => untilIdle(gateway));

interface Heard {
  status: number;
  /** At most the first and the last 64 KiB. */
  start: string;
  end: string;
  bytes: number;
  /** The connection broke before the answer was complete. */
  isBroken: boolean;
  ms: number;
  retryAfter: string | null;
}

/** One call, however it ends; only a little of the body is kept. */
async function call(model: string, stream = false, through: Gateway = gateway): Promise<Heard> {
  const startedAtMs = performance.now();
  const response = await through.fetch(path, {
    method: 'POST',
    body: { model, stream, messages: [{ role: 'user', content: 'hello' }] },
    signal: AbortSignal.timeout(5000),
  });
  const retryAfter = response.headers.get('retry-after');
  const heard = { status: response.status, start: '', end: '', bytes: 0, isBroken: false, ms: 0, retryAfter };
  try {
    for await (const piece of response.body ?? []) {
      const bytes: Uint8Array = piece;
      heard.bytes += bytes.length;
      if (heard.start.length < 65_536) heard.start += Buffer.from(bytes).toString('latin1');
      heard.end = (heard.end + Buffer.from(bytes.subarray(-65_536)).toString('latin1')).slice(-65_536);
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') throw error;
    heard.isBroken = true;
  }
  heard.ms = performance.now() - startedAtMs;
  return heard;
}

interface Envelope {
  code: string | null;
  message: string;
  param: string | null;
  type: string;
  provider?: string;
}

function envelopeIn(text: string): Envelope {
  return (JSON.parse(text) as { error: Envelope }).error;
}

/** The error event that ends a broken stream; nothing when the stream does not end with one. */
function lastError({ end }: Heard): Envelope | undefined {
  const [event] = /data: \{"error":.*\}\n\n$/.exec(end) ?? [];
  return event === undefined ? undefined : envelopeIn(event.slice('data: '.length));
}

type Expected =
  /** An envelope with this status and code. */
  | readonly [status: number, code: string]
  /** The provider's answer, whole. */
  | 'whole'
  /** Relayed until it broke, and then the connection is broken, too. */
  | 'broken'
  /** 200, and an error event with this code instead of [DONE]. */
  | { endsWith: string };

const unreachable = [502, 'upstream_unavailable'] as const;
const disconnected = [502, 'upstream_disconnected'] as const;
const invalid = [502, 'upstream_invalid_response'] as const;
const late = [504, 'upstream_timeout'] as const;
const incomplete = { endsWith: 'stream_incomplete' };

/** For each fault what the client of a JSON call and of a stream gets. */
const verdicts: Record<keyof typeof upstreamFaults, readonly [json: Expected, stream: Expected, model?: string]> = {
  'refuses the connection': [unreachable, unreachable],
  'never accepts the connection': [unreachable, unreachable, 'patient/fake-small'],
  'resets before the headers': [disconnected, disconnected],
  'closes before the headers': [disconnected, disconnected],
  'never answers': [late, late],
  'speaks no HTTP': [invalid, invalid],
  'sends a header of 1 MB': [invalid, invalid],
  'sends 20,000 headers': [invalid, invalid],
  'sends 2,000 informational responses': [invalid, invalid],
  'sends two Content-Lengths': [invalid, invalid],
  'sends Content-Length with Transfer-Encoding': [invalid, invalid],
  'sends less than its Content-Length': [disconnected, incomplete],
  'closes inside a chunk': [disconnected, incomplete],
  'resets inside a chunk': [disconnected, incomplete],
  'sends a bad chunk size': [invalid, { endsWith: 'upstream_invalid_response' }],
  'cuts a body that ends with the connection': [invalid, incomplete],
  'stalls in the middle': [late, { endsWith: 'upstream_timeout' }],
  'drips for ever': [late, { endsWith: 'upstream_timeout' }, 'hurried/fake-small'],
  'never ends its body': ['broken', { endsWith: 'upstream_timeout' }, 'hurried/fake-small'],
  'sends an event line of 100 MB': ['whole', 'whole', 'patient/fake-small'],
  'sends a gzip bomb': ['whole', { endsWith: 'upstream_invalid_response' }, 'patient/fake-small'],
  'stacks six encodings': ['whole', invalid],
  'answers 101': [invalid, invalid],
  'answers 099': [invalid, invalid],
  'answers 999': [invalid, invalid],
  'answers 204 with a body': [invalid, invalid],
  'answers twice': ['whole', 'whole'],
  'redirects elsewhere': [invalid, invalid],
  'answers 200 with HTML': [invalid, invalid],
};

for (const [name, verdict] of Object.entries(verdicts)) {
  await test(`a provider that ${name}`, async (t) => {
    const [json, stream, model = 'fake/fake-small'] = verdict;
    const fault = upstreamFaults[name as keyof typeof upstreamFaults];
    const behaviour: Behaviour =
      fault.kind === 'redirect' ? { ...fault, location: `${third.url}/chat/completions` } : fault;
    for (const [expected, isStream] of [
      [json, false],
      [stream, true],
    ] as const) {
      await upstream.behave({ kind: 'openai' });
      const asked = upstream.ledger.length;
      const isEncoded = fault.kind === 'gzip' || fault.kind === 'stacked-encodings';
      await upstream.behave(behaviour);
      const restingBytes = residentBytes(gateway.process);
      // A stream has to be read, so it is undone; a whole answer passes as it is.
      if (isEncoded && !isStream) await relaysEncoded();
      else {
        const heard = await call(model, isStream);
        t.ok(heard.ms < 2500, `no hang: ${heard.ms.toFixed(0)} ms`);
        holds(heard, expected);
      }
      const grownBytes = residentBytes(gateway.process) - restingBytes;
      t.ok(grownBytes < 96 << 20, `memory stays: ${(grownBytes / 2 ** 20).toFixed(1)} MiB`);
      const attempts = upstream.ledger.length - asked;
      t.equal(attempts, expected === unreachable ? 0 : 1, 'asked once at most');
      if (expected === late || typeof expected === 'object') {
        await waitFor('the provider to be let go', () =>
          upstream.ledger.slice(asked).every((entry) => entry.finished || entry.clientClosedAtMs !== undefined),
        );
      }

      await upstream.behave({ kind: 'openai' });
      const next = await call(model, isStream);
      t.equal(next.status, 200, 'the next request works');
      t.match(next.end, isStream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"stop"/);
      t.notMatch(next.start, 'smuggled');
    }
    await untilIdle(gateway);
    t.equal(third.ledger.length, 0, 'no other provider is asked');

    function holds(heard: Heard, expected: Expected): void {
      if (Array.isArray(expected)) {
        const [status, code] = expected as readonly [number, string];
        t.equal(heard.status, status);
        const error = envelopeIn(heard.end);
        t.same(error, {
          code,
          message: error.message,
          param: null,
          type: 'provider_error',
          provider: model.split('/')[0],
        });
        t.match(error.message, /^(The provider|The TLS)/);
        t.notMatch(heard.end, /127\.0\.0\.1|localhost|ECONN|UND_ERR|HPE_|sk-/, 'no address, no inner code, no key');
        return;
      }
      t.equal(heard.status, 200);
      t.equal(heard.isBroken, expected === 'broken');
      if (typeof expected === 'object' && 'endsWith' in expected) {
        const error = lastError(heard);
        t.match(error, { code: expected.endsWith, type: 'provider_error', param: null, provider: model.split('/')[0] });
        const before = heard.end.slice(0, heard.end.lastIndexOf('data: {"error"'));
        t.ok(before === '' || before.endsWith('\n\n'), 'as an event of its own');
        if (fault.kind !== 'short-body') t.notMatch(heard.end, /\[DONE\]/);
      }
      if (expected === 'whole')
        t.match(heard.end, isStreamLike(heard) ? /data: \[DONE\]\n\n$/ : /"finish_reason":"stop".*\}$/);
      if (fault.kind === 'long-sse-line') t.ok(heard.bytes > 100_000_000, 'every byte of it');
    }

    async function relaysEncoded(): Promise<void> {
      const request = chatCall({ model }, { Connection: 'close' });
      const { responses } = await rawRequest(gateway.port, request, { until: 'close' });
      t.equal(responses[0]?.status, 200);
      t.match(responses[0]?.header('content-encoding'), /^gzip(, gzip)*$/, 'says what it is');
      t.same(responses[0]?.body.subarray(0, 2), Buffer.from([0x1f, 0x8b]), 'and is passed on as it is');
      t.equal(responses[0]?.complete, true);
    }
  });
}

function isStreamLike({ start }: Heard): boolean {
  return start.startsWith('data: ');
}

await test('an unknown host name', async (t) => {
  const { status, end } = await call('unknown/fake-small');
  t.equal(status, 502);
  t.match(envelopeIn(end), { code: 'upstream_dns', type: 'provider_error', provider: 'unknown' });
});

await test('bodies that are no answer, whatever their status says', async (t) => {
  for (const body of ['', '{}', ' \n', 'null', '[]', 'oops', '{"id":"a","choices":[{"mess']) {
    await upstream.behave({ kind: 'json', body });
    const heard = await call('fake/fake-small');
    t.equal(heard.status, 502, JSON.stringify(body));
    t.match(envelopeIn(heard.end), { code: 'upstream_invalid_response', provider: 'fake' });
  }
  const error = (code: unknown) => ({ error: { message: 'too much', type: 'x', param: null, code } });
  for (const [code, status, type] of [
    [429, 429, 'rate_limit_error'],
    ['503', 503, 'provider_error'],
    [401, 401, 'authentication_error'],
    ['weird', 502, 'provider_error'],
    [null, 502, 'provider_error'],
    [200, 502, 'provider_error'],
  ] as const) {
    for (const isStream of [false, true]) {
      const text = JSON.stringify(error(code));
      await upstream.behave(isStream ? { kind: 'sse', chunks: [`data: ${text}\n\n`] } : { kind: 'json', body: text });
      const heard = await call('fake/fake-small', isStream);
      t.equal(heard.status, status, `an error object with code ${code} inside a 200`);
      t.match(envelopeIn(heard.end), { message: 'too much', type, provider: 'fake' });
    }
  }
  await upstream.behave({ kind: 'sse', chunks: [] });
  const empty = await call('fake/fake-small', true);
  t.equal(empty.status, 502, 'a stream without a byte');
  t.match(envelopeIn(empty.end), { code: 'upstream_invalid_response' });
});

await test('a provider that answers a byte at a time is cut off, and costs next to nothing until then', async (t) => {
  const crumbs = '1\r\nx\r\n'.repeat(100_000);
  await call('patient/fake-small');
  const resting = residentBytes(gateway.process);
  for (const [stream, type] of [
    [false, 'application/json'],
    [true, 'text/event-stream'],
  ] as const) {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    await upstream.behave({ kind: 'raw', steps: [head, crumbs, silence] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('patient/fake-small', stream)));
    for (const answer of answers) {
      const error = stream ? lastError(answer) : envelopeIn(answer.start);
      t.match(error, { code: 'upstream_invalid_response', message: /chunks of a few bytes/, provider: 'patient' });
    }
    t.same(
      answers.map(({ status }) => status),
      answers.map(() => (stream ? 200 : 502)),
    );
  }
  const grown = (residentBytes(gateway.process) - resting) / 2 ** 20;
  t.ok(grown < 40, `grown by ${grown.toFixed(1)} MiB`);
});

await test('a stream is cut wherever it is cut, also behind words that only look like its end', async (t) => {
  const event = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`;
  for (const [name, chunks] of [
    ['between events', [event('one'), fin]],
    ['inside an event', [event('one'), 'data: {"choices":[{"ind', fin]],
    ['inside its first event', ['data: {"choices":[{"ind', fin]],
    ['by a reset', [event('one'), 'data: {"cho', rst]],
    ['behind the word', [event('[DONE]'), fin]],
    ['inside the terminal event', [event('one'), 'data: [DON', fin]],
  ] satisfies [string, Step[]][]) {
    await upstream.behave({ kind: 'sse', chunks, framing: 'eof' });
    const asked = upstream.ledger.length;
    const heard = await call('fake/fake-small', true);
    if (heard.status !== 200) {
      t.equal(name, 'inside its first event', 'nothing was relayed yet');
      t.match(envelopeIn(heard.end), { code: /upstream_disconnected|upstream_invalid_response|stream_incomplete/ });
      continue;
    }
    t.match(lastError(heard), { code: 'stream_incomplete', provider: 'fake' }, name);
    for (const part of heard.end.split('\n\n').filter(Boolean)) {
      t.doesNotThrow(() => JSON.parse(part.slice('data: '.length)), `${name}: every event is whole: ${part}`);
    }
    t.notMatch(heard.end, /^data: \[DONE\]/m);
    t.equal(upstream.ledger.length, asked + 1, 'and no provider is asked again');
  }
});

await test("the provider's own refusals keep their status; Retry-After becomes sane", async (t) => {
  for (const status of [400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 529]) {
    await upstream.behave({ kind: 'error', status, message: 'these words' });
    const heard = await call('fake/fake-small');
    t.equal(heard.status, status);
    t.match(envelopeIn(heard.end), { message: 'these words', provider: 'fake' });
  }
  for (const [retryAfter, relayed] of [
    ['7', '7'],
    ['0', '1'],
    ['1000000000', '86400'],
    ['soon', null],
    ['-5', null],
    ['1.5', '2'],
    ['Wed, 21 Oct 2015 07:28:00 GMT', '1'],
  ] as const) {
    await upstream.behave({ kind: 'error', status: 429, retryAfter });
    t.equal((await call('fake/fake-small')).retryAfter, relayed, `Retry-After: ${retryAfter}`);
  }
});

await test("what else the provider's refusal says arrives, but never its key", async (t) => {
  const error = { message: `bad key ${providerKey}`, type: 'odd', metadata: { [providerKey]: [providerKey], seen: 1 } };
  await upstream.behave({
    kind: 'json',
    status: 429,
    body: gzipSync(JSON.stringify([{ error }])),
    headers: [
      ['content-encoding', 'gzip'],
      ['x-should-retry', 'false'],
      ['retry-after-ms', '1500.5'],
    ],
  });
  const response = await gateway.fetch(path, { method: 'POST', body: { model: 'fake/fake-small' } });
  t.equal(response.headers.get('x-should-retry'), 'false');
  t.equal(response.headers.get('retry-after-ms'), '1501');
  t.same(await response.json(), {
    error: {
      metadata: { '[redacted]': ['[redacted]'], seen: 1 },
      provider_type: 'odd',
      code: null,
      message: 'bad key [redacted]',
      param: null,
      type: 'rate_limit_error',
      provider: 'fake',
    },
  });
});

await test('each timeout takes as long as it says', async (t) => {
  for (const [name, behaviour, model, stream] of [
    ['connect', { kind: 'full-backlog' }, 'patient/fake-small', false],
    ['first_byte', { kind: 'hang' }, 'fake/fake-small', false],
    ['first_byte, headers alone', { kind: 'stall', after: 0 }, 'fake/fake-small', true],
    ['stream_idle', { kind: 'stall' }, 'fake/fake-small', true],
    ['total', { kind: 'drip' }, 'hurried/fake-small', true],
  ] as const) {
    await upstream.behave(behaviour);
    const { ms, end } = await call(model, stream);
    t.comment(`${name}: ${ms.toFixed(0)} ms of 300`);
    t.ok(ms >= 240 && ms <= 1500, `${name}: ${ms} ms`);
    t.match(end, /upstream_timeout|upstream_unavailable/);
    await upstream.behave({ kind: 'openai' });
  }
});

await test('a client that leaves its answer unread is cut, and the provider let go', async (t) => {
  const strict = await startGateway(t, { config: { ...config, server: { timeouts: { write_idle: '300ms' } } } });
  for (const [name, behaviour, more] of [
    ['a stream', { kind: 'endless-body' }, ',"stream":true'],
    ['a long answer', { kind: 'endless-body' }, ''],
    ['an answer that is complete', { kind: 'json', body: `{"pad":"${'p'.repeat(24 << 20)}"}` }, ''],
  ] as const) {
    await upstream.behave(behaviour);
    const asked = upstream.ledger.length;
    const connection = await openRaw(strict.port, { t });
    await connection.send(chatCall(`{"model":"fake/fake-small"${more}}`));
    connection.pause();
    await upstream.waitFor((ledger) => ledger[asked]?.bytesSent);
    await untilIdle(strict);
    const entry = upstream.ledger[asked];
    await waitFor('the provider to be let go', () => entry?.finished || entry?.clientClosedAtMs);
    connection.resume();
    await connection.waitFor(({ closedByServer }) => closedByServer);
    t.equal(connection.exchange().responses[0]?.complete, false, `${name} was cut`);
    connection.close();
  }
});

await test('an alias goes on to its next target when that is safe, and only then', async (t) => {
  for (const [name, behaviour, expected, attempts, stream] of [
    ['refused', { kind: 'refused' }, 200, [0, 1], false],
    ['not accepted', { kind: 'full-backlog' }, 200, [0, 1], false],
    ['429', { kind: 'error', status: 429 }, 200, [1, 1], false],
    ['500', { kind: 'error', status: 500 }, 200, [1, 1], false],
    ['503', { kind: 'error', status: 503 }, 200, [1, 1], true],
    ['529', { kind: 'error', status: 529 }, 200, [1, 1], true],
    ['a reset once the request was sent', { kind: 'reset' }, 502, [1, 0], false],
    ['a close once the request was sent', { kind: 'fin' }, 502, [1, 0], true],
    ['silence once the request was sent', { kind: 'hang' }, 504, [1, 0], false],
    ['nonsense', { kind: 'not-http' }, 502, [1, 0], false],
    ['a broken body', { kind: 'short-body' }, 502, [1, 0], false],
    ['a broken stream', { kind: 'reset-in-chunk' }, 200, [1, 0], true],
    ['400', { kind: 'error', status: 400 }, 400, [1, 0], false],
    ['401', { kind: 'error', status: 401 }, 401, [1, 0], false],
    ['404', { kind: 'error', status: 404 }, 404, [1, 0], false],
  ] as const) {
    await upstream.behave(behaviour);
    const before = [upstream.ledger.length, second.ledger.length];
    const heard = await call('pair', stream);
    t.equal(heard.status, expected, name);
    const after = [upstream.ledger.length, second.ledger.length];
    t.same(
      after.map((length, index) => length - (before[index] ?? 0)),
      attempts,
      `${name}: attempts at the first and the second`,
    );
    if (expected !== 200) t.match(envelopeIn(heard.end), { provider: 'fake' });
    await upstream.behave({ kind: 'openai' });
  }
  t.equal((await call('lost')).status, 200, 'a name that does not resolve');

  await upstream.behave({ kind: 'error', status: 429, retryAfter: '5' });
  await second.behave({ kind: 'error', status: 429, retryAfter: '9' });
  const both = await call('pair');
  t.equal(both.status, 429, 'all of them refuse');
  t.match(envelopeIn(both.end), { type: 'rate_limit_error', provider: 'second' });
  t.equal(both.retryAfter, '9');
  await upstream.behave({ kind: 'refused' });
  await second.behave({ kind: 'refused' });
  t.equal((await call('pair')).status, 502, 'none of them is there');
});

await test('weighted round robin is exact over 100 requests, one by one or ten at a time', async (t) => {
  for (const atOnce of [1, 10]) {
    const before = upstream.ledger.length;
    for (let sent = 0; sent < 100; sent += atOnce) {
      const calls = await Promise.all(Array.from({ length: atOnce }, () => call('weighted')));
      for (const { status } of calls) if (status !== 200) t.fail(`status ${status}`);
    }
    const models = upstream.ledger.slice(before).map((entry) => (entry.json() as { model: string }).model);
    const count = (model: string, among = models) => among.filter((each) => each === model).length;
    t.same([count('fake-small'), count('fake-large'), count('fake-embedding')], [50, 30, 20]);
    if (atOnce > 1) continue;
    for (let from = 0; from < 100; from += 10) {
      const ten = models.slice(from, from + 10);
      t.same([count('fake-small', ten), count('fake-large', ten), count('fake-embedding', ten)], [5, 3, 2]);
    }
    t.notMatch(models.join(' '), 'fake-small fake-small fake-small', 'evenly spread');
  }
});

interface AbortPoint {
  behaviour: Behaviour;
  /** What the client has sent when it leaves. */
  sent: string;
  /** How far the exchange must be by then. */
  until: 'sent' | 'taken' | 'asked' | 'headed' | 'relayed';
  /** The provider must have been asked, must not have been, or may have been. */
  asked: boolean | undefined;
}

const wholeCall = chatCall('{"model":"fake/fake-small"}');
const streamCall = chatCall('{"model":"fake/fake-small","stream":true}');
const sseHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const halfEvent: Step[] = [`${firstEvent}data: {"choices":[{"index":0,"del`, createGate()];
const longBody: Step[] = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n',
  `{"pad":"${'p'.repeat(500_000)}`,
  silence,
];
const abortPoints: Record<string, AbortPoint> = {
  'inside the headers': { behaviour: { kind: 'hang' }, sent: wholeCall.slice(0, 60), until: 'sent', asked: false },
  'inside the body': { behaviour: { kind: 'hang' }, sent: wholeCall.slice(0, -5), until: 'taken', asked: false },
  'right after the body': { behaviour: { kind: 'hang' }, sent: wholeCall, until: 'sent', asked: undefined },
  'awaiting the headers': { behaviour: { kind: 'hang' }, sent: wholeCall, until: 'asked', asked: true },
  'after the headers': {
    behaviour: { kind: 'raw', steps: [sseHead, silence] },
    sent: streamCall,
    until: 'headed',
    asked: true,
  },
  'amid an event': { behaviour: { kind: 'sse', chunks: halfEvent }, sent: streamCall, until: 'relayed', asked: true },
  'amid a long body': { behaviour: { kind: 'raw', steps: longBody }, sent: wholeCall, until: 'relayed', asked: true },
  'while connecting': { behaviour: { kind: 'full-backlog' }, sent: wholeCall, until: 'taken', asked: false },
};

for (const [name, point] of Object.entries(abortPoints)) {
  await test(`a client that leaves ${name}`, async (t) => {
    const delays: number[] = [];
    for (const how of ['FIN', 'RST', 'FIN', 'RST']) {
      await upstream.behave(point.behaviour);
      const before = upstream.ledger.length;
      const left = (await patient.metric('gateway_requests_total', { status: '499' })) ?? 0;
      const connection = await openRaw(patient.port, { t });
      await connection.send(point.sent);
      if (point.until === 'taken') {
        await waitFor('a request in flight', async () => (await patient.metric('gateway_requests_in_flight')) === 1);
      }
      if (point.until === 'asked') await upstream.waitFor((ledger) => ledger[before]?.bodyComplete);
      if (point.until === 'headed') await upstream.waitFor((ledger) => ledger[before]?.bytesSent);
      if (point.until === 'relayed') await connection.waitFor(({ responses }) => responses[0]?.body.length);
      const leftAtMs = performance.now();
      await connection.send(how === 'FIN' ? fin : rst);
      await untilIdle(patient);
      const freedMs = performance.now() - leftAtMs;
      t.ok(freedMs < 1000, `${how}: free again after ${freedMs.toFixed(0)} ms`);
      if (point.asked === true) {
        const closedAtMs = await upstream.waitFor((ledger) => ledger[before]?.clientClosedAtMs);
        delays.push(closedAtMs - leftAtMs);
        const counted = (await patient.metric('gateway_requests_total', { status: '499' })) ?? 0;
        t.equal(counted - left, 1, 'counted as a client that left');
      }
      await upstream.behave({ kind: 'openai' });
      const next = await call('fake/fake-small', false, patient);
      t.equal(next.status, 200, 'the next request works');
      const entries = upstream.ledger.slice(before, -1);
      if (point.asked === undefined) {
        await waitFor('every asked provider to be let go', () =>
          entries.every(({ finished, clientClosedAtMs }) => finished || clientClosedAtMs !== undefined),
        );
      } else t.equal(entries.length, point.asked ? 1 : 0, 'asked as often as the client had asked');
      connection.close();
    }
    if (delays.length === 0) return;
    const worst = Math.max(...delays);
    t.comment(`the provider saw it after at most ${worst.toFixed(1)} ms (target 100)`);
    t.ok(worst <= 500);
  });
}

/** One key; certificates for another name, for the past, and one without a trusted issuer. All end in 2120 but the second. */
const tlsKey = pem(
  'EC PRIVATE KEY',
  'MHcCAQEEIKVdizLuBNOJmP/odCTUU/kIOXrdw15aOBgrXwiSt9cAoAoGCCqGSM49AwEHoUQDQgAE8WjyfWDroMyTOdF0QYyRV9SMXqHiTlO2SLnZWDDmN+hfuwaekLVcyyiFgXmNbptKfGmm+NF/va0dVO0u0zqLmQ==',
);
const certificates = {
  'is for another host': pem(
    'CERTIFICATE',
    'MIIBSjCB8qADAgECAgECMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBW90aGVyMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPFo8n1g66DMkznRdEGMkVfUjF6h4k5Ttki52Vgw5jfoX7sGnpC1XMsohYF5jW6bSnxppvjRf72tHVTtLtM6i5mjOzA5MBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUwHQYDVR0OBBYEFKi7KCTfF4h0BPkTp98TMx5YkDOiMAoGCCqGSM49BAMCA0cAMEQCIHo0Zx7PJ8Q94xqCv9cFJyWisgSB8DimRwLnTB1LyKH3AiAZmEvTM6PiLvW10FF1dhAvTWF+Vcs9n5HRZP8eQZo1Sw==',
  ),
  'has expired': pem(
    'CERTIFICATE',
    'MIIBPTCB46ADAgECAgEDMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA29sZDAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMA4xDDAKBgNVBAMMA29sZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPFo8n1g66DMkznRdEGMkVfUjF6h4k5Ttki52Vgw5jfoX7sGnpC1XMsohYF5jW6bSnxppvjRf72tHVTtLtM6i5mjMjAwMA8GA1UdEQQIMAaHBH8AAAEwHQYDVR0OBBYEFKi7KCTfF4h0BPkTp98TMx5YkDOiMAoGCCqGSM49BAMCA0kAMEYCIQDn8is0E6rXkzM7RLGmsOWMPbJSy2NP/YBhuICmdW+4twIhAPLenaQIgot/cOiQM4554VhadTkbBi7sU4YO6kXA/Y8z',
  ),
  'is self-signed': pem(
    'CERTIFICATE',
    'MIIBQDCB56ADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHNlbGYwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHNlbGYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATxaPJ9YOugzJM50XRBjJFX1IxeoeJOU7ZIudlYMOY36F+7Bp6QtVzLKIWBeY1um0p8aab40X+9rR1U7S7TOouZozIwMDAPBgNVHREECDAGhwR/AAABMB0GA1UdDgQWBBSouygk3xeIdAT5E6ffEzMeWJAzojAKBggqhkjOPQQDAgNIADBFAiAJUNmjwTOsEP8oWo7y0sVKEYs1nGOMpuWTgAp6jCfN5AIhAPpUFbfEYGQ/z+84hspaIyFHd9/kc+G/nb/yhEEOBYn5',
  ),
};

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.match(/.{1,64}/g)?.join('\n')}\n-----END ${label}-----\n`;
}

await test('a provider whose certificate is no good is not spoken to', async (t) => {
  const authorities = join(temporaryDirectory(t), 'authorities.pem');
  writeFileSync(authorities, certificates['is for another host'] + certificates['has expired']);
  let received = 0;
  const plain = createPlainServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'));
  });
  t.teardown(() => plain.close());
  const providers: Record<string, object> = {
    plain: { ...provider(upstream), base_url: `https://127.0.0.1:${await listen(plain)}/v1` },
  };
  for (const [name, cert] of Object.entries(certificates)) {
    const server = createServer({ key: tlsKey, cert }, (socket) => {
      socket.on('data', ({ length }) => {
        received += length;
      });
      socket.on('error', () => {});
    });
    server.on('tlsClientError', () => {});
    const port = await listen(server);
    t.teardown(() => server.close());
    providers[name.replaceAll(' ', '-')] = { ...provider(upstream), base_url: `https://127.0.0.1:${port}/v1` };
  }
  const wary = await startGateway(t, { config: { providers }, env: { NODE_EXTRA_CA_CERTS: authorities } });
  for (const [name, reason] of [
    ['is-for-another-host', 'its certificate is for another host'],
    ['has-expired', 'its certificate has expired'],
    ['is-self-signed', 'its certificate is self-signed'],
    ['plain', 'the handshake failed'],
  ] as const) {
    const { status, end } = await call(`${name}/fake-small`, false, wary);
    t.equal(status, 502, name);
    t.match(envelopeIn(end), { code: 'upstream_tls', type: 'provider_error', provider: name });
    t.match(envelopeIn(end).message, reason);
  }
  t.equal(received, 0, 'not a byte of a request was sent');
  await untilIdle(wary);
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same([...upstream.malformed, ...second.malformed], []);
  const said = [...gateway.process.stdout, ...gateway.process.stderr].join('\n');
  t.notMatch(said, /unexpected failure|"level":[56]0|Warning|sk-test/);
  t.ok(gateway.process.running);
});
