// A provider may do anything at all: the client gets an honest answer in time, and nothing of the gateway stays occupied.
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import { extent } from '../support/extent.ts';
import {
  type FakeUpstream,
  fin,
  rst,
  type Step,
  silence,
  startFakeUpstream,
  upstreamFaults,
} from '../support/fake-upstream.ts';
import { providerKey, startGateway } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  call,
  envelopeIn,
  holds,
  isWhole,
  lastError,
  late,
  sized,
  slotRules,
  startUnreachable,
  tokensIn,
  unreachable,
  untilFree,
  verdicts,
} from './upstream-cases.ts';

const path = '/v1/chat/completions';
const impatient = { connect: '300ms', first_byte: '300ms', stream_idle: '300ms' };
const upstream = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });
const third = await startFakeUpstream({ t: suite });

function provider({ url, models }: FakeUpstream, timeouts: object = impatient) {
  return { type: 'openai', base_url: url, api_key: providerKey, models, timeouts };
}

const notReached = await startUnreachable(suite);
const providers = {
  fake: provider(upstream),
  // Nothing but the connect timeout can end a call that is not accepted.
  patient: provider(upstream, { connect: '300ms' }),
  hurried: provider(upstream, { ...impatient, total: '300ms' }),
  second: provider(second),
  ...Object.fromEntries(
    Object.entries(notReached).map(([name, { place }]) => [name, { ...provider(upstream), ...place }]),
  ),
};
const config = {
  providers,
  rate_limits: slotRules(Object.keys(providers)),
  aliases: [
    {
      source: 'weighted',
      targets: [
        { model: 'second/fake-small', weight: 5 },
        { model: 'second/fake-large', weight: 3 },
        { model: 'second/fake-embedding', weight: 2 },
      ],
    },
  ],
};
const gateway = await startGateway(suite, { config });

suite.beforeEach(async () => {
  await upstream.behave({ kind: 'openai' });
  await second.behave({ kind: 'openai' });
});
suite.afterEach(() => untilFree(gateway));

const longLineBytes = 100_000_000;
/** A stream that was not asked for is read event by event, up to 4 MB. */
const shortLineBytes = extent(longLineBytes, 8_000_000);

for (const [name, verdict] of Object.entries(verdicts)) {
  await test(`a provider that ${name}`, async (t) => {
    const [json, stream, model = 'fake/fake-small'] = verdict;
    const fault = upstreamFaults[name as keyof typeof upstreamFaults];
    for (const [expected, isStream] of [
      [json, false],
      [stream, true],
    ] as const) {
      const elsewhere = `${third.url}/chat/completions`;
      const behaviour = sized(fault, isStream ? longLineBytes : shortLineBytes, elsewhere);
      await upstream.behave({ kind: 'openai' });
      // What comes on a kept connection and breaks at once was never sent: that is another promise (upstream-pair.test.ts).
      upstream.dropConnections('fin');
      const asked = upstream.ledger.length;
      await upstream.behave(behaviour);
      const [named = '', called = ''] = model.split('/');
      const chargedBefore = tokensIn(await untilFree(gateway), named, called);
      const restingBytes = residentBytes(gateway.process);
      const heard = await call(gateway, model, isStream);
      t.ok(heard.ms < 8000, `no hang: ${heard.ms.toFixed(0)} ms`);
      holds(t, heard, expected, { provider: named, behaviour });
      const grownBytes = residentBytes(gateway.process) - restingBytes;
      // V8 frees the bytes of chunks some 64 MiB late; more come while it looks for them.
      t.ok(grownBytes < (96 << 20) + heard.bytes / 2, `memory stays: ${(grownBytes / 2 ** 20).toFixed(1)} MiB`);
      const attempts = upstream.ledger.length - asked;
      t.equal(attempts, expected === unreachable ? 0 : 1, 'asked once at most');
      if (expected === late || typeof expected === 'object') {
        await waitFor('the provider to be let go', () =>
          upstream.ledger.slice(asked).every((entry) => entry.finished || entry.clientClosedAtMs !== undefined),
        );
      }

      const tokens = tokensIn(await untilFree(gateway), named, called) - chargedBefore;
      t.equal(
        tokens > 0,
        heard.status === 200,
        `what was answered is charged, in part or whole, and nothing else: ${tokens}`,
      );

      await upstream.behave({ kind: 'openai' });
      const next = await call(gateway, model, isStream);
      t.equal(next.status, 200, 'the next request works');
      isWhole(t, next, isStream);
      t.notMatch(next.start, 'smuggled');
    }
    t.equal(third.ledger.length, 0, 'no other provider is asked');
  });
}

await test('a provider that is not reached, because of its name or of its certificate', async (t) => {
  const ask = async (name: string, isStream: boolean): Promise<void> => {
    const { code = '', reason = '' } = notReached[name] ?? {};
    const heard = await call(gateway, `${name}/fake-small`, isStream);
    holds(t, heard, [502, code], { provider: name, behaviour: { kind: 'refused' } });
    t.match(envelopeIn(heard.end).message, reason, name);
  };
  const names = Object.keys(notReached);
  await Promise.all(names.flatMap((name) => [ask(name, false), ask(name, true)]));
  const metrics = await untilFree(gateway);
  for (const name of names) t.equal(tokensIn(metrics, name, 'fake-small'), 0, `${name}: tokens`);
});

