// Requests that are open at once see each other under a token cap: what each will probably take is set aside for it until it ends, however it ends.
import { t as suite, test } from 'tap';
import { chatCall } from '../support/chat-call.ts';
import { type Answer, ask, usageOf } from '../support/consumer.ts';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { openRaw } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const first = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: first.url, models: ['fake-small', 'fake-embedding'] };
const minute = (max_tokens: number, mode = 'enforce') => [{ period: 'minute', max_tokens, mode }];
const limits = {
  user_paths: [
    { path: '/two', limits: minute(2_500) },
    { path: '/shadow', limits: minute(2_500, 'shadow') },
    { path: '/endings', limits: minute(1_000_000) },
    { path: '/alone', limits: minute(100) },
    { path: '/slots', limits: [...minute(2_500), { period: 'hour', max_requests: 100 }] },
  ],
  models: [{ model: 'first/fake-small', limits: [{ period_seconds: 300, max_tokens: 5_000 }] }],
};
const config = {
  providers: {
    first: provider,
    second: { ...provider, base_url: second.url, dialects: ['chat', 'embeddings', 'moderations', 'audio'] },
  },
  aliases: [
    { source: 'both', strategy: 'failover', targets: [{ model: 'first/fake-small' }, { model: 'second/fake-small' }] },
  ],
  rate_limits: limits,
};
const gateway = await shareGateway({ config });
const apply = (rate_limits: object) => gateway.applyConfig({ 'gateway.yaml': { ...config, rate_limits } });

suite.beforeEach(async () => {
  await first.behave({ kind: 'openai' });
  await second.behave({ kind: 'openai' });
});

const askFor = (userPath: string, more: object = {}, options = {}): Promise<Answer> =>
  ask(gateway, userPath, { model: 'second/fake-small', ...more }, options);

const reservedOf = async (userPath: string): Promise<number> =>
  (await usageOf(gateway, userPath))[0]?.tokens_reserved ?? Number.NaN;

/** Holds every request until the gate opens. */
async function held() {
  const gate = createGate();
  await second.behave({ kind: 'hold', gate });
  await first.behave({ kind: 'hold', gate });
  return gate;
}

const codeOf = ({ text }: Answer): unknown => (JSON.parse(text) as { error?: { code?: unknown } }).error?.code;

await test('a third request waits while two have set aside nearly all; what they use is far less', async (t) => {
  const gate = await held();
  const open = [askFor('/two'), askFor('/two')];
  await waitFor('two requests', () => gate.waiting === 2);
  const refused = await askFor('/two');
  t.equal(refused.status, 429);
  t.equal(codeOf(refused), 'rate_limit_exceeded');
  t.equal(refused.headers.get('retry-after'), '1');
  const aside = await reservedOf('/two');
  t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), String(2_500 - aside));
  t.match(refused.text, `/two: 2500 tokens per minute, ${aside} of them set aside for open requests. Retry in 1 s.`);
  const small = askFor('/two', { max_tokens: 50 });
  await waitFor('a small one', () => gate.waiting === 3);
  const reserved = await reservedOf('/two');
  t.ok(reserved > 2 * 1_024 + 50 && reserved <= 2_500, `${reserved}`);
  gate.release();
  const answers = await Promise.all([...open, small]);
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  t.equal(await reservedOf('/two'), 0);
  t.equal((await usageOf(gateway, '/two'))[0]?.tokens_used, 3 * 13);
  const [last] = answers
    .map(({ headers }) => Number(headers.get('x-ratelimit-remaining-tokens')))
    .sort((a, b) => a - b);
  t.ok(last !== undefined && last < 2_500 - 1_024, 'what others have set aside does not remain');
});

await test('a client with one request at a time notices nothing, whatever the cap', async (t) => {
  const remaining: (string | null)[] = [];
  const statuses: number[] = [];
  for (let index = 0; index < 9; index += 1) {
    const { status, headers } = await askFor('/alone');
    statuses.push(status);
    if (status === 200) remaining.push(headers.get('x-ratelimit-remaining-tokens'));
  }
  t.same(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 429], 'one request may exceed the cap');
  t.same(remaining, ['100', '87', '74', '61', '48', '35', '22', '9']);
});

await test('a shadow rule sets aside and refuses nothing', async (t) => {
  const gate = await held();
  const open = Array.from({ length: 4 }, () => askFor('/shadow'));
  await waitFor('all requests', () => gate.waiting === 4);
  const reserved = await reservedOf('/shadow');
  t.ok(reserved > 2_048 && reserved <= 2_500, `of two: ${reserved}`);
  gate.release();
  t.ok((await Promise.all(open)).every(({ status }) => status === 200));
  const [{ tokens_used, tokens_reserved } = { tokens_used: 0 }] = await usageOf(gateway, '/shadow');
  t.same([tokens_used, tokens_reserved], [2 * 13, 0], 'those that it would have refused are not counted');
});

await test('a target without room is skipped, and all of them refuse together', async (t) => {
  const gate = await held();
  const open = Array.from({ length: 5 }, () => askFor('/endings', { model: 'both' }));
  await waitFor('all requests', () => gate.waiting === 5);
  const at = (upstream: typeof first) => upstream.ledger.filter(({ finished }) => !finished).length;
  t.same([at(first), at(second)], [4, 1]);
  const refused = await askFor('/endings', { model: 'first/fake-small' });
  t.match([refused.status, refused.headers.get('retry-after')], [429, '1']);
  gate.release();
  await Promise.all(open);
  t.equal((await askFor('/endings', { model: 'first/fake-small' })).status, 200);
});

