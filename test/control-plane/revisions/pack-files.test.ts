// The files of a kept revision come back as they were, from portions, and damaged ones are not handed out.
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import {
  describeFiles,
  filesOf,
  packFile,
  portionBytes,
  portionsOf,
} from '../../../control-plane/revisions/pack-files.ts';
import { hashOf, revisionOf, type SourceFile } from '../../../gitops/read/read.ts';
import { openRecordStore } from '../../../store/records/open-records.ts';
import { recordFilePath } from '../../../store/records/sqlite/record-file.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

async function keptFiles(t: Test, files: readonly SourceFile[]) {
  const directory = temporaryDirectory(t, 'gateway-revisions');
  const store = openRecordStore({ directory });
  t.teardown(() => store.close());
  const hash = hashOf(files, []);
  const described = await describeFiles(files);
  const hashes = described.map((file) => file.hash);
  await store.keepFiles(await Promise.all(files.map(({ bytes }, at) => packFile(hashes[at] ?? '', bytes))));
  const revision = revisionOf(hash);
  const facts = { instance: 'plane' };
  const entry = { revision, hash, at_ms: 1, outcome: 'applied', facts, files: described } as const;
  await store.keepRevision(entry, { entries: 50, bytes: 1e9 });
  return { store, revision, directory };
}

await test('files come back byte by byte and in their order', async (t) => {
  const file = (name: string, bytes: Uint8Array): SourceFile => ({ name, path: `/etc/gateway/${name}`, bytes });
  const large = randomBytes(portionBytes);
  const files = [
    file('a.yaml', large),
    file('empty.yaml', new Uint8Array()),
    file('team/b.yaml', Buffer.from(`é: "$\{KEY}"\r\n`)),
    file('z.yaml', large),
  ].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const { store, revision, directory } = await keptFiles(t, files);
  const found = await filesOf(store, revision);
  t.same(
    found?.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('base64')]),
    files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('base64')]),
  );
  t.equal(await filesOf(store, '000000000000'), undefined);
  const database = new DatabaseSync(recordFilePath(directory));
  const other = await packFile('', Buffer.from('other'));
  database.prepare('UPDATE config_file SET packed = ?, bytes = 5 WHERE bytes < 100').run(other.packed);
  database.close();
  await t.rejects(filesOf(store, revision), /the kept files of revision \w{12} are damaged/);
});

await test('portions are about as large as they may be, and no file is left out', async (t) => {
  const sizes = [portionBytes - 1, 1, 1, 3 * portionBytes, 0];
  t.same(
    portionsOf(sizes, (size) => size),
    [[portionBytes - 1, 1], [1], [3 * portionBytes], [0]],
  );
});
