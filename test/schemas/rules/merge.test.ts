// The merged rules: manual wins, an expired rule does not exist, and counters start anew exactly once.
import { test } from 'tap';
import { type ManualRule, readManualRule } from '../../../schemas/rules/manual-rule.ts';
import { mergeRules, nextExpiryMs } from '../../../schemas/rules/merge.ts';
import { resetEpochs } from '../../../schemas/rules/reset-epochs.ts';
import { compileRules, type Rule, ruleKey } from '../../../schemas/rules/rule.ts';
import { ruleId } from '../../../schemas/rules/rule-id.ts';

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

const merge = (declared: Rule[], rules: ManualRule[], epochs = none, at = nowMs, hasTemplates = true) =>
  mergeRules({ config: declared, manual: rules, epochs, nowMs: at, hasTemplates });

await test('configuration alone stays what it is', async (t) => {
  const rules = merge(config('/b', '/a'), []);
  t.strictSame(
    rules,
    config('/a', '/b').map((rule) => ({ ...rule, overridesConfig: false, enforced: true })),
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
    'ids are those of the keys, whoever declares the rule',
  );
  t.equal(new Set(rules.map(({ id }) => id)).size, 4);
});

await test('epochs come from the store, for rules of both sources', async (t) => {
  const epochs = resetEpochs([
    { kind: 'reset_epoch', id: 'user_path 60 /a', body: { epoch: 2 } },
    { kind: 'reset_epoch', id: '', body: { epoch: 5 } },
  ]);
  t.match(merge(config('/a', '/b'), [manual('/b')], epochs), [{ epoch: 7 }, { epoch: 5 }]);
});

await test('an expired rule does not exist, and its removal changes nothing any more', async (t) => {
  const key = 'user_path 60 /a';
  const ended = manual('/a', { expires_at: '2026-06-01T00:00:00Z' });
  t.match(merge(config('/a'), [ended], none, nowMs - 1), [{ source: 'manual', epoch: 0 }], 'one millisecond before');
  const lying = merge(config('/a'), [ended], none, nowMs);
  t.match(lying, [{ source: 'config', epoch: 1, overridesConfig: false }], 'at the very moment');
  const removed = merge(config('/a'), [], resetEpochs([{ kind: 'reset_epoch', id: key, body: { epoch: 1 } }]));
  t.strictSame(removed, lying);
  t.same(merge([], [ended]), []);
});

await test('a template without the entitlement is listed, not enforced and not shared', async (t) => {
  const template = manual('/a', { per_child: true });
  t.match(merge(config('/a'), [template], none, nowMs, false), [{ perChild: true, enforced: false }]);
  t.match(merge([], [template, manual('/b')]), [{ enforced: true }, { enforced: true }]);
  t.match(merge([], [manual('/b')], none, nowMs, false), [{ enforced: true }]);
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
