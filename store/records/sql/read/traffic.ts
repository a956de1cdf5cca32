// The requests of a span as a plan replays them, in the order in which they began, a page at a time.
import { type TrafficLine, trafficLineOf } from '../../../../domain/records/traffic.ts';
import { isWithin } from '../../../../domain/user-path.ts';
import type { TrafficPage, TrafficQuestion } from '../../record-store.ts';
import { allOf, between, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { entryIn } from './listed-entries.ts';

export async function readTraffic(statements: Statements, question: TrafficQuestion): Promise<TrafficPage> {
  const { span, after, most, userPath = '/', succeeded } = question;
  const isBehind = after && condition('(entry.started_ms, entry.id) > (?, ?)', after.atMs, after.entry);
  // The index is entered where the page before has ended.
  const within = { fromMs: after?.atMs ?? span.fromMs, toMs: span.toMs };
  const where = allOf(between('entry.started_ms', within), isBehind);
  const rows = await statements.all(
    `SELECT entry.id, entry.started_ms, listed FROM entry JOIN entry_data ON entry_data.id = entry.id
     WHERE ${where.sql} ORDER BY entry.started_ms, entry.id LIMIT ?`,
    ...where.values,
    most,
  );
  const lines = rows.flatMap(({ listed }): TrafficLine[] => {
    const entry = entryIn(listed);
    const line = isWithin(entry.user_path, userPath) ? trafficLineOf(entry, succeeded) : undefined;
    return line === undefined ? [] : [line];
  });
  const last = rows.at(-1);
  if (last === undefined || rows.length < most) return { lines };
  return { lines, next: { atMs: Number(last['started_ms']), entry: Number(last['id']) } };
}
