// Decisions and listings among many documents: they cost what they look at and what was changed, not what is stored.
import { test } from 'tap';
import { findKey, issueKey, viewOf } from '../../control-plane/admin/auth-keys/changes.ts';
import { checkQuota } from '../../control-plane/admin/auth-keys/check-quota.ts';
import { knownRules, putRule } from '../../control-plane/admin/rate-limits/changes.ts';
import { readWrite } from '../../control-plane/admin/rate-limits/read-write.ts';
import type { Operator } from '../../control-plane/authenticate.ts';
import { DocumentsInForce } from '../../control-plane/documents-in-force.ts';
import { KeyIndex, newestFirst } from '../../control-plane/managed/key-index.ts';
import { storedKind } from '../../control-plane/managed/stored-kind.ts';
import { managedKeys, manualRules, resets } from '../../domain/documents/kinds.ts';
import { MergedRules } from '../../domain/documents/merged-rules.ts';
import { changedList, inOrder } from '../../domain/documents/order.ts';
import { digestOf, newSecret } from '../../domain/keys/secret.ts';
import { mergeRules } from '../../domain/rules/merge.ts';
import { everyRule, resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { compileRules } from '../../domain/rules/rule.ts';
import { isWithin } from '../../domain/user-path.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import type { Document } from '../../store/state/state-store.ts';
import { sampleKey } from '../support/managed-state.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';

const many = 3_000;
const master: Operator = { kind: 'master_key', keyId: undefined, role: 'admin', userPath: '/', key: undefined };
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
  const ruleAt = (path: string, more: object = {}): Document => {
    const write = readWrite({ user_path: path, limit_key: { period: 'minute' }, max_requests: 5, ...more }, nowMs);
    const [change] = putRule(knownRules({ documents: [] }, [], nowMs), write, 'master_key', true);
    return counted({ kind: manualRules.kind, id: write.key, body: change?.body as object }, 'subject');
  };
  return { count, keyAt, ruleAt };
}

const paths = Array.from({ length: many }, (_, index) => `/team-${index % 10}/user-${index}`);

await test('a decision reads the documents that it is about, and no others', (t) => {
  const { count, keyAt, ruleAt } = countedDocuments();
  const keys = paths.map((path, index) => keyAt(`k${index}`, path));
  const documents = [...keys, ...paths.map((path) => ruleAt(path))].sort(inOrder);
  const names = { providers: new Set<string>(), aliases: new Set<string>() };
  const surroundings = { names, budgets: [], declared: { keys: [], places: new Map<string, string>() } };
  count.read = 0;

  const view = viewOf({ documents }, { operator: master, needed: 'admin' }, surroundings, nowMs);
  checkQuota({ documents }, master, defaultConfig().admin, 1);
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
  t.equal(index.newest().length, many);
  t.equal(count.read, many);
  const changes: [gone: string[], come: Document[]][] = [
    [[], [keyAt('k5000', '/Team-3')]],
    [['k5000'], [keyAt('k1', '/team-3/else', { role: 'admin' })]],
    [['k1', 'k2', 'k2999'], []],
  ];
  for (const [gone, come] of changes) {
    const names = gone.map((id) => ({ kind: managedKeys.kind, id }));
    count.read = 0;
    documents = changedList(documents, names, come);
    const newest = index.at({ documents }).newest();
    t.equal(count.read, come.length);
    const all = storedKind(managedKeys, { documents }).values();
    t.strictSame(newest, all.toSorted(newestFirst));
    for (const path of ['/', '/team-3', '/TEAM-3/else', '/team-3/user-3', '/team', '/none'])
      t.equal(index.countWithin(path), all.filter(({ userPath = '/' }) => isWithin(userPath, path)).length, path);
    t.equal(index.hasDashboard('/team-3/else'), come.length > 0 && gone.length > 0);
  }
  t.end();
});

await test('of another state, only the rules that differ are merged again, and the list is the one of all rules', (t) => {
  const { count, ruleAt } = countedDocuments();
  const declared = (max: number) => {
    const limits = [{ period: 'minute' as const, max_requests: max, mode: 'enforce' as const }];
    const user_paths = ['/team-2/user-2', '/only-here'].map((path) => ({ path, per_child: false, limits }));
    return compileRules({ enabled: true, user_paths, providers: [], models: [] });
  };
  const idOf = (path: string): string => `user_path 60 ${path}`;
  const epochOf = (id: string, epoch: number): Document => ({ kind: resets.kind, id, body: { epoch }, revision: 1 });
  const rules = new MergedRules();
  const [config, prerequisites] = [declared(10), rulePrerequisites()];
  const sources = { config, prerequisites, nowMs };
  let documents: readonly Document[] = paths.map((path) => ruleAt(path)).sort(inOrder);
  rules.at({ ...sources, documents });
  type Step = [name: string, come: Document[], gone: string[], more: Partial<typeof sources>, kept?: false];
  const steps: Step[] = [
    ['a new rule', [ruleAt('/new')], [], {}],
    ['another cap', [ruleAt('/team-1/user-1', { max_requests: 7 })], [], {}],
    ['an override is gone', [], [idOf('/team-2/user-2')], {}],
    ['one that will end', [ruleAt('/only-here', { expires_at: '2026-06-01T00:00:05Z' })], [], {}],
    ['a reset', [epochOf(idOf('/team-3/user-3'), 2)], [], {}],
    ['it has ended', [], [], { nowMs: nowMs + 5_000 }],
    ['the clock was set back', [], [], {}],
    ['a reset of every rule', [epochOf(everyRule, 1)], [], {}, false],
    ['another configuration', [], [], { config: declared(11) }, false],
    ['rate limits are switched off', [], [], { prerequisites: rulePrerequisites({ enabled: false }) }, false],
  ];
  for (const [name, come, gone, more, isKept = true] of steps) {
    const before = new Set(rules.at({ ...sources, documents }));
    const names = gone.map((id) => ({ kind: manualRules.kind, id }));
    documents = changedList(documents, names, come);
    const next = { ...sources, ...more, documents };
    const merged = rules.at(next);
    const manual = storedKind(manualRules, next).values();
    t.strictSame(merged, mergeRules({ ...next, manual, epochs: resetEpochs(storedKind(resets, next).values()) }), name);
    t.equal(merged.filter((rule) => !before.has(rule)).length <= 2, isKept, `${name}: those made anew`);
    t.equal(rules.at(next), merged, `${name}: asked again, the same list`);
  }
  t.equal(count.read, many + 3, 'each document is read once');
  t.end();
});

await test('a key that is written or deleted is in force, also beside one with the same secret', (t) => {
  const { keyAt } = countedDocuments();
  const inForce = new DocumentsInForce('master');
  const twin = (id: string) => keyAt(id, `/${id}`, { digest: digestOf('secret') });
  const found = (): string | undefined => inForce.credentials.keys.get(digestOf('secret'))?.id;
  const put = (...documents: Document[]): void => inForce.prepare(documents.sort(inOrder), true)();
  const [a, b, other] = [twin('k1'), twin('k2'), keyAt('k3', '/k3')];
  put(other);
  t.equal(found(), undefined);
  put(b, other);
  t.equal(found(), 'k2');
  put(a, b, other);
  t.equal(found(), 'k1', 'the first counts');
  put(b, other);
  t.equal(found(), 'k2');
  put(twin('k2'), other);
  t.equal(inForce.credentials.keys.size, 2);
  put();
  t.equal(inForce.credentials.keys.size, 0);
  t.end();
});
