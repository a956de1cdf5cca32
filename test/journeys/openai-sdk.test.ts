// The official openai SDK works with the gateway's base URL.
import {
  type APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  OpenAI,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai';
import { t as suite, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

type ErrorType<E> = new (...args: never[]) => E;

/** What the request throws, checked to be of that type. */
async function thrownBy<E>(request: Promise<unknown>, type: ErrorType<E>): Promise<E> {
  const thrown: unknown = await request.catch((error: unknown) => error);
  if (thrown instanceof type) return thrown;
  throw new Error(`expected ${type.name}, got ${String(thrown)}`);
}

const upstream = await startFakeUpstream({ t: suite });
const gateway = await shareGateway({
  upstream,
  config: { aliases: [{ source: 'chat', target: 'fake/fake-small' }] },
});
const connect = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const client = connect(masterKey);
const messages = [{ role: 'user' as const, content: 'say hello' }];
const content = 'Hello from the fake upstream, which speaks word by word.';
const last = () => upstream.ledger.at(-1);
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));
suite.afterEach(async () => {
  await waitFor('no request in flight', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
});

await test('models are listed, aliases included, without asking the provider', async (t) => {
  const { data } = await client.models.list();
  const ids = data.map(({ id }) => id);
  t.same(ids, ['chat', 'fake/fake-embedding', 'fake/fake-large', 'fake/fake-small']);
  for (const model of data) t.match(model, { object: 'model', created: Number, owned_by: 'fake' });
  t.equal(upstream.ledger.length, 0);
});

await test('a model is retrieved by an id with a slash, by its bare id, by its alias', async (t) => {
  for (const id of ['fake/fake-large', 'fake-large', 'chat']) {
    t.match(await client.models.retrieve(id), { id, object: 'model', owned_by: 'fake' });
  }
  const plain = await gateway.fetch('/v1/models/fake/fake-large');
  t.match(await plain.json(), { id: 'fake/fake-large' }, 'the slash may stand unescaped');
  const missing = await thrownBy(client.models.retrieve('fake/none'), NotFoundError);
  t.match(missing, { status: 404, code: 'model_not_found', param: 'model', type: 'not_found_error' });
});

await test('a chat completion comes back with its usage; the request id travels both ways', async (t) => {
  for (const model of ['chat', 'fake/fake-small', 'fake-small']) {
    const completion = await client.chat.completions.create({ model, messages });
    t.equal(completion.choices[0]?.message.content, content);
    t.same(completion.usage, last()?.usage);
    t.equal(completion.model, 'fake-small', 'what the provider says is left alone');
    t.ok(completion['_request_id']);
    t.equal(completion['_request_id'], last()?.header('x-request-id'));
  }
  const own = await client.chat.completions.create(
    { model: 'chat', messages },
    { headers: { 'x-request-id': 'my-own.id_1' } },
  );
  t.equal(own['_request_id'], 'my-own.id_1');
  t.equal(last()?.header('x-request-id'), 'my-own.id_1');
});

await test('a stream shows usage only to those who ask', async (t) => {
  const plain = await client.chat.completions.create({ model: 'chat', messages, stream: true });
  let text = '';
  for await (const chunk of plain) {
    t.equal(chunk.choices.length, 1, 'no event without choices');
    t.notOk(chunk.usage);
    text += chunk.choices[0]?.delta.content ?? '';
  }
  t.equal(text, content);
  t.match(last()?.json(), { stream_options: { include_usage: true } }, 'though the gateway asked for usage');

  for (const [include_usage, expected] of [
    [true, 1],
    [false, 0],
  ] as const) {
    const options = { stream: true, stream_options: { include_usage } } as const;
    const stream = await client.chat.completions.create({ model: 'chat', messages, ...options });
    const usages: unknown[] = [];
    let finish: string | null | undefined;
    for await (const chunk of stream) {
      if (chunk.usage) usages.push(chunk.usage);
      finish ??= chunk.choices[0]?.finish_reason;
    }
    t.equal(finish, 'stop');
    t.same(usages, expected === 1 ? [last()?.usage] : []);
  }
});

await test('an aborted stream is aborted at the provider, too', async (t) => {
  const event = (word: string) => `data: {"choices":[{"index":0,"delta":{"content":"${word}"}}]}\n\n`;
  const delays: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    await upstream.behave({ kind: 'sse', chunks: [event('one'), createGate(), event('two')] });
    const stream = await client.chat.completions.create({ model: 'chat', messages, stream: true });
    let abortedAtMs = 0;
    for await (const chunk of stream) {
      t.equal(chunk.choices[0]?.delta.content, 'one');
      abortedAtMs = performance.now();
      stream.controller.abort();
    }
    const closedAtMs = await upstream.waitFor((ledger) => ledger.at(-1)?.clientClosedAtMs);
    delays.push(closedAtMs - abortedAtMs);
  }
  const worst = Math.max(...delays);
  t.comment(`the provider saw the abort after at most ${worst.toFixed(1)} ms (target 100)`);
  t.ok(worst <= 500, 'within 500 ms');
});

