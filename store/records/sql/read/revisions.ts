// Revisions of the configuration, with their verdicts, and their files.
import type { ProxyVerdict, RevisionFile } from '../../../../domain/records/config-revision.ts';
import type { ListedRevision, PackedFile } from '../../kept-revisions.ts';
import type { Row, Statements } from '../database.ts';
import { plainText } from '../plain-values.ts';

export async function listRevisions(statements: Statements): Promise<ListedRevision[]> {
  const rows = await statements.all('SELECT * FROM config_revision ORDER BY id DESC');
  const verdicts = await statements.all('SELECT * FROM config_verdict ORDER BY instance');
  const sums = await statements.all(
    `SELECT content, count(*) AS files, sum(config_file.bytes) AS bytes FROM config_content_file
     JOIN config_file ON config_file.id = config_content_file.file GROUP BY content`,
  );
  const byEntry = Map.groupBy(verdicts, ({ entry }) => Number(entry));
  const byContent = new Map(sums.map((row) => [Number(row['content']), row]));
  return rows.map((row) => {
    const sum = row['content'] === null ? undefined : byContent.get(Number(row['content']));
    return {
      id: Number(row['id']),
      revision: String(row['revision']),
      hash: String(row['hash']),
      at_ms: Number(row['at_ms']),
      outcome: row['outcome'] === 'applied' ? 'applied' : 'rejected',
      facts: JSON.parse(String(row['facts'])) as ListedRevision['facts'],
      ...(sum === undefined ? {} : { files: { count: Number(sum['files']), bytes: Number(sum['bytes']) } }),
      verdicts: (byEntry.get(Number(row['id'])) ?? []).map(verdictIn),
    };
  });
}

function verdictIn(row: Row): ProxyVerdict {
  const moment = <Name extends string>(name: Name): Partial<Record<Name, number>> =>
    row[name] === null ? {} : ({ [name]: Number(row[name]) } as Record<Name, number>);
  const problems = JSON.parse(String(row['problems'])) as string[];
  return {
    instance: String(row['instance']),
    ...moment('in_force_ms'),
    ...moment('until_ms'),
    ...moment('rejected_ms'),
    ...(problems.length === 0 ? {} : { problems }),
  };
}

export async function filesOfRevision(
  statements: Statements,
  revision: string,
): Promise<{ hash: string; files: RevisionFile[] } | undefined> {
  const [entry] = await statements.all(
    'SELECT hash, content FROM config_revision WHERE revision = ? AND content IS NOT NULL ORDER BY id DESC LIMIT 1',
    plainText(revision),
  );
  if (entry === undefined) return undefined;
  const rows = await statements.all(
    `SELECT config_content_file.name, config_file.hash, config_file.bytes FROM config_content_file
     JOIN config_file ON config_file.id = config_content_file.file WHERE content = ? ORDER BY config_content_file.name`,
    Number(entry['content']),
  );
  const files = rows.map(({ name, hash, bytes }) => ({ name: String(name), hash: String(hash), bytes: Number(bytes) }));
  return { hash: String(entry['hash']), files };
}

export async function packedFiles(statements: Statements, hashes: readonly string[]): Promise<PackedFile[]> {
  const isWanted = statements.dialect.isOneOf('hash', 'TEXT');
  const rows = await statements.all(`SELECT hash, bytes, packed FROM config_file WHERE ${isWanted}`, hashes);
  return rows.map(({ hash, bytes, packed }) => ({
    hash: String(hash),
    bytes: Number(bytes),
    packed: String(packed),
  }));
}
