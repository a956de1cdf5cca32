// Segments of entries in which free text is found by its grams. The newest entries have none yet: they are read one by one.
import type { Insertion, Row, Statements } from '../database.ts';
import { foldCase } from '../plain-values.ts';
import { type AskedGrams, GramIndex, gramsToAsk, mostPlaces, placesOf } from './search-grams.ts';
import type { Sought } from './sought.ts';

/** A segment whose entries have more text ends earlier: one batch makes no more rows than that. Characters. */
const mostSegmentText = 256 * 1024;
/** Most text that one batch makes segments of, so that long texts do not pile up. Characters. */
const mostBatchText = 4 * mostSegmentText;

/** The source of grams: texts of the entry itself, or its session. */
const sources = { entry: 0, session: 1 } as const;
export type GramSource = keyof typeof sources;

const segments: Insertion = {
  table: 'search_segment',
  columns: { first_entry: 'BIGINT', last_entry: 'BIGINT', first_ms: 'BIGINT', last_ms: 'BIGINT' },
};
const grams: Insertion = {
  table: 'search_gram',
  columns: { segment: 'BIGINT', source: 'BIGINT', gram: 'TEXT', places: 'TEXT' },
};

/** The entries after this one are in no segment. */
export async function lastInSegments(statements: Statements): Promise<number> {
  const [row] = await statements.all('SELECT max(last_entry) AS last_entry FROM search_segment');
  return Number(row?.['last_entry'] ?? 0);
}

/** Makes segments of entries while there are enough for one. `lastEntry`: the number of the newest. */
export async function fillSegments(statements: Statements, lastEntry: number): Promise<void> {
  let after = await lastInSegments(statements);
  for (let text = 0; lastEntry - after >= mostPlaces && text < mostBatchText; ) {
    const rows = await statements.all(
      `SELECT entry.id, started_ms, request_id, error_message, thread, thread.key FROM entry
       LEFT JOIN thread ON thread.id = entry.thread WHERE entry.id > ? ORDER BY entry.id LIMIT ?`,
      after,
      mostPlaces,
    );
    const made = await insertSegment(statements, rows);
    after = made.lastEntry;
    text += made.text;
  }
}

async function insertSegment(
  statements: Statements,
  rows: readonly Row[],
): Promise<{ readonly lastEntry: number; readonly text: number }> {
  const first = Number(rows[0]?.['id']);
  const own = new GramIndex();
  const taken: Row[] = [];
  let text = 0;
  for (const row of rows) {
    if (text >= mostSegmentText || Number(row['id']) - first >= mostPlaces) break;
    taken.push(row);
    for (const name of ['request_id', 'error_message']) {
      const folded = foldCase(textColumn(row, name));
      text += folded.length;
      own.add(Number(row['id']) - first, folded);
    }
  }
  const last = Number(taken.at(-1)?.['id']);
  const times = taken.map((row) => Number(row['started_ms']));
  const span = [Math.min(...times), Math.max(...times)];
  await statements.insert(segments, [[first, last, ...span]]);
  const ofSource = (source: GramSource, index: GramIndex) =>
    index.rows().map(([gram, places]) => [first, sources[source], gram, places]);
  await statements.insert(grams, [...ofSource('entry', own), ...ofSource('session', sessionsIn(taken, first))]);
  return { lastEntry: last, text };
}

/** A session is named by the entry of it that is removed last. */
function sessionsIn(rows: readonly Row[], first: number): GramIndex {
  const newest = new Map<number, Row>();
  for (const row of rows) {
    const known = newest.get(Number(row['thread']));
    if (row['key'] === null || Number(known?.['started_ms'] ?? 0) > Number(row['started_ms'])) continue;
    newest.set(Number(row['thread']), row);
  }
  const index = new GramIndex();
  for (const row of [...newest.values()].sort((a, b) => Number(a['id']) - Number(b['id'])))
    index.add(Number(row['id']) - first, foldCase(textColumn(row, 'key')));
  return index;
}

function textColumn(row: Row, name: string): string {
  return typeof row[name] === 'string' ? row[name] : '';
}

/**
 * The numbers of entries of segments that may have the text, the newest first, at most `most`. `term`: not empty. Some of them may be
 * gone, and some may have all grams of the text but not the text.
 */
export async function candidates(
  statements: Statements,
  { term, source, span }: { readonly term: string; readonly source: GramSource; readonly span: Sought['span'] },
  most: number,
): Promise<number[]> {
  const found = await statements.all(
    'SELECT first_entry FROM search_segment WHERE last_ms >= ? AND first_ms < ? ORDER BY first_entry DESC',
    span.fromMs,
    span.toMs,
  );
  const numbers: number[] = [];
  const asked = gramsToAsk(foldCase(term));
  const all = found.map((row) => Number(row['first_entry']));
  let portion = 'all' in asked ? firstPortions.long : firstPortions.short;
  for (let at = 0; at < all.length && numbers.length < most; ) {
    const some = all.slice(at, at + portion);
    at += portion;
    portion *= portionGrowth;
    const bySegment = await gramRows(statements, some, sources[source], asked);
    for (const first of some) {
      const rows = bySegment.get(first) ?? [];
      if (rows.length < ('all' in asked ? asked.all.length : 1)) continue;
      const places = placesOf(
        rows.map((row) => String(row['places'])),
        'all' in asked,
      );
      for (const place of places.toReversed()) numbers.push(first + place);
      if (numbers.length >= most) break;
    }
  }
  return numbers.slice(0, most);
}

/**
 * Of so many segments grams are read at once at first: a text that many entries have is found in the newest. One or two characters begin many
 * grams.
 */
const firstPortions = { long: 16, short: 2 };
/** Each portion has so many times the segments of the one before it, so that a text that few entries have takes few statements. */
const portionGrowth = 4;

async function gramRows(
  statements: Statements,
  some: readonly number[],
  source: number,
  asked: AskedGrams,
): Promise<ReadonlyMap<number, readonly Row[]>> {
  const { isOneOf } = statements.dialect;
  const isAsked = 'all' in asked ? isOneOf('gram', 'TEXT') : 'gram >= ? AND gram < ?';
  const rows = await statements.all(
    `SELECT segment, places FROM search_gram WHERE ${isOneOf('segment', 'BIGINT')} AND source = ? AND ${isAsked}`,
    some,
    source,
    ...('all' in asked ? [asked.all] : [asked.from, asked.before]),
  );
  return Map.groupBy(rows, (row) => Number(row['segment']));
}

/** Removes segments of which these entries, which are gone, were the last ones. */
export async function pruneSegments(statements: Statements, gone: readonly number[]): Promise<void> {
  const empty = await statements.all(
    `SELECT first_entry FROM search_segment WHERE last_entry >= ? AND first_entry <= ?
     AND NOT EXISTS (SELECT 1 FROM entry WHERE id BETWEEN first_entry AND last_entry)`,
    gone.reduce((least, id) => Math.min(least, id)),
    gone.reduce((most, id) => Math.max(most, id)),
  );
  for (const { first_entry: first } of empty) {
    await statements.run('DELETE FROM search_gram WHERE segment = ?', Number(first));
    await statements.run('DELETE FROM search_segment WHERE first_entry = ?', Number(first));
  }
}