await test('an aborted completion that has not begun is aborted at the provider, too', async (t) => {
  await upstream.behave({ kind: 'hang' });
  const before = upstream.ledger.length;
  const controller = new AbortController();
  const pending = client.chat.completions.create({ model: 'chat', messages }, { signal: controller.signal });
  const entry = await upstream.waitFor((ledger) => ledger[before]?.bodyComplete && ledger[before]);
  const abortedAtMs = performance.now();
  controller.abort();
  await t.rejects(pending, { name: 'Error', message: 'Request was aborted.' });
  const closedAtMs = await waitFor('the abort upstream', () => entry.clientClosedAtMs);
  t.comment(`the provider saw the abort after ${(closedAtMs - abortedAtMs).toFixed(1)} ms (target 100)`);
  t.ok(closedAtMs - abortedAtMs <= 500);
});

await test('embeddings come as floats, as base64 and as the SDK likes them', async (t) => {
  const model = 'fake-embedding';
  const floats = await client.embeddings.create({ model, input: ['a', 'b'], encoding_format: 'float' });
  t.equal(floats.data.length, 2);
  t.match(floats.usage, { prompt_tokens: 2, total_tokens: 2 });
  const vector = floats.data[0]?.embedding ?? [];
  t.equal(vector.length, 8);

  const encoded = await client.embeddings.create({ model, input: 'a', encoding_format: 'base64' });
  const text = encoded.data[0]?.embedding as unknown;
  t.type(text, 'string');
  const bytes = Buffer.from(String(text), 'base64');
  t.same([...new Float32Array(bytes.buffer, bytes.byteOffset, 8)], vector);

  const asDefault = await client.embeddings.create({ model: `fake/${model}`, input: 'a' });
  t.same(asDefault.data[0]?.embedding, vector);
  t.match(last()?.json(), { model, input: 'a', encoding_format: 'base64' }, 'the SDK asked for base64 by itself');
});

await test("the gateway's own refusals are typed errors without a provider", async (t) => {
  const before = upstream.ledger.length;
  const refused = async (sent: Promise<unknown>, type: ErrorType<APIError>, shape: object) => {
    const error = await thrownBy(sent, type);
    t.match(error, shape);
    t.ok(error.requestID, 'with a request id');
    t.notOk('provider' in Object(error.error));
  };
  const create = (model: string, from = client) => from.chat.completions.create({ model, messages });
  await refused(create('chat', connect('sk-wrong')), AuthenticationError, {
    status: 401,
    code: 'invalid_api_key',
    type: 'authentication_error',
  });
  await refused(create('gpt-none'), NotFoundError, {
    status: 404,
    code: 'model_not_found',
    type: 'not_found_error',
    param: 'model',
  });
  await refused(create(''), BadRequestError, { status: 400, param: 'model', type: 'invalid_request_error' });
  const streamed = client.chat.completions.create({ model: 'gpt-none', messages, stream: true });
  await refused(streamed, NotFoundError, { code: 'model_not_found' });
  t.equal(upstream.ledger.length, before, 'the provider was not asked');
});

await test("the provider's refusals are typed errors that name it", async (t) => {
  const cases = [
    { status: 400, type: BadRequestError, shape: { type: 'invalid_request_error' } },
    // It is the gateway's key that is refused, not the client's.
    { status: 401, told: 502, type: InternalServerError, shape: { code: 'upstream_unauthorized' } },
    { status: 403, type: PermissionDeniedError, shape: { type: 'permission_error' } },
    { status: 404, type: NotFoundError, shape: { type: 'not_found_error', code: 'model_not_found' } },
    { status: 422, type: UnprocessableEntityError, shape: { type: 'invalid_request_error' } },
    { status: 429, type: RateLimitError, shape: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
    { status: 500, type: InternalServerError, shape: { type: 'provider_error' } },
    { status: 503, type: InternalServerError, shape: { type: 'provider_error' } },
  ];
  for (const { status, told = status, type, shape } of cases) {
    for (const stream of [false, true]) {
      const before = upstream.ledger.length;
      await upstream.behave({ kind: 'error', status, message: `said with ${status}`, retryAfter: '7' });
      const error = await thrownBy(client.chat.completions.create({ model: 'chat', messages, stream }), type);
      t.match(error, { status: told, ...shape, error: { message: `said with ${status}`, provider: 'fake' } });
      t.equal(error.requestID, last()?.header('x-request-id'));
      if (status === 429) t.equal(error.headers?.get('retry-after'), '7', 'Retry-After is relayed');
      t.equal(upstream.ledger.length - before, status === 500 ? 2 : 1, 'what failed itself is asked once more');
    }
  }
  await upstream.behave({ kind: 'refused' });
  const error = await thrownBy(client.chat.completions.create({ model: 'chat', messages }), InternalServerError);
  t.match(error, { status: 502, code: 'upstream_unavailable', error: { provider: 'fake' } });
});

await test('a stream that breaks off throws instead of ending early', async (t) => {
  await upstream.behave({ kind: 'reset-in-chunk', after: 3 });
  const stream = await client.chat.completions.create({ model: 'chat', messages, stream: true });
  let chunks = 0;
  const reading = (async () => {
    for await (const chunk of stream) chunks += chunk.choices.length;
  })();
  await t.rejects(reading, { code: 'stream_incomplete', type: 'provider_error' });
  t.equal(chunks, 4, 'after all that had come, the whole event in the broken chunk included');
});

await test('every request that reached the provider was well-formed', async (t) => {
  t.same(upstream.malformed, []);
});
