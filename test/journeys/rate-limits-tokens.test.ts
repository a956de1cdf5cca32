// Tokens are charged after the answer, as the provider reports them or by estimate, to the target that executed the request.
import { t as suite, test } from 'tap';
import { ruleKey } from '../../domain/rules/rule.ts';
import { ruleId } from '../../domain/rules/rule-id.ts';
import { type Answer, ask, usageOf } from '../support/consumer.ts';
import { type Behaviour, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';

const left = await startFakeUpstream({ t: suite });
const right = await startFakeUpstream({ t: suite });
const models = ['fake-small', 'fake-embedding'];
const leftProvider = { type: 'openai', base_url: left.url, models };
const rightProvider = { ...leftProvider, base_url: right.url };
/** A power of two, so that the share of it that a gauge shows gives the exact count back. */
const cap = 2 ** 20;
const tokens = [{ period: 'hour', max_tokens: cap }];
const config = {
  providers: { left: leftProvider, right: rightProvider, plain: { ...leftProvider, stream_usage: false } },
  aliases: [{ source: 'both', targets: [{ model: 'left/fake-small' }, { model: 'right/fake-small' }] }],
  rate_limits: {
    user_paths: [
      { path: '/team', limits: tokens },
      { path: '/small', limits: [{ period: 'minute', max_tokens: 20 }] },
    ],
    providers: ['left', 'right', 'plain'].map((name) => ({ name, limits: tokens })),
    models: [{ model: 'fake-small', limits: tokens }],
  },
};
const gateway = await shareGateway({ config });

suite.beforeEach(async () => {
  await left.behave({ kind: 'openai' });
  await right.behave({ kind: 'openai' });
});

const askFor = (body: object, userPath = '/team/app', door = 'chat/completions', from = gateway): Promise<Answer> =>
  ask(from, userPath, body, { door });

/** What every rule and the counter of tokens say at this moment. */
async function books() {
  const [team] = await usageOf(gateway, '/team');
  const text = await gateway.metrics();
  const share = (scope: 'provider' | 'model', subject: string) => {
    const labels = { rule: ruleId(ruleKey(scope, subject, 3_600)), dimension: 'tokens' };
    return cap * (readMetric(text, 'gateway_rate_limit_utilization_ratio', labels) ?? Number.NaN);
  };
  const source = (name: string) => readMetric(text, 'gateway_rate_limit_tokens_total', { source: name }) ?? 0;
  return {
    team: team?.tokens_used ?? Number.NaN,
    left: share('provider', 'left'),
    right: share('provider', 'right'),
    plain: share('provider', 'plain'),
    model: share('model', 'fake-small'),
    reported: source('reported'),
    estimated: source('estimated'),
  };
}

type Books = Awaited<ReturnType<typeof books>>;

/** What was charged since, where it is not 0. */
async function chargedSince(before: Books): Promise<Partial<Books>> {
  const names = Object.keys(before) as (keyof Books)[];
  const after = await books();
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]).filter(([, difference]) => difference !== 0),
  );
}

const reportedBy = (entry: Entry | undefined) => entry?.usage?.total_tokens ?? Number.NaN;

await test('what the provider reports is charged to the consumer, the provider and the model', async (t) => {
  const rows = [
    ['JSON', {}],
    ['a stream', { stream: true }],
    ['a stream that asks for usage', { stream: true, stream_options: { include_usage: true } }],
    ['a stream that asks for none', { stream: true, stream_options: { include_usage: false } }],
  ] as const;
  for (const [name, extra] of rows) {
    const before = await books();
    t.equal((await askFor({ model: 'left/fake-small', ...extra })).status, 200);
    const total = reportedBy(left.ledger.at(-1));
    t.equal(total, 13);
    t.strictSame(await chargedSince(before), { team: total, left: total, model: total, reported: total }, name);
  }
});

await test('embeddings are charged, too', async (t) => {
  const before = await books();
  await askFor({ model: 'right/fake-embedding', input: ['one two', 'three'] }, '/team', 'embeddings');
  t.strictSame(await chargedSince(before), { team: 3, right: 3, reported: 3 }, 'the rule of another model is not');
});

await test('an explicit zero is a report', async (t) => {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  await left.behave({ kind: 'openai', usage });
  for (const stream of [false, true]) {
    const before = await books();
    t.equal((await askFor({ model: 'left/fake-small', stream })).status, 200);
    t.strictSame(await chargedSince(before), {}, 'no estimate in its place');
  }
});

