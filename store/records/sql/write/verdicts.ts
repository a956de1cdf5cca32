// Keeps what proxies have made of revisions of the configuration.
import { mostGone, type NotedVerdict } from '../../kept-revisions.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainMoment, plainText } from '../plain-values.ts';

const columns = {
  entry: 'BIGINT',
  instance: 'TEXT',
  in_force_ms: 'BIGINT',
  rejected_ms: 'BIGINT',
  problems: 'TEXT',
} as const;

/** Since when it is in force stays as it was first noted. */
const verdicts: Insertion = {
  table: 'config_verdict',
  columns,
  tail: `ON CONFLICT (entry, instance) DO UPDATE SET
    in_force_ms = coalesce(config_verdict.in_force_ms, excluded.in_force_ms),
    rejected_ms = coalesce(excluded.rejected_ms, config_verdict.rejected_ms),
    problems = CASE WHEN excluded.rejected_ms IS NULL THEN config_verdict.problems ELSE excluded.problems END`,
};

/** See `RevisionStore`. */
export async function noteVerdicts(
  statements: Statements,
  noted: readonly NotedVerdict[],
  live: readonly string[],
  atMs: number,
): Promise<string[]> {
  const isLive = statements.dialect.isOneOf('instance', 'TEXT');
  const names = live.map(plainText);
  const lacking: string[] = [];
  const touched = new Set<number>();
  for (const { instance: name, revision, verdict, sinceMs, problems } of noted) {
    const instance = plainText(name);
    const [row] = await statements.all(
      'SELECT max(id) AS id FROM config_revision WHERE revision = ?',
      plainText(revision),
    );
    const entry = Number(row?.['id'] ?? 0);
    const isInForce = verdict === 'in_force';
    if (isInForce)
      await statements.run(
        `UPDATE config_verdict SET until_ms = ? WHERE instance = ? AND entry <> ? AND in_force_ms IS NOT NULL AND until_ms IS NULL`,
        plainMoment(atMs),
        instance,
        entry,
      );
    if (entry === 0) {
      lacking.push(name);
      continue;
    }
    const since = plainMoment(sinceMs);
    touched.add(entry);
    await statements.insert(verdicts, [
      [entry, instance, isInForce ? since : null, isInForce ? null : since, JSON.stringify(problems)],
    ]);
  }
  for (const entry of touched)
    await statements.run(
      `DELETE FROM config_verdict WHERE entry = ? AND NOT (${isLive}) AND instance NOT IN (SELECT instance FROM config_verdict
         WHERE entry = ? AND NOT (${isLive}) ORDER BY coalesce(until_ms, in_force_ms, rejected_ms) DESC LIMIT ${mostGone})`,
      entry,
      names,
      entry,
      names,
    );
  return lacking;
}
