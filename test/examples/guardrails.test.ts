// The README of examples/guardrails and docs/guardrails.md, as their reader does it: what is refused, masked, changed and tried.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/guardrails/README.md'), 'utf8');
const [start = '', ...commands] = blocksIn(readme, 'sh');
const shown = blocksIn(readme, '').map((block) => block.trim());

await test('guardrails refuse, mask, change and try as the README shows it', async (t) => {
  const home = temporaryDirectory(t, 'guardrails');
  const example = exampleOf(start);
  const config = join(home, 'config');
  cpSync(join(top, `examples/${example}/config`), config, { recursive: true });
  const { places } = await startLocal(t, home, { GATEWAY_CONFIG: config }, example);
  const paste = openTerminal(t, places);
  const [
    define = '',
    refuse = '',
    asSystem = '',
    mask = '',
    audit = '',
    change = '',
    shadow = '',
    enforce = '',
    explain = '',
  ] = commands;
  t.equal(commands.length, 9, 'every command of the README is pasted here');
  const [refused, asSystemRefused, masked, revision, changed, tried, enforced] = shown;
  await paste(define);
  t.equal((await paste(refuse)).trim(), refused);
  t.equal((await paste(asSystem)).trim(), asSystemRefused);
  t.equal((await paste(mask)).trim(), masked);
  const recorded = await waitFor('the entry', async () => (await paste(audit)).trim());
  t.equal(recorded, revision);
  t.equal((await paste(change)).trim(), changed);
  t.equal((await paste(shadow)).trim(), tried);
  await runPage(t, 'docs/guardrails.md', paste);

  const file = join(config, 'guardrails.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('    mode: shadow\n', ''));
  const said = await waitFor('the guardrail', async () => {
    const answer = (await paste(enforce)).trim();
    return answer.includes('"error"') && answer;
  });
  t.equal(said, enforced);

  const lines = (await paste(explain)).trim().split('\n');
  const kinds = ['pii', 'pii', 'keywords', 'system_prompt', 'limits', 'regex'];
  t.same(
    lines.flatMap((line) => /"kind":"(\w+)"/.exec(line)?.[1] ?? []),
    kinds,
  );
  t.equal(lines.filter((line) => line.startsWith('guardrails.yaml:')).length, 6);
});
