// A consumer reaches its limits: the refusal, the time of the next admitted retry, and the headers of answers on limited paths.
import { OpenAI, RateLimitError } from 'openai';
import { t as suite, test } from 'tap';
import { ruleKey } from '../../domain/rules/rule.ts';
import { ruleId } from '../../domain/rules/rule-id.ts';
import { ask } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

/** Periods on both sides of the longest wait that clients of the OpenAI kind sleep through (120 s). */
const waits = [2, 60, 118, 119, 120, 121, 3_600, 86_400];

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, models: upstream.models };
const gateway = await shareGateway({
  config: {
    providers: { fake: provider, capped: provider },
    aliases: [{ source: 'either', targets: [{ model: 'capped/fake-embedding' }, { model: 'fake/fake-embedding' }] }],
    rate_limits: {
      user_paths: [
        { path: '/window', limits: [{ period_seconds: 2, max_requests: 3 }] },
        { path: '/one', limits: [{ period: 'minute', max_requests: 1 }] },
        { path: '/last', limits: [{ period: 'minute', max_requests: 1 }] },
        { path: '/words', limits: [{ period: 'minute', max_tokens: 10 }] },
        { path: '/slots', limits: [{ period: 'concurrent', max_requests: 2 }] },
        { path: '/nested', limits: [{ period: 'hour', max_requests: 2 }] },
        { path: '/nested/app', limits: [{ period: 'minute', max_requests: 2 }] },
        { path: '/headers', limits: [{ period: 'minute', max_requests: 30, max_tokens: 1_000 }] },
        { path: '/headers/deep', limits: [{ period: 'hour', max_requests: 900, max_tokens: 400 }] },
        { path: '/tie', limits: [{ period: 'minute', max_requests: 9 }] },
        { path: '/only-tokens', limits: [{ period: 'day', max_tokens: 700 }] },
        { path: '/sdk/soon', limits: [{ period_seconds: 2, max_requests: 1 }] },
        { path: '/sdk/late', limits: [{ period: 'hour', max_requests: 1 }] },
        {
          path: '/shadow',
          limits: [
            { period: 'minute', max_requests: 1, max_tokens: 5, mode: 'shadow' },
            { period: 'concurrent', max_requests: 1, mode: 'shadow' },
          ],
        },
        ...waits.map((seconds) => ({
          path: `/wait-${seconds}`,
          limits: [{ period_seconds: seconds, max_requests: 1 }],
        })),
      ],
      providers: [{ name: 'capped', limits: [{ period: 'minute', max_requests: 20, max_tokens: 100_000 }] }],
      models: [
        { model: 'capped/fake-large', limits: [{ period: 'hour', max_requests: 8, max_tokens: 300 }] },
        { model: 'capped/fake-embedding', limits: [{ period: 'minute', max_requests: 1, mode: 'shadow' }] },
      ],
    },
  },
});
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

/** One request of that consumer, its answer read to the end. Times are those of the test process. */
async function askTimed(userPath: string, extra: object = {}, door = 'chat/completions') {
  const sentAtMs = performance.now();
  const answer = await ask(gateway, userPath, extra, { door });
  return { ...answer, sentAtMs, receivedAtMs: performance.now() };
}

type Answer = Awaited<ReturnType<typeof askTimed>>;

/** Every header that speaks of limits, the reset in seconds left out: it depends on the time of day. */
function limitsOf({ headers }: Answer): Record<string, string> {
  const told = [...headers].filter(([name]) => name.startsWith('x-ratelimit-'));
  return Object.fromEntries(
    told.filter(([name]) => !name.includes('reset')).map(([name, value]) => [name.slice('x-ratelimit-'.length), value]),
  );
}

const limitNames = ({ headers }: Answer) => [...headers.keys()].filter((name) => name.startsWith('x-ratelimit-'));
const retryAfter = ({ headers }: Answer) => Number(headers.get('retry-after'));
const decisions = async (scope: 'user_path' | 'model', subject: string, period: number, outcome: string) =>
  (await gateway.metric('gateway_rate_limit_decisions_total', {
    rule: ruleId(ruleKey(scope, subject, period)),
    outcome,
  })) ?? 0;

