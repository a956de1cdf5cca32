// The merged rules: a manual rule wins, an expired rule is left out, and counters start again exactly once.
import { test } from 'tap';
import { knownModels } from '../../../domain/rules/known-models.ts';
import { type ManualRule, readManualRule } from '../../../domain/rules/manual-rule.ts';
import { mergeRules, nextExpiryMs } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import type { OnStoreLoss } from '../../../domain/rules/on-store-loss.ts';
import { resetEpochs } from '../../../domain/rules/reset-epochs.ts';
import { compileRules, type Rule, ruleKey } from '../../../domain/rules/rule.ts';
import { ruleId } from '../../../domain/rules/rule-id.ts';
import { explainUnenforced } from '../../../domain/rules/unenforced.ts';
import { rulePrerequisites } from '../../support/rule-prerequisites.ts';

const nowMs = Date.UTC(2026, 5, 1);
const none = resetEpochs([]);

function config(...paths: string[]): Rule[] {
  const user_paths = paths.map((path) => ({
    path,
    per_child: false,
    limits: [{ period: 'minute' as const, max_requests: 10, mode: 'enforce' as const }],
  }));
  return compileRules({ enabled: true, user_paths, providers: [], models: [] });
}

function manual(subject: string, more: object = {}, seconds = 60): ManualRule {
  const body = {
    scope: 'user_path',
    subject,
    per_child: false,
    period_seconds: seconds,
    max_requests: 3,
    mode: 'enforce',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    updated_by: 'master_key',
    ...more,
  };
  const rule = readManualRule(ruleKey('user_path', subject, seconds), body);
  if (rule === undefined) throw new Error(`not a rule: ${subject}`);
  return rule;
}

const merge = (declared: Rule[], rules: ManualRule[], epochs = none, { at = nowMs, hasTemplates = true } = {}) =>
  mergeRules({
    config: declared,
    manual: rules,
    epochs,
    nowMs: at,
    prerequisites: rulePrerequisites({ hasTemplates }),
  });

await test('configuration alone stays what it is', async (t) => {
  const rules = merge(config('/b', '/a'), []);
  t.strictSame(
    rules,
    config('/a', '/b').map((rule) => ({
      ...rule,
      overridesConfig: false,
      obstacle: undefined,
      enforced: true,
      counted: true,
    })),
  );
  t.ok(rules.every(Object.isFrozen));
  t.same(merge([], []), []);
});

await test('a manual rule wins over the one of the configuration, and stands beside the others', async (t) => {
  const rules = merge(config('/a', '/c'), [manual('/b'), manual('/a', { max_tokens: 7 }), manual('/a', {}, 3_600)]);
  t.match(rules, [
    { key: 'user_path 60 /a', source: 'manual', overridesConfig: true, maxRequests: 3, maxTokens: 7 },
    { key: 'user_path 3600 /a', source: 'manual', overridesConfig: false },
    { key: 'user_path 60 /b', source: 'manual', overridesConfig: false, manual: { updatedBy: 'master_key' } },
    { key: 'user_path 60 /c', source: 'config', overridesConfig: false, manual: undefined },
  ]);
  t.equal(rules.length, 4);
  t.same(
    rules.map(({ id }) => id),
    rules.map(({ key }) => ruleId(key)),
    'ids depend on the keys alone, for both sources',
  );
  t.equal(new Set(rules.map(({ id }) => id)).size, 4);
});

await test('a rule is called what its override says, else what the configuration says, and its key and id stay', async (t) => {
  const named = config('/a').map((rule) => ({ ...rule, name: 'declared' }));
  const merged = [merge(named, []), merge(named, [manual('/a')]), merge(named, [manual('/a', { name: 'at night' })])];
  t.same(
    merged.flat().map(({ name, key, id }) => [name, key, id]),
    ['declared', 'declared', 'at night'].map((name) => [name, 'user_path 60 /a', ruleId('user_path 60 /a')]),
  );
});

await test('epochs come from the store, for rules of both sources', async (t) => {
  const epochs = resetEpochs([
    { id: 'user_path 60 /a', epoch: 2, raisedAtMs: nowMs },
    { id: '', epoch: 5, raisedAtMs: nowMs },
  ]);
  t.match(merge(config('/a', '/b'), [manual('/b')], epochs), [{ epoch: 7 }, { epoch: 5 }]);
});

