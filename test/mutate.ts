// `npm run mutate`: how many mistakes made on purpose do the tests of the pure rooms find? Stryker changes one expression at a time and runs
// the test files that reach it, each in a process, until one fails. The score and every mistake that no test found are on the standard output.
//   npm run mutate                            all rooms, one after the other: hours
//   npm run mutate -- proxy/limits            one room
//   npm run mutate -- proxy/limits/window.ts  one file
// test/proxy/limits/surviving-mutants.md explains those of proxy/limits that no test finds.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** For each room the test files that hold its promises without processes of their own. Those that take least time come first. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  'proxy/limits': [
    'test/proxy/limits/{span,report,rejection,renew,limiter,limiter.rules,limiter.figures,window,headers,ietf-fields}.test.ts',
    'test/proxy/limits/limiter.{stored,property,model}.test.ts',
  ],
  domain: ['test/domain/**/*.test.ts'],
  'proxy/bytes': ['test/proxy/bytes/*.test.ts', 'test/proxy/{read-pieces,scan,canonical-json}.test.ts'],
};

const packages = join(import.meta.dirname, 'node_modules');
const words = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'gateway-mutants-'));
for (const word of words.length > 0 ? words : Object.keys(rooms)) {
  const [room, testFiles] = Object.entries(rooms).find(([name]) => word === name || word.startsWith(`${name}/`)) ?? [];
  if (testFiles === undefined) throw new Error(`${word} is in none of the rooms ${Object.keys(rooms).join(', ')}`);
  const settings = {
    mutate: [word === room ? `${room}/**/*.ts` : word],
    testRunner: 'tap',
    plugins: ['@stryker-mutator/tap-runner'],
    tap: { testFiles },
    coverageAnalysis: 'perTest',
    concurrency: 2,
    // The compiler of this repository checks the types; Stryker does not know its API.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    ignorePatterns: ['docs', 'examples', 'test/fixtures/answers'],
    // Its copy of the repository has the packages of the top level alone.
    buildCommand: `ln -s ${packages} test/node_modules`,
    tempDirName: folder,
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  };
  const file = join(folder, 'stryker.config.json');
  writeFileSync(file, JSON.stringify(settings));
  console.log(`\n== ${word}`);
  const { status } = spawnSync(join(packages, '.bin/stryker'), ['run', file], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
rmSync(folder, { recursive: true, force: true });
