// Keeps revisions of the configuration within their bounds, and each file of them once.
import type { RevisionFile } from '../../../../domain/records/config-revision.ts';
import type { KeptRevision, PackedFile, RevisionBounds, RevisionToKeep } from '../../kept-revisions.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainMoment } from '../plain-values.ts';

const files: Insertion = {
  table: 'config_file',
  columns: { hash: 'TEXT', bytes: 'BIGINT', packed_bytes: 'BIGINT', packed: 'TEXT' },
  tail: 'ON CONFLICT (hash) DO NOTHING RETURNING hash',
};

const contents: Insertion = { table: 'config_content', columns: { hash: 'TEXT' }, tail: 'RETURNING id' };

const contentFiles: Insertion = {
  table: 'config_content_file',
  columns: { content: 'BIGINT', name: 'TEXT', file: 'BIGINT' },
};

const entries: Insertion = {
  table: 'config_revision',
  columns: {
    revision: 'TEXT',
    hash: 'TEXT',
    at_ms: 'BIGINT',
    outcome: 'TEXT',
    content: 'BIGINT',
    facts: 'TEXT',
  },
  tail: 'RETURNING id',
};

const notKept: KeptRevision = { isNew: false, lacking: [] };

/** Gives how many of them are new. */
export async function keepFiles(statements: Statements, packed: readonly PackedFile[]): Promise<number> {
  const rows = packed.map(({ hash, bytes, packed: text }) => [hash, bytes, text.length, text]);
  return (await statements.insert(files, rows)).length;
}

export async function keepRevision(
  statements: Statements,
  revision: RevisionToKeep,
  bounds: RevisionBounds,
): Promise<KeptRevision> {
  if (await isRepeated(statements, revision)) return notKept;
  const content = revision.files === undefined ? null : await contentOf(statements, revision.hash, revision.files);
  if (Array.isArray(content)) return { isNew: false, lacking: content };
  const { revision: name, hash, at_ms: atMs, outcome, facts } = revision;
  const row = [name, hash, plainMoment(atMs), outcome, content, JSON.stringify(facts)];
  const [entry] = await statements.insert(entries, [row]);
  await pruneRevisions(statements, Number(entry?.['id']), bounds);
  return { isNew: true, lacking: [] };
}

/** A start with what was in force, or a rejected content that is read again, is no entry. */
async function isRepeated(statements: Statements, { hash, outcome }: RevisionToKeep): Promise<boolean> {
  const isAlike = outcome === 'applied' ? "WHERE outcome = 'applied' " : '';
  const [last] = await statements.all(`SELECT hash, outcome FROM config_revision ${isAlike}ORDER BY id DESC LIMIT 1`);
  return last?.['hash'] === hash && last['outcome'] === outcome;
}

/** The number of a content, or the hashes of its files that are lacking. */
async function contentOf(
  statements: Statements,
  hash: string,
  listed: readonly RevisionFile[],
): Promise<number | string[]> {
  const [known] = await statements.all('SELECT id FROM config_content WHERE hash = ?', hash);
  if (known !== undefined) return Number(known['id']);
  const hashes = [...new Set(listed.map((file) => file.hash))];
  const isListed = statements.dialect.isOneOf('hash', 'TEXT');
  const rows = await statements.all(`SELECT id, hash FROM config_file WHERE ${isListed}`, hashes);
  const ids = new Map(rows.map((row) => [String(row['hash']), Number(row['id'])]));
  const lacking = hashes.filter((each) => !ids.has(each));
  if (lacking.length > 0) return lacking;
  const [made] = await statements.insert(contents, [[hash]]);
  const content = Number(made?.['id']);
  await statements.insert(
    contentFiles,
    listed.map((file) => [content, file.name, ids.get(file.hash) ?? 0]),
  );
  return content;
}

/** Removes the oldest entries beyond the bounds, but neither the newest nor the one in force. */
async function pruneRevisions(statements: Statements, newest: number, bounds: RevisionBounds): Promise<void> {
  const kept = "(SELECT max(id) FROM config_revision WHERE outcome = 'applied')";
  const older = await statements.all(
    `SELECT id FROM config_revision WHERE id <> ? AND id <> coalesce(${kept}, 0) ORDER BY id`,
    newest,
  );
  const [count] = await statements.all('SELECT count(*) AS entries FROM config_revision');
  let left = Number(count?.['entries']);
  for (const { id } of older) {
    await removeUnused(statements);
    const [sum] = await statements.all('SELECT coalesce(sum(packed_bytes), 0) AS bytes FROM config_file');
    if (left <= bounds.entries && Number(sum?.['bytes']) <= bounds.bytes) return;
    await statements.run('DELETE FROM config_revision WHERE id = ?', Number(id));
    await statements.run('DELETE FROM config_verdict WHERE entry = ?', Number(id));
    left -= 1;
  }
  await removeUnused(statements);
}

/** Contents that no entry has, and files that no content has. */
async function removeUnused(statements: Statements): Promise<void> {
  const unused =
    'SELECT id FROM config_content WHERE id NOT IN (SELECT content FROM config_revision WHERE content IS NOT NULL)';
  await statements.run(`DELETE FROM config_content_file WHERE content IN (${unused})`);
  await statements.run(`DELETE FROM config_content WHERE id IN (${unused})`);
  await statements.run(
    'DELETE FROM config_file WHERE NOT EXISTS (SELECT 1 FROM config_content_file WHERE config_content_file.file = config_file.id)',
  );
}
