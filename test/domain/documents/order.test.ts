// Sorted lists of documents: found, changed and compared by what changed.

import { array, assert, constantFrom, property, record } from 'fast-check';
import { test } from 'tap';
import { changedList, entryIn, inOrder, type Named, placesOf } from '../../../domain/documents/order.ts';
import { differences } from '../../../domain/sorted-list.ts';
import { runs } from '../../support/extent.ts';

const text = constantFrom('', '\0', 'a', 'a\0', 'aa', 'b', '\ud83d\ude00', '\uffff');
const names = array(record({ kind: text, id: text }), { maxLength: 12 });
const sorted = (list: readonly Named[]): Named[] => {
  const byName = new Map(list.map((each) => [JSON.stringify([each.kind, each.id]), each]));
  return [...byName.values()].sort(inOrder);
};

await test('a changed list is what sorting all of it again gives, and differences say what was changed', async (t) => {
  assert(
    property(names, names, names, (list, gone, come) => {
      const before = sorted(list);
      const after = changedList(before, gone, sorted(come));
      const isNamed = (all: readonly Named[]) => (key: Named) => all.some((each) => inOrder(each, key) === 0);
      const kept = before.filter((each) => !isNamed(gone)(each) && !isNamed(come)(each));
      t.strictSame(after, sorted([...kept, ...come]));
      const found = differences(before, after, inOrder);
      t.strictSame(
        found.gone,
        before.filter((each) => !after.includes(each)),
      );
      t.strictSame(
        found.come,
        after.filter((each) => !before.includes(each)),
      );
    }),
    runs(1000),
  );
});

await test('an entry is found by its name, and those of a kind lie together', async (t) => {
  assert(
    property(names, record({ kind: text, id: text }), (list, key) => {
      const all = sorted(list);
      t.equal(
        entryIn(all, key),
        all.find((each) => inOrder(each, key) === 0),
      );
      t.strictSame(
        all.slice(...placesOf(all, key.kind)),
        all.filter(({ kind }) => kind === key.kind),
      );
    }),
    runs(1000),
  );
});
