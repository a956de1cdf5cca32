// What clients are told about limits.
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import { rateLimitHeaders, rejectionHeaders, rejectionWords } from '../../../proxy/limits/headers.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { Matches } from '../../../proxy/limits/match.ts';
import { type Exhausted, explain, type Rejection, rejectTargets } from '../../../proxy/limits/rejection.ts';
import { ruleOf } from './rule-of.ts';

/** The start of an hour, eight hours into a day. */
const start = 1_800_000_000_000;

function limiterOf(...rules: Rule[]): Limiter {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
}

/** One request through both stages, then its headers as `requests 10 9 60`, `tokens …`. */
function answer(limiter: Limiter, path: string, nowMs: number = start): string[] {
  const user = limiter.forUserPath(path);
  const target = limiter.forTarget('p', 'm');
  limiter.admit(user, nowMs, 'reject');
  limiter.admit(target, nowMs, 'skip_target');
  return trios(rateLimitHeaders(target && { matches: target }, { matches: user }, nowMs));
}

function sentence(rejection: Exhausted): string {
  const { subject, limit, seconds } = rejectionWords(rejection);
  return `${subject}: ${limit}, ${seconds}`;
}

function trios(headers: string[]): string[] {
  const found: string[] = [];
  for (let index = 0; index < headers.length; index += 6) {
    const [limit = '', cap, remaining, left, reset, seconds] = headers.slice(index, index + 6);
    const dimension = limit.slice('x-ratelimit-limit-'.length);
    const names = [remaining, reset];
    const expected = [`x-ratelimit-remaining-${dimension}`, `x-ratelimit-reset-${dimension}`];
    found.push(names.join() === expected.join() ? `${dimension} ${cap} ${left} ${seconds}` : `odd ${names.join()}`);
  }
  return found;
}

function refusal(limiter: Limiter, path: string, nowMs: number = start): Rejection {
  const { rejection } = limiter.admit(limiter.forUserPath(path), nowMs, 'reject');
  if (rejection === undefined) throw new Error('admitted');
  return rejection;
}

await test('headers say what remains after this request, and when all that is used will have left', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 60, { maxRequests: 10, maxTokens: 100 }));
  t.same(answer(limiter, '/a', start + 15_001), ['requests 10 9 61', 'tokens 100 100 61']);
  const path = limiter.forUserPath('/');
  const told = (nowMs: number): string[] => trios(rateLimitHeaders(undefined, { matches: path }, nowMs));
  limiter.charge(path, 30, start + 16_000);
  t.same(told(start + 30_000), ['requests 10 9 47', 'tokens 100 70 47'], 'the newest use decides');
  t.same(told(start + 76_999), ['requests 10 10 1', 'tokens 100 70 1'], 'at least one second');
  t.same(told(start + 77_000), ['requests 10 10 60', 'tokens 100 100 60'], 'without use a whole period');
});

await test('a path without limits has no headers, a dimension without cap no trio', async (t) => {
  t.same(answer(limiterOf(), '/'), []);
  t.same(answer(limiterOf(ruleOf('user_path', '/', 60, { maxTokens: 5 })), '/'), ['tokens 5 5 60']);
  t.same(answer(limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 5 })), '/'), [], 'concurrency has no headers');
});

await test('the rule with the least remaining is chosen, for requests and tokens separately', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', 60, { maxRequests: 10, maxTokens: 50 }),
    ruleOf('user_path', '/a', 3_600, { maxRequests: 5, maxTokens: 1_000 }),
    ruleOf('provider', 'p', 60, { maxRequests: 7, maxTokens: 400 }),
    ruleOf('model', 'm', 86_400, { maxRequests: 100, maxTokens: 30 }),
  );
  t.same(answer(limiter, '/a'), ['requests 5 4 3660', 'tokens 30 30 87840']);
});

await test('among equals the first in the order of rules is chosen', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', 60, { maxRequests: 5 }),
    ruleOf('provider', 'p', 3_600, { maxRequests: 5 }),
    ruleOf('model', 'm', 86_400, { maxRequests: 5 }),
  );
  t.same(answer(limiter, '/'), ['requests 5 4 87840']);
  t.same(
    trios(rateLimitHeaders(undefined, { matches: limiter.forUserPath('/') }, start)),
    ['requests 5 4 61'],
    'without a target',
  );
});

