// The table of places and positions against a Map, where many places belong into the same slots.
import { test } from 'tap';
import { PlaceTable } from '../../../store/cache/place-table.ts';
import { createRandom } from '../../support/random.ts';

await test('it has what a Map has after any puts and deletes', async (t) => {
  const random = createRandom(16);
  const table = new PlaceTable();
  const model = new Map<number, number>();
  // All of them belong into the last 32 slots, so that runs go over the end of the table; half of them are negative.
  const places = Array.from({ length: 800 }, (_, index) => (index << 22) | (0x3f_ffe0 + (index % 32)));
  const anyPlace = (): number => places[Math.floor(random() * places.length)] as number;
  const wrong = new Set<number>();
  for (let step = 0; step < 40_000; step += 1) {
    const place = anyPlace();
    // It grows first; then few are there, most of them in their own slots.
    if (random() < (step < 10_000 ? 0.8 : 0.1)) {
      table.set(place, step);
      model.set(place, step);
    } else {
      table.delete(place);
      model.delete(place);
    }
    for (const asked of [place, anyPlace(), anyPlace()]) if (table.get(asked) !== model.get(asked)) wrong.add(step);
  }
  t.same([...wrong].slice(0, 5), [], 'steps after which it differs');
  t.equal(table.size, model.size);
});
