// What providers say in their own words decides whether another target is asked: a prompt that is too long, a content filter, an account. And how
// long they may take to say anything.
import { t as suite, test } from 'tap';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';

const [small, claude, large] = await Promise.all([
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
]);
/** What is learned of a target must not be told to the next test. */
const models = [
  'long',
  'longer',
  'waits',
  'other',
  'poor',
  'secret',
  'gone',
  'filtered',
  'open',
  'mute',
  'slow',
  'google',
];
const provider = (type: string, base_url: string) => ({ type, base_url, models, api_key: 'k', circuit_breaker: true });
const gateway = await startGateway(suite, {
  config: {
    providers: {
      small: { ...provider('openai', small.url), dialects: ['chat'] },
      mute: { ...provider('openai', small.url), dialects: ['chat'], timeouts: { first_event: '300ms' } },
      claude: provider('anthropic', claude.url),
      large: { ...provider('openai', large.url), dialects: ['chat'] },
    },
    aliases: ['small', 'claude', 'mute'].flatMap((first) =>
      models.map((model) => ({
        source: `${first}-${model}`,
        strategy: 'failover',
        targets: [{ model: `${first}/${model}` }, { model: `large/${model}` }],
        hedge: model === 'slow' && { after: '100ms' },
        retry: { budget: 1, ...(model === 'open' ? { on: ['content_filter'] } : {}) },
      })),
    ),
  },
});
suite.afterEach(() => untilIdle(gateway));

const doors = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };
type Door = keyof typeof doors;
const bodies: Record<Door, object> = {
  chat: { messages: [{ role: 'user', content: 'Hello?' }] },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'Hello?' }] },
  responses: { input: 'Hello?', store: false },
};

async function ask(model: string, door: Door = 'chat', stream = false): Promise<{ status: number; text: string }> {
  const answer = await gateway.fetch(doors[door], { method: 'POST', body: { ...bodies[door], model, stream } });
  return { status: answer.status, text: await answer.text() };
}

/** How often each of the targets was asked for the model. */
const asked = (model: string): number[] =>
  [small, claude, large].map(
    ({ ledger }) => ledger.filter((entry) => (entry.json() as { model?: string }).model === model).length,
  );
const error = (status: number, message: string, code: string | null = null): Behaviour => ({
  kind: 'json',
  status,
  body: { error: { message, type: 'invalid_request_error', param: null, code } },
});
const tooLong = error(400, "This model's maximum context length is 8 tokens.", 'context_length_exceeded');
const claudeTooLong: Behaviour = {
  kind: 'json',
  status: 400,
  body: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
  },
};
const attempts = { provider: 'small', model: 'open', outcome: 'client_error' };
const codeOf = (text: string): unknown => (JSON.parse(text) as { error: { code?: unknown } }).error.code;

await test('a prompt that is too long for one model goes to the next, which is asked first no sooner', async (t) => {
  await small.behave(tooLong);
  await claude.behave(claudeTooLong);
  await large.behave({ kind: 'openai' });
  for (const door of Object.keys(doors) as Door[]) {
    for (const stream of [false, true]) {
      for (const first of ['small', 'claude']) {
        const { status, text } = await ask(`${first}-long`, door, stream);
        t.equal(status, 200, `${first}, ${door}, ${stream ? 'stream' : 'whole'}: ${text}`);
      }
    }
  }
  t.same(asked('long'), [6, 6, 12], 'no target rests, none is asked twice');
  for (const name of ['small', 'claude'])
    t.equal(await gateway.metric('gateway_target_breaker_state', { provider: name, model: 'long' }), 0);
});

await test('a prompt that is too long for all is refused in the words and with the code of a provider', async (t) => {
  await small.behave(tooLong);
  await large.behave(tooLong);
  for (const door of Object.keys(doors) as Door[]) {
    for (const stream of [false, true]) {
      const { status, text } = await ask('small-longer', door, stream);
      t.equal(status, 400, `${door}: ${text}`);
      t.match(text, /maximum context length is 8 tokens/, door);
      t.match(text, /invalid_request_error/, door);
      t.equal(codeOf(text), 'context_length_exceeded', door);
    }
  }
});

