// `npm test`: the files of a directory share a process (test/together.ts) where they can; the others have one of their own. Without
// the loaders of tap's runner: their hooks work again in every thread and process that a test starts, and make the suite take three
// times as long. (`npm run coverage` needs them.) The planes that tests start are built first, as they are shipped.
//   npm test                        all files
//   npm test -- store/state faults  files whose path contains one of the words
//   npm run test:long               what package.json excludes too: loads like those of a soak, and the tests of the test support
//   npm test -- --tap …             the whole TAP

import { globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { t } from 'tap';
import { build } from '../deploy/build.ts';
import manifest from '../package.json' with { type: 'json' };
import { masterKey } from './support/gateway.ts';
import { startProcess } from './support/process.ts';

const { include, exclude, serial, timeout } = manifest.tap;
const words = process.argv.slice(2).filter((word) => word !== '--tap');
const isWhole = process.argv.includes('--tap');
const isFull = process.env['RUNS'] === 'full';

/**
 * Of these directories, so many files share a process: few where files take seconds, because those of one process run in turn. What
 * takes longest begins first, so that no core is left without work at the end.
 */
const together: readonly (readonly [directory: string, mostFiles: number])[] = [
  // These two have a fleet of their own; the others have one fleet and one browser, one after the other.
  ['test/dashboard/records-', 1],
  ['test/dashboard/session', 1],
  ['test/dashboard/', 10],
  // These have one fleet, one after the other (test/support/shared.ts).
  ['test/journeys/fleet-', 20],
  ['test/journeys/', 14],
  ['test/proxy/limits/', 50],
  ['test/proxy/tokens/', 50],
  ['test/proxy/', 100],
  ['test/examples/', 3],
  ['test/clients/', 20],
  ['test/gitops/', 50],
  ['test/control-plane/', 50],
  ['test/contracts/', 20],
  ['test/plane/', 50],
  ['test/domain/', 50],
  ['test/deploy/', 5],
  ['test/schemas/', 50],
  ['test/store/', 50],
];
/**
 * Faults of stores and of processes, which last for seconds: most of such a test is waiting, and what it must not wait for longer than
 * is measured with the slowdown of the machine.
 */
const patientFaults = /^test\/faults\/(control-plane|counters|limits|proxy-process|records|store)/;
/** Not these: they measure the memory of their process. */
const alone = [
  'test/gitops/load.test.ts',
  'test/plane/failed-logins.test.ts',
  'test/proxy/limits/limiter.stored.test.ts',
  'test/proxy/tokens/usage-reader.test.ts',
  'test/proxy/upstream-answers.test.ts',
];

/** One line per file; what led to each `not ok` follows at the end, where a reader of a long log begins. */
function brief(): Transform {
  let rest = '';
  let inner: string[] = [];
  const failures: string[] = [];
  const isShown = (line: string): boolean => {
    if (!/^(ok|not ok|# \{|# time|Bail|TAP| {4}(ok|not ok) \d+ - test\/)/.test(line)) {
      if (!/^ *ok /.test(line)) inner.push(line);
      return false;
    }
    if (/^ *not ok/.test(line)) failures.push(...inner);
    inner = [];
    return true;
  };
  return new Transform({
    transform(chunk, _encoding, done) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      done(
        null,
        lines
          .filter(isShown)
          .map((line) => `${line}\n`)
          .join(''),
      );
    },
    flush(done) {
      done(null, [...failures, ...inner, rest].map((line) => `${line}\n`).join(''));
    },
  });
}

const files = globSync(include, { exclude: isFull ? ['test/node_modules/**'] : exclude })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted();

const limitS = timeout * (isFull ? 3 : 1);
// tap puts its loader into the NODE_OPTIONS of what it spawns; `env` puts back what the caller had.
const environment = [`NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`, `TAP_TIMEOUT=${limitS}`];

/** Runs one file; `buffered` ones run side by side. */
const run = (file: string, buffered: boolean): Promise<unknown> =>
  t.spawn('env', [...environment, process.execPath, file], { buffered, timeout: limitS * 1000 }, file);

/** Runs files in one process. Those that have no result when it ends, because one of them ended it, get a process of their own. */
async function runTogether(names: readonly string[]): Promise<void> {
  const seen = new Set<string>();
  const call = [...environment, process.execPath, 'test/together.ts', ...names];
  const name = `${names.length} files in one process, from ${names[0]}`;
  const ended = t.spawn('env', call, { buffered: true, timeout: limitS * 1000 }, name);
  ended.subtest?.parser.on('assert', (result) => seen.add(result.name));
  await ended;
  await Promise.all(names.filter((file) => !seen.has(file)).map((file) => run(file, true)));
}

/** In the order given, as many in each piece as fit, and as even as can be. */
function inPieces(names: readonly string[], most: number): readonly (readonly string[])[] {
  const count = Math.ceil(names.length / most);
  return Array.from({ length: count }, (_, index) => names.filter((_name, position) => position % count === index));
}

const built = resolve('node_modules/.cache/build');
await build(built);
process.env['TEST_BUILD'] = built;
// Tests kill the planes that they start, and what is killed keeps nothing of what it compiled: without this, a first run after
// `npm ci` would compile them at every start.
const compiled = getCompileCacheDir();
if (compiled !== undefined && readdirSync(compiled).length === 0) {
  const home = mkdtempSync(join(tmpdir(), 'gateway-compiled-'));
  writeFileSync(join(home, 'gateway.yaml'), '{}\n');
  const ports = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0' };
  const env = { ...ports, GATEWAY_CONFIG: home, GATEWAY_DATA: home, GATEWAY_MASTER_KEY: masterKey };
  for (const plane of ['control-plane', 'proxy']) {
    const started = await startProcess({ entry: `${plane}/main.ts`, env });
    await started.stop();
  }
  rmSync(home, { recursive: true });
}

t.register();
t.setTimeout(0);
if (!isWhole) t.pipe(brief()).pipe(process.stdout);
// Much of a test is waiting for intervals of the product. With one more at once, a store that is busy missed the deadlines of the tests.
t.jobs = availableParallelism() + 2;
t.ok(files.length > 0, `files: ${files.length}`);
const parallel = files.filter((file) => !serial.includes(file));
const isFault = (file: string): boolean => file.startsWith('test/faults/');
const rowOf = (file: string): (typeof together)[number] | undefined =>
  alone.includes(file) ? undefined : together.find(([directory]) => file.startsWith(directory));
const byRow = Map.groupBy(
  parallel.filter((file) => !isFault(file)),
  rowOf,
);
const groups = [undefined, ...together].flatMap((row) => inPieces(byRow.get(row) ?? [], row?.[1] ?? 1));
const runGroups = (some: readonly (readonly string[])[]): Promise<unknown> =>
  Promise.all(some.map((names) => (names.length > 1 ? runTogether(names) : run(names[0] ?? '', true))));
await runGroups(groups);
// Faults have deadlines of seconds, which browsers beside them would use up.
const faults = parallel.filter(isFault);
const runFaults = (arePatient: boolean): Promise<unknown> => {
  const some = faults.filter((file) => patientFaults.test(file) === arePatient);
  return runGroups(inPieces(some, arePatient ? 2 : 4));
};
// Two cores are busy for half of the time with four of these at once: all begin, so that none is left alone at the end.
t.jobs = availableParallelism() * 4;
await runFaults(true);
t.jobs = availableParallelism() + 2;
await runFaults(false);
for (const file of files.filter((name) => serial.includes(name))) await run(file, false);
t.end();