await test('when nothing remains the reset is the wait until the cap admits again', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 60, { maxRequests: 1, maxTokens: 10 }));
  t.same(answer(limiter, '/', start + 20_000), ['requests 1 0 61', 'tokens 10 10 61']);
  limiter.charge(limiter.forUserPath('/'), 25, start + 30_000);
  t.same(trios(rateLimitHeaders(undefined, { matches: limiter.forUserPath('/') }, start + 50_500)), [
    'requests 1 0 31',
    'tokens 10 0 41',
  ]);
});

await test('shadow rules are never seen', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', 60, { maxRequests: 1, maxTokens: 1, mode: 'shadow' }),
    ruleOf('user_path', '/', 3_600, { maxRequests: 10 }),
  );
  t.same(answer(limiter, '/'), ['requests 10 9 3660']);
  t.same(answer(limiter, '/'), ['requests 10 8 3660']);
});

await test('token headers are absent while usage tracking is off', async (t) => {
  const limiter = createLimiter({ tokensEnforced: false });
  limiter.reconcile([ruleOf('user_path', '/', 60, { maxRequests: 2, maxTokens: 5 })]);
  t.same(answer(limiter, '/'), ['requests 2 1 61']);
});

await test('a child that has used nothing has all that its template gives', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/c', 60, { maxRequests: 2, perChild: true }));
  t.same(trios(rateLimitHeaders(undefined, { matches: limiter.forUserPath('/c/x') }, start)), ['requests 2 2 60']);
  t.equal(limiter.size, 0);
});

await test('a refusal carries its rule, the trio of what ran out and the wait', async (t) => {
  const requests = limiterOf(ruleOf('user_path', '/', 60, { maxRequests: 1, maxTokens: 9, name: 'all per minute' }));
  requests.admit(requests.forUserPath('/'), start, 'reject');
  t.same(rejectionHeaders(refusal(requests, '/', start + 30_000)), {
    'retry-after': '31',
    'x-gateway-rule': 'all per minute',
    'x-ratelimit-limit-requests': '1',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '31',
  });
  const unnamed = ruleOf('user_path', '/', 60, { maxTokens: 9 });
  const tokens = limiterOf(unnamed);
  tokens.charge(tokens.forUserPath('/'), 9, start);
  t.same(rejectionHeaders(refusal(tokens, '/')), {
    'retry-after': '61',
    'x-gateway-rule': unnamed.id,
    'x-ratelimit-limit-tokens': '9',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '61',
  });
  const slots = limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 1, name: 'slots' }));
  slots.admit(slots.forUserPath('/'), start, 'reject');
  t.same(rejectionHeaders(refusal(slots, '/')), { 'retry-after': '1', 'x-gateway-rule': 'slots' });
});

await test('a refusal speaks of one rule: the longest wait, its trio and its words', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', 60, { maxRequests: 1, name: 'everyone' }),
    ruleOf('user_path', '/a', 3_600, { maxTokens: 5, name: 'a' }),
  );
  const path = limiter.forUserPath('/a');
  limiter.admit(path, start, 'reject');
  limiter.charge(path, 5, start);
  t.same(rejectionHeaders(refusal(limiter, '/a')), {
    'retry-after': '3660',
    'x-gateway-rule': 'a',
    'x-should-retry': 'false',
    'x-ratelimit-limit-tokens': '5',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '3660',
  });
  t.equal(sentence(refusal(limiter, '/a')), '/a: 5 tokens per hour, 3660');
});

await test('among equal waits the first in the order of rules speaks', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/b', 60, { maxRequests: 1 }),
    ruleOf('user_path', '/', 60, { maxRequests: 1, maxTokens: 5 }),
  );
  const path = limiter.forUserPath('/b');
  limiter.admit(path, start, 'reject');
  limiter.charge(path, 5, start);
  t.equal(sentence(refusal(limiter, '/b')), '/: 1 request per minute, 61');
});

