// From a validated rate_limits section to rules: identity, order, ids.
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  compareRules,
  compileRules,
  periodOf,
  type RuleLists,
  ruleKey,
  ruleLabel,
  userPathOfKey,
} from '../../../domain/rules/rule.ts';
import { ruleId, uniqueRuleIds } from '../../../domain/rules/rule-id.ts';
import type { Limit } from '../../../schemas/types.ts';

const perMinute: Limit = { period: 'minute', max_requests: 60, mode: 'enforce' };

function section(parts: Partial<RuleLists>): RuleLists {
  return { enabled: true, user_paths: [], providers: [], models: [], ...parts };
}

await test('every limit becomes one rule, sorted by scope, subject and period', async (t) => {
  const rules = compileRules(
    section({
      user_paths: [
        {
          path: 'team//app/',
          per_child: true,
          limits: [
            { period_seconds: 300, max_tokens: 5, mode: 'shadow' },
            { period: 'concurrent', max_requests: 2, mode: 'enforce' },
          ],
        },
        { path: '/', per_child: false, limits: [{ ...perMinute, max_tokens: 9 }] },
      ],
      providers: [{ name: 'OpenAI', limits: [perMinute] }],
      models: [{ model: 'OpenAI/GPT-4o', limits: [perMinute] }],
    }),
  );
  t.same(
    rules.map((rule) => ({ ...rule, id: 'any' })),
    [
      {
        id: 'any',
        key: 'model 60 openai/gpt-4o',
        scope: 'model',
        subject: 'OpenAI/GPT-4o',
        matchSubject: 'openai/gpt-4o',
        perChild: false,
        periodSeconds: 60,
        maxRequests: 60,
        mode: 'enforce',
        source: 'config',
        epoch: 0,
      },
      {
        id: 'any',
        key: 'provider 60 openai',
        scope: 'provider',
        subject: 'OpenAI',
        matchSubject: 'openai',
        perChild: false,
        periodSeconds: 60,
        maxRequests: 60,
        mode: 'enforce',
        source: 'config',
        epoch: 0,
      },
      {
        id: 'any',
        key: 'user_path 60 /',
        scope: 'user_path',
        subject: '/',
        matchSubject: '/',
        perChild: false,
        periodSeconds: 60,
        maxRequests: 60,
        maxTokens: 9,
        mode: 'enforce',
        source: 'config',
        epoch: 0,
      },
      {
        id: 'any',
        key: 'user_path 0 /team/app',
        scope: 'user_path',
        subject: '/team/app',
        matchSubject: '/team/app',
        perChild: true,
        periodSeconds: 0,
        maxRequests: 2,
        mode: 'enforce',
        source: 'config',
        epoch: 0,
      },
      {
        id: 'any',
        key: 'user_path 300 /team/app',
        scope: 'user_path',
        subject: '/team/app',
        matchSubject: '/team/app',
        perChild: true,
        periodSeconds: 300,
        maxTokens: 5,
        mode: 'shadow',
        source: 'config',
        epoch: 0,
      },
    ],
  );
  t.same(
    rules.map(({ id }) => id),
    rules.map(({ key }) => ruleId(key)),
  );
  t.ok(rules.every(Object.isFrozen));
});

await test('a section that is switched off has no rules', async (t) => {
  const providers = [{ name: 'p', limits: [perMinute] }];
  t.equal(compileRules(section({ enabled: false, providers })).length, 1, 'also while they are switched off');
  t.equal(compileRules(section({ providers })).length, 1);
});

await test('a subject that cannot be compared is an error, not a rule that matches nothing', async (t) => {
  t.throws(() => compileRules(section({ models: [{ model: 'a/', limits: [perMinute] }] })), /neither/);
});

await test('the order does not depend on how the rules were written down', async (t) => {
  const subject = fc.constantFrom('/', '/a', '/a/b', '/a-b', '/B', '/é');
  const entry = subject.map((path) => ({ path, per_child: false, limits: [perMinute] }));
  const entries = fc.uniqueArray(entry, { selector: ({ path }) => path });
  fc.assert(
    fc.property(entries, (user_paths) => {
      const forwards = compileRules(section({ user_paths }));
      const backwards = compileRules(section({ user_paths: user_paths.toReversed() }));
      const keys = (rules: typeof forwards): string => rules.map(({ key, id }) => `${key} ${id}`).join();
      return keys(forwards) === keys(backwards) && forwards.every((rule) => compareRules(rule, rule) === 0);
    }),
  );
  t.pass();
});

await test('an id is short, depends on the key alone, and never shows a path', async (t) => {
  t.equal(ruleId('user_path 60 /team'), ruleId('user_path 60 /team'));
  const ids = new Set<string>();
  for (let index = 0; index < 20_000; index += 1) {
    const id = ruleId(`user_path 60 /team/app-${index}`);
    ids.add(id);
    if (!/^[a-z2-7]{8}$/.test(id)) t.fail(id);
  }
  t.equal(ids.size, 20_000, 'no collision among 20,000 similar keys');
  t.equal(ruleId('user_path 60 /'), 'zvh24xxb', 'and is the same in every release: dashboards depend on it');
});

await test('ids that collide are kept apart by the order of the keys', async (t) => {
  const idOf = (key: string): string => (key.startsWith('x') ? 'same' : 'other');
  t.same(uniqueRuleIds(['x2', 'a', 'x1', 'x3'], idOf), ['same-2', 'other', 'same', 'same-3']);
  t.same(uniqueRuleIds(['x3', 'x1', 'a', 'x2'], idOf), ['same-3', 'same', 'other', 'same-2']);
});

await test('a key tells the period, and the path where it is that of a path', async (t) => {
  const keys = [ruleKey('user_path', '/a b', 3_600), ruleKey('provider', 'p', 60), 'no key'];
  t.same(keys.map(periodOf), [3_600, 60, undefined]);
  t.same(keys.map(userPathOfKey), ['/a b', undefined, undefined]);
});

await test('a rule goes by its name, else by its id', async (t) => {
  const limits: Limit[] = [perMinute, { ...perMinute, period: 'hour', name: 'per hour' }];
  const rules = compileRules(section({ providers: [{ name: 'p', limits }] }));
  t.same(rules.map(ruleLabel), [rules[0]?.id, 'per hour']);
  t.notOk(rules.some((rule) => 'maxTokens' in rule));
});
