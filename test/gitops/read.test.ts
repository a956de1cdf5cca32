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
import { formatProblem } from '../../gitops/problem.ts';
import { fingerprintDirectory, readDirectory, revisionOf } from '../../gitops/read.ts';

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

await test('YAML files are read in the order of their names', async (t) => {
  const place = directory(t, {
    'b.yml': 'b',
    'a.yaml': 'a',
    'c.txt': 'c',
    '.d.yaml': 'd',
    'e.yaml~': 'e',
    yaml: 'f',
    'B.yaml': 'g',
  });
  mkdirSync(join(place, 'sub'));
  writeFileSync(join(place, 'sub', 'x.yaml'), 'x');
  const { files, problems } = await readDirectory(place);
  t.same(
    files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]),
    [
      ['B.yaml', 'g'],
      ['a.yaml', 'a'],
      ['b.yml', 'b'],
    ],
  );
  t.equal(files[1]?.path, join(place, 'a.yaml'));
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
    'DIR/directory.yaml  is a directory, expected a file; directories are not searched',
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
  const run = (target: string): { status: number | null; stdout: string } => {
    const args = [process.execPath, join(repository, 'gitops/check.ts'), target];
    return spawnSync('env', [...prefix, ...args], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
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
  let last = await fingerprintDirectory(place);
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 10; round += 1) last = await fingerprintDirectory(place, last);
  };
  const changes: Record<string, () => void> = {
    'a new file': () => writeFileSync(join(place, 'b.yaml'), '{}'),
    'another content': () => writeFileSync(join(place, 'a.yaml'), '[1]'),
    'a file that is gone': () => rmSync(join(place, 'b.yaml')),
  };
  for (const [what, change] of Object.entries(changes)) {
    await settle();
    const before = last;
    change();
    last = await fingerprintDirectory(place, last);
    t.not(last.files, before.files, what);
    t.equal(last.place, before.place);
  }
  await settle();
  const before = last;
  writeFileSync(join(place, 'more notes.txt'), '');
  t.equal((await fingerprintDirectory(place, last)).files, before.files, 'other files do not count');
});

await test('a directory with more YAML files than anyone keeps apart is refused, foreign files do not count', async (t) => {
  const place = directory(t);
  for (let index = 0; index < 1_000; index += 1) writeFileSync(join(place, `${index}.yaml`), '{}');
  for (let index = 0; index < 1_000; index += 1) writeFileSync(join(place, `${index}.txt`), '');
  t.same(await refusals(place), []);
  writeFileSync(join(place, 'one-more.yml'), '{}');
  t.same(await refusals(place), [
    'DIR  holds more than 1000 YAML files; keep the configuration in a separate directory',
  ]);
});
