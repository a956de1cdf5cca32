// Backups of a data directory: what is wrong is told in words, nothing half made looks whole, and nothing that was there is lost.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { backupCommand } from '../../control-plane/backup.ts';
import { restoreCommand } from '../../control-plane/restore.ts';
import type { Manifest } from '../../store/backup/manifest.ts';
import { openSealedStore } from '../support/sealed.ts';
import { fillUp, smallDisk } from '../support/small-disk.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const now = { nowMs: Date.UTC(2026, 0, 31, 12) };
const segment = '0000000001-00000000000000aa';

interface Stand {
  readonly home: string;
  readonly data: string;
  readonly backup: (folder?: string) => ReturnType<typeof backupCommand>;
  readonly restore: (folder?: string) => ReturnType<typeof restoreCommand>;
  readonly manifest: () => Manifest;
  readonly rewrite: (manifest: object) => void;
}

/** A data directory with one rule, and a journal of two lines and a part of a third, of which the first is stored. */
async function startStand(t: Test, home = temporaryDirectory(t)): Promise<Stand> {
  const data = join(home, 'data');
  const journal = join(data, 'proxy-1', 'journal');
  mkdirSync(journal, { recursive: true });
  writeFileSync(join(journal, `${segment}.jsonl`), 'one\ntwo\nthr');
  writeFileSync(join(journal, `${segment}.offset`), '4'.padStart(16, '0'));
  const store = openSealedStore({ directory: data });
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rate_limit', id: 'mine', body: {} }] });
  await store.close();
  const places = { dataDirectory: data, hasRedis: false, hasPostgres: false };
  const path = join(home, 'backup/manifest.json');
  return {
    home,
    data,
    backup: (folder = 'backup') => backupCommand([folder], places, { from: home, ...now }),
    restore: (folder = 'backup') => restoreCommand([folder], places, { from: home, ...now }),
    manifest: () => JSON.parse(readFileSync(path, 'utf8')) as Manifest,
    rewrite: (manifest) => writeFileSync(path, JSON.stringify(manifest)),
  };
}

await test('what waits in a journal comes along, and a journal that is there stays', async (t) => {
  const { home, data, backup, restore } = await startStand(t);
  t.match(await backup(), { code: 0 });
  const path = `proxy-1/journal/${segment}`;
  t.equal(readFileSync(join(home, 'backup', `${path}.jsonl`), 'utf8'), 'two\n');
  t.match(await restore(), { code: 0, output: /is what it was at 2026-01-31T12:00/ });
  t.equal(readFileSync(join(data, `${path}.jsonl`), 'utf8'), 'one\ntwo\nthr');
  t.notOk(existsSync(join(data, `${path}.offset`)), 'it is read again from its beginning');
  const aside = join(data, 'before-restore-20260131T120000Z');
  t.same(
    [existsSync(join(aside, `${path}.offset`)), readdirSync(aside).includes('state.sqlite')],
    [true, true],
    'what was replaced is beside',
  );
  const elsewhere = { dataDirectory: join(home, 'new'), hasRedis: true, hasPostgres: false };
  t.match(await restoreCommand([join(home, 'backup')], elsewhere, { from: '/', ...now }), {
    code: 0,
    output: /left out.*: state\.sqlite\n.*model-gateway restore-state .*backup\/state\.sqlite/,
  });
  t.same(readdirSync(join(home, 'new')), []);
});

await test('a backup that cannot be made says why and leaves nothing', async (t) => {
  const { home, data, backup } = await startStand(t);
  t.match(await backup('data'), { code: 1, output: /data is there and not empty; name a new or an empty directory/ });
  writeFileSync(join(home, 'file'), '');
  t.match(await backup('file/backup'), { code: 1, output: /no backup was made: .*check that its directory exists/ });
  const nowhere = { dataDirectory: join(home, 'nowhere'), hasRedis: false, hasPostgres: false };
  t.match(await backupCommand(['b'], nowhere, { from: home, ...now }), {
    code: 1,
    output: /holds no database of a gateway/,
  });
  t.match(await backupCommand(['a', 'b'], nowhere, { from: home, ...now }), {
    code: 2,
    output: /name one directory\nusage/,
  });
  writeFileSync(join(data, 'kept.sqlite'), 'no database at all');
  t.match(await backup(), {
    code: 1,
    output: /no backup was made: the file of stored responses .*kept\.sqlite is damaged/,
  });
  const bytes = readFileSync(join(data, 'state.sqlite'));
  writeFileSync(join(data, 'kept.sqlite'), bytes.fill(7, 4_096 + 200, 2 * 4_096));
  t.match(await backup(), { code: 1, output: /kept\.sqlite is damaged/ }, 'pages are read, not only copied');
  t.notOk(existsSync(join(home, 'backup')));
});

