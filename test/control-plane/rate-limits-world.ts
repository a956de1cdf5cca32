// A store of rules in memory, with a configuration and a clock, for tests of the changes that writes make.
import { knownRules, putRule } from '../../control-plane/admin/rate-limits/changes.ts';
import { readWrite } from '../../control-plane/admin/rate-limits/read-write.ts';
import { manualRules, resets } from '../../domain/documents/kinds.ts';
import { readKind } from '../../domain/documents/managed-kind.ts';
import { changedList } from '../../domain/documents/order.ts';
import { mergeRules } from '../../domain/rules/merge.ts';
import { resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import type { Change, Document } from '../../store/state/state-store.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';

export const start = Date.UTC(2026, 5, 1);
export const key = 'user_path 60 /team';

export function config(per_child = false): Rule[] {
  const limits = [{ period: 'minute' as const, max_requests: 10, mode: 'enforce' as const }];
  const user_paths = [{ path: '/team', per_child, limits }];
  return compileRules({ enabled: true, user_paths, providers: [], models: [] });
}

/** A store in memory of this test alone: documents, the configuration, a clock. */
export function world(declared: Rule[] = []) {
  let documents: readonly Document[] = [];
  const at = { nowMs: start };
  return {
    at,
    known: () => knownRules({ documents, skipped: [] }, declared, at.nowMs),
    apply(changes: readonly Change[]) {
      for (const { kind, id, body } of changes) {
        const come = body === undefined ? [] : [{ kind, id, body: JSON.parse(JSON.stringify(body)), revision: 1 }];
        documents = changedList(documents, [{ kind, id }], come);
      }
    },
    put(more: object = {}, by = 'master_key', hasTemplates = true) {
      const body = { user_path: '/team', limit_key: { period: 'minute' }, max_requests: 5, ...more };
      this.apply(putRule(this.known(), readWrite(body, at.nowMs), by, hasTemplates));
    },
    rules: () =>
      mergeRules({
        config: declared,
        manual: readKind(manualRules, documents).values,
        epochs: resetEpochs(readKind(resets, documents).values),
        nowMs: at.nowMs,
        prerequisites: rulePrerequisites(),
      }),
    documents: () => documents,
  };
}
