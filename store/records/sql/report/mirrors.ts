// How the answers of mirrors compare with those that clients got, by alias and pair of models.
import { type ComparedSide, type MirrorPair, type MirrorReport, mostCompared, type Span } from '../../record-store.ts';
import type { Row, Statements } from '../database.ts';

type Side = 'a' | 'b';
const sides: readonly Side[] = ['a', 'b'];
const pair = 'alias, a_model, b_model';
/** The columns whose percentiles are told. */
const times = ['duration_ns', 'first_byte_ns'] as const;

/** The newest `mostCompared` of the span. The most comparisons first. */
export async function mirrorReport(statements: Statements, { fromMs, toMs }: Span): Promise<MirrorReport> {
  const within = 'SELECT * FROM mirror WHERE at_ms >= ? AND at_ms < ? ORDER BY at_ms DESC, id DESC LIMIT ?';
  const values = [fromMs, toMs, mostCompared];
  const sums = sides.flatMap((side) => [
    `sum(${side}_success) AS ${side}_succeeded`,
    `sum(${side}_input_tokens) AS ${side}_input`,
    `sum(${side}_output_tokens) AS ${side}_output`,
    `sum(${side}_cost) AS ${side}_sum`,
    `count(*) - count(${side}_cost) AS ${side}_unpriced`,
  ]);
  const rows = await statements.all(
    `SELECT ${pair}, count(*) AS n, min(at_ms) AS first_ms, max(at_ms) AS last_ms, ${sums.join(', ')},
       count(similarity) AS compared, avg(similarity) AS similarity
     FROM (${within}) AS recent GROUP BY ${pair} ORDER BY n DESC, ${pair}`,
    ...values,
  );
  const ranked = new Map<string, number>();
  for (const side of sides)
    for (const time of times) {
      const column = `${side}_${time}`;
      for (const row of await percentiles(statements, column, within, values))
        for (const share of shares) ranked.set(`${column} ${share} ${keyOf(row)}`, Number(row[`p${share}`]));
    }
  return { pairs: rows.map((row) => pairOf(row, ranked)), isTruncated: totalOf(rows) >= mostCompared };
}

const shares = [50, 95] as const;

/** Of answers that came completely: the smallest time that so many of a hundred of them did not exceed. */
function percentiles(
  statements: Statements,
  column: string,
  within: string,
  values: readonly number[],
): Promise<readonly Row[]> {
  const success = `${column.slice(0, 1)}_success`;
  const numbered = `SELECT ${pair}, ${column} AS took, row_number() OVER (PARTITION BY ${pair} ORDER BY ${column}) AS place,
      count(*) OVER (PARTITION BY ${pair}) AS n FROM (${within}) AS recent WHERE ${success} = 1 AND ${column} IS NOT NULL`;
  const chosen = shares.map((share) => `min(CASE WHEN place * 100 >= n * ${share} THEN took END) AS p${share}`);
  return statements.all(
    `SELECT ${pair}, ${chosen.join(', ')} FROM (${numbered}) AS numbered GROUP BY ${pair}`,
    ...values,
  );
}

function keyOf(row: Row): string {
  return JSON.stringify([row['alias'], row['a_model'], row['b_model']]);
}

function totalOf(rows: readonly Row[]): number {
  return rows.reduce((total, { n }) => total + Number(n), 0);
}

function pairOf(row: Row, ranked: ReadonlyMap<string, number>): MirrorPair {
  const key = keyOf(row);
  const compared = Number(row['compared']);
  const timesOf = (side: Side, time: (typeof times)[number]): { p50: number; p95: number } | undefined => {
    const [p50, p95] = shares.map((share) => ranked.get(`${side}_${time} ${share} ${key}`));
    return p50 === undefined || p95 === undefined ? undefined : { p50, p95 };
  };
  const sideOf = (side: Side): ComparedSide => {
    const duration = timesOf(side, 'duration_ns');
    const firstByte = timesOf(side, 'first_byte_ns');
    return {
      model: String(row[`${side}_model`]),
      succeeded: Number(row[`${side}_succeeded`]),
      ...(duration === undefined ? {} : { duration }),
      ...(firstByte === undefined ? {} : { firstByte }),
      inputTokens: Number(row[`${side}_input`]),
      outputTokens: Number(row[`${side}_output`]),
      cost: row[`${side}_sum`] === null ? null : Number(row[`${side}_sum`]),
      unpriced: Number(row[`${side}_unpriced`]),
    };
  };
  return {
    alias: String(row['alias']),
    requests: Number(row['n']),
    firstMs: Number(row['first_ms']),
    lastMs: Number(row['last_ms']),
    primary: sideOf('a'),
    mirror: sideOf('b'),
    compared,
    ...(compared === 0 ? {} : { similarity: Number(row['similarity']) }),
  };
}
