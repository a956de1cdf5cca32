// Fills a state store with keys and rules as if operators had made them: too many to be put one by one.
import { managedKeys, manualRules } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import type { ManualRule } from '../../domain/rules/manual-rule.ts';
import { ruleKey } from '../../domain/rules/rule.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { openPlaneStore } from '../../store/state/open.ts';
import { sampleKey } from '../support/managed-state.ts';
import { MASTER_KEY } from './processes.ts';

export interface Filling {
  /** Of the rules, each on the user path of this number. */
  readonly rules: readonly ManualRule[];
  /** Of the keys, by their secrets: the user path of each. */
  readonly keys: ReadonlyMap<string, string>;
}

/** The store must be new. */
export async function fillState(dataDirectory: string, { rules, keys }: Filling): Promise<void> {
  const store = openPlaneStore({
    dataDirectory,
    redisUrl: undefined,
    redisPrefix: '',
    masterKey: MASTER_KEY,
    previousMasterKey: undefined,
  });
  const createdAtMs = Date.now();
  const documents = [
    ...rules.map((rule) => written(manualRules, rule.key, rule)),
    ...[...keys].map(([secret, userPath], index) => {
      const key = sampleKey(secret, { name: `key ${index}`, userPath, createdAtMs });
      return written(managedKeys, key.id, key);
    }),
  ];
  const changes = documents.map(({ kind, id, body }) => ({ kind, id, body }));
  const { conflict } = await store.commit({ storeId: null, expected: new Map(), changes });
  if (conflict) throw new Error('the state store is not new');
  await store.close();
}

/** The rule of an operator on one user path. */
export function manualRule(subject: string, more: Pick<ManualRule, 'maxRequests' | 'mode' | 'reason'>): ManualRule {
  const at = timestamp(Date.now());
  return {
    key: ruleKey('user_path', subject, 60),
    scope: 'user_path',
    subject,
    matchSubject: subject,
    perChild: false,
    periodSeconds: 60,
    ...more,
    createdAt: at,
    updatedAt: at,
    updatedBy: 'master_key',
  };
}
