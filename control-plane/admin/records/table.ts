// Exports rows as a table, page by page, so that a long one is never in memory as a whole.
import { csvLine, csvRow } from './csv.ts';

/** No table is longer: rows beyond are left out, and the answer says so. */
export const longestTable = 100_000;
const usualPage = 2_000;

export interface RowPage {
  /** Of all pages. */
  readonly total: number;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export interface Table {
  readonly isTruncated: boolean;
  /** The text, in parts. Reading it rejects when a page cannot be read. */
  readonly parts: AsyncIterable<string>;
}

export interface Paging {
  /** Rows that are read at once. */
  readonly pageLength?: number;
  /** Rows that came in meanwhile move others to the next page, where those with an id that was shown are left out. */
  readonly idOf?: (row: RowPage['rows'][number]) => unknown;
}

/** Reads the first page at once, and rejects when it cannot. */
export async function tableOf(
  columns: readonly string[],
  pageAt: (page: { readonly limit: number; readonly offset: number }) => Promise<RowPage>,
  { pageLength = usualPage, idOf }: Paging = {},
): Promise<Table> {
  const first = await pageAt({ limit: pageLength, offset: 0 });
  return { isTruncated: first.total > longestTable, parts: tableText() };

  async function* tableText(): AsyncGenerator<string> {
    yield csvLine(columns);
    const shown = new Set<unknown>();
    let page = first;
    for (let offset = 0; page.rows.length > 0; ) {
      const rows = page.rows.filter((row) => idOf === undefined || !shown.has(idOf(row)));
      yield rows.map((row) => csvRow(row, columns)).join('');
      offset += page.rows.length;
      if (page.rows.length < pageLength || offset >= longestTable) return;
      if (idOf !== undefined) for (const row of rows) shown.add(idOf(row));
      page = await pageAt({ limit: Math.min(pageLength, longestTable - offset), offset });
    }
  }
}
