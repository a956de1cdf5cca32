// Costs in US dollars: every nano-dollar is there.
import * as fc from 'fast-check';
import { test } from 'tap';
import { dollars, dollarText } from '../../../domain/records/dollars.ts';

await test('nano-dollars as text and as a number', async (t) => {
  const rows = [
    [0, '0', '0'],
    [1, '0.000000001', '1e-9'],
    [2_500, '0.0000025', '0.0000025'],
    [1_000_000_000, '1', '1'],
    [1_100_000_000, '1.1', '1.1'],
    [123_456_789_012_345, '123456.789012345', '123456.789012345'],
    [-5, '-0.000000005', '-5e-9'],
    [Number.MAX_SAFE_INTEGER, '9007199.254740991', undefined],
  ] as const;
  for (const [cost, text, json] of rows) {
    t.equal(dollarText(cost), text);
    if (json !== undefined) t.equal(JSON.stringify(dollars(cost)), json);
  }
  t.equal(dollars(null), null);
  t.equal(dollarText(null), null);
});

await test('the number in JSON is the same decimal as the text, up to 2^23 dollars', async () => {
  const costs = fc.oneof(
    fc.integer({ min: 0, max: 2 ** 23 * 1e9 }),
    fc.integer({ min: 2 ** 22 * 1e9, max: 2 ** 23 * 1e9 }),
  );
  fc.assert(
    fc.property(costs, (cost) => {
      const json = JSON.stringify(dollars(cost));
      // Numbers below a millionth are written with an exponent.
      return cost < 1_000 || json === dollarText(cost);
    }),
    { numRuns: 5_000 },
  );
});
