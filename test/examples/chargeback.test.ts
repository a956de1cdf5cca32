// The README of examples/chargeback, and what the other pages say of conversations and costs, as their reader does it: the commands, in
// their order.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { exampleOf, inPlaces, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const pageText = (page: string): string => readFileSync(join(top, page), 'utf8');
const blocksOf = (text: string): string[] => [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
/** Below a heading, to the next one. */
const sectionOf = (page: string, heading: string): string =>
  pageText(page).split(`# ${heading}\n`)[1]?.split(/^##+ /m)[0] ?? '';

const [start = '', define = '', ...commands] = blocksOf(pageText('examples/chargeback/README.md'));

await test('a team spends its budget, is refused, and goes on; all of it is found again', async (t) => {
  const data = temporaryDirectory(t, 'chargeback');
  const { places } = await startLocal(t, data, {}, exampleOf(start));
  // The other pages speak of examples/team-limits.
  const others = { '127.0.0.1:8210': '127.0.0.1:8110', 'data/team-limits/': 'data/chargeback/', '/team-a': '/unit-a' };

  /** Runs commands and gives what they print. */
  function paste(text: string): Promise<string> {
    const here = inPlaces(inPlaces(`${define}\n${text}`, others), places);
    return new Promise((done, fail) => {
      execFile('sh', ['-c', here], { cwd: data, timeout: 30_000 }, (error, stdout) =>
        error ? fail(error) : done(stdout),
      );
    });
  }

  const [spend = '', shadow = '', report = '', own = '', letGo = ''] = commands;
  t.match(await paste(spend), /^(200\n){4}429\n$/, 'a dollar is four requests');
  t.equal(await paste(shadow), '200\n');
  const reported = await waitFor('the records', async () => {
    const text = await paste(report);
    return text.includes('"exceeded":true') && text;
  });
  const [paths = '', budgets = ''] = reported.split('\n');
  t.match(JSON.stringify(JSON.parse(paths)), /\/unit-a\/app/);
  const rows = (JSON.parse(budgets) as { budgets: { period_label: string; spent: number; exceeded: boolean }[] })
    .budgets;
  t.match(
    rows.map(({ period_label: period, exceeded }) => [period, exceeded]),
    [
      ['monthly', false],
      ['daily', true],
    ],
  );
  const mine = JSON.parse(await paste(own)) as { usage: { total_cost: number }; budgets: { spent: number }[] };
  t.ok(mine.usage.total_cost > 1, `${mine.usage.total_cost}`);
  t.equal(mine.budgets.length, 2);
  t.match(await paste(letGo), /"amount":5/);

  const found = blocksOf(sectionOf('docs/quick-start.md', 'Find a conversation, and what a team spent'));
  const [latest, second] = await waitFor('the entry of the refusal', async () => {
    const [first = '', other = ''] = (await paste(found.join('\n'))).split('\n');
    const { sessions } = JSON.parse(first) as { sessions: { latest: { user_path: string; status_code: number } }[] };
    return sessions[0] && ([sessions[0].latest, other] as const);
  });
  t.match(latest, { user_path: /^\/unit-a/, status_code: 429 });
  t.match(second, /"total_cost":[1-9]/);
});
