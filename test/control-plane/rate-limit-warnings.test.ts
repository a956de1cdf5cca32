// The lines of the log about manual rules that are not enforced: once for each change, not at each look.
import { test } from 'tap';
import { createRuleWarnings } from '../../control-plane/admin/rate-limits/warnings.ts';
import { manualRules } from '../../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../domain/documents/managed-kind.ts';
import { mergeRules } from '../../domain/rules/merge.ts';
import { resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { ruleKey } from '../../domain/rules/rule.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';

const nowMs = Date.UTC(2026, 5, 1);

function ruleOf(provider: string): StoredDocument {
  const body = {
    scope: 'provider',
    subject: provider,
    per_child: false,
    period_seconds: 60,
    max_requests: 3,
    mode: 'enforce',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    updated_by: 'master_key',
  };
  return { kind: manualRules.kind, id: ruleKey('provider', provider, 60), body };
}

await test('problems of rules are logged when they change', async (t) => {
  const lines: string[] = [];
  const log = { warn: (text: string) => void lines.push(text), error: (text: string) => void lines.push(text) };
  const warn = createRuleWarnings(log);
  const look = (...providers: string[]): number => {
    lines.length = 0;
    const prerequisites = rulePrerequisites();
    const manual = readKind(manualRules, providers.map(ruleOf)).values;
    warn(mergeRules({ config: [], manual, epochs: resetEpochs([]), nowMs, prerequisites }), prerequisites);
    return lines.length;
  };
  t.equal(look('gone'), 1);
  t.match(lines, [/there is no provider "gone"/]);
  t.equal(look('gone'), 0);
  t.equal(look('gone', 'lost'), 2);
  t.equal(look('openai'), 0);
  t.equal(look('gone'), 1);
});
