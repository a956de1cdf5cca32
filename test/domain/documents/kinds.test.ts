// The registry of managed documents: each kind reads what it writes; an unreadable document is named and skipped.
import { test } from 'tap';
import { modelResetId, pathResetId } from '../../../domain/cache/cache-reset.ts';
import {
  configPins,
  configRollouts,
  endedSessions,
  managedCacheResets,
  managedKeys,
  managedKinds,
  manualAliases,
  manualRules,
  readManaged,
  resets,
  targetDrains,
} from '../../../domain/documents/kinds.ts';
import { readKind, removed, type StoredDocument, written } from '../../../domain/documents/managed-kind.ts';
import { changedList, inOrder } from '../../../domain/documents/order.ts';
import { readManualRule } from '../../../domain/rules/manual-rule.ts';
import { sampleKey } from '../../support/managed-state.ts';

const id = 'user_path 60 /a';
const moment = '2026-01-01T00:00:00.000Z';
const rule = readManualRule(id, {
  scope: 'user_path',
  subject: '/a',
  per_child: false,
  period_seconds: 60,
  max_requests: 5,
  mode: 'enforce',
  created_at: moment,
  updated_at: moment,
  updated_by: 'master_key',
});
if (rule === undefined) throw new Error('the sample is no rule');
const key = sampleKey('secret', { id: 'k' });
const alias = {
  key: 'fast',
  value: {
    source: 'Fast',
    targets: [{ model: 'p/m', weight: 2 }],
    strategy: 'cost' as const,
    user_paths: ['/a'],
    enabled: false,
    hedge: false,
    description: 'x',
    retry: { attempts: 2, on: ['connect' as const], budget: 0.1, deadline: '1s' },
  },
  createdAt: moment,
  updatedAt: moment,
  updatedBy: 'master_key',
};
const drain = {
  key: 'p/a/m',
  provider: 'P',
  model: 'a/M',
  reason: 'maintenance',
  expiresAt: moment,
  createdAt: moment,
  updatedAt: moment,
  updatedBy: 'master_key',
};
const pin = {
  key: 'config' as const,
  revision: '0123456789ab',
  files: 'H4sI',
  reason: 'the new limits refuse everybody',
  expiresAt: moment,
  createdAt: moment,
  updatedAt: moment,
  updatedBy: 'master_key',
};
const samples = [
  written(manualRules, id, rule),
  written(resets, id, { id, epoch: 2, raisedAtMs: Date.parse(moment) }),
  written(resets, '', { id: '', epoch: 3, raisedAtMs: Number.POSITIVE_INFINITY }),
  written(managedKeys, key.id, key),
  written(manualAliases, alias.key, alias),
  written(endedSessions, 'a', { id: 'a', sessions: new Map([['s', Date.parse(moment)]]), untilMs: Date.parse(moment) }),
  written(targetDrains, drain.key, drain),
  written(configPins, pin.key, pin),
  written(configRollouts, 'fleet', { key: 'fleet', stable: 'a', gates: true, files: '' }),
  ...['', pathResetId('/a/b'), modelResetId('p/M')].map((reset) =>
    written(managedCacheResets, reset, { id: reset, epoch: 1 }),
  ),
];

await test('every kind has a unique name and reads what it writes', async (t) => {
  t.equal(new Set(managedKinds.map(({ kind }) => kind)).size, managedKinds.length);
  for (const managed of managedKinds) {
    const own = samples.filter(({ kind }) => kind === managed.kind);
    const { values, unreadable } = readKind(managed, JSON.parse(JSON.stringify(own)));
    t.same([values.length, unreadable], [own.length, []], managed.kind);
    t.strictSame(
      values.map((value) => managed.write(value)),
      own.map(({ body }) => body),
      managed.kind,
    );
    for (const body of [undefined, null, 7, 'x', [], {}]) t.equal(managed.read('x', body), undefined, managed.kind);
  }
  t.strictSame(removed(resets, id), { kind: 'reset_epoch', id, body: undefined });
});