await test('however a request ends, nothing stays set aside', async (t) => {
  const stream = { stream: true };
  const cases: [name: string, behaviour: Behaviour, more?: object, status?: number][] = [
    ['an answer', { kind: 'openai' }],
    ['a stream', { kind: 'openai' }, stream],
    ['a refusal of the provider', { kind: 'error', status: 400 }, {}, 400],
    ['a failed provider, with another one', { kind: 'error', status: 500 }, { model: 'both' }],
    ['a broken answer', { kind: 'short-body' }, {}, 502],
    ['a broken stream', { kind: 'cut-chunk' }, stream],
    ['a closed connection', { kind: 'fin' }, {}, 502],
    ['a closed port, with another one', { kind: 'refused' }, { model: 'both' }],
  ];
  for (const [name, behaviour, more = {}, status = 200] of cases) {
    await first.behave(behaviour);
    const answer = await askFor('/endings', { model: 'first/fake-small', ...more }).catch(() => undefined);
    if (answer !== undefined) t.equal(answer.status, status, name);
    await waitFor(`nothing set aside after ${name}`, async () => (await reservedOf('/endings')) === 0);
  }
  await first.behave({ kind: 'openai' });
  t.equal((await gateway.metric('gateway_rate_limit_reserved_tokens')) ?? 0, 0);

  const gate = await held();
  const raw = await openRaw(gateway.port);
  const body = { model: 'second/fake-small', messages: [{ role: 'user', content: 'hello' }] };
  await raw.send(chatCall(body, { 'x-gateway-user-path': '/endings' }));
  await waitFor('a request', () => gate.waiting === 1);
  t.ok((await reservedOf('/endings')) > 1_024);
  raw.socket.destroy();
  await waitFor('nothing set aside after the client has left', async () => (await reservedOf('/endings')) === 0);
  gate.release();
});

await test('a refused request gives back its request, and holds nothing', async (t) => {
  const gate = await held();
  const open = [askFor('/slots'), askFor('/slots')];
  await waitFor('two requests', () => gate.waiting === 2);
  t.equal((await askFor('/slots')).status, 429);
  const hour = async () => (await usageOf(gateway, '/slots')).find(({ period_seconds }) => period_seconds === 3_600);
  t.equal((await hour())?.requests_used, 2);
  gate.release();
  await Promise.all(open);
  t.equal((await hour())?.requests_used, 2);
});

await test('every door sets aside what is known of its request; embeddings have no answer in tokens', async (t) => {
  const gate = await held();
  const prompt = 'word '.repeat(800);
  const doors: [door: string, more: object, least: number, most: number][] = [
    [
      'chat/completions',
      { messages: [{ role: 'user', content: prompt }], max_completion_tokens: 10, n: 3 },
      1_030,
      1_100,
    ],
    ['responses', { input: prompt, messages: undefined, max_output_tokens: 10 }, 1_000, 1_100],
    ['messages', { max_tokens: 10, messages: [{ role: 'user', content: prompt }] }, 1_000, 1_100],
    ['completions', { prompt, messages: undefined, max_tokens: 10 }, 1_000, 1_100],
    ['embeddings', { model: 'second/fake-embedding', input: prompt, messages: undefined }, 1_000, 1_100],
    ['moderations', { model: 'second/fake-small', input: prompt, messages: undefined }, 1_000, 1_100],
    ['audio/speech', { model: 'second/fake-small', input: prompt, voice: 'a', messages: undefined }, 2_000, 2_200],
  ];
  let before = 0;
  const open: Promise<unknown>[] = [];
  for (const [door, more, least, most] of doors) {
    open.push(askFor('/endings', more, { door }).catch(() => undefined));
    await waitFor(`a request at ${door}`, () => gate.waiting === open.length);
    const now = await reservedOf('/endings');
    t.ok(now - before >= least && now - before <= most, `${door}: ${now - before}`);
    before = now;
  }
  const passed = gateway.fetch('/p/second/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': '/endings' },
    body: { model: 'fake-small', messages: [{ role: 'user', content: prompt }], max_tokens: 10 },
  });
  open.push(passed.then((answer) => answer.text()).catch(() => undefined));
  await waitFor('a call that is passed on', () => gate.waiting === open.length);
  const now = await reservedOf('/endings');
  t.ok(now - before >= 1_000 && now - before <= 1_100, `passed on: ${now - before}`);
  gate.release();
  await Promise.all(open);
  await waitFor('nothing set aside', async () => (await reservedOf('/endings')) === 0);
});

await test('the setting holds for the next request: none sets nothing aside', async (t) => {
  await apply({ ...limits, reserve_tokens: 'none' });
  const gate = await held();
  const open = Array.from({ length: 5 }, () => askFor('/two'));
  await waitFor('all requests', () => gate.waiting === 5);
  t.equal(await reservedOf('/two'), 0);
  await apply({ ...limits, reserve_tokens: 'max' });
  const bounded = askFor('/two', { max_tokens: 2_300 });
  await waitFor('one more', () => gate.waiting === 6);
  t.ok((await reservedOf('/two')) > 2_300);
  t.equal((await askFor('/two', { max_tokens: 300 })).status, 429);
  gate.release();
  await Promise.all([...open, bounded]);
  t.equal(await reservedOf('/two'), 0);
});
