// Reading the directory: only regular files of a bounded size; no file can make the reader hang.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { fingerprintDirectory } from '../../gitops/follow/fingerprint.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { readDirectory, revisionOf } from '../../gitops/read/read.ts';

const repository = join(import.meta.dirname, '../..');

function directory(t: { teardown(fn: () => void): void }, files: Record<string, string> = {}): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-read-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

async function refusals(place: string): Promise<string[]> {
  const { problems } = await readDirectory(place);
  return problems.map((problem) => formatProblem(problem).replace(place, 'DIR'));
}

await test('YAML files are read in the order of their paths, those of nested directories too', async (t) => {
  const place = directory(t, {
    'b.yml': 'b',
    'a.yaml': 'a',
    'c.txt': 'c',
    '.d.yaml': 'd',
    'e.yaml~': 'e',
    yaml: 'f',
    'B.yaml': 'g',
  });
  for (const nested of ['teams/a', 'teams/b', '.git', 'teams/.hidden', 'lost+found', 'empty']) {
    mkdirSync(join(place, nested), { recursive: true });
    if (nested !== 'empty') writeFileSync(join(place, nested, 'x.yaml'), nested);
  }
  const { files, problems } = await readDirectory(place);
  t.same(
    files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]),
    [
      ['B.yaml', 'g'],
      ['a.yaml', 'a'],
      ['b.yml', 'b'],
      ['teams/a/x.yaml', 'teams/a'],
      ['teams/b/x.yaml', 'teams/b'],
    ],
  );
  t.equal(files[1]?.path, join(place, 'a.yaml'));
  t.equal(files[3]?.path, join(place, 'teams/a/x.yaml'));
  t.same(problems, []);
});

await test('a file that is not one is refused at once', async (t) => {
  const place = directory(t, { 'good.yaml': '{}' });
  const at = (name: string): string => join(place, name);
  mkdirSync(at('directory.yaml'));
  execFileSync('mkfifo', [at('pipe.yaml')]);
  symlinkSync('/dev/zero', at('device.yaml'));
  symlinkSync('loop-b.yaml', at('loop-a.yaml'));
  symlinkSync('loop-a.yaml', at('loop-b.yaml'));
  symlinkSync('nowhere', at('dangling.yaml'));
  symlinkSync('pipe.yaml', at('link-to-pipe.yaml'));
  writeFileSync(at('eight.yaml'), '#'.repeat(8 * 1_048_576 + 1));
  writeFileSync(at('hundred.yaml'), '');
  truncateSync(at('hundred.yaml'), 100 * 1_048_576);
  const server = createServer().listen(at('socket.yaml'));
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  t.same(await refusals(place), [
    'DIR/dangling.yaml  is a symbolic link to nothing',
    'DIR/device.yaml  is a device or socket, expected a regular file',
    'DIR/directory.yaml  is a directory, expected a file; a directory with this ending is not searched',
    'DIR/eight.yaml  is larger than 8 MiB, the limit for one file',
    'DIR/hundred.yaml  is larger than 8 MiB, the limit for one file',
    'DIR/link-to-pipe.yaml  is a named pipe, expected a regular file',
    'DIR/loop-a.yaml  is a symbolic link that leads back to itself',
    'DIR/loop-b.yaml  is a symbolic link that leads back to itself',
    'DIR/pipe.yaml  is a named pipe, expected a regular file',
    'DIR/socket.yaml  is a device or socket, expected a regular file',
  ]);
  t.equal((await readDirectory(place)).files.length, 1, 'the others are still read');
});

await test('links to directories are followed, each directory is read once, and a circle ends', async (t) => {
  const place = directory(t, { 'a.yaml': '{}' });
  const elsewhere = directory(t, { 'far.yaml': '{}' });
  mkdirSync(join(place, 'teams/b'), { recursive: true });
  writeFileSync(join(place, 'teams/b/b.yaml'), '{}');
  symlinkSync('..', join(place, 'teams/back'));
  symlinkSync(elsewhere, join(place, 'linked'));
  symlinkSync('teams', join(place, 'a-second-name'));
  symlinkSync(place, join(elsewhere, 'round'));
  const { files, problems } = await readDirectory(place);
  t.same(problems, []);
  t.same(
    files.map(({ name }) => name),
    ['a.yaml', 'linked/far.yaml', 'teams/b/b.yaml'],
  );
});

await test('a ConfigMap with paths of several levels is read', async (t) => {
  const place = directory(t);
  mkdirSync(join(place, '..2026_1/teams/a'), { recursive: true });
  writeFileSync(join(place, '..2026_1/teams/a/x.yaml'), '{}');
  symlinkSync('..2026_1', join(place, '..data'));
  symlinkSync('..data/teams', join(place, 'teams'));
  t.match(await readDirectory(place), { files: [{ name: 'teams/a/x.yaml' }], problems: [] });
});

await test('directories are bounded in depth and number', async (t) => {
  const place = directory(t, { 'a.yaml': '{}' });
  const levels = (count: number): string => join(place, ...Array.from({ length: count }, () => 'd'));
  mkdirSync(levels(16), { recursive: true });
  writeFileSync(join(levels(16), 'x.yaml'), '{}');
  t.same(await refusals(place), []);
  mkdirSync(levels(17));
  t.same(await refusals(place), [
    `DIR/${'d/'.repeat(15)}d  holds directories that are nested too deeply: more than 16 levels`,
  ]);
  const wide = directory(t, { 'a.yaml': '{}' });
  for (let index = 0; index < 1_000; index += 1) mkdirSync(join(wide, `${index}`));
  t.same(await refusals(wide), [
    'DIR  holds more than 1000 directories; keep the configuration in a separate directory',
  ]);
});