await test('documents are read by kind; those that cannot be are named in the order of the kinds', async (t) => {
  const broken = managedKinds.toReversed().map(({ kind }) => ({ kind, id: 'b', body: { epoch: -1 } }));
  const later = { kind: 'of a later version', id: 'x', body: {} };
  const all = [...broken, later, ...samples, { kind: resets.kind, id: '', body: { epoch: '7' } }].sort(inOrder);
  const managed = readManaged(all);
  t.same([managed.of(manualRules).length, managed.of(resets).length, managed.of(managedKeys).length], [1, 2, 1]);
  t.same(managed.problems, [
    'the stored rule "b" cannot be read and is not enforced',
    'the stored reset of every rule cannot be read',
    'the stored reset of "b" cannot be read',
    'the stored key "b" cannot be read and is refused',
    'the stored virtual model "b" cannot be read and is not in force',
    'the stored budget "b" cannot be read and is not enforced',
    'the stored reset of the budget "b" cannot be read',
    'the stored setting of the windows of budgets cannot be read and is not in force',
    'the stored reset of the cached answers of "b" cannot be read and is not in force',
    'the stored guardrail "b" cannot be read and is not enforced',
    'the stored end of sessions of the key with the digest b… cannot be read and is not in force',
    'the stored drain of "b" cannot be read and is not in force',
    'the stored pin of the configuration cannot be read and is not in force',
    'the stored rollout of the configuration cannot be read and new revisions wait',
  ]);
});

await test('of a changed document its kind is another list; nothing else is read again', async (t) => {
  const reads: string[] = [];
  const keyDocument = (keyId: string, name: string): StoredDocument => {
    const body = { ...managedKeys.write({ ...key, id: keyId, name }) };
    return {
      kind: managedKeys.kind,
      id: keyId,
      get body() {
        reads.push(keyId);
        return body;
      },
    };
  };
  const documents = [
    ...samples,
    ...Array.from({ length: 5_000 }, (_, number) => keyDocument(`key ${number}`, 'old')),
  ].sort(inOrder);
  const before = readManaged(documents);
  reads.length = 0;
  t.equal(readManaged([...documents], before).of(managedKeys), before.of(managedKeys));
  const changed = changedList(
    documents,
    [{ kind: managedKeys.kind, id: 'key 7' }],
    [keyDocument('key 70', 'new'), keyDocument('key 8.5', 'new')],
  );
  const after = readManaged(changed, before);
  t.same(reads, ['key 70', 'key 8.5']);
  t.equal(after.of(manualRules), before.of(manualRules));
  t.same(after.of(managedKeys), readManaged(changed).of(managedKeys), 'as if all had been read');
  const garbage = { kind: managedKeys.kind, id: 'key 8', body: {} };
  const worse = readManaged(changedList(changed, [], [garbage]), after);
  t.equal(worse.problems.length, 1);
  t.same(readManaged(changedList(changed, [garbage], []), worse).of(managedKeys).length, 5_000);
});

await test('an alias of a document is whole, or it is not read', async (t) => {
  const { id: source, body } = written(manualAliases, alias.key, alias) as { id: string; body: { alias: object } };
  const read = (change: object, other: object = {}) =>
    manualAliases.read(source, { ...body, ...other, alias: { ...body.alias, ...change } });
  t.ok(read({}));
  for (const change of [
    { source: 'slow' },
    { source: 'fast*' },
    { targets: [] },
    { targets: undefined, target: 'p/m' },
    { user_paths: ['a/'] },
    { strategy: 'later' },
    { region: 'eu' },
  ])
    t.equal(read(change), undefined, JSON.stringify(change));
  for (const other of [{ created_at: 'x' }, { updated_by: 7 }]) t.equal(read({}, other), undefined);
});

await test('what the store skips is unreadable too', async (t) => {
  const skipped = [
    { kind: managedKeys.kind, id: 's' },
    { kind: resets.kind, id: 'r' },
  ];
  const broken = { kind: managedKeys.kind, id: 'b', body: {} };
  t.same(readKind(managedKeys, [broken, ...samples], skipped).unreadable, ['b', 's']);
});
