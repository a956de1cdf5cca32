// Decisions and listings among many documents: they cost what they look at and what was changed, not what is stored.
import { test } from 'tap';
import { findKey, issueKey, viewOf } from '../../control-plane/admin/auth-keys/changes.ts';
import { checkQuota } from '../../control-plane/admin/auth-keys/check-quota.ts';
import { knownRules, putRule } from '../../control-plane/admin/rate-limits/changes.ts';
import { readWrite } from '../../control-plane/admin/rate-limits/read-write.ts';
import type { Operator } from '../../control-plane/authenticate.ts';
import { KeyIndex, newestFirst } from '../../control-plane/managed/key-index.ts';
import { storedKind } from '../../control-plane/managed/stored-kind.ts';
import { managedKeys, manualRules } from '../../domain/documents/kinds.ts';
import { changedList, inOrder } from '../../domain/documents/order.ts';
import { newSecret } from '../../domain/keys/secret.ts';
import { isWithin } from '../../domain/user-path.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import type { Document } from '../../store/state/state-store.ts';
import { sampleKey } from '../support/managed-state.ts';

const many = 3_000;
const master: Operator = { kind: 'master_key', keyId: undefined, userPath: '/', key: undefined };
const nowMs = Date.UTC(2026, 5, 1);

/** Documents whose readings are counted. */
function countedDocuments() {
  const count = { read: 0 };
  const counted = (document: { kind: string; id: string; body: object }, member: string): Document => {
    const value: unknown = Reflect.get(document.body, member);
    const get = (): unknown => {
      count.read += 1;
      return value;
    };
    return { ...document, body: Object.defineProperty({ ...document.body }, member, { get }), revision: 1 };
  };
  const keyAt = (id: string, path: string, more: object = {}): Document => {
    const key = sampleKey(id, { id, userPath: path, createdAtMs: Number(id.slice(1)) % 7, name: path, ...more });
    return counted({ kind: managedKeys.kind, id, body: managedKeys.write(key) }, 'digest');
  };
  const ruleAt = (path: string): Document => {
    const write = readWrite({ user_path: path, limit_key: { period: 'minute' }, max_requests: 5 }, nowMs);
    const [change] = putRule(knownRules({ documents: [] }, [], nowMs), write, 'master_key', true);
    return counted({ kind: manualRules.kind, id: write.key, body: change?.body as object }, 'subject');
  };
  return { count, keyAt, ruleAt };
}

const paths = Array.from({ length: many }, (_, index) => `/team-${index % 10}/user-${index}`);

await test('a decision reads the documents that it is about, and no others', (t) => {
  const { count, keyAt, ruleAt } = countedDocuments();
  const keys = paths.map((path, index) => keyAt(`k${index}`, path));
  const documents = [...keys, ...paths.map(ruleAt)].sort(inOrder);
  const surroundings = { names: { providers: new Set<string>(), aliases: new Set<string>() }, budgets: [] };
  count.read = 0;

  const view = viewOf({ documents }, master, surroundings, nowMs);
  checkQuota({ documents }, master, defaultConfig().admin);
  const making = { id: 'new', secret: newSecret(), by: 'master_key', nowMs };
  t.equal(issueKey({ ...sampleKey('x'), labels: ['paid'] }, making, view).changes.length, 1);
  t.equal(count.read, 0, 'a key is issued');
  t.equal(findKey(view, 'k77').userPath, paths[77]);
  t.equal(count.read, 1, 'a key is found');

  const write = readWrite({ user_path: '/team-7/user-77', limit_key: { period: 'minute' }, max_requests: 9 }, nowMs);
  t.equal(putRule(knownRules({ documents }, [], nowMs), write, 'master_key', true).length, 1);
  t.ok(count.read <= 4, `a rule is replaced: ${count.read - 1} readings`);
  t.end();
});

await test('of another state, only the keys that differ are read', (t) => {
  const { count, keyAt } = countedDocuments();
  let documents: readonly Document[] = paths.map((path, index) => keyAt(`k${index}`, path)).sort(inOrder);
  const index = new KeyIndex().at({ documents });
  t.equal(count.read, many);
  const changes: [gone: string[], come: Document[]][] = [
    [[], [keyAt('k5000', '/Team-3')]],
    [['k5000'], [keyAt('k1', '/team-3/else', { dashboardAccess: true })]],
    [['k1', 'k2', 'k2999'], []],
  ];
  for (const [gone, come] of changes) {
    const names = gone.map((id) => ({ kind: managedKeys.kind, id }));
    count.read = 0;
    documents = changedList(documents, names, come);
    index.at({ documents });
    t.equal(count.read, come.length);
    const all = storedKind(managedKeys, { documents }).values();
    t.strictSame(index.newest(), all.toSorted(newestFirst));
    for (const path of ['/', '/team-3', '/TEAM-3/else', '/team-3/user-3', '/team', '/none'])
      t.equal(index.countWithin(path), all.filter(({ userPath = '/' }) => isWithin(userPath, path)).length, path);
    t.equal(index.hasDashboard('/team-3/else'), come.length > 0 && gone.length > 0);
  }
  t.end();
});