await test('when every target is used up the wait is the first moment that suits the consumer and some target', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/slow', 600, { maxTokens: 5 }),
    ruleOf('provider', 'day', 86_400, { maxRequests: 1 }),
    ruleOf('provider', 'hour', 3_600, { maxRequests: 1 }),
    ruleOf('model', 'm', 60, { maxRequests: 1 }),
    ruleOf('provider', 'brief', 120, { maxTokens: 5 }),
  );
  const targets = ['day', 'hour'].map((provider) => limiter.forTarget(provider, 'm'));
  for (const matches of [...targets, limiter.forTarget('day', 'x'), limiter.forTarget('hour', 'x')]) {
    limiter.admit(matches, start, 'skip_target');
  }
  const brief = limiter.forTarget('brief', 'x');
  limiter.charge(brief, 5, start);
  const [free, slow] = [limiter.forUserPath('/'), limiter.forUserPath('/slow')];
  limiter.charge(slow, 5, start);
  const told = (refused: Matches[], consumer: Matches): string => sentence(rejectTargets(refused, consumer, start));
  t.equal(
    told(targets, free),
    'provider hour: 1 request per hour, 3660',
    'the longest of a target, the soonest target',
  );
  t.equal(told(targets.toReversed(), free), 'provider hour: 1 request per hour, 3660', 'whatever their order');
  t.equal(told([brief, ...targets], free), 'provider brief: 5 tokens per 120s, 122');
  t.equal(told([brief, ...targets], slow), '/slow: 5 tokens per 600s, 610', 'or the consumer, when it waits longer');
  const before = limiter.decisions();
  t.equal(sentence(explain([brief], slow, start)), '/slow: 5 tokens per 600s, 610');
  t.equal(sentence(explain(targets, slow, start)), 'provider hour: 1 request per hour, 3660');
  const open = limiter.forTarget('free', 'x');
  t.equal(sentence(explain([open, ...targets], slow, start)), '/slow: 5 tokens per 600s, 610');
  t.same(limiter.decisions(), before, 'to explain is not to refuse');
  t.throws(() => rejectTargets([open], free, start), 'nothing stands in its way');
  const rejected = refusal(limiter, '/slow');
  t.equal(
    explain([open], slow, start + 610_000, { before: rejected }),
    rejected,
    'nothing does any more: what did before is told',
  );
});

await test('clients are asked not to sleep through a wait of more than two minutes', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 120, { maxRequests: 1 }));
  limiter.admit(limiter.forUserPath('/'), start, 'reject');
  t.equal(rejectionHeaders(refusal(limiter, '/', start + 1_000))['x-should-retry'], 'false', '121 s');
  t.equal(rejectionHeaders(refusal(limiter, '/', start + 2_000))['x-should-retry'], undefined, '120 s');
});

await test('the message names subject, period and cap', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/team', 60, { maxRequests: 2 }),
    ruleOf('user_path', '/c', 300, { maxTokens: 50, perChild: true }),
    ruleOf('user_path', '/one', 0, { maxRequests: 1 }),
    ruleOf('provider', 'OpenAI', 86_400, { maxRequests: 1 }),
    ruleOf('model', 'OpenAI/GPT', 3_600, { maxTokens: 1 }),
  );
  for (let index = 0; index < 2; index += 1) limiter.admit(limiter.forUserPath('/team/x'), start, 'reject');
  limiter.charge(limiter.forUserPath('/c/alice/x'), 50, start);
  limiter.admit(limiter.forUserPath('/one'), start, 'reject');
  t.same(
    ['/team/x', '/c/alice/y', '/one/x'].map((path) => sentence(refusal(limiter, path))),
    ['/team: 2 requests per minute, 61', '/c/alice: 50 tokens per 300s, 305', '/one: 1 concurrent request, 1'],
  );
  const target = limiter.forTarget('openai', 'gpt');
  limiter.admit(target, start, 'reject');
  limiter.charge(target, 1, start);
  const { rejection } = limiter.admit(target, start, 'reject');
  t.same(rejection?.exhausted.map(sentence), [
    'model OpenAI/GPT: 1 token per hour, 3660',
    'provider OpenAI: 1 request per day, 87840',
  ]);
});