await test('bodies that are no answer, whatever their status says', async (t) => {
  for (const body of ['', '{}', ' \n', 'null', '[]', 'oops', '{"id":"a","choices":[{"mess']) {
    await upstream.behave({ kind: 'json', body });
    for (const isStream of [false, true]) {
      const heard = await call(gateway, 'fake/fake-small', isStream);
      t.equal(heard.status, 502, `${JSON.stringify(body)} to ${isStream ? 'a stream' : 'JSON'}: ${heard.end}`);
      t.match(envelopeIn(heard.end), { code: 'upstream_invalid_response', provider: 'fake' });
    }
  }
  const error = (code: unknown) => ({ error: { message: 'too much', type: 'x', param: null, code } });
  for (const [code, status, type] of [
    [429, 429, 'rate_limit_error'],
    ['503', 503, 'provider_error'],
    [401, 502, 'provider_error'],
    ['weird', 502, 'provider_error'],
    [null, 502, 'provider_error'],
    [200, 502, 'provider_error'],
  ] as const) {
    for (const isStream of [false, true]) {
      const text = JSON.stringify(error(code));
      await upstream.behave(isStream ? { kind: 'sse', chunks: [`data: ${text}\n\n`] } : { kind: 'json', body: text });
      const heard = await call(gateway, 'fake/fake-small', isStream);
      t.equal(heard.status, status, `an error object with code ${code} inside a 200`);
      t.match(envelopeIn(heard.end), { message: /too much\.?$/, type, provider: 'fake' });
    }
  }
  await upstream.behave({ kind: 'sse', chunks: [] });
  const empty = await call(gateway, 'fake/fake-small', true);
  t.equal(empty.status, 502, 'a stream without a byte');
  t.match(envelopeIn(empty.end), { code: 'upstream_invalid_response' });
});

await test('a provider that answers a byte at a time is cut off, and costs next to nothing until then', async (t) => {
  const crumbs = '1\r\nx\r\n'.repeat(100_000);
  await call(gateway, 'patient/fake-small');
  const resting = residentBytes(gateway.process);
  for (const [stream, type] of [
    [false, 'application/json'],
    [true, 'text/event-stream'],
  ] as const) {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    await upstream.behave({ kind: 'raw', steps: [head, crumbs, silence] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => call(gateway, 'patient/fake-small', stream)));
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
    const heard = await call(gateway, 'fake/fake-small', true);
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
    for (const isStream of [false, true]) {
      const asked = upstream.ledger.length;
      const heard = await call(gateway, 'fake/fake-small', isStream);
      // 401 is about the gateway's key: the client has another.
      t.equal(heard.status, status === 401 ? 502 : status);
      t.match(envelopeIn(heard.end), { message: /these words\.?$/, provider: 'fake' });
      // One that failed itself is asked once more, within the retry budget.
      const isItsOwn = status >= 500 || status === 409;
      t.ok(upstream.ledger.length - asked <= (isItsOwn ? 2 : 1), `${status}: calls`);
    }
  }
  for (const [retryAfter, relayed] of [
    ['soon', '1'],
    ['-5', '1'],
    ['7', '7'],
    ['0', '1'],
    ['1000000000', '86400'],
    ['1.5', '2'],
    ['Wed, 21 Oct 2015 07:28:00 GMT', '1'],
  ] as const) {
    const headers: [string, string][] = [
      ['retry-after', retryAfter],
      // Else the gateway itself would wait for a moment, and ask again.
      ['x-should-retry', 'false'],
    ];
    await upstream.behave({ kind: 'json', status: 429, body: {}, headers });
    for (const isStream of [false, true]) {
      const heard = await call(gateway, 'fake/fake-small', isStream);
      t.match(heard, { status: 429, retryAfter: relayed }, `Retry-After: ${retryAfter}`);
    }
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
    const { ms, end } = await call(gateway, model, stream);
    t.comment(`${name}: ${ms.toFixed(0)} ms of 300`);
    t.ok(ms >= 240 && ms <= 8000, `${name}: ${ms} ms`);
    t.match(end, /upstream_timeout|upstream_unavailable/);
    await upstream.behave({ kind: 'openai' });
  }
});

await test('weighted round robin is exact over every ten requests, one by one or ten at a time', async (t) => {
  const times = extent(100, 40);
  for (const atOnce of [1, 10]) {
    const before = second.ledger.length;
    for (let sent = 0; sent < times; sent += atOnce) {
      const calls = await Promise.all(Array.from({ length: atOnce }, () => call(gateway, 'weighted')));
      for (const { status } of calls) if (status !== 200) t.fail(`status ${status}`);
    }
    const models = second.ledger.slice(before).map((entry) => (entry.json() as { model: string }).model);
    const count = (model: string, among = models) => among.filter((each) => each === model).length;
    t.same(
      [count('fake-small'), count('fake-large'), count('fake-embedding')],
      [0.5 * times, 0.3 * times, 0.2 * times],
    );
    if (atOnce > 1) continue;
    for (let from = 0; from < times; from += 10) {
      const ten = models.slice(from, from + 10);
      t.same([count('fake-small', ten), count('fake-large', ten), count('fake-embedding', ten)], [5, 3, 2]);
    }
    t.notMatch(models.join(' '), 'fake-small fake-small fake-small', 'evenly spread');
  }
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same([...upstream.malformed, ...second.malformed], []);
  const said = [...gateway.process.stdout, ...gateway.process.stderr].join('\n');
  t.notMatch(said, /unexpected failure|"level":"(error|fatal)"|Warning|sk-test/);
  t.ok(gateway.process.running);
});
