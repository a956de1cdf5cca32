// A rule set that differs in a few rules from the one in force: only those are looked at, and the engine is as if all had been.
import { deepEqual, equal } from 'node:assert/strict';
import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { test } from 'tap';
import { compareRules, type Rule } from '../../../domain/rules/rule.ts';
import type { Enforcement } from '../../../proxy/limits/enforcement.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { runs } from '../../support/extent.ts';
import { ask, start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

const paths = ['/', '/a', '/a/b', '/c'];
const subjects = [
  ...paths.map((path) => ['user_path', path] as const),
  ...['p', 'q'].map((name) => ['provider', name] as const),
  ...['m', 'p/m', 'q/m'].map((model) => ['model', model] as const),
];
const drawnRule = record({
  subject: constantFrom(...subjects),
  period: constantFrom(0, 60, 3_600),
  cap: integer({ min: 1, max: 3 }),
  mode: constantFrom('enforce', 'shadow'),
  epoch: integer({ min: 0, max: 1 }),
});

/** What requests and explanations see of it. */
function seen(limiter: Limiter): unknown {
  const matches = [
    ...paths.map((path) => limiter.forUserPath(path)),
    ...['p', 'q'].flatMap((provider) => ['m', 'n'].map((model) => limiter.forTarget(provider, model))),
  ];
  const limited = [limiter.limitsTargets, limiter.limitsModelsOf('p'), limiter.limitsModelsOf('q')];
  return [matches.map((each) => limiter.report(each, start)), limited, limiter.rules(), limiter.live(start)];
}

await test('after any changes of the rules, the engine is as if it had taken all of them', async (t) => {
  const enforced: Enforcement = { isEnforced: true };
  assert(
    property(
      array(array(drawnRule, { maxLength: 6 }), { maxLength: 5 }),
      constantFrom(true, false),
      (sets, isEnforced) => {
        const enforcement = isEnforced ? enforced : { isEnforced };
        const [one, other] = [createLimiter(), createLimiter()];
        const made = new Map<string, Rule>();
        for (const drawn of sets) {
          const rules = new Map<string, Rule>();
          for (const { subject, period, cap, mode, epoch } of drawn) {
            const [scope, name] = subject;
            const rule = ruleOf(scope, name, period, { maxRequests: cap, mode, epoch });
            const text = JSON.stringify(rule);
            made.set(text, made.get(text) ?? rule);
            rules.set(rule.key, made.get(text) ?? rule);
          }
          const list = [...rules.values()];
          one.reconcile(list.toSorted(compareRules), enforcement);
          other.reconcile(list, { ...enforcement });
          deepEqual(seen(one), seen(other));
          for (const path of paths) equal(ask(one, path), ask(other, path));
          deepEqual(one.exportRemoved().sort(), other.exportRemoved().sort());
        }
      },
    ),
    runs(1_000),
  );
  t.end();
});

await test('a rule that stays the same object is not looked at, and the same list changes nothing', async (t) => {
  const rules = Array.from({ length: 1_000 }, (_, number) =>
    ruleOf('user_path', `/user-${number}`, 60, { maxRequests: 5 }),
  );
  const [limiter, enforcement] = [createLimiter(), {}];
  limiter.reconcile(rules, enforcement);
  const capsOf = (number: number): unknown => limiter.forUserPath(`/user-${number}`).matched()[0]?.caps;
  const before = rules.map((_, number) => capsOf(number));
  const changed = rules.with(7, ruleOf('user_path', '/user-7', 60, { maxRequests: 6 }));
  limiter.reconcile(changed, enforcement);
  const others = rules.filter((_, number) => capsOf(number) !== before[number]);
  t.strictSame(others, [rules[7]]);
  const matched = limiter.forUserPath('/user-7').matched();
  limiter.reconcile(changed, enforcement);
  t.equal(limiter.forUserPath('/user-7').matched(), matched, 'no request looks its rules up again');
});