await test('a restore that fails half way takes back what it has moved', async (t) => {
  const { home, data, backup } = await startStand(t);
  await backup();
  const there = join(home, 'there');
  mkdirSync(there);
  const bytes = readFileSync(join(data, 'state.sqlite'));
  writeFileSync(join(there, 'state.sqlite'), bytes);
  writeFileSync(join(there, 'proxy-1'), 'where the folder of the proxy has to be');
  const places = { dataDirectory: there, hasRedis: false, hasPostgres: false };
  t.match(await restoreCommand(['backup'], places, { from: home, ...now }), {
    code: 1,
    output: /nothing was restored/,
  });
  t.same(readdirSync(there), ['proxy-1', 'state.sqlite']);
  t.ok(readFileSync(join(there, 'state.sqlite')).equals(bytes));
});

const disk = smallDisk(suite, 24);
const skip = disk === undefined ? 'this user may not mount a small disk' : false;

await test('a full disk leaves neither half a backup nor half a restore', { skip }, async (t) => {
  const full = String(disk);
  const { home, data, backup } = await startStand(t);
  const room = fillUp(full);
  t.match(await backup(join(full, 'backup')), { code: 1, output: /no backup was made: .*free some space on its disk/ });
  t.notOk(existsSync(join(full, 'backup')));
  room();
  t.match(await backup(), { code: 0 });
  const there = join(full, 'data');
  mkdirSync(there);
  writeFileSync(join(there, 'state.sqlite'), readFileSync(join(data, 'state.sqlite')));
  fillUp(full);
  const places = { dataDirectory: there, hasRedis: false, hasPostgres: false };
  t.match(await restoreCommand(['backup'], places, { from: home, ...now }), {
    code: 1,
    output: /nothing was restored: .*free some space on its disk/,
  });
  t.same(readdirSync(there), ['state.sqlite']);
});

await test('a backup that is not whole, or newer, is not restored', async (t) => {
  const { home, data, backup, restore, manifest, rewrite } = await startStand(t);
  t.match(await restore(), {
    code: 1,
    output: /there is no .*manifest\.json: .* is no backup, or one that was not finished/,
  });
  await backup();
  const whole = manifest();
  t.match(whole, { format: 1, version: /^\d/, time: '2026-01-31T12:00:00.000Z' });
  const before = readdirSync(data);
  const refuses = async (change: object, output: RegExp) => {
    rewrite({ ...whole, ...change });
    t.match(await restore(), { code: 1, output });
  };
  const withTables = (tables: number) =>
    whole.files.map((file) => (file.tables === undefined ? file : { ...file, tables }));
  await refuses(
    { version: '7.1.0', files: withTables(99) },
    /made by version 7\.1\.0 .* restore it with version 7\.1\.0 or/,
  );
  await refuses({ version: '7.1.0', format: 2 }, /made by version 7\.1\.0/);
  await refuses({ files: [{ path: '../outside', bytes: 0, sha256: '' }] }, /tables this version does not know/);
  await refuses({ files: 'all' }, /manifest\.json is damaged/);
  await refuses({ files: [...whole.files, { path: 'kept.sqlite', bytes: 1, sha256: '' }] }, /kept\.sqlite is missing/);
  rewrite(whole);
  const path = join(home, 'backup/state.sqlite');
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(1, 5_000, 5_001));
  t.match(await restore(), { code: 1, output: /state\.sqlite is not what the backup has written/ });
  const isOwn = (name: string): boolean => !/-(wal|shm)$/.test(name);
  t.same(readdirSync(data).filter(isOwn), before.filter(isOwn), 'nothing was changed');
});
