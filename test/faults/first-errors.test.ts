// A stream that begins with an error is an answer of that error: it has its status and code at every door, and another target is asked.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';

const formats = ['chat', 'messages', 'responses'] as const;
type Format = (typeof formats)[number];
const [chat, messages, responses, spare] = await Promise.all([
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
]);
const upstreams = { chat, messages, responses };
const usual = { models: ['m'], circuit_breaker: false, learn_limits: false, api_key: 'k' };
const gateway = await startGateway(suite, {
  config: {
    providers: {
      chat: { ...usual, type: 'openai', base_url: chat.url, dialects: ['chat'] },
      messages: { ...usual, type: 'anthropic', base_url: messages.url },
      responses: { ...usual, type: 'openai', base_url: responses.url, dialects: ['responses'] },
      spare: { ...usual, type: 'openai', base_url: spare.url, dialects: ['chat'] },
    },
    aliases: formats.flatMap((name) => [
      {
        source: `safe-${name}`,
        strategy: 'failover',
        targets: [{ model: `${name}/m` }, { model: 'spare/m' }],
        retry: { budget: 1 },
      },
      {
        source: `picky-${name}`,
        strategy: 'failover',
        targets: [{ model: `${name}/m` }, { model: 'spare/m' }],
        retry: { on: ['rate_limit'], budget: 1 },
      },
    ]),
  },
});

const named = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const done = 'data: [DONE]\n\n';
const role = data({ id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
const started = named('message_start', { message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1 } } });
const created = named('response.created', {
  response: { id: 'resp_1', model: 'm', status: 'in_progress', output: [] },
});

/** What the stream of a provider begins with, and the status and code that clients shall see. */
const beginnings: [name: string, format: Format, chunks: string[], status: number, code: string | null][] = [
  [
    'an error beside no choices',
    'chat',
    [data({ id: 'c', choices: [], error: { code: 429, message: 'No.' } })],
    429,
    '429',
  ],
  [
    'an error beside choices that are null',
    'chat',
    [data({ choices: null, error: { code: 529, message: 'No.' } })],
    529,
    '529',
  ],
  [
    'an error behind the role',
    'chat',
    [role, data({ error: { code: 'rate_limit_exceeded', message: 'No.' } })],
    429,
    'rate_limit_exceeded',
  ],
  [
    'an error as the end',
    'chat',
    [role, data({ choices: [{ index: 0, delta: {}, finish_reason: 'error' }] }), done],
    502,
    'error',
  ],
  [
    'a prompt that is too long, in words alone',
    'chat',
    [role, data({ error: { message: 'prompt is too long: 9 tokens > 8 maximum' } })],
    400,
    null,
  ],
  [
    'a prompt that is too long',
    'messages',
    [started, named('error', { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } })],
    400,
    null,
  ],
  [
    'a nested error event',
    'responses',
    [created, named('error', { error: { code: 'context_length_exceeded', message: 'No.' } })],
    400,
    'context_length_exceeded',
  ],
  ['the last event alone', 'chat', [done], 502, 'upstream_invalid_response'],
  ['an end without words', 'chat', [role], 502, 'upstream_invalid_response'],
  [
    'an error behind the beginning',
    'messages',
    [started, named('ping'), named('error', { error: { type: 'overloaded_error', message: 'No.' } })],
    529,
    null,
  ],
  [
    'an error of the limits',
    'messages',
    [named('error', { error: { type: 'rate_limit_error', message: 'No.' } })],
    429,
    null,
  ],
  [
    'an error event behind the beginning',
    'responses',
    [created, named('error', { code: 'rate_limit_exceeded', message: 'No.' })],
    429,
    'rate_limit_exceeded',
  ],
  [
    'a failed response',
    'responses',
    [
      created,
      named('response.failed', {
        response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'No.' } },
      }),
    ],
    500,
    'server_error',
  ],
];

const doors = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };
const bodies: Record<Format, object> = {
  chat: { messages: [{ role: 'user', content: 'Hello?' }] },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'Hello?' }] },
  responses: { input: 'Hello?', store: false },
};

async function ask(door: Format, model: string): Promise<{ status: number; text: string }> {
  const answer = await gateway.fetch(doors[door], { method: 'POST', body: { ...bodies[door], model, stream: true } });
  return { status: answer.status, text: await answer.text() };
}

suite.afterEach(() => untilIdle(gateway));

for (const [name, format, chunks, status, code] of beginnings) {
  await test(`${name}, from a provider of ${format}`, async (t) => {
    const behaviour: Behaviour = { kind: 'sse', chunks };
    await upstreams[format].behave(behaviour);
    for (const door of formats) {
      const { status: told, text } = await ask(door, `${format}/m`);
      t.equal(told, status, `${door}: ${text}`);
      t.equal((JSON.parse(text) as { error: { code: unknown } }).error.code, code, door);
    }
    for (const door of formats) {
      const { status: told, text } = await ask(door, `safe-${format}`);
      t.match(
        { told, text },
        { told: 200, text: /Hello|Answer|content|output_text/ },
        `${door}: the next target answers`,
      );
    }
    const { status: picky } = await ask('chat', `picky-${format}`);
    t.equal(picky, status === 429 ? 200 : status, 'retry.on sees the status');
  });
}

await test('a stream that begins, and then thinks for long, is not held back', async (t) => {
  const said = data({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop' }] });
  await chat.behave({ kind: 'sse', chunks: [role, 1_500, said, done] });
  const answer = await gateway.fetch(doors.chat, {
    method: 'POST',
    body: { ...bodies.chat, model: 'safe-chat', stream: true },
  });
  t.equal(answer.status, 200);
  const reader = answer.body?.getReader();
  t.match(Buffer.from((await reader?.read())?.value ?? []).toString(), role.trim(), 'what came first is told');
  await reader?.cancel();
});