await test('an expired rule does not exist, and its removal changes nothing any more', async (t) => {
  const key = 'user_path 60 /a';
  const ended = manual('/a', { expires_at: '2026-06-01T00:00:00Z' });
  t.match(
    merge(config('/a'), [ended], none, { at: nowMs - 1 }),
    [{ source: 'manual', epoch: 0 }],
    'one millisecond before',
  );
  const lying = merge(config('/a'), [ended]);
  t.match(lying, [{ source: 'config', epoch: 1, overridesConfig: false }], 'at the very moment');
  const removed = merge(config('/a'), [], resetEpochs([{ id: key, epoch: 1, raisedAtMs: nowMs }]));
  t.strictSame(removed, lying);
  t.same(merge([], [ended]), []);
});

await test('a template without the entitlement is listed, not enforced and not shared', async (t) => {
  const template = manual('/a', { per_child: true });
  t.match(merge([], [template], none, { hasTemplates: false }), [{ perChild: true, enforced: false, counted: false }]);
  t.match(merge([], [template, manual('/b')]), [{ enforced: true }, { enforced: true }]);
  t.match(merge([], [manual('/b')], none, { hasTemplates: false }), [{ enforced: true }]);
});

/** Requests and tokens a minute of `/a`, as the configuration has it and as an override names them. */
function capsOver(declared: object, named: object, more: Partial<RulePrerequisites> = {}) {
  const limit = { period: 'minute' as const, mode: 'enforce' as const, ...declared };
  const rules = compileRules({
    enabled: true,
    user_paths: [{ path: '/a', per_child: false, limits: [limit] }],
    providers: [],
    models: [],
  });
  const override = manual('/a', { max_requests: undefined, ...named });
  const merged = mergeRules({
    config: rules,
    manual: [override],
    epochs: none,
    nowMs,
    prerequisites: rulePrerequisites(more),
  });
  return merged.map(({ source, maxRequests, maxTokens, enforced, counted }) => {
    return [source, maxRequests, maxTokens, enforced, counted].join(' ');
  });
}

await test("a cap that the override does not name is the configuration's, and null removes it", async (t) => {
  const both = { max_requests: 10, max_tokens: 100 };
  const cases: [named: object, expected: string][] = [
    [{ max_requests: 3 }, 'manual 3 100 true true'],
    [{ max_tokens: 5 }, 'manual 10 5 true true'],
    [{ max_requests: 3, max_tokens: null }, 'manual 3  true true'],
    [{ max_requests: null }, 'manual  100 true true'],
    [{ max_requests: 0, expires_at: '2027-01-01T00:00:00Z' }, 'manual 0 100 true true'],
    [{ max_tokens: 5, per_child: true }, 'manual 10 5 true true'],
  ];
  for (const [named, expected] of cases) t.same(capsOver(both, named), [expected], JSON.stringify(named));
  t.same(capsOver({ max_requests: 10 }, { max_tokens: 5 }), ['manual 10 5 true true']);
  t.match(merge([], [manual('/a', { max_requests: null })]), [{ obstacle: 'no_cap', enforced: false, counted: false }]);
});

await test('an override that cannot be enforced does not hide a rule that can', async (t) => {
  const [declared, template] = ['config 10 100 true true', 'manual 3 100 false false'];
  const named = { max_requests: 3, per_child: true };
  const both = { max_requests: 10, max_tokens: 100 };
  t.same(capsOver(both, named, { hasTemplates: false }), [declared, template], 'its entitlement is gone');
  t.same(
    capsOver({ max_requests: 10 }, { max_requests: null, max_tokens: 5 }, { usageEnabled: false }),
    ['config 10  true true', 'manual  5 false false'],
    'its tokens are not counted',
  );
  t.same(capsOver({ max_tokens: 10 }, { max_tokens: 5 }, { usageEnabled: false }), ['manual  5 false true']);
  t.same(capsOver(both, { max_requests: null, max_tokens: null }), [declared, 'manual   false false'], 'it has no cap');
  t.same(capsOver(both, { max_requests: 3 }, { enabled: false }), ['manual 3 100 false true'], 'limits switched off');
});

await test('a block knows its end', async (t) => {
  const expires_at = '2026-06-02T00:00:00Z';
  const blockedUntilMs = Date.UTC(2026, 5, 2);
  t.match(merge([], [manual('/a', { max_requests: 0, expires_at })]), [{ maxRequests: 0, blockedUntilMs }]);
  t.match(merge([], [manual('/a', { expires_at })]), [{ maxRequests: 3, blockedUntilMs: undefined }]);
});

