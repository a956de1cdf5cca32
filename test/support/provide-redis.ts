// `npm test` begins here: finds redis-server, installs it if possible, or says which suites cannot run without it.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const isThere = (command: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

function install(): boolean {
  if (process.getuid?.() !== 0 || !isThere('apt-get')) return false;
  process.stderr.write('redis-server or openssl is not installed: installing them with apt-get\n');
  // A server of the system's own would only take a port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const run = (...args: string[]): boolean => spawnSync('apt-get', args, { env, stdio: 'ignore' }).status === 0;
  const wanted = ['install', '-y', '--no-install-recommends', 'redis-server', 'openssl'];
  return run(...wanted) || (run('update') && run(...wanted));
}

/** The test files that start a Redis server. */
function suites(): string[] {
  const top = join(import.meta.dirname, '..');
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && /redis/i.test(file + readFileSync(join(top, file), 'utf8')))
    .map((file) => `  test/${file}`);
}

const hasAll = (): boolean => isThere('redis-server') && isThere('openssl');
if (!hasAll() && !(install() && hasAll())) {
  const advice =
    'redis-server (and openssl, for its TLS) is not on the PATH. Install it (Debian: apt-get install redis-server openssl); these suites will fail without it:';
  process.stderr.write(`${[advice, ...suites().sort()].join('\n')}\n`);
}
