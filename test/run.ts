// `npm test`: the files of a directory share a process (test/together.ts) where they can; the others have one of their own. Without
// the loaders of tap's runner: their hooks work again in every thread and process that a test starts, and make the suite take three
// times as long. (`npm run coverage` needs them.)
//   npm test                        all files
//   npm test -- store/state faults  files whose path contains one of the words
//   npm run test:long               what package.json excludes too: loads like those of a soak, the tests of the test support
//   npm test -- --tap …             the whole TAP

import { spawnSync } from 'node:child_process';
import { globSync, readdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { availableParallelism } from 'node:os';
import { Transform } from 'node:stream';
import { t } from 'tap';
import manifest from '../package.json' with { type: 'json' };

const { include, exclude, serial, timeout } = manifest.tap;
const words = process.argv.slice(2).filter((word) => word !== '--tap');
const isWhole = process.argv.includes('--tap');
const isFull = process.env['RUNS'] === 'full';

/** Of these directories, the files share a process. */
const together = [
  'test/contracts/',
  'test/control-plane/',
  'test/gitops/',
  'test/plane/',
  'test/proxy/limits/',
  'test/proxy/tokens/',
  'test/proxy/',
  'test/schemas/',
  'test/store/',
];
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

const files = globSync(include, { exclude: isFull ? [] : exclude })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted();

const limitS = timeout * (isFull ? 3 : 1);
// tap puts its loader into the NODE_OPTIONS of what it spawns; `env` puts back what the caller had.
const environment = [`NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`, `TAP_TIMEOUT=${limitS}`];

/** Runs one file; `buffered` ones run side by side. */
const run = (file: string, buffered: boolean): Promise<unknown> =>
  t.spawn('env', [...environment, process.execPath, file], { buffered, timeout: limitS * 1000 }, file);

/** Runs files in one process. Those that have no result when it ends, because one of them ended it, get a process of their own. */
async function runTogether(directory: string, names: readonly string[]): Promise<void> {
  const seen = new Set<string>();
  const call = [...environment, process.execPath, 'test/together.ts', ...names];
  const name = `${directory}: ${names.length} files in one process`;
  const ended = t.spawn('env', call, { buffered: true, timeout: limitS * 1000 }, name);
  ended.subtest?.parser.on('assert', (result) => seen.add(result.name));
  await ended;
  await Promise.all(names.filter((file) => !seen.has(file)).map((file) => run(file, true)));
}

// Tests kill the planes that they start, and what is killed keeps nothing of what it compiled: without this, a first run after
// `npm ci` would compile them at every start. They end at once, because no master key is set.
const { NODE_COMPILE_CACHE, PATH } = process.env;
const compiled = getCompileCacheDir();
if (compiled !== undefined && readdirSync(compiled).length === 0) {
  const env = { PATH, NODE_COMPILE_CACHE };
  for (const plane of ['proxy', 'control-plane']) spawnSync(process.execPath, [`${plane}/main.ts`], { env });
}

t.register();
t.setTimeout(0);
if (!isWhole) t.pipe(brief()).pipe(process.stdout);
// Much of a test is waiting for intervals of the product.
t.jobs = availableParallelism() + 1;
t.ok(files.length > 0, `files: ${files.length}`);
const groups = Map.groupBy(
  files.filter((file) => !serial.includes(file)),
  (file) => (alone.includes(file) ? '' : (together.find((directory) => file.startsWith(directory)) ?? '')),
);
await Promise.all([
  ...[...groups].filter(([directory]) => directory !== '').map(([directory, names]) => runTogether(directory, names)),
  ...(groups.get('') ?? []).map((file) => run(file, true)),
]);
for (const file of files.filter((name) => serial.includes(name))) await run(file, false);
t.end();
