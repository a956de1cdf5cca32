// The README of examples/semantic-cache, as its reader does it: its commands, in their order, and what they print.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, openTerminal, startLocal } from '../support/terminal.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/semantic-cache/README.md'), 'utf8');
const [start = '', define = '', words = '', other = '', decided = ''] = blocksIn(readme, 'sh');
const printed = blocksIn(readme, '');

await test('every command prints what the page says', async (t) => {
  const { places } = await startLocal(t, temporaryDirectory(t, 'semantic'), {}, exampleOf(start));
  const paste = openTerminal(t, places);
  await paste(define);
  for (const [index, block] of [words, other].entries())
    t.equal((await paste(block)).trimEnd(), (printed[index] ?? '').trimEnd(), block);
  const told = await paste(decided);
  t.match(told, /^gateway_cache_semantic_total\{outcome="hit"\} 1$/m);
  t.match(told, /^gateway_cache_semantic_total\{outcome="miss"\} 3$/m);
  t.match(told, /^gateway_cache_semantic_entries 3$/m);
  t.match(told, '"cache_type":"semantic"');
});
