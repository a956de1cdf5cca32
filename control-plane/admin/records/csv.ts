// Writes rows as CSV (RFC 4180), so that a spreadsheet takes no cell for a formula. Pure.

/** The start of a formula for spreadsheets, also behind a tab or a line break. */
const formula = /^[=+\-@\t\r\n]/;
const plainNumber = /^-?\d+(\.\d+)?$/;

/** The line of the header, or of one row in the order of its columns. Absent and null members are empty. */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

export function csvRow(row: Readonly<Record<string, unknown>>, columns: readonly string[]): string {
  return csvLine(columns.map((column) => row[column]));
}

/** A list is one cell, its items with blanks between them. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = cellText(value);
  const harmless = formula.test(text) && !plainNumber.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function cellText(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.join(' ') : JSON.stringify(value);
}
