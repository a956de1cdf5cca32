// What GET /v1/usage is told of each kind of rule: unused, in use and used up.
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { RuleReport } from '../../../proxy/limits/report.ts';
import { limiterOf, minute, start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

const later = start + 30_000;

/** The report of one rule after a request at the start and one later, and these tokens; times in seconds after the start. */
function reported(rule: Rule, { isAsked = true, tokens = 0 } = {}): Omit<RuleReport, 'rule' | 'subject'> {
  const limiter = limiterOf(rule);
  const path = limiter.forUserPath('/c/a');
  if (isAsked) for (const nowMs of [start, later]) limiter.admit(path, nowMs);
  limiter.charge(path, tokens, later);
  const [found] = limiter.report(path, later);
  if (found === undefined) throw new Error('the rule is not reported');
  const { rule: _rule, subject: _subject, windowStartMs, windowEndMs, ...figures } = found;
  if (windowStartMs === undefined || windowEndMs === undefined) return figures;
  return { ...figures, windowStartMs: (windowStartMs - start) / 1000, windowEndMs: (windowEndMs - start) / 1000 };
}

const window = {
  tokensReserved: 0,
  inFlight: 0,
  windowStartMs: 0,
  windowEndMs: 91,
  resetsInSeconds: 61,
  exhausted: false,
};

await test('a window tells of the caps that it has, and until when what is used up stays so', (t) => {
  const requests = (maxRequests: number) => ruleOf('user_path', '/', minute, { maxRequests });
  t.same(reported(requests(3)), { ...window, requestsUsed: 2, requestsRemaining: 1, tokensUsed: 0 });
  const full = { requestsUsed: 2, requestsRemaining: 0, tokensUsed: 0, resetsInSeconds: 31, exhausted: true };
  t.same(reported(requests(2), { tokens: 5 }), { ...window, ...full });

  const tokens = ruleOf('user_path', '/', minute, { maxTokens: 9 });
  const ofTokens = { ...window, windowStartMs: 30, requestsUsed: 0 };
  t.same(reported(tokens, { tokens: 5 }), { ...ofTokens, tokensUsed: 5, tokensRemaining: 4 });
  t.same(reported(tokens, { tokens: 9 }), { ...ofTokens, tokensUsed: 9, tokensRemaining: 0, exhausted: true });
  t.end();
});

await test('of two caps that are used up the longer wait counts', (t) => {
  const both = ruleOf('user_path', '/', minute, { maxRequests: 2, maxTokens: 9 });
  const used = { requestsUsed: 2, requestsRemaining: 0, tokensUsed: 9, tokensRemaining: 0 };
  t.same(reported(both, { tokens: 9 }), { ...window, ...used, exhausted: true });
  t.end();
});

await test('what was counted for a cap that is gone is told no more', (t) => {
  const both = ruleOf('user_path', '/', minute, { maxRequests: 3, maxTokens: 9 });
  for (const cap of ['maxRequests', 'maxTokens'] as const) {
    const limiter = limiterOf(both);
    const path = limiter.forUserPath('/');
    limiter.admit(path, start);
    limiter.charge(path, 5, start);
    const { [cap]: _gone, ...left } = both;
    limiter.reconcile([left]);
    const used = cap === 'maxRequests' ? { requestsUsed: 0, tokensUsed: 5 } : { requestsUsed: 1, tokensUsed: 0 };
    t.match(limiter.report(path, start), [used], cap);
  }
  t.end();
});

await test('without use a window begins now, a child that nobody has seen included', (t) => {
  const unused = { ...window, windowStartMs: 30, windowEndMs: 90, resetsInSeconds: 60, requestsUsed: 0, tokensUsed: 0 };
  const caps = { maxRequests: 2, maxTokens: 9, perChild: true };
  const child = ruleOf('user_path', '/c', minute, caps);
  t.same(reported(child, { isAsked: false }), { ...unused, requestsRemaining: 2, tokensRemaining: 9 });
  t.end();
});

await test('slots have no window', (t) => {
  const slots = (maxRequests: number) => ruleOf('user_path', '/', 0, { maxRequests });
  const held = { requestsUsed: 0, tokensUsed: 0, tokensReserved: 0, inFlight: 2 };
  t.same(reported(slots(3)), { ...held, requestsRemaining: 1, exhausted: false });
  t.same(reported(slots(2)), { ...held, requestsRemaining: 0, exhausted: true });
  t.end();
});
