// The README of examples/cache and docs/cache.md, as their reader does it: the commands, in their order, and what they print.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, inPlaces, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/cache/README.md'), 'utf8');
const [start = '', define = '', ...commands] = blocksIn(readme, 'sh');
const printed = blocksIn(readme, '');

await test('every command prints what the page says', async (t) => {
  const { places } = await startLocal(t, temporaryDirectory(t, 'cache'), {}, exampleOf(start));
  const paste = openTerminal(t, places);
  await paste(define);
  const [twice = '', other = '', limits = '', says = '', saved = '', forget = ''] = commands;
  /** Answers may be a second old by now. */
  const aged = (text: string): string => text.replaceAll(/hit \d+/g, 'hit 0').trimEnd();
  for (const [index, block] of [twice, other, limits, says].entries())
    t.equal(aged(await paste(block)), inPlaces(printed[index] ?? '', places).trimEnd(), block);
  const report = await waitFor('the records', async () => {
    const text = await paste(saved);
    return text.includes('"total_requests":3') ? text : undefined;
  });
  t.match(report, /"total_cost":0[,}]/);
  t.match(report, /gateway_cache_requests_total\{endpoint="\/v1\/chat\/completions",outcome="hit"\} 3/);
  t.equal(aged(await paste(forget)), (printed[4] ?? '').trimEnd());
  await runPage(t, 'docs/cache.md', paste);
});