await test('a file of exactly the limit is read, all files together have a limit of their own', async (t) => {
  const place = directory(t, { 'a.yaml': `#${' '.repeat(8 * 1_048_576 - 1)}` });
  t.same(await refusals(place), []);
  for (let index = 0; index < 8; index += 1) {
    writeFileSync(join(place, `b${index}.yaml`), '');
    truncateSync(join(place, `b${index}.yaml`), 8 * 1_048_576);
  }
  t.same(await refusals(place), ['DIR  holds more than 64 MiB of YAML in all']);
});

await test('a directory that cannot be read says why', async (t) => {
  const place = directory(t, { 'notes.txt': '' });
  t.same(await refusals(place), ['DIR  has no *.yaml or *.yml file; an empty configuration is a file holding {}']);
  t.same(await refusals(join(place, 'missing')), ['DIR  the configuration directory does not exist']);
  t.match(await refusals(join(place, 'notes.txt')), [/is a file, expected the configuration directory/]);
});

await test('what the user may not read is refused by name', async (t) => {
  const place = directory(t, { 'a.yaml': '{}', 'secret.yaml': '{}' });
  chmodSync(join(place, 'secret.yaml'), 0o000);
  chmodSync(place, 0o755);
  const closed = join(place, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  // Root may read every file, so the reader runs as the user nobody.
  const asRoot = process.getuid?.() === 0;
  if (asRoot && spawnSync('setpriv', ['--version']).error !== undefined) {
    t.pass('needs setpriv to leave root');
    return;
  }
  if (!asRoot) chmodSync(closed, 0o000);
  const prefix = asRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const run = (target: string): { status: number | null; stdout: string } => {
    const args = [process.execPath, join(repository, 'gitops/cli/check.ts'), target];
    return spawnSync('env', [...prefix, ...args], { encoding: 'utf8', env: { PATH, NODE_COMPILE_CACHE } });
  };
  const file = run(place);
  t.match(file.stdout, `${join(place, 'secret.yaml')}  cannot be read: permission denied`);
  t.equal(file.status, 1);
  t.match(run(closed).stdout, `${closed}  cannot be read: permission denied`);
});

await test('the hash is that of names and bytes alone', async (t) => {
  const place = directory(t, { 'a.yaml': '{}' });
  const hash = async (): Promise<string> => (await readDirectory(place)).hash;
  const first = await hash();
  utimesSync(join(place, 'a.yaml'), 1, 1);
  writeFileSync(join(place, 'notes.txt'), 'x');
  t.equal(await hash(), first);
  t.match(revisionOf(first), /^[0-9a-f]{12}$/);
  writeFileSync(join(place, 'a.yaml'), '{} ');
  t.not(await hash(), first);
  writeFileSync(join(place, 'a.yaml'), '{}');
  t.equal(await hash(), first);
  writeFileSync(join(place, 'b.yaml'), '');
  t.not(await hash(), first);
  symlinkSync('b.yaml', join(place, 'c.yaml'));
  rmSync(join(place, 'b.yaml'));
  t.equal(await hash(), await hash(), 'a fault that lasts is one content');
});

await test('the fingerprint changes with every write, even of the same size', async (t) => {
  const place = directory(t, { 'a.yaml': '{}' });
  const first = await fingerprintDirectory(place);
  t.same(await fingerprintDirectory(place), first);
  writeFileSync(join(place, 'a.yaml'), '[]');
  utimesSync(join(place, 'a.yaml'), 1, 1);
  t.not((await fingerprintDirectory(place)).files, first.files);
  t.equal((await fingerprintDirectory(join(place, 'missing'))).place, 'ENOENT');
});

await test('a fingerprint that follows others finds every file that comes, goes or changes', async (t) => {
  const place = directory(t, { 'a.yaml': '{}', 'notes.txt': '' });
  const elsewhere = directory(t, { 'far.yaml': '{}' });
  mkdirSync(join(place, 'sub'));
  let last = await fingerprintDirectory(place);
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 10; round += 1) last = await fingerprintDirectory(place, last);
  };
  const changes: Record<string, () => void> = {
    'a new file': () => writeFileSync(join(place, 'b.yaml'), '{}'),
    'another content': () => writeFileSync(join(place, 'a.yaml'), '[1]'),
    'a file that is gone': () => rmSync(join(place, 'b.yaml')),
    'a file in a nested directory': () => writeFileSync(join(place, 'sub/c.yaml'), '{}'),
    'a link to a nested directory': () => symlinkSync(elsewhere, join(place, 'sub/link')),
    'a file behind the link': () => writeFileSync(join(elsewhere, 'd.yaml'), '{}'),
  };
  for (const [what, change] of Object.entries(changes)) {
    await settle();
    const before = last;
    change();
    last = await fingerprintDirectory(place, last);
    t.not(last.files, before.files, what);
    if (!what.includes('link to')) t.equal(last.place, before.place);
  }
  await settle();
  const before = last;
  writeFileSync(join(place, 'more notes.txt'), '');
  t.equal((await fingerprintDirectory(place, last)).files, before.files, 'other files do not count');
});

await test('a directory with more than 1,000 YAML files is refused, foreign files do not count', async (t) => {
  const place = directory(t);
  for (let index = 0; index < 1_000; index += 1) writeFileSync(join(place, `${index}.yaml`), '{}');
  for (let index = 0; index < 1_000; index += 1) writeFileSync(join(place, `${index}.txt`), '');
  t.same(await refusals(place), []);
  writeFileSync(join(place, 'one-more.yml'), '{}');
  t.same(await refusals(place), [
    'DIR  holds more than 1000 YAML files; keep the configuration in a separate directory',
  ]);
});
