// Pages far from the first: what lies before them is skipped by its moments, which indexes hold; to read each row of it takes five times as long.
import type { Span } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import type { Sought } from '../search/sought.ts';
import type { PlacedPage } from './entry-keys.ts';
import { fewOfCombos } from './thread-source.ts';

/** Fewer rows are skipped as fast one by one. */
const mostSkippedByRow = 2_000;
/** Number of rows before the page that are looked at: those of one moment are ordered otherwise than the index has them. */
const lookedBack = 200;
/** Of the facets that match, so many for each row that is skipped are looked at: most threads have fewer. */
const facetsPerRow = 2;

/** A page, and the span in which it is looked for. */
interface Walk {
  readonly within: Span;
  readonly page: PlacedPage;
}

/**
 * Gives the page in a shorter span, which ends with the moment of the first row of the page. It is returned as it came where few rows are
 * skipped, where it lies in one session or behind an entry, and where it is not found out what that moment is.
 */
export async function withoutSkipped(statements: Statements, sought: Sought, page: PlacedPage): Promise<Walk> {
  const { span, combos, comboEntries, threads } = sought;
  const { offset, after } = page;
  const isNear = offset < mostSkippedByRow || (combos !== undefined && comboEntries <= fewOfCombos);
  if (isNear || threads !== undefined || after !== undefined) return { within: span, page };
  const moments = await momentsBefore(statements, sought, offset);
  const moment = moments.at(-1) ?? 0;
  const same = moments.length - moments.indexOf(moment);
  if (moments.length < lookedBack || same === moments.length) return { within: span, page };
  return { within: { ...span, toMs: moment + 1 }, page: { ...page, offset: same - 1 } };
}

/** The moments of the last rows up to the first one of the page, the newest first; fewer, where there are fewer rows, or they are not known. */
async function momentsBefore(statements: Statements, { span, combos }: Sought, offset: number): Promise<number[]> {
  const isOf = combos && condition(statements.dialect.isOneOf('combo + 0', 'BIGINT'), combos);
  const isIn = allOf(between('last_ms', span), isOf);
  const isSingle = allOf(condition('thread < 0'), between('started_ms', span), isOf);
  const most = offset + 1;
  const threads =
    combos === undefined
      ? newest('last_ms AS ms, 0 AS known_from', 'thread', isIn, most)
      : momentsOfFacets(newest('thread, last_ms AS ms', 'facet', isIn, facetsPerRow * most));
  const knownFrom = combos === undefined ? '0' : 'CAST(NULL AS BIGINT)';
  const singles = newest(`started_ms AS ms, ${knownFrom} AS known_from`, 'entry', isSingle, most);
  const rows = await statements.all(
    `SELECT * FROM (${threads.sql}) AS one UNION ALL SELECT * FROM (${singles.sql}) AS other ORDER BY ms DESC LIMIT ? OFFSET ?`,
    ...threads.values,
    ...singles.values,
    lookedBack,
    most - lookedBack,
  );
  const moments = rows.map(({ ms }) => Number(ms));
  const moment = moments.at(-1) ?? 0;
  // A page that begins with an older row than the oldest facet that was looked at: threads between the two may be missing.
  const isKnown = rows.some(({ known_from: from }) => typeof from === 'number' && from < moment);
  return isKnown ? moments : [];
}

function newest(columns: string, table: string, where: Condition, most: number): Condition {
  return condition(
    `SELECT ${columns} FROM ${table} WHERE ${where.sql} ORDER BY ms DESC LIMIT ?`,
    ...where.values,
    most,
  );
}

/** Of each thread the newest of these facets, and the oldest moment of all: of what is older, some were not looked at. */
function momentsOfFacets({ sql, values }: Condition): Condition {
  const columns = 'max(ms) AS ms, min(min(ms)) OVER () AS known_from';
  return condition(`SELECT ${columns} FROM (${sql}) AS looked_at GROUP BY thread`, ...values);
}
