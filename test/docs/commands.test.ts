// Every command of README.md and of the pages in docs/, as its reader pastes it. A gateway of the quickstart and one of team-limits serve all pages;
// those of single examples are run where these are.
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { commandsOf, notRun, runPage } from '../support/pages.ts';
import { freePort } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal, type Places, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const startPatienceMs = 60_000;

/** A page is run only when it is named here: what it says may be meant for a machine of its own. */
const here = [
  'README.md',
  'docs/coming-from-elsewhere.md',
  'docs/command.md',
  'docs/comparison.md',
  'docs/conditions.md',
  'docs/config-tests.md',
  'docs/configuration.md',
  'docs/deploying.md',
  'docs/dialects-and-clients.md',
  'docs/drift.md',
  'docs/keys-and-identities.md',
  'docs/mirror.md',
  'docs/observing.md',
  'docs/operating.md',
  'docs/passthrough.md',
  'docs/performance.md',
  'docs/pipeline.md',
  'docs/plan.md',
  'docs/quick-start.md',
  'docs/records-and-audit.md',
  'docs/roles.md',
  'docs/routing-and-failover.md',
  'docs/upgrading.md',
];
/**
 * Pages whose commands another test runs, with what only that one has; those for a machine or a cluster of one's own it compares with the
 * files.
 */
const elsewhere: Readonly<Record<string, string>> = {
  'docs/backup-and-restore.md': 'test/journeys/backup.test.ts',
  'docs/cache.md': 'test/examples/cache.test.ts',
  'docs/deploying-on-a-machine.md': 'test/deploy/systemd.test.ts',
  'docs/deploying-on-kubernetes.md': 'test/deploy/chart.test.ts',
  'docs/deploying-with-compose.md': 'test/deploy/compose.test.ts',
  'docs/guardrails.md': 'test/examples/guardrails.test.ts',
  'docs/night.md': 'test/drill/report.ts',
  'docs/pin.md': 'test/journeys/config-pin.test.ts',
  'docs/revisions.md': 'test/control-plane/revisions/revisions-command.test.ts',
  'docs/tls.md': 'test/docs/tls.test.ts',
  'docs/when-a-provider-fails.md': 'test/rescue/rescue.test.ts',
};
/** Like a checkout in which `npm start` has run. */
const home = temporaryDirectory(suite, 'pages');
const ownNames = new Set(['data', 'config', 'dist']);
for (const name of readdirSync(top).filter((each) => !ownNames.has(each)))
  symlinkSync(join(top, name), join(home, name));
mkdirSync(join(home, 'data'));

/** Starts an example with its data where its README says, and gives the addresses of this start. */
async function startExample(example?: string): Promise<Places> {
  const env = example === undefined ? {} : { GATEWAY_DATA: join(home, 'data', example) };
  const { places } = await startLocal(suite, home, env, example);
  return Object.fromEntries(Object.entries(places).filter(([there]) => there.includes(':')));
}

const [quickstart, teamLimits] = await Promise.all([startExample(), startExample('team-limits')]);

for (const page of here) {
  await test(`the commands of ${page} do what it says`, async (t) => {
    const port = String(await freePort());
    // The planes of docs/deploying.md run until the end of the page, beside the others.
    const apart = `GATEWAY_DATA=${home}/own GATEWAY_PORT=${port} GATEWAY_ADMIN_PORT=${await freePort()}`;
    const paste = openTerminal(t, { ...quickstart, ...teamLimits, 'GATEWAY_DATA=data': apart });
    await paste(`cd ${home}; export GATEWAY_PORT=${quickstart['127.0.0.1:8080']?.split(':')[1]}`);
    await runPage(t, page, (commands) => paste(commands.replace(/(\/main\.ts)$/m, '$1 >/dev/null 2>&1 &')));
    if (!commandsOf(page).some(({ text }) => text.includes('proxy/main.ts'))) return;
    const isReady = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined))?.ok;
    await waitFor('the proxy', isReady, startPatienceMs);
  });
}

await test('commands that are not run here are known', (t) => {
  const examples = globSync('examples/*/README.md', { cwd: top });
  const texts = [...here, ...Object.keys(elsewhere), ...examples].flatMap(commandsOf).map(({ text }) => text);
  t.same(
    notRun.filter(([command]) => !texts.some((text) => command.test(text))),
    [],
  );
  const withCommands = ['README.md', ...globSync('docs/*.md', { cwd: top })].filter(
    (page) => commandsOf(page).length > 0,
  );
  t.same(withCommands.toSorted(), [...here, ...Object.keys(elsewhere)].toSorted(), 'each page is run by one test');
  for (const [page, file] of Object.entries(elsewhere))
    t.ok(readFileSync(join(top, file), 'utf8').includes(page), `${file} speaks of ${page}`);
  t.end();
});
