// `npm run mutate`: how many mistakes made on purpose do the tests of the pure rooms find? Stryker changes one expression at a time and runs the
// test files that reach it, each in a process, until one fails. The score and every mistake that no test found are on the standard output.
//   npm run mutate                  all rooms, one after the other: more than an hour
//   npm run mutate -- proxy/limits  one room
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

/** For each room the test files that hold its promises without a process of their own; those that take least time come first. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  'proxy/limits': [
    'test/proxy/limits/{limiter,limiter.rules,window,renew,headers,ietf-fields}.test.ts',
    'test/proxy/limits/limiter.{property,model,stored}.test.ts',
  ],
  domain: ['test/domain/**/*.test.ts'],
  'proxy/bytes': ['test/proxy/{canonical-json,read-pieces,scan}.test.ts'],
};

const words = process.argv.slice(2);
for (const word of words) {
  if (rooms[word] === undefined) throw new Error(`${word} is none of the rooms: ${Object.keys(rooms).join(', ')}`);
}

for (const [room, testFiles] of Object.entries(rooms)) {
  if (words.length > 0 && !words.includes(room)) continue;
  console.log(`\n== ${room}`);
  const stryker = new Stryker({
    mutate: [`${room}/**/*.ts`],
    testRunner: 'tap',
    plugins: ['@stryker-mutator/tap-runner'],
    tap: { testFiles: [...testFiles] },
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // The types are checked by the compiler of this repository, whose API Stryker does not know.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    ignorePatterns: ['docs', 'examples', 'test/fixtures/answers'],
    tempDirName: join(tmpdir(), 'gateway-mutants'),
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  });
  await stryker.runMutationTest();
}
