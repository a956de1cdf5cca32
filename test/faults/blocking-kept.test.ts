// No answer that is kept, and none that is served again, holds the event loop for longer than 50 ms.
import { t as suite, test } from 'tap';
import { masterKey } from '../support/gateway.ts';
import { mostMs, startMeasuredGateway } from '../support/measured-gateway.ts';

const mebibyte = 2 ** 20;
const json = JSON.stringify;
const times = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
suite.setTimeout(240_000);

const measured = await startMeasuredGateway(suite, {
  server: { body_budget: '256MiB' },
  cache: { enabled: true, scope: 'gateway' },
  audit: { enabled: true, bodies: true, body_limit: '1MiB' },
});
const asJson = (body: string) => ({ type: 'application/json', body: Buffer.from(body) });
const chat = (more: string): string =>
  `{"id":"a","model":"m",${more}"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`;
const response = (more: string): string =>
  `{"id":"resp_a1","object":"response","status":"completed","output":[],${more}}`;

/** Just within what is read of an answer for what is kept. */
const most = 7.9 * mebibyte;
const answers: Readonly<Record<string, () => string>> = {
  'long numbers': () => response(`"x":[${times('0.12345678901234567,', most)}1]`),
  'exact numbers': () => response(`"x":[${times('1e5,', most)}1]`),
  escapes: () => response(`"x":"${times('\\n\\u00e4', most)}"`),
  'many objects': () => response(`"x":[${times('{},', most)}1]`),
};

await test('a response that its provider keeps', async (t) => {
  const sent = { path: '/v1/responses', body: json({ model: 'responses/m', input: 'q' }) };
  for (const [name, body] of Object.entries(answers)) {
    const { status, longestMs } = await measured.quickest(sent, asJson(body()));
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms`);
    t.equal(status, 200);
  }
});

await test('the results of a batch', async (t) => {
  const params = { model: 'anthropic/m', max_tokens: 9, messages: [{ role: 'user', content: 'q' }] };
  const batch = { path: '/v1/messages/batches', body: json({ requests: [{ custom_id: 'c', params }] }) };
  const made = await measured.measure(batch, asJson('{"id":"msgbatch_a","type":"message_batch"}'));
  t.equal(made.status, 200);
  const asked = { path: '/v1/messages/batches/msgbatch_a/results', method: 'GET', body: '' };
  const { status, longestMs } = await measured.quickest(asked, asJson(times('\n', 15 * mebibyte)));
  t.ok(longestMs < mostMs, `empty lines: ${longestMs.toFixed(0)} ms`);
  t.equal(status, 200);
});

const inputs: Readonly<Record<string, () => string>> = {
  'many items': () => `[${times('{"role":"user","content":"q"},', 19_000 * 30)}{"role":"user","content":"q"}]`,
  'a long text': () => `"${times('\\n\\u00e4\\"', 15 * mebibyte)}"`,
};

await test('a response that the gateway keeps with its request', async (t) => {
  for (const [name, input] of Object.entries(inputs)) {
    const sent = { path: '/v1/responses', body: `{"model":"chat/m","input":${input()}}` };
    const { status, longestMs } = await measured.quickest(sent, asJson(chat('')));
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms`);
    t.equal(status, 200);
  }
});

/** Just within what the cache keeps of one answer. */
const mostKept = mebibyte - 200;
const choices = times('{"index":1,"message":{"content":"a"},"finish_reason":"stop"},', mostKept / 2);
/** With the status of a client that wants it as a stream: 502 where the provider is asked once more, which then answers with no stream. */
const kept: Readonly<Record<string, readonly [status: number, body: () => string]>> = {
  'a long text': [200, () => chat(`"x":"${times('word ', mostKept)}",`)],
  'long numbers': [200, () => chat(`"x":[${times('0.12345678901234567,', mostKept)}1],`)],
  'exact numbers': [502, () => chat(`"x":[${times('1e5,', mostKept)}1],`)],
  'a long head before many choices': [
    502,
    () => `{"id":"a","model":"${times('m', mostKept / 2 - 200)}","choices":[${choices.slice(0, -1)}]}`,
  ],
};

await test('an answer of the cache, as it is and as a stream', async (t) => {
  for (const [seed, [name, [expected, body]]] of Object.entries(kept).entries()) {
    const asked = { model: 'chat/m', seed, messages: [{ role: 'user', content: 'q' }] };
    const sent = (more: object) => ({ path: '/v1/chat/completions', body: json({ ...asked, ...more }) });
    await measured.measure(sent({}), asJson(body()));
    for (const [stream, wanted] of [
      [false, 200],
      [true, expected],
    ] as const) {
      const { status, longestMs } = await measured.quickest(sent({ stream }), asJson('{}'));
      t.ok(longestMs < mostMs, `${name}${stream ? ', as a stream' : ''}: ${longestMs.toFixed(0)} ms`);
      t.equal(status, wanted, name);
    }
  }
});

/** Just within what is recorded of one body. The first of them has an escape, so that all of it is looked through. */
const mostRecorded = mebibyte - 1_000;
const texts = (text: string): string => `["\\u0041"${times(`,${text}`, mostRecorded)}]`;
const recorded: Readonly<Record<string, () => string>> = {
  'escaped texts': () => texts('"\\u0041b"'),
  'short texts': () => texts('""'),
  'escaped line ends': () => texts('"\\n"'),
  'escaped keys': () => texts('"\\u0073k-abcdefgh"'),
  'keys of the caller': () => texts(json(masterKey)),
  'a text of escapes': () => `"${times('\\u0041', mostRecorded)}"`,
};

await test('a request and an answer that are recorded', async (t) => {
  for (const [name, body] of Object.entries(recorded)) {
    const inside = `"x":${body()},`;
    const sent = {
      path: '/v1/chat/completions',
      body: `{${inside}"model":"chat/m","messages":[{"role":"user","content":"q"}]}`,
    };
    const { status, longestMs } = await measured.quickest(sent, asJson(chat(inside)));
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms`);
    t.equal(status, 200);
  }
});
