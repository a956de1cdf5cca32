// The root file system of the image, made without an engine for containers: Debian and Node in the place of the base image, then what the Dockerfile says.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Instruction } from './dockerfile.ts';

const top = join(import.meta.dirname, '../..');
const cache = join(top, 'node_modules/.cache');
/** What node:slim has beyond the smallest Debian, for Node alone. */
const basePackages = 'libstdc++6,libatomic1';
const suite = 'bookworm';

const run = (command: string, args: readonly string[], options: { cwd?: string } = {}): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });

/** What stands in for node:slim: kept as an archive, because Debian's packages take minutes. */
function unpackBase(root: string): void {
  const archive = join(cache, 'image-base.tar');
  mkdirSync(cache, { recursive: true });
  if (!existsSync(archive)) run('mmdebstrap', ['--variant=minbase', `--include=${basePackages}`, suite, archive]);
  run('tar', ['--extract', '--file', archive, '--directory', root, '--exclude=./dev/*']);
  copyFileSync(realpathSync(join(top, 'node_modules/.bin/node')), join(root, 'usr/local/bin/node'));
}

/** Runs the stage that builds, on the files that .dockerignore leaves; gives the folder that stands for its root. */
function buildStage(stage: readonly Instruction[]): string {
  const stand = mkdtempSync(join(tmpdir(), 'image-build-'));
  const source = join(stand, 'src');
  const ignored = readFileSync(join(top, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const files = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: top }).split('\0');
  for (const file of files.filter((each) => each !== '' && !ignored.includes(each.split('/')[0] ?? ''))) {
    mkdirSync(dirname(join(source, file)), { recursive: true });
    if (existsSync(join(top, file))) copyFileSync(join(top, file), join(source, file));
  }
  // In the place of `npm ci`.
  symlinkSync(join(top, 'node_modules'), join(source, 'node_modules'));
  const commands = stage.filter(({ name, text }) => name === 'RUN' && text !== 'npm ci');
  const path = `${dirname(realpathSync(join(top, 'node_modules/.bin/node')))}:${process.env['PATH']}`;
  for (const { text } of commands) {
    execFileSync('sh', ['-ec', text], {
      cwd: source,
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return stand;
}

/** Makes the root file system in a new folder, which it gives. Needs root and mmdebstrap; the folder is the caller's to remove. */
export function makeRoot([build, image]: readonly [readonly Instruction[], readonly Instruction[]]): string {
  const root = mkdtempSync(join(tmpdir(), 'image-root-'));
  unpackBase(root);
  const stage = buildStage(build);
  for (const { name, text } of image) {
    const [from = '', to = ''] = text.replace('--from=build ', '').split(' ');
    if (name === 'COPY') cpSync(join(stage, from), join(root, to), { recursive: true });
    if (name === 'RUN') run('chroot', [root, 'sh', '-ec', text]);
  }
  run('rm', ['-r', stage]);
  return root;
}

/** Bytes of a folder, gzipped as the layers of images are. */
export function compressedBytes(root: string, folder: string): number {
  return Number(run('sh', ['-c', 'tar --create --directory "$1" "$2" | gzip | wc -c', 'sh', root, folder]));
}
