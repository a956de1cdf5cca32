// The README of examples/coding-agents, as its reader does it: what reaches the vendor, what is refused, and which target answers.
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, openTerminal, startLocal } from '../support/terminal.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/coding-agents/README.md'), 'utf8');
const [start = '', issue = '', claude = '', echo = '', other = '', without = '', both = ''] = blocksIn(readme, 'sh');
const [seen = '', refused = ''] = blocksIn(readme, '');

/** What stands around the places that differ. */
const partsOf = (printed: string): string[] => printed.trim().split('…');

await test('a login reaches its vendor alone, and a subscription is asked before the company', async (t) => {
  const home = temporaryDirectory(t, 'coding-agents');
  const example = exampleOf(start);
  const config = join(home, 'config');
  cpSync(join(top, `examples/${example}/config`), config, { recursive: true });
  const { places } = await startLocal(t, home, { GATEWAY_CONFIG: config }, example);
  const paste = openTerminal(t, places);
  await paste(issue);
  await paste(claude);
  t.match(await paste('echo "$ANTHROPIC_CUSTOM_HEADERS"'), /^X-Gateway-Key: sk-gw-/);
  const reached = await paste(echo);
  for (const part of partsOf(seen)) t.ok(reached.includes(part), part);
  t.notMatch(reached, /sk-gw|x-gateway-key/);
  t.notMatch(await paste(other), /sk-ant|sk-gw/);
  const told = await paste(without);
  for (const part of partsOf(refused)) t.ok(told.includes(part), part);
  const lines = (await paste(both)).trim().split('\n');
  t.same(lines.slice(0, 2), ['200', '200']);
  t.same(lines.slice(2).toSorted(), ['"provider_name":"claude"', '"provider_name":"company"']);
});