await test('who may be served later is told so; who will not be is told to ask for less', async (t) => {
  await small.behave(tooLong);
  await large.behave({ kind: 'error', status: 429, retryAfter: '7' });
  const later = await gateway.fetch(doors.chat, { method: 'POST', body: { ...bodies.chat, model: 'small-waits' } });
  t.equal(later.status, 429);
  t.equal(later.headers.get('retry-after'), '7');
  await large.behave(error(402, 'Insufficient Balance'));
  t.match(await ask('small-other'), { status: 400, text: /maximum context length/ });
});

await test('an account that is used up, and a model that is gone, send requests elsewhere and let the target rest', async (t) => {
  await large.behave({ kind: 'openai' });
  for (const [model, said] of [
    ['poor', error(402, 'Insufficient Balance')],
    ['gone', error(404, 'The model `gone` does not exist', 'model_not_found')],
    ['secret', error(429, 'You exceeded your current quota.', 'insufficient_quota')],
  ] as const) {
    await small.behave(said);
    t.equal((await ask(`small-${model}`)).status, 200, model);
    t.equal((await ask(`small-${model}`, 'chat', true)).status, 200, model);
    t.same(asked(model), [1, 0, 2], `${model}: it rests`);
  }
});

await test('a wait that stands in the body alone is told, and kept', async (t) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }];
  const body = { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'No.', details } };
  await small.behave({ kind: 'json', status: 429, body });
  await large.behave({ kind: 'json', status: 429, body });
  const answer = await gateway.fetch(doors.chat, { method: 'POST', body: { ...bodies.chat, model: 'small-google' } });
  t.same([answer.status, answer.headers.get('retry-after')], [429, '34']);
  t.equal(await gateway.metric('gateway_target_resting', { provider: 'small', model: 'google' }), 1);
});

await test('what a content filter refuses is sent elsewhere only where retry.on says so', async (t) => {
  const refused = error(400, 'The response was filtered.', 'content_filter');
  await small.behave(refused);
  await large.behave({ kind: 'openai' });
  t.match(await ask('small-filtered'), { status: 400, text: /content_filter/ });
  t.match(await ask('small-filtered', 'messages', true), { status: 400, text: /The response was filtered/ });
  t.same(asked('filtered'), [2, 0, 0]);
  t.equal((await ask('small-open')).status, 200);
  t.equal((await ask('small-open', 'responses', true)).status, 200);
  t.same(asked('open'), [2, 0, 2], 'the target does not rest');
  await large.behave(refused);
  const { status, text } = await ask('small-open');
  t.equal(status, 400);
  t.equal(codeOf(text), 'content_filter');
});

await test('an answer of success that was filtered is replaced where retry.on says so', async (t) => {
  await large.behave({ kind: 'openai' });
  const usage = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };
  const choice = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' };
  await small.behave({ kind: 'json', body: { id: 'c', object: 'chat.completion', choices: [choice], usage } });
  const before = (await gateway.metric('gateway_upstream_attempts_total', attempts)) ?? 0;
  t.match(await ask('small-filtered'), { status: 200, text: /"content_filter"/ }, 'as it came');
  t.match(await ask('small-open'), { status: 200, text: /"finish_reason":"stop"/ });
  t.match(await ask('small-open', 'messages'), { status: 200, text: /"end_turn"/ }, 'translated');
  t.equal(((await gateway.metric('gateway_upstream_attempts_total', attempts)) ?? 0) - before, 2);
  await large.behave({ kind: 'json', body: { id: 'c', object: 'chat.completion', choices: [choice], usage } });
  t.match(await ask('small-open'), { status: 200, text: /"content_filter"/ }, 'the last target decides');
});

await test('a stream that does not begin is asked for elsewhere; the last target has its time', async (t) => {
  await large.behave({ kind: 'openai' });
  for (const silent of [{ kind: 'hang' }, { kind: 'sse', chunks: [': still here\n\n', createGate()] }] as const) {
    await small.behave(silent);
    for (const door of Object.keys(doors) as Door[]) {
      const { status, text } = await ask('mute-mute', door, true);
      t.equal(status, 200, `${door}: ${text}`);
    }
  }
  t.same(asked('mute'), [5, 0, 6], 'until its breaker opens');
});

await test('a hedge with a time of its own needs no experience: the second target is asked when it is over', async (t) => {
  await small.behave({ kind: 'hang' });
  const sentAtMs = performance.now();
  t.equal((await ask('small-slow')).status, 200);
  t.ok(performance.now() - sentAtMs >= 100, 'not before');
  t.same(asked('slow'), [1, 0, 1]);
});
