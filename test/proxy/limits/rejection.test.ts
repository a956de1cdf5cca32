// Who is told to wait, and for how long, when targets and consumer are used up: the cases that a refusal of a single rule has not.
import { test } from 'tap';
import { explain, rejectTargets, waitOf } from '../../../proxy/limits/rejection.ts';
import { decided, limiterOf, minute, start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

/** Two targets and a consumer whose one request is made. */
function spent() {
  const limiter = limiterOf(
    ruleOf('provider', 'hour', 3_600, { maxRequests: 1 }),
    ruleOf('provider', 'minute', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/', 86_400, { maxRequests: 1 }),
  );
  const [hour, soon] = ['hour', 'minute'].map((provider) => limiter.forTarget(provider, 'm'));
  const consumer = limiter.forUserPath('/');
  if (hour === undefined || soon === undefined) throw new Error('there are not two targets');
  const matches = { hour, soon, consumer, free: limiter.forTarget('other', 'm') };
  for (const each of [hour, soon, consumer]) limiter.admit(each, start);
  return { limiter, ...matches };
}

await test('the target that has room first is named; its refusal is counted when there were several', (t) => {
  const { limiter, hour, soon, free } = spent();
  const unlimited = limiter.unlimited;
  t.equal(rejectTargets([soon], unlimited, start).subject, 'minute');
  t.same(decided(limiter), { 'requests allow': 3 }, 'a single target was counted when it was asked');
  t.equal(rejectTargets([hour, soon], unlimited, start).subject, 'minute');
  t.same(decided(limiter), { 'requests allow': 3, 'requests reject': 1 });
  t.throws(() => rejectTargets([free, soon], unlimited, start), /nothing is used up/);
  t.same(decided(limiter), { 'requests allow': 3, 'requests reject': 1 }, 'a target with room refuses nothing');
  t.end();
});

await test('what is used up now comes before what was told before; the consumer matters where it is given', (t) => {
  const { soon, consumer, hour } = spent();
  const before = explain([hour], undefined, start);
  t.equal(before.subject, 'hour');
  t.equal(explain([soon], undefined, start, { before }).subject, 'minute');
  t.equal(explain([soon], undefined, start + 61_000, { before }), before, 'it has room again');
  t.equal(explain([], consumer, start).subject, '/', 'without targets the consumer alone');
  t.equal(explain([soon], consumer, start).subject, '/', 'the longer wait of both');
  t.throws(() => explain([], undefined, start), /nothing is used up/);
  t.end();
});

await test('the wait of rules is the longest of those that are used up, 0 when none is', (t) => {
  const { soon, consumer, free } = spent();
  t.same(
    [soon, consumer, free].map((matches) => waitOf(matches, start)),
    [61, 87_840, 0],
  );
  t.equal(waitOf(soon, start + 61_000), 0);
  t.end();
});
