// Which state a store goes on from, and what is made of two that were changed apart.
import { test } from 'tap';
import { goesOnFrom, includes, pastAfter } from '../../../store/state/lineage.ts';
import { mergedStates } from '../../../store/state/merge-states.ts';
import type { Document, PastChange, StoredState } from '../../../store/state/state-store.ts';

type Change = readonly [kind: string, id: string, body: object | undefined];

const first: StoredState = { storeId: 's', revision: 0, kinds: new Map(), documents: [], skipped: [] };

/** `state` after a change for each of these, its mark the letter of the line and the revision. */
function after(state: StoredState, line: string, ...changes: readonly Change[]): StoredState {
  let last = state;
  for (const change of changes) last = changed(last, line, change);
  return last;
}

function changed(before: StoredState, line: string, [kind, id, body]: Change): StoredState {
  const revision = before.revision + 1;
  const mark = `${line}${revision}`;
  const others = before.documents.filter((each) => each.kind !== kind || each.id !== id);
  const documents: Document[] = body === undefined ? others : [...others, { kind, id, body, revision }];
  const past = pastAfter(
    before.past,
    revision,
    new Map([[revision, { marks: [mark], deleted: body === undefined ? [{ kind, id }] : [] }]]),
  );
  return { ...before, revision, mark, kinds: new Map([...before.kinds, [kind, revision]]), documents, past };
}

/** The same state as a version of the gateway gives it that remembers no changes. */
function forgetful({ storeId, revision, kinds, documents, skipped }: StoredState): StoredState {
  return { storeId, revision, kinds, documents, skipped };
}

const key = (enabled: boolean, name = 'ann'): object => ({
  name,
  digest: 'a'.repeat(64),
  redacted_value: 'sk-gw-…abcd',
  created_by: 'master_key',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  dashboard_access: false,
  enabled,
});
const rule = (id: string, cap: number | undefined): Change => [
  'rate_limit',
  id,
  cap === undefined ? undefined : { cap },
];
const bodies = ({ documents }: StoredState): Record<string, object> =>
  Object.fromEntries(documents.map(({ id, body }) => [id, body as object]));

const common = after(first, 'a', rule('one', 1), rule('two', 1), ['auth_key', 'k', key(true)]);

await test('a store that has gone on includes what was seen, and one that went back does not, whatever its number', async (t) => {
  const seen = after(common, 'a', rule('one', 2), ['auth_key', 'k', key(false)]);
  t.ok(goesOnFrom(seen, common));
  t.ok(goesOnFrom(seen, seen));
  t.notOk(goesOnFrom(common, seen), 'lower');
  t.notOk(goesOnFrom(after(common, 'b', rule('x', 1), rule('y', 1)), seen), 'the same number on another line');
  t.notOk(goesOnFrom(after(common, 'b', rule('x', 1), rule('y', 1), rule('z', 1)), seen), 'higher on another line');
  t.notOk(includes(common, { storeId: 's', revision: 3, mark: 'b3' }), 'another mark at the same number');
});

await test('where marks are not remembered, documents tell', async (t) => {
  const seen = after(common, 'a', rule('two', undefined), rule('one', 2));
  const later = (...changes: Change[]): StoredState => ({
    ...after(common, 'b', ...changes),
    past: new Map([[90, change]]),
  });
  const change: PastChange = { marks: ['b90'], deleted: [] };
  const gone = rule('two', undefined);
  t.ok(goesOnFrom(later(gone, rule('one', 2), rule('x', 1)), seen));
  t.notOk(goesOnFrom(later(gone, rule('x', 1), rule('x', 2)), seen), 'a document is at an earlier revision');
  t.notOk(goesOnFrom(later(rule('x', 1), rule('one', 2), rule('x', 2)), seen), 'a deleted one is there');
  const unread = [{ kind: 'rate_limit', id: 'one' }];
  const withoutOne = { ...later(gone, rule('x', 1), rule('x', 2)), skipped: unread };
  t.ok(
    goesOnFrom({ ...withoutOne, documents: withoutOne.documents.filter(({ id }) => id !== 'one') }, seen),
    'one that cannot be read is no proof',
  );
  t.ok(goesOnFrom(forgetful(after(common, 'b', gone, rule('one', 2))), forgetful(seen)), 'of an older version');
});

await test('a store that went back gets everything that was in force, and nothing that was deleted', async (t) => {
  const seen = after(common, 'a', rule('one', 2), rule('two', undefined), rule('three', 1));
  for (const stored of [common, forgetful(common)]) {
    const merged = mergedStates(seen, stored);
    t.same(bodies(merged), { one: { cap: 2 }, three: { cap: 1 }, k: key(true) });
    t.equal(merged.revision, seen.revision + 1);
    t.ok(goesOnFrom(merged, seen) && includes(merged, common), 'it goes on from both');
    t.same(new Set(merged.kinds.values()), new Set([merged.revision]), 'every kind counts as changed');
  }
  const emptied = { ...first, storeId: undefined, revision: 2 };
  t.same(bodies(mergedStates(seen, emptied)), bodies(seen));
  t.equal(mergedStates(seen, emptied).storeId, 's');
});

await test('what was changed since the store went back counts, but a revoked key stays revoked', async (t) => {
  const deleted: Change = ['auth_key', 'gone', undefined];
  const start = after(common, 'a', ['auth_key', 'gone', key(true)], ['auth_key', 'late', key(true)]);
  const seen = after(start, 'a', rule('one', 2), rule('two', 2), ['auth_key', 'k', key(false)], deleted);
  const since: Change[] = [
    rule('one', 3),
    rule('new', 1),
    ['auth_key', 'k', key(true, 'bob')],
    ['auth_key', 'gone', key(true, 'bob')],
    ['auth_key', 'late', key(false)],
  ];
  const stored = after(start, 'b', ...since);
  const merged = mergedStates(seen, stored);
  t.same(bodies(merged), {
    one: { cap: 3 },
    two: { cap: 2 },
    new: { cap: 1 },
    k: key(false),
    late: key(false),
  });
  t.ok(goesOnFrom(merged, seen) && goesOnFrom(merged, stored), 'followers of both lines go on');
  t.equal(merged.revision, stored.revision + 1);
  t.same(bodies(mergedStates(merged, start)), bodies(merged), 'also when it goes back once more');
});

await test('resets go no step back', async (t) => {
  const epoch = (number: number): Change => ['reset_epoch', 'r', { epoch: number }];
  const start = after(common, 'a', epoch(1));
  const seen = after(start, 'a', epoch(2), epoch(3));
  t.match(bodies(mergedStates(seen, after(start, 'b', epoch(2)))), { r: { epoch: 3 } });
  t.match(bodies(mergedStates(seen, after(start, 'b', epoch(2), epoch(3), epoch(4)))), { r: { epoch: 4 } });
});
