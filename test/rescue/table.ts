// The table of scenarios as Markdown.
import type { Cell } from './cells.ts';
import type { Verdict } from './judge.ts';
import { type Grade, grades, type Scenario } from './scenario.ts';
import type { Result } from './world.ts';

/** The columns: form, and whether the first provider speaks the dialect of the client. */
const columns: readonly (readonly [title: string, form: Cell['form'], isNative: boolean])[] = [
  ['JSON', 'JSON', true],
  ['JSON, translated', 'JSON', false],
  ['SSE', 'SSE', true],
  ['SSE, translated', 'SSE', false],
];

/** The worst verdict of a column; undefined: it is not played there. */
function worst(results: readonly Result[]): Verdict | undefined {
  const rank = ({ grade }: Verdict): number => grades.indexOf(grade);
  return results.map(({ verdict }) => verdict).toSorted((a, b) => rank(b) - rank(a))[0];
}

/** A row: the scenario, and its grade in each column. */
interface Row {
  readonly scenario: Scenario;
  readonly grades: readonly (Grade | undefined)[];
  /** The worst of them. */
  readonly grade: Grade;
}

/** The rows of the table, in the order of their scenarios. */
export function rowsOf(results: readonly Result[]): Row[] {
  return [...Map.groupBy(results, ({ cell }) => cell.scenario)].map(([scenario, own]) => ({
    scenario,
    grades: columns.map(
      ([, form, isNative]) => worst(own.filter(({ cell }) => cell.form === form && cell.isNative === isNative))?.grade,
    ),
    grade: worst(own)?.grade ?? 'fail',
  }));
}

/** The published scenarios, all others, the totals, and why a cell is no pass. */
export function renderTable(results: readonly Result[]): string {
  const rows = rowsOf(results);
  const [published, others] = [true, false].map((isPublished) =>
    rows.filter(({ scenario }) => (scenario.isPublished ?? false) === isPublished),
  );
  const reasons = rows.flatMap(({ scenario, grades: row }) => reasonOf(scenario, row));
  return [
    `### The published sixteen: ${totals(published ?? [])}`,
    ...tableOf(published ?? []),
    `### The others: ${totals(others ?? [])}`,
    ...tableOf(others ?? []),
    ...(reasons.length === 0 ? [] : ['### What is no pass, and why', reasons.join('\n')]),
  ].join('\n\n');
}

/** The grades of a page with such a table, by scenario, column for column; undefined: it is not played there. */
export function gradesIn(page: string): Map<string, (Grade | undefined)[]> {
  const cell = ` +(?:${grades.join('|')}|–) +\\|`;
  const rows = page.matchAll(new RegExp(`^\\| (.+?) +\\|((?:${cell}){${columns.length}})$`, 'gm'));
  return new Map(
    [...rows].map(([, name = '', cells = '']) => {
      const texts = cells.split('|').slice(0, columns.length);
      return [name, texts.map((text) => grades.find((grade) => grade === text.trim()))];
    }),
  );
}

function totals(rows: readonly Row[]): string {
  const counted = grades.map((grade) => `${rows.filter((row) => row.grade === grade).length} ${grade}`);
  return `${rows.length} scenarios, ${counted.join(', ')}`;
}

function tableOf(rows: readonly Row[]): string[] {
  const lines = rows.map(({ scenario, grades: row }) => [scenario.name, ...row.map((grade) => grade ?? '–')]);
  const all = [['What the first provider does', ...columns.map(([title]) => title)], ...lines];
  const widths = columns.map((_, index) => Math.max(...all.map((line) => line[index + 1]?.length ?? 0)));
  const first = Math.max(...all.map((line) => line[0]?.length ?? 0));
  const render = (line: readonly string[]): string =>
    `| ${line.map((text, index) => text.padEnd(index === 0 ? first : (widths[index - 1] ?? 0))).join(' | ')} |`;
  const rule = `| ${[first, ...widths].map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head = [], ...body] = all;
  return [[render(head), rule, ...body.map(render)].join('\n')];
}

function reasonOf({ name, no = {} }: Scenario, row: readonly (Grade | undefined)[]): string[] {
  return (['JSON', 'SSE'] as const).flatMap((form) => {
    const own = row.filter((_, index) => columns[index]?.[1] === form);
    const bad = own.find((grade) => grade !== undefined && grade !== 'pass');
    return bad === undefined
      ? []
      : [`- **${name}**, ${form}, ${bad}: ${no[form]?.why ?? 'this is a fault of the gateway'}`];
  });
}

/** A cell in words. */
export function nameOf({ scenario, door, form, isNative }: Cell): string {
  return `${scenario.name}: ${door}, ${form}, ${isNative ? 'native' : 'translated'}`;
}
