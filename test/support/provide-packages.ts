// Installs the packages that tests alone use (test/package.json), unless they are there: `npm ci` leaves them out, because the gateway runs,
// and is built, without them.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';

const tests = join(import.meta.dirname, '..');

/** When a file was last written; 0: it is missing. Milliseconds. */
const writtenMs = (file: string): number => statSync(join(tests, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

// npm writes its own lock file behind the last package.
if (writtenMs('node_modules/.package-lock.json') < writtenMs('package-lock.json')) {
  const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', install, { cwd: tests, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) {
    process.stderr.write('the packages of test/package.json are not installed: `npm ci` in the folder test says why\n');
    process.exitCode = 1;
  }
}