await test('a provider that reports nothing is charged by estimate, and the metric says so', async (t) => {
  const words = 'word '.repeat(100);
  const mute = { choices: [{ index: 0, message: { role: 'assistant', content: words } }] };
  const event = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`;
  const rows: readonly (readonly [string, string, object, Behaviour])[] = [
    ['JSON', 'left', {}, { kind: 'json', body: mute }],
    [
      'a stream',
      'left',
      { stream: true },
      { kind: 'sse', chunks: [...(words.match(/\S+\s/g) ?? [])].map(event).concat('data: [DONE]\n\n') },
    ],
    ['one that cannot be asked', 'plain', { stream: true }, { kind: 'openai', content: words }],
  ];
  for (const [name, provider, extra, behaviour] of rows) {
    await left.behave(behaviour);
    const before = await books();
    const { text } = await askFor({ model: `${provider}/fake-small`, ...extra });
    t.notMatch(text, /"usage":\{/);
    const charged = await chargedSince(before);
    const total = charged.estimated ?? 0;
    t.comment(`${name}: ${total} tokens`);
    t.ok(total >= 50 && total <= 200, `${name}: about a hundred words`);
    t.strictSame(charged, { team: total, [provider]: total, model: total, estimated: total });
  }
  t.notMatch(left.ledger.at(-1)?.body.toString(), 'stream_options', 'stream_usage: false is obeyed');
});

await test('after a failure the target that executed the request is charged, and no other', async (t) => {
  const usage = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 };
  const failing: Behaviour = { kind: 'json', status: 503, body: { error: { message: 'busy' }, usage } };
  for (const stream of [false, true]) {
    // Whichever is asked first fails.
    const asked = [left.ledger.length, right.ledger.length] as const;
    const behave = () => (left.ledger.length - asked[0] + right.ledger.length - asked[1] === 1 ? failing : undefined);
    await left.behave(behave);
    await right.behave(behave);
    const before = await books();
    t.equal((await askFor({ model: 'both', stream })).status, 200);
    t.same([left.ledger.length - asked[0], right.ledger.length - asked[1]], [1, 1]);
    const [executed, other] =
      reportedBy(left.ledger.at(-1)) === 13 ? (['left', 'right'] as const) : (['right', 'left'] as const);
    const charged = await chargedSince(before);
    t.strictSame(charged, { team: 13, [executed]: 13, model: 13, reported: 13 }, `${other} failed`);
  }
});

await test('a provider that refuses is charged no tokens', async (t) => {
  const usage = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 };
  await left.behave({ kind: 'json', status: 400, body: { error: { message: 'no' }, usage } });
  const before = await books();
  t.equal((await askFor({ model: 'left/fake-small' })).status, 400);
  t.strictSame(await chargedSince(before), {});
});

await test('a token cap lets the request through that overshoots it, and refuses the next', async (t) => {
  const first = await askFor({ model: 'left/fake-small' }, '/small');
  t.equal(first.headers.get('x-ratelimit-remaining-tokens'), '20', 'counted once the answer is complete');
  const second = await askFor({ model: 'left/fake-small', stream: true }, '/small');
  t.equal(second.headers.get('x-ratelimit-remaining-tokens'), '7');
  const calls = left.ledger.length;
  const third = await askFor({ model: 'left/fake-small' }, '/small');
  t.equal(third.status, 429);
  t.match(third.text, 'Rate limit exceeded for /small: 20 tokens per minute.');
  t.notOk(third.headers.has('x-ratelimit-limit-requests'));
  t.equal(left.ledger.length, calls);
});

await test('with usage tracking off: one warning, token caps are not enforced, nothing is asked of the provider', async (t) => {
  const off = await startGateway(t, { config, env: { USAGE_ENABLED: 'false' } });
  const warnings = off.process.logs().filter(({ level }) => level === 'warn');
  t.equal(warnings.length, 1);
  t.match(warnings[0]?.['msg'], /USAGE_ENABLED/);
  for (let index = 0; index < 4; index += 1) {
    const answer = await askFor({ model: 'left/fake-small', stream: true }, '/small', 'chat/completions', off);
    t.equal(answer.status, 200);
    t.notOk([...answer.headers.keys()].some((name) => name.startsWith('x-ratelimit-')));
    t.notMatch(left.ledger.at(-1)?.body.toString(), 'stream_options', 'nothing is injected');
  }
  await askFor({ model: 'left/fake-small' }, '/small', 'chat/completions', off);
  const usage = await (await off.fetch('/v1/usage', { headers: { 'x-gateway-user-path': '/small' } })).json();
  t.match(usage, { rate_limits: [{ max_tokens: 20, tokens_used: 0, exhausted: false }] });
  t.notOk(await off.metric('gateway_rate_limit_tokens_total'), 'nothing is counted');
});
