// Whatever a provider does, a client gets an answer or the truth: each scenario at each door, in each form, native and translated.
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { cellsOf, doors } from './cells.ts';
import { isBroken } from './judge.ts';
import { scenarios } from './scenarios.ts';
import { nameOf } from './table.ts';
import { playCells } from './world.ts';

/** In a short run each scenario is played in each column of the table, at one of the doors. */
const cells = cellsOf(scenarios).filter(({ scenario, door, form, isNative }) => {
  const turn = scenarios.indexOf(scenario) + (form === 'JSON' ? 0 : 1) + (isNative ? 0 : 2);
  return isFull || scenario.wire !== undefined || door === doors[turn % doors.length];
});

const results = await playCells(suite, cells);

for (const scenario of scenarios) {
  await test(scenario.name, (t) => {
    for (const { cell, verdict } of results.filter((result) => result.cell.scenario === scenario))
      t.notOk(isBroken(cell, verdict), `${nameOf(cell)}: ${verdict.grade} ${verdict.reason}`);
    t.end();
  });
}

await test('the published sixteen are sixteen', (t) => {
  t.equal(scenarios.filter(({ isPublished }) => isPublished).length, 16);
  t.end();
});
