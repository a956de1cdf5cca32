// Rows of counters as plain data and as the texts of a store, both ways.
import { type CounterRow, type CounterText, leavesRingAtMs, type Pair } from '../../domain/rules/counter-row.ts';
import { decodeCounts, encodeCounts, type Lane } from '../../domain/rules/counter-text.ts';

/** As the limiter writes them. */
export function textsOf(rows: readonly CounterRow[]): CounterText[] {
  return rows.map((row) => {
    const { key, child, periodSeconds, requests, tokens } = row;
    const slices = [...requests, ...tokens].map(([slice]) => slice);
    const expiresAtMs = slices.length === 0 ? undefined : leavesRingAtMs(Math.max(...slices), periodSeconds);
    return { key, child, counts: encodeCounts(row, laneOf(requests), laneOf(tokens)), expiresAtMs };
  });
}

export function laneOf(pairs: readonly Pair[]): Lane {
  const first = pairs[0]?.[0] ?? 0;
  const length = pairs.length === 0 ? 0 : (pairs.at(-1)?.[0] ?? 0) - first + 1;
  const counts = Array.from({ length }, () => 0);
  for (const [slice, count] of pairs) counts[slice - first] = count;
  return { first, counts };
}

export function rowsOf(texts: readonly CounterText[]): CounterRow[] {
  return texts.map(({ key, child, counts }) => {
    const row = decodeCounts(key, child, counts);
    if (row === undefined) throw new Error(`no counts: ${counts}`);
    return row;
  });
}

/** What the limiter has to write, as it is read again. */
export function exported(
  limiter: { readonly exportChanged: (limit?: number) => readonly CounterText[] },
  limit?: number,
): CounterRow[] {
  return rowsOf(limiter.exportChanged(limit));
}
