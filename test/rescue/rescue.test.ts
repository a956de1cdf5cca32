// Whatever a provider does, a client gets an answer or the truth: each scenario in each column of the table in docs/when-a-provider-fails.md.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { cellsOf, doors } from './cells.ts';
import { isBroken } from './judge.ts';
import { grades } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { gradesIn, nameOf, rowsOf } from './table.ts';
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

await test('the page of the documentation has this table', (t) => {
  const page = gradesIn(readFileSync(join(import.meta.dirname, '../../docs/when-a-provider-fails.md'), 'utf8'));
  t.same([...page.keys()].toSorted(), scenarios.map(({ name }) => name).toSorted(), 'npm run rescue -- --write');
  for (const { scenario, grades: seen } of rowsOf(results)) {
    const written = page.get(scenario.name) ?? [];
    // A cell of the page is the worst of all doors, of which a short run plays one.
    for (const [column, grade] of seen.entries())
      if (grade !== undefined)
        t.ok(grades.indexOf(grade) <= grades.indexOf(written[column] ?? 'pass'), `${scenario.name}: ${grade}`);
  }
  t.end();
});

await test('the published sixteen are sixteen', (t) => {
  t.equal(scenarios.filter(({ isPublished }) => isPublished).length, 16);
  t.end();
});