await test('rules on what is not there are kept, and say so; a slash names a provider only where there is one', async (t) => {
  const limits = [{ period: 'minute' as const, max_requests: 10, mode: 'enforce' as const }];
  const subjects = ['GPT-4o', 'openai/GPT-4o', 'openai/gone', 'gone', 'Chat', 'meta/llama', 'gone/llama'];
  const declared = compileRules({
    enabled: true,
    user_paths: [],
    providers: ['OpenAI', 'azure', 'keyless'].map((name) => ({ name, limits })),
    models: [...subjects, 'keyless/any'].map((model) => ({ model, limits })),
  });
  const known = knownModels({
    providers: { openai: { models: ['gpt-4o'] }, router: { models: ['meta/llama', 'openai/gone'] } },
    providerNames: ['openai', 'keyless', 'router'],
    aliases: [{ source: 'chat' }],
  });
  const prerequisites = rulePrerequisites({ known });
  const rules = mergeRules({ config: declared, manual: [], epochs: none, nowMs, prerequisites });
  const found = rules.map((rule) => [
    rule.subject,
    rule.bareId === true,
    rule.counted,
    explainUnenforced(rule, prerequisites),
  ]);
  t.strictSame(
    found.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      ['Chat', false, true, '"Chat" is an alias; limit the models it leads to'],
      ['GPT-4o', false, true, undefined],
      ['OpenAI', false, true, undefined],
      ['azure', false, true, 'there is no provider "azure"'],
      ['gone', false, true, 'no provider lists the model "gone"'],
      ['gone/llama', true, true, 'no provider lists the model "gone/llama"'],
      ['keyless', false, true, undefined],
      ['keyless/any', false, true, undefined],
      ['meta/llama', true, true, undefined],
      ['openai/GPT-4o', false, true, undefined],
      ['openai/gone', false, true, 'no provider lists the model "openai/gone"'],
    ],
  );
});

await test('the next expiry is the first one that lies ahead', async (t) => {
  const at = (expires_at: string) => manual('/a', { expires_at });
  t.equal(nextExpiryMs([], nowMs), undefined);
  t.equal(nextExpiryMs([manual('/a'), at('2026-06-01T00:00:00Z')], nowMs), undefined);
  t.equal(
    nextExpiryMs([at('2026-06-01T00:00:02Z'), at('2026-06-01T00:00:01Z'), at('2020-01-01T00:00:00Z')], nowMs),
    nowMs + 1_000,
  );
});

await test('an override says what holds without the state store, or the configuration does', async (t) => {
  const declare = (on_store_loss?: OnStoreLoss): Rule[] => {
    const limits = [
      {
        period: 'minute' as const,
        max_requests: 10,
        mode: 'enforce' as const,
        ...(on_store_loss && { on_store_loss }),
      },
    ];
    return compileRules({
      enabled: true,
      user_paths: [{ path: '/a', per_child: false, limits }],
      providers: [],
      models: [],
    });
  };
  const cases: [
    declared: OnStoreLoss | undefined,
    wanted: OnStoreLoss | undefined,
    free: unknown,
    tightening: unknown,
  ][] = [
    ['closed', undefined, 'closed', 'closed'],
    ['closed', 'open', 'open', 'closed'],
    ['open', 'share', 'share', 'share'],
    ['share', 'closed', 'closed', 'closed'],
    [undefined, 'open', 'open', undefined],
    [undefined, 'closed', 'closed', 'closed'],
    [undefined, undefined, undefined, undefined],
  ];
  for (const [declared, wanted, free, tightening] of cases) {
    const own = { ...manual('/a'), ...(wanted === undefined ? {} : { onStoreLoss: wanted }) };
    const merged = [own, { ...own, tightens: true as const }].map((each) => merge(declare(declared), [each])[0]);
    t.same(
      merged.map((rule) => rule?.onStoreLoss),
      [free, tightening],
      `${declared} and ${wanted}`,
    );
  }
});

await test('a rule that may only tighten takes the stricter of each cap, and neither mode nor kind from the operator', async (t) => {
  const limits = [{ name: 'of all', period: 'minute' as const, max_requests: 10, mode: 'enforce' as const }];
  const user_paths = [{ path: '/a', per_child: true, limits }];
  const declared = compileRules({ enabled: true, user_paths, providers: [], models: [] });
  const merged = (more: Partial<ManualRule>, rules = declared): Rule | undefined =>
    merge(rules, [{ ...manual('/a', { mode: 'shadow' }), ...more }])[0];
  const bound = { name: 'of all', mode: 'enforce', perChild: true };
  t.match(merged({ tightens: true }), { ...bound, maxRequests: 3, maxTokens: undefined });
  t.match(merged({ tightens: true, maxRequests: 50, maxTokens: 7 }), { ...bound, maxRequests: 10, maxTokens: 7 });
  t.match(merged({}), { mode: 'shadow', perChild: false, maxRequests: 3 }, 'others replace it');
  t.match(merged({ tightens: true }, []), { mode: 'shadow', perChild: false }, 'nothing binds it');
  const shadow = declared.map((rule): Rule => ({ ...rule, mode: 'shadow' }));
  t.match(merged({ tightens: true }, shadow), { mode: 'shadow' });
});
