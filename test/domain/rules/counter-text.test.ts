// Counts as text: what is written is read, also what older versions have written, and nothing else.
import * as fc from 'fast-check';
import { test } from 'tap';
import type { CounterRow, Pair } from '../../../domain/rules/counter-row.ts';
import { decodeCounts } from '../../../domain/rules/counter-text.ts';
import { rowsOf, textsOf } from '../../support/counter-rows.ts';

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
/** Slices ascend within the ring, and each has a count. */
const lane = fc
  .tuple(fc.nat({ max: 2 ** 40 }), fc.array(natural, { maxLength: 61 }))
  .map(([first, counts]) =>
    counts.map((count, index): Pair => [first + index, count]).filter(([slice, count]) => count > 0 && slice % 3 > 0),
  );
const rows = fc.record({
  key: fc.string(),
  epoch: natural,
  child: fc.string(),
  periodSeconds: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  requests: lane,
  tokens: lane,
});

await test('what is written is read', async (t) => {
  fc.assert(
    fc.property(rows, (written) => {
      const read = rowsOf(textsOf([written]))[0];
      return JSON.stringify(read) === JSON.stringify(written);
    }),
  );
  const busy = row({ requests: Array.from({ length: 61 }, (_, index): Pair => [29_384_756 + index, 1]) });
  t.ok(
    (textsOf([busy])[0]?.counts.length ?? 0) < 150,
    'a rule in use for all of its period has two characters for each slice',
  );
});

await test('what older versions have written is read', async (t) => {
  fc.assert(
    fc.property(rows, (written) => {
      const { epoch, periodSeconds: period_seconds, requests, tokens } = written;
      const text = JSON.stringify({ epoch, period_seconds, requests, tokens, added: [1] });
      return JSON.stringify(decodeCounts(written.key, written.child, text)) === JSON.stringify(written);
    }),
  );
  const text = JSON.stringify({ epoch: 1, period_seconds: 60, requests: [[1, 1]], tokens: [] });
  t.same(decodeCounts('k', '', text), row({}));
  for (const wrong of ['[[1,0.5]]', '[[1]]', '[[1,-2]]', '[null]', '{}'])
    t.equal(decodeCounts('k', '', text.replace('[[1,1]]', wrong)), undefined, wrong);
});

await test('no text makes it throw, and none but these is a row', async (t) => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => decodeCounts('k', '', text) === undefined));
  t.same(decodeCounts('k', '', '1 60 1:1 '), row({}));
  for (const text of [
    '1 60 1:1',
    '1 0 1:1 ',
    '-1 60 1:1 ',
    '1 60 1:1; ',
    '1 60 1: ',
    '1 60 1 ',
    '1 60 1:1:1 ',
    '1 60 :1 ',
  ])
    t.equal(decodeCounts('k', '', text), undefined, text);
});

function row(more: Partial<CounterRow>): CounterRow {
  return { key: 'k', epoch: 1, child: '', periodSeconds: 60, requests: [[1, 1]], tokens: [], ...more };
}
