// The hours in which keys were used: noted without a write per request, bounded, written once, and again when the store has lost them.
import { test } from 'tap';
import { keepKeyUses } from '../../plane/access/keep-key-uses.ts';
import { KeyUses } from '../../plane/access/key-uses.ts';
import type { DocumentUse } from '../../store/state/state-store.ts';
import { waitFor } from '../support/wait-for.ts';

const hourMs = 3_600_000;
const at = (hour: number, ms = 0): number => hour * hourMs + ms;

await test('each key is written once an hour, and later uses of the hour cost nothing', async (t) => {
  const uses = new KeyUses();
  for (let ms = 0; ms < 1_000; ms += 1) uses.note('a', at(5, ms));
  uses.note('b', at(5));
  uses.note(undefined, at(5));
  const first = uses.unwritten(10);
  t.same(first, [
    { id: 'a', hour: 5 },
    { id: 'b', hour: 5 },
  ]);
  t.equal(uses.unwritten(1).length, 1, 'in portions');
  uses.written(first);
  uses.note('a', at(5, 2_000));
  t.same(uses.unwritten(10), []);
  uses.note('a', at(6));
  t.same(uses.unwritten(10), [{ id: 'a', hour: 6 }]);
  uses.written(first);
  t.same(uses.unwritten(10), [{ id: 'a', hour: 6 }], 'a late acknowledgement does not hide a later use');
});

await test('hours that the store has lost are written again', async (t) => {
  const uses = new KeyUses();
  uses.note('old', at(4));
  uses.written(uses.unwritten(10));
  uses.note('a', at(5));
  uses.written(uses.unwritten(10));
  uses.writeAgain();
  t.same(uses.unwritten(10), [{ id: 'a', hour: 5 }], 'as far as it is known');
});

await test('no more keys are remembered than the limit, and another hour makes room', async (t) => {
  const uses = new KeyUses();
  for (let index = 0; index < 100_001; index += 1) uses.note(`key-${index}`, at(5));
  const noted = uses.unwritten(200_000);
  t.equal(noted.length, 100_000);
  uses.note('new', at(6));
  t.equal(uses.unwritten(200_000).length, 100_000, 'what is not written yet is not given up');
  uses.written(noted);
  uses.note('new', at(6));
  t.same(uses.unwritten(10), [{ id: 'new', hour: 6 }]);
});

await test('a store that fails gets everything later, and the last of it at the end', async (t) => {
  const uses = new KeyUses();
  const written: DocumentUse[] = [];
  let isFailing = true;
  let failures = 0;
  const kept = keepKeyUses(uses, {
    async note(_kind, given) {
      if (isFailing) {
        failures += 1;
        throw new Error('away');
      }
      written.push(...given);
    },
  });
  for (let index = 0; index < 1_200; index += 1) uses.note(`key-${index}`, at(5));
  await waitFor('a write that fails', () => failures > 0);
  isFailing = false;
  uses.note('last', at(5));
  await kept.close();
  t.equal(new Set(written.map(({ id }) => id)).size, 1_201);
  t.equal(written.length, 1_201);
});
