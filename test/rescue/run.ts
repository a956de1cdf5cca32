// npm run rescue: plays what providers do wrong, and prints what clients get of it as Markdown.
//   npm run rescue                      all scenarios; the exit code is 1 when one is worse than it says of itself
//   npm run rescue -- --only 429        those whose name contains the words
//   npm run rescue -- --check           compares with docs/when-a-provider-fails.md
//   npm run rescue -- --write           writes the table into that page
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cellsOf } from './cells.ts';
import { isBroken } from './judge.ts';
import { scenarios } from './scenarios.ts';
import { nameOf, renderTable } from './table.ts';
import { playCells } from './world.ts';

const page = join(import.meta.dirname, '../../docs/when-a-provider-fails.md');
/** Between these the table stands in the page. */
const [begin, end] = ['<!-- npm run rescue -- --write -->\n\n', '\n\n<!-- the end of the table -->'];

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const chosen = scenarios.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()));
const undoing: (() => unknown)[] = [];
try {
  const results = await playCells({ teardown: (undo) => undoing.unshift(undo) }, cellsOf(chosen));
  const table = renderTable(results);
  process.stdout.write(`${table}\n`);
  for (const { cell, verdict } of results) {
    if (!isBroken(cell, verdict)) continue;
    process.stderr.write(`${nameOf(cell)}: ${verdict.grade}: ${verdict.reason}\n`);
    process.exitCode = 1;
  }
  if (values.write || values.check) compare(table);
} finally {
  for (const undo of undoing) await undo();
}

function compare(table: string): void {
  const text = readFileSync(page, 'utf8');
  const [before = '', rest = ''] = text.split(begin);
  const written = `${before}${begin}${table}${end}${rest.split(end)[1] ?? ''}`;
  if (written === text) return;
  if (values.write) writeFileSync(page, written);
  else {
    process.stderr.write('the table of docs/when-a-provider-fails.md is not this one: npm run rescue -- --write\n');
    process.exitCode = 1;
  }
}