await test('a refusal is the envelope of a 429, names subject, cap and period, and says when to come again', async (t) => {
  const rows = [
    ['/one', 'requests', 1, '/one: 1 request per minute'],
    ['/words', 'tokens', 10, '/words: 10 tokens per minute'],
  ] as const;
  for (const [userPath, dimension, cap, limit] of rows) {
    t.equal((await askTimed(userPath)).status, 200);
    const before = upstream.ledger.length;
    for (const stream of [false, true]) {
      const refused = await askTimed(`${userPath}/below`, { stream });
      const seconds = retryAfter(refused);
      t.equal(refused.status, 429);
      t.match(refused.headers.get('content-type'), /^application\/json/);
      t.strictSame(JSON.parse(refused.text), {
        error: {
          code: 'rate_limit_exceeded',
          message: `Rate limit exceeded for ${limit}. Retry in ${seconds} s.`,
          param: null,
          type: 'rate_limit_error',
        },
      });
      t.ok(Number.isInteger(seconds) && seconds >= 55 && seconds <= 61, `${seconds} s`);
      t.strictSame(
        Object.fromEntries([...refused.headers].filter(([name]) => name.startsWith('x-ratelimit-'))),
        {
          [`x-ratelimit-limit-${dimension}`]: `${cap}`,
          [`x-ratelimit-remaining-${dimension}`]: '0',
          [`x-ratelimit-reset-${dimension}`]: `${seconds}`,
        },
        'the trio of what is used up, and no other',
      );
      t.ok(refused.headers.get('x-request-id'));
      t.notOk(refused.headers.has('x-should-retry'), 'this wait is one that a client can sleep through');
    }
    t.equal(upstream.ledger.length, before, 'the provider was not asked');
  }
});

await test('the refusal names the rule with the longest wait', async (t) => {
  await askTimed('/nested/app');
  await askTimed('/nested/app');
  const refused = await askTimed('/nested/app/x');
  t.match(refused.text, 'for /nested: 2 requests per hour.');
  t.ok(retryAfter(refused) > 3_500, 'the hour, not the minute');
  t.equal(
    (await askTimed('/nested/other')).status,
    429,
    'the minute of /nested/app does not concern it, the hour does',
  );
  t.match((await askTimed('/nested/other')).text, '/nested: 2 requests per hour');
});

await test('Retry-After is honest: never too early, never a whole second too late', async (t) => {
  for (let index = 0; index < 3; index += 1) t.equal((await askTimed('/window')).status, 200);
  const refused: Answer[] = [];
  const admitted = await waitFor(
    'the window to move on',
    async () => {
      const answer = await askTimed('/window');
      if (answer.status === 200) return answer;
      refused.push(answer);
      return undefined;
    },
    6_000,
  );
  const lastRefused = refused.at(-1) as Answer;
  t.comment(`${refused.length} refused before one was admitted`);
  t.ok(refused.length > 20);
  const tooEarly = refused.filter((answer) => answer.receivedAtMs + 1000 * retryAfter(answer) < lastRefused.sentAtMs);
  const tooLate = refused.filter(
    (answer) => admitted.receivedAtMs <= answer.sentAtMs + 1000 * (retryAfter(answer) - 1),
  );
  t.strictSame(tooEarly, [], 'no client that waited as told was refused again');
  t.strictSame(tooLate, [], 'for no client was a second less enough');
  t.strictSame(
    [1, 2].filter((seconds) => !refused.some((answer) => retryAfter(answer) === seconds)),
    [],
    'it counts down',
  );
  t.ok(refused.every((answer) => answer.text.includes('/window: 3 requests per 2s.')));
  t.equal((await askTimed('/window/child')).headers.get('x-ratelimit-limit-requests'), '3');
});

await test('x-should-retry is false exactly when the wait is longer than 120 s', async (t) => {
  const told = new Map<number, boolean>();
  for (const period of waits) {
    t.equal((await askTimed(`/wait-${period}`)).status, 200);
    const refused = await askTimed(`/wait-${period}`);
    const seconds = retryAfter(refused);
    t.equal(refused.status, 429);
    t.ok(seconds >= period - 1 && seconds <= Math.ceil((period * 61) / 60), `${seconds} s for a window of ${period} s`);
    t.equal(refused.headers.get('x-should-retry'), seconds > 120 ? 'false' : null);
    told.set(period, refused.headers.has('x-should-retry'));
  }
  t.equal(told.get(118), false);
  t.equal(told.get(121), true);
});

