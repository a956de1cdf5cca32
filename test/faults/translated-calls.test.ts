// Calls that go to a provider of the client's format or to one of another: failing over, hedging and other keys work across formats, and the
// one that answered is charged.
import { t as suite, test } from 'tap';
import { converseFrame } from '../support/aws-frames.ts';
import { type Behaviour, createGate, rst, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const [chat, anthropic, bedrock] = await Promise.all([
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
]);
const alias = (source: string, providers: string[], more: object = {}): object => {
  const targets = providers.map((provider) => ({ model: `${provider}/m` }));
  return { source, strategy: 'failover', targets, ...more };
};
const limits = [
  { period: 'minute', max_tokens: 1_000_000 },
  { period: 'concurrent', max_requests: 100 },
];
const usual = { models: ['m'], circuit_breaker: false, learn_limits: false };
const names = ['chat', 'anthropic', 'bedrock'] as const;
const gateway = await startGateway(suite, {
  config: {
    server: { access_log: 'all' },
    providers: {
      chat: { ...usual, type: 'openai', base_url: chat.url, api_key: 'key-of-chat' },
      anthropic: { ...usual, type: 'anthropic', base_url: anthropic.url, api_keys: ['first-key', 'second-key'] },
      bedrock: {
        ...usual,
        type: 'bedrock',
        base_url: bedrock.url,
        api_key: 'AKIDEXAMPLE012345678:secret-of-aws:token-of-aws',
      },
    },
    aliases: [
      alias('native-first', ['chat', 'anthropic']),
      alias('translated-first', ['anthropic', 'chat']),
      alias('signed', ['bedrock', 'anthropic']),
      alias('hedged', ['chat', 'anthropic'], { hedge: true }),
    ],
    rate_limits: { providers: names.map((name) => ({ name, limits })) },
  },
});
const tokensOf = (provider: string): Promise<number | undefined> =>
  gateway.metric('gateway_tokens_total', { provider });

const message = {
  id: 'msg_1',
  model: 'm',
  content: [{ type: 'text', text: 'From Anthropic.' }],
  stop_reason: 'end_turn',
};
const counted = { ...message, usage: { input_tokens: 1_000, output_tokens: 200 } };
const answered: Behaviour = { kind: 'json', body: counted };
const event = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const streamed: Behaviour = {
  kind: 'sse',
  chunks: [
    event('message_start', { message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1_000, output_tokens: 1 } } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'From Anthropic.' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 200 } }),
    event('message_stop'),
  ],
};
const unavailable: Behaviour = { kind: 'error', status: 503 };

async function call(
  model: string,
  more: object = {},
): Promise<{ status: number; text: string; dropped: string | null }> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], ...more };
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    body,
    signal: AbortSignal.timeout(5_000),
  });
  const dropped = response.headers.get('x-gateway-dropped');
  return { status: response.status, text: await response.text(), dropped };
}

/** What the providers were charged since, beside the one that should be. */
async function charges(): Promise<Record<string, number>> {
  const known = await Promise.all(names.map(async (name) => [name, (await tokensOf(name)) ?? 0] as const));
  return Object.fromEntries(known);
}

suite.beforeEach(() => Promise.all([chat, anthropic, bedrock].map((upstream) => upstream.behave({ kind: 'openai' }))));
suite.afterEach(() => untilIdle(gateway));

await test('a call fails over from its own format to another one and back, and who answers is charged', async (t) => {
  await chat.behave(unavailable);
  for (const [behaviour, stream] of [
    [answered, false],
    [streamed, true],
  ] as const) {
    const before = await charges();
    await anthropic.behave(behaviour);
    const { status, text } = await call('native-first', { stream, seed: 7 });
    t.match({ status, text }, { status: 200, text: 'From Anthropic.' });
    const after = await charges();
    t.equal((after['anthropic'] ?? 0) - (before['anthropic'] ?? 0), 1_200, 'what Anthropic reported');
    t.equal(after['chat'], before['chat']);
  }
  await chat.behave({ kind: 'openai' });
  const broken: [string, Behaviour, boolean][] = [
    ['refuses', unavailable, false],
    ['makes no sense', { kind: 'json', body: { type: 'message' } }, false],
    [
      'begins a stream with an error',
      { kind: 'sse', chunks: [event('error', { error: { type: 'overloaded_error', message: 'x' } })] },
      true,
    ],
    ['breaks off before its first event', { kind: 'sse', chunks: [': wait\n', rst] }, true],
    ['answers with JSON that is no answer', { kind: 'json', body: { type: 'message' } }, true],
  ];
  for (const [name, behaviour, stream] of broken) {
    await anthropic.behave(behaviour);
    const { status, text, dropped } = await call('translated-first', { stream, seed: 7 });
    t.match({ status, text }, { status: 200, text: 'chat.completion' }, name);
    t.notMatch(text, 'From Anthropic');
    t.equal(dropped, null, `${name}: to the one that answered everything was said`);
  }
});

await test('every key is sent in the way of the format, and the next one is tried', async (t) => {
  await anthropic.behave([{ kind: 'error', status: 401, message: 'No first-key.' }, answered]);
  const from = anthropic.ledger.length;
  t.match(await call('anthropic/m'), { status: 200, text: 'From Anthropic.' });
  const sent = anthropic.ledger.slice(from);
  t.same(new Set(sent.map((entry) => entry.header('x-api-key'))), new Set(['first-key', 'second-key']));
  t.notOk(sent.some((entry) => entry.header('authorization')));
  t.ok(sent.every((entry) => entry.header('anthropic-version') === '2023-06-01'));
});

await test('every call to AWS is signed, and a failed one says nothing of the secret', async (t) => {
  await bedrock.behave({ kind: 'error', status: 503, message: 'The key secret-of-aws with token-of-aws is no good.' });
  await anthropic.behave({ kind: 'error', status: 400, message: 'As secret-of-aws said.' });
  const { text } = await call('bedrock/m');
  t.notMatch(text, /(secret|token)-of-aws/);
  const frames = [
    converseFrame('messageStart', { role: 'assistant' }),
    converseFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'From AWS.' } }),
    converseFrame('modelStreamErrorException', { message: 'secret-of-aws broke token-of-aws' }),
  ];
  const headers = [['content-type', 'application/vnd.amazon.eventstream'] as const];
  await bedrock.behave({ kind: 'json', body: Buffer.concat(frames), headers });
  const streaming = await call('signed', { stream: true });
  t.match(streaming, { status: 200, text: 'From AWS.' });
  t.notMatch(streaming.text, /(secret|token)-of-aws/);
  for (const entry of bedrock.ledger) {
    t.match(entry.header('authorization'), /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE012345678\//);
    t.equal(entry.header('x-amz-security-token'), 'token-of-aws');
  }
  t.equal(
    new Set(bedrock.ledger.map(({ target }) => target)).size,
    2,
    'a whole answer and a stream have paths of their own',
  );
});

await test('of two formats that are asked at once the faster answers', async (t) => {
  await anthropic.behave(answered);
  await chat.behave({ kind: 'delay', ms: 20 });
  await Promise.all(Array.from({ length: 20 }, () => call('hedged')));
  const gate = createGate();
  await chat.behave({ kind: 'hold', gate });
  const index = chat.ledger.length;
  t.match(await call('hedged'), { status: 200, text: 'From Anthropic.' });
  await waitFor('the slower one to be let go', () => chat.ledger[index]?.clientClosedAtMs !== undefined);
});
