// Texts of many entries after each other, so that free text is looked for in a few thousand long texts and not in a million short ones.
import type { Insertion, Statements } from './database.ts';
import type { NewEntry } from './new-entry.ts';
import { foldCase } from './plain-values.ts';

const entriesPerBlock = 256;

/** Between two texts of one entry: no text has it. */
const between = '\u{1d}';
/** In place of a line break within a text. */
const brokenLine = '\u{1e}';

/** What a text consists of when it may be part of a UUID. */
export const hexText = /^[0-9a-f-]*$/;

const blocks: Insertion = {
  table: 'search_block',
  columns: { first_entry: 'BIGINT', last_entry: 'BIGINT', hex: 'TEXT', words: 'TEXT' },
};

/** Entries in the order of their numbers, which follow all others. */
export async function appendToBlocks(statements: Statements, entries: readonly NewEntry[]): Promise<void> {
  const [last] = await statements.all(
    'SELECT first_entry, last_entry FROM search_block ORDER BY first_entry DESC LIMIT 1',
  );
  const first = Number(last?.['first_entry'] ?? 0);
  const room = last === undefined ? 0 : entriesPerBlock - (Number(last['last_entry']) - first + 1);
  const fitting = entries.slice(0, Math.max(room, 0));
  if (fitting.length > 0) {
    const [, end, hex, words] = rowOf(fitting);
    const append = 'UPDATE search_block SET last_entry = ?, hex = hex || ?, words = words || ? WHERE first_entry = ?';
    await statements.run(append, end, hex, words, first);
  }
  const rows: [number, number, string, string][] = [];
  for (let at = fitting.length; at < entries.length; at += entriesPerBlock)
    rows.push(rowOf(entries.slice(at, at + entriesPerBlock)));
  if (rows.length > 0) await statements.insert(blocks, rows);
}

/** As texts stand in a block. */
export function oneLine(text: string): string {
  return foldCase(text).replaceAll('\n', brokenLine);
}

/** A line for each entry; that of `words` may have several texts. */
function rowOf(entries: readonly NewEntry[]): [first: number, last: number, hex: string, words: string] {
  const texts = entries.map(({ record }) => [record.request_id, record.data.error_message ?? ''].map(oneLine));
  const lines = (isHex: boolean): string =>
    texts
      .map((each) => each.filter((text) => text !== '' && hexText.test(text) === isHex))
      .map((each) => `${each.join(between)}\n`)
      .join('');
  return [entries[0]?.id ?? 0, entries.at(-1)?.id ?? 0, lines(true), lines(false)];
}

/** In which lines a text is, from 0. */
export function linesOf(lines: string, text: string): number[] {
  const found: number[] = [];
  let line = 0;
  let passed = 0;
  for (let at = lines.indexOf(text); at >= 0; at = lines.indexOf(text, passed)) {
    for (let end = lines.indexOf('\n', passed); end >= 0 && end < at; end = lines.indexOf('\n', passed)) {
      line += 1;
      passed = end + 1;
    }
    found.push(line);
    passed = lines.indexOf('\n', at) + 1;
    line += 1;
    if (passed === 0) break;
  }
  return found;
}