await test('concurrency: Retry-After 1, no trio; the slot is free as soon as a request has ended', async (t) => {
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const held = [askTimed('/slots/a'), askTimed('/slots/b', { stream: true })];
  await waitFor('two held requests', () => gate.waiting === 2);
  const refused = await askTimed('/slots/c');
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1');
  t.strictSame(limitNames(refused), []);
  t.notOk(refused.headers.has('x-should-retry'));
  t.strictSame(JSON.parse(refused.text), {
    error: {
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded for /slots: 2 concurrent requests. Retry in 1 s.',
      param: null,
      type: 'rate_limit_error',
    },
  });
  gate.release();
  for (const answer of await Promise.all(held)) {
    t.equal(answer.status, 200);
    t.strictSame(limitNames(answer), [], 'nor does a success speak of concurrency');
  }
  t.equal((await askTimed('/slots/c')).status, 200);
});

await test('six headers, requests and tokens each of the rule with the least left, over all scopes', async (t) => {
  const deep = '/headers/deep';
  t.strictSame(limitsOf(await askTimed(deep)), {
    'limit-requests': '30',
    'remaining-requests': '29',
    'limit-tokens': '400',
    'remaining-tokens': '400',
  });
  t.strictSame(
    limitsOf(await askTimed(deep, { model: 'capped/fake-small' })),
    {
      'limit-requests': '20',
      'remaining-requests': '19',
      'limit-tokens': '400',
      // "user" and two words asked, ten answered.
      'remaining-tokens': '387',
    },
    'the provider has the fewest requests left, the path the fewest tokens',
  );
  t.strictSame(
    limitsOf(await askTimed(deep, { model: 'capped/fake-large' })),
    { 'limit-requests': '8', 'remaining-requests': '7', 'limit-tokens': '300', 'remaining-tokens': '300' },
    'the model has the least of both',
  );
  t.strictSame(
    limitsOf(await askTimed('/headers', { input: 'one two', model: 'capped/fake-embedding' }, 'embeddings')),
    { 'limit-requests': '20', 'remaining-requests': '17', 'limit-tokens': '1000', 'remaining-tokens': '961' },
    'embeddings, too',
  );
});

await test('a stream carries the headers, from its first byte on', async (t) => {
  const gate = createGate();
  await upstream.behave({ kind: 'sse', chunks: ['data: {"choices":[]}\n\n', gate, 'data: [DONE]\n\n'] });
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': '/headers' },
    body: { model: 'fake/fake-small', messages: [], stream: true },
  });
  const names = [...response.headers.keys()].filter((name) => name.startsWith('x-ratelimit-')).sort();
  t.strictSame(names, [
    'x-ratelimit-limit-requests',
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-requests',
    'x-ratelimit-reset-tokens',
  ]);
  for (const name of names) t.match(response.headers.get(name), /^\d+$/, name);
  gate.release();
  await response.text();
});

await test('among equals the first in the order of rules speaks', async (t) => {
  await askTimed('/tie');
  const headers = limitsOf(await askTimed('/tie', { model: 'capped/fake-large' }));
  // One request each has been made of model and path before.
  t.strictSame([headers['limit-requests'], headers['remaining-requests']], ['8', '6'], 'the model has one less');
  await askTimed('/tie');
  t.equal((await askTimed('/tie')).headers.get('x-ratelimit-remaining-requests'), '5');
  const tied = limitsOf(await askTimed('/tie', { model: 'capped/fake-large' }));
  t.strictSame([tied['limit-requests'], tied['remaining-requests']], ['9', '4'], 'now the path');
  await askTimed('/headers', { model: 'capped/fake-large' });
  const equal = limitsOf(await askTimed('/tie', { model: 'capped/fake-large' }));
  t.strictSame([equal['limit-requests'], equal['remaining-requests']], ['8', '3'], 'three left of either: the model');
});

await test('reset: when all that is used will have left; once nothing is left, until the cap admits again', async (t) => {
  for (const [userPath, name, period] of [
    ['/headers', 'x-ratelimit-reset-requests', 60],
    ['/only-tokens', 'x-ratelimit-reset-tokens', 86_400],
  ] as const) {
    await askTimed(userPath);
    const told = Number((await askTimed(userPath)).headers.get(name));
    t.ok(told > period - 2 && told <= period + period / 60, `${told} s of ${period}`);
  }
  const last = await askTimed('/last');
  t.equal(last.status, 200);
  t.equal(last.headers.get('x-ratelimit-remaining-requests'), '0');
  const reset = Number(last.headers.get('x-ratelimit-reset-requests'));
  t.ok(reset >= 60 && reset <= 61, `${reset} s`);
});

