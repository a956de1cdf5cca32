// Text in columns.

/** Columns padded to equal width, the first two to the left and the rest to the right. */
export function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const cell = (text: string, column: number): string =>
    column < 2 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => `  ${row.map(cell).join('  ')}`.trimEnd()).join('\n');
}
