// Installs the agents into a folder of the cache, before the network is left. What is there already is used again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Source } from './agent.ts';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'model-gateway-agents');
/** Milliseconds. */
const longestMs = 600_000;

/** Where the packages of this source are, or will be: one folder for each set of versions. */
export function folderOf({ packages }: Source): string {
  return join(cache, packages.join('+').replaceAll('/', '-'));
}

/** Installs what is missing. Throws an error with the last words of the installer. */
export function install(source: Source): void {
  const folder = folderOf(source);
  const mark = join(folder, 'installed');
  if (existsSync(mark)) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (source.registry === 'npm') {
    writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
    run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', ...source.packages]);
  } else {
    run('python3', ['-m', 'venv', folder]);
    const versions = source.packages.map((name) => name.replace('@', '=='));
    run(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...versions]);
  }
  writeFileSync(mark, '');
}

function run(program: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: longestMs });
  if (status === 0) return;
  throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.trim().split('\n').slice(-5).join('\n')}`);
}
