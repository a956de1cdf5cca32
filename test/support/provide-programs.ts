// `npm test` begins here: finds the programs that tests start, installs them if possible, or says which suites fail without them.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from './programs.ts';

/** A Debian package, the programs that tests use of it, and what the suites that use them have in their name or text. */
interface Package {
  readonly name: string;
  readonly programs: readonly string[];
  readonly mark: RegExp;
}

const packages: readonly Package[] = [
  { name: 'redis-server', programs: ['redis-server'], mark: /redis/i },
  { name: 'openssl', programs: ['openssl'], mark: /\btls: true|docs\/tls\.md/ },
  { name: 'postgresql', programs: ['postgres', 'initdb'], mark: /postgres/i },
  { name: 'chromium', programs: ['chromium'], mark: /shareBrowser/ },
  { name: 'prometheus', programs: ['promtool'], mark: /promtool/i },
];

const missing = (): Package[] =>
  packages.filter(({ programs }) => programs.some((program) => findProgram(program) === undefined));

function install(names: readonly string[]): void {
  if (process.getuid?.() !== 0 || findProgram('apt-get') === undefined) return;
  process.stderr.write(`not installed: ${names.join(', ')}; installing with apt-get\n`);
  // A server of the system's own would only take a port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const run = (...args: string[]): boolean => spawnSync('apt-get', args, { env, stdio: 'ignore' }).status === 0;
  const wanted = ['install', '-y', '--no-install-recommends'];
  if (run(...wanted, ...names)) return;
  run('update');
  // Each by itself: one that cannot be had must not keep the others away.
  for (const name of names) run(...wanted, name);
}

/** The test files that use a package. */
function suites({ mark }: Package): string[] {
  const top = join(import.meta.dirname, '..');
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) =>
        !file.startsWith('node_modules') &&
        file.endsWith('.test.ts') &&
        mark.test(file + readFileSync(join(top, file), 'utf8')),
    )
    .map((file) => `  test/${file}`)
    .sort();
}

const wanted = missing();
if (wanted.length > 0) install(wanted.map(({ name }) => name));
for (const each of missing()) {
  const { name, programs } = each;
  const advice = `${programs.join(' and ')} is not on the PATH. Install it (Debian: apt-get install ${name}); these suites will fail without it:`;
  process.stderr.write(`${[advice, ...suites(each)].join('\n')}\n`);
}
