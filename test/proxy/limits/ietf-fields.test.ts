// The IETF's fields: the numbers of the other headers, written as structured fields, on answers and on refusals.
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import { rateLimitHeaders, rejectionHeaders } from '../../../proxy/limits/headers.ts';
import { addIetfFields, type LimitState } from '../../../proxy/limits/ietf-fields.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { ruleOf } from './rule-of.ts';

const start = 1_800_000_000_000;
const ietf = { openai: false, ietf: true };

function limiterOf(...rules: Rule[]): Limiter {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
}

function fieldsOf(...states: LimitState[]): string[] {
  const headers: string[] = [];
  addIetfFields(headers, states);
  return headers;
}

await test('each dimension speaks of its own limit, with a partition where a user path shares it', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/team', 300, { maxRequests: 5 }),
    ruleOf('provider', 'p', 3_600, { maxTokens: 1_000 }),
  );
  const [target, path] = [limiter.forTarget('p', 'm'), limiter.forUserPath('/team/app')];
  limiter.admit(path, start, 'reject');
  limiter.charge(target, 400, start);
  const partition = `:${Buffer.from('/team').toString('base64')}:`;
  t.same(rateLimitHeaders({ matches: target }, { matches: path }, start, ietf), [
    'ratelimit-policy',
    `"requests-per-300s";q=5;w=300;pk=${partition}, "tokens-per-hour";q=1000;qu="tokens";w=3600`,
    'ratelimit',
    `"requests-per-300s";r=4;t=305;pk=${partition}, "tokens-per-hour";r=600;t=3660`,
  ]);
  const both = rateLimitHeaders({ matches: target }, { matches: path }, start, { openai: true, ietf: true });
  t.same(both, [
    ...rateLimitHeaders({ matches: target }, { matches: path }, start),
    ...rateLimitHeaders({ matches: target }, { matches: path }, start, ietf),
  ]);
  t.same(rateLimitHeaders({ matches: target }, { matches: path }, start, { openai: false, ietf: false }), []);
  t.same(
    rateLimitHeaders({ matches: limiter.forTarget('q', 'm') }, { matches: limiter.forUserPath('/x') }, start, ietf),
    [],
  );
});

await test('a refusal tells of what ran out, slots included', async (t) => {
  const slots = limiterOf(ruleOf('user_path', '/é', 0, { maxRequests: 1 }));
  slots.admit(slots.forUserPath('/é'), start, 'reject');
  const { rejection } = slots.admit(slots.forUserPath('/é'), start, 'reject');
  if (rejection === undefined) throw new Error('was admitted');
  t.same(rejectionHeaders(rejection, ietf), {
    'retry-after': '1',
    'x-gateway-rule': rejection.rule.id,
    'ratelimit-policy': '"concurrent-requests";q=1;qu="concurrent-requests";pk=:L8Op:',
    ratelimit: '"concurrent-requests";r=0;t=1;pk=:L8Op:',
  });
});

await test('an integer has at most 15 digits', async (t) => {
  const rule = { scope: 'provider', periodSeconds: 60 } as const;
  const cap = Number.MAX_SAFE_INTEGER;
  t.same(fieldsOf({ rule, subject: 'p', dimension: 'requests', cap, remaining: cap, resetSeconds: 60 }), [
    'ratelimit-policy',
    '"requests-per-minute";q=999999999999999;w=60',
    'ratelimit',
    '"requests-per-minute";r=999999999999999;t=60',
  ]);
  t.same(fieldsOf(), []);
});