await test('no rule, no header: what the provider says of its own account is never relayed', async (t) => {
  for (const stream of [false, true]) {
    const answer = await askTimed('/free', { stream });
    t.equal(answer.status, 200);
    t.strictSame(limitNames(answer), []);
    t.notOk(answer.headers.has('retry-after'));
    t.notOk(answer.headers.has('set-cookie'));
  }
  const limited = await askTimed('/only-tokens');
  t.strictSame(Object.keys(limitsOf(limited)).sort(), ['limit-tokens', 'remaining-tokens'], 'a dimension without cap');
});

await test('a shadow rule counts what it would refuse, and is seen nowhere else', async (t) => {
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const held = askTimed('/shadow');
  await waitFor('a held request', () => gate.waiting === 1);
  const beside = askTimed('/shadow');
  await waitFor('a second one', () => gate.waiting === 2);
  gate.release();
  for (const answer of [
    await held,
    await beside,
    await askTimed('/shadow'),
    await askTimed('/shadow', { stream: true }),
  ]) {
    t.equal(answer.status, 200);
    t.strictSame(limitNames(answer), []);
    t.notOk(answer.headers.has('retry-after'));
  }
  const minute = { rule: ruleId(ruleKey('user_path', '/shadow', 60)) };
  const counted = (labels: object) => gateway.metric('gateway_rate_limit_decisions_total', { ...minute, ...labels });
  t.equal(await counted({ dimension: 'requests', outcome: 'allow' }), 1);
  t.equal(await counted({ dimension: 'requests', outcome: 'shadow_reject' }), 3);
  // The first one began before any token was counted; all that is left was set aside for it.
  t.equal(await counted({ dimension: 'tokens', outcome: 'shadow_reject' }), 3);
  t.equal(await counted({ outcome: 'reject' }), undefined);
  t.equal(await decisions('user_path', '/shadow', 0, 'shadow_reject'), 1, 'the second of two at once');
  t.equal(await decisions('user_path', '/shadow', 0, 'allow'), 3);

  const capped = { scope: 'provider', dimension: 'requests', outcome: 'allow' };
  const before = (await gateway.metric('gateway_rate_limit_decisions_total', capped)) ?? 0;
  for (let index = 0; index < 4; index += 1) await askTimed('/free', { model: 'either', input: 'x' }, 'embeddings');
  t.equal(await gateway.metric('gateway_rate_limit_decisions_total', capped), before + 2, 'no target was skipped');
  t.ok((await decisions('model', 'capped/fake-embedding', 60, 'shadow_reject')) >= 1);
  t.equal(await decisions('model', 'capped/fake-embedding', 60, 'skip_target'), 0);
});

await test('the official SDK sleeps as told and succeeds; told not to, it does not retry', async (t) => {
  const connect = (userPath: string) =>
    new OpenAI({
      apiKey: masterKey,
      baseURL: `${gateway.url}/v1`,
      maxRetries: 2,
      defaultHeaders: { 'X-Gateway-User-Path': userPath },
    });
  const request = { model: 'fake/fake-small', messages: [{ role: 'user' as const, content: 'hello' }] };
  const before = upstream.ledger.length;

  const soon = connect('/sdk/soon');
  await soon.chat.completions.create(request);
  const startedAtMs = performance.now();
  t.ok((await soon.chat.completions.create(request)).choices[0], 'it came through');
  const tookMs = performance.now() - startedAtMs;
  t.comment(`the second request took ${tookMs.toFixed(0)} ms`);
  t.ok(tookMs >= 1_000 && tookMs < 4_500, 'it slept as long as it was told, no longer');
  t.equal(await decisions('user_path', '/sdk/soon', 2, 'reject'), 1, 'refused once');
  t.equal(await decisions('user_path', '/sdk/soon', 2, 'allow'), 2);
  t.equal(upstream.ledger.length, before + 2);

  const late = connect('/sdk/late');
  await late.chat.completions.create(request);
  const thrown: unknown = await late.chat.completions.create(request).catch((error: unknown) => error);
  t.ok(thrown instanceof RateLimitError);
  t.match(thrown, { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' });
  t.equal(await decisions('user_path', '/sdk/late', 3_600, 'reject'), 1, 'no retry');
  t.equal(upstream.ledger.length, before + 3);
});

await test('every request that reached the provider was well-formed', async (t) => {
  t.same(upstream.malformed, []);
});
