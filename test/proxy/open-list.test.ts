// What is open at one moment, and the poll that looks at it.
import { test } from 'tap';
import { type Listed, OpenList } from '../../proxy/pacing/open-list.ts';
import { Polling } from '../../proxy/pacing/polling.ts';
import { waitFor } from '../support/wait-for.ts';

interface Named extends Listed {
  readonly name: string;
}

const namesIn = (list: OpenList<Named>): string => {
  const names: string[] = [];
  list.each(({ name }) => names.push(name));
  return names.toSorted().join('');
};

await test('a list has what was added and not removed', async (t) => {
  const list = new OpenList<Named>();
  const [a, b, c, d]: Named[] = 'abcd'.split('').map((name) => ({ name }));
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four entries');
  for (const entry of [a, b, b, c, d]) list.add(entry);
  t.equal(namesIn(list), 'abcd', 'one that is added twice is there once');
  list.remove(a);
  list.remove(a);
  list.remove(d);
  t.equal(namesIn(list), 'bc');
  list.add(a);
  t.equal(list.size, 3);
  const seen = new Set<string>();
  list.each((entry) => {
    seen.add(entry.name);
    for (const other of [a, entry]) list.remove(other);
  });
  t.equal(list.size, 0, 'each may remove any of them');
  t.match([...seen].join(''), /^a?[bc]{2}a?$/, 'and those that stay are visited');
});

await test('a poll repeats while there is something to look at, and begins anew', async (t) => {
  let left = 3;
  let polls = 0;
  const polling = new Polling(() => {
    polls += 1;
    left -= 1;
    return left > 0;
  }, 1);
  for (const expected of [3, 4]) {
    polling.start();
    polling.start();
    t.ok(polling.isRunning);
    await waitFor('its end', () => !polling.isRunning);
    t.equal(polls, expected);
    left = 1;
  }
});
