// Writes changes of a file as a unified diff that `git apply` takes. Context that may not be shown is left out. Pure.
import { type Splice, spliced } from './splice.ts';

/** A place whose change cannot be shown: a line of the file, from 1. */
export interface Unshown {
  readonly line: number;
}

/** A text, and where its lines begin. */
export interface DiffedText {
  readonly text: string;
  readonly lines: readonly string[];
  readonly starts: readonly number[];
  /** The places where a whole line may be put in. */
  readonly between: ReadonlySet<number>;
}

export interface FileDiff {
  readonly name: string;
  /** Undefined: there is no file yet. */
  readonly before: DiffedText | undefined;
  /** In the order of the text; none for a file that is not there yet. */
  readonly splices: readonly Splice[];
  readonly after: string;
  /** Whether a line of the file may be shown, counted from 0. */
  readonly mayShow: (line: number) => boolean;
}

interface Region {
  /** Lines of the text before that are replaced: from, to before. */
  readonly from: number;
  readonly to: number;
  readonly splices: readonly Splice[];
}

const mostContext = 3;
const noEnd = '\\ No newline at end of file';

/** The lines of the diff, or the first line that may not be shown. */
export function unifiedDiff({ name, before, splices, after, mayShow }: FileDiff): string | Unshown {
  const [old, present] = [quoted(`a/${name}`), quoted(`b/${name}`)];
  const head = `diff --git ${old} ${present}\n`;
  if (before === undefined) {
    const lines = linesOf(after);
    return `${head}new file mode 100644\n--- /dev/null\n+++ ${present}\n@@ -0,0 +1,${lines.length} @@\n${written('+', lines)}`;
  }
  const { lines } = before;
  const hunks: string[] = [];
  let added = 0;
  let last = 0;
  const regions = regionsOf(splices, before);
  for (const [index, region] of regions.entries()) {
    const hunk = hunkOf({ region, before, last, next: regions[index + 1]?.from ?? lines.length, mayShow });
    if ('line' in hunk) return hunk;
    const { from, to, text, size } = hunk;
    hunks.push(`@@ -${range(from, to - from)} +${range(from + added, size)} @@\n${text}`);
    added += size - (to - from);
    last = to;
  }
  return `${head}--- ${old}\n+++ ${present}\n${hunks.join('')}`;
}

interface HunkParts extends Pick<FileDiff, 'mayShow'> {
  readonly region: Region;
  readonly before: DiffedText;
  /** The line behind the hunk before, and the first one of the region behind. */
  readonly last: number;
  readonly next: number;
}

interface Hunk {
  /** Lines of the text before. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Lines of the text after. */
  readonly size: number;
}

function hunkOf({ region, before, last, next, mayShow }: HunkParts): Hunk | Unshown {
  const { text: whole, lines, starts } = before;
  for (let line = region.from; line < region.to; line += 1) if (!mayShow(line)) return { line: line + 1 };
  let from = region.from;
  while (from > last && region.from - from < mostContext && mayShow(from - 1)) from -= 1;
  // A line between two regions is context of one of them.
  const mostTo = next === lines.length ? next : region.to + Math.max(1, Math.floor((next - region.to) / 2));
  let to = region.to;
  while (to < mostTo && to - region.to < mostContext && mayShow(to)) to += 1;
  // Without a line behind it, git looks for it at the end of the file alone.
  if (to === region.to && to < lines.length) return { line: to + 1 };
  const start = starts[region.from] ?? whole.length;
  const end = starts[region.to] ?? whole.length;
  const inner = region.splices.map((each) => ({ ...each, from: each.from - start, to: each.to - start }));
  const added = linesOf(spliced(whole.slice(start, end), inner));
  const text =
    written(' ', lines.slice(from, region.from)) +
    written('-', lines.slice(region.from, region.to)) +
    written('+', added) +
    written(' ', lines.slice(region.to, to));
  return { from, to, text, size: to - from - (region.to - region.from) + added.length };
}

/** The lines that splices change, those that touch each other together. */
function regionsOf(splices: readonly Splice[], { text, starts, between }: DiffedText): Region[] {
  const regions: { from: number; to: number; splices: Splice[] }[] = [];
  for (const splice of splices) {
    const { from: begin, to: end } = splice;
    const isInsertion = begin === end && between.has(begin) && splice.text.endsWith('\n');
    const from = isInsertion && begin === text.length ? starts.length : lineAt(starts, begin);
    const to = isInsertion ? from : lineAt(starts, Math.max(begin, end - 1)) + 1;
    const last = regions.at(-1);
    if (last === undefined || from > last.to) regions.push({ from, to, splices: [splice] });
    else {
      last.to = Math.max(last.to, to);
      last.splices.push(splice);
    }
  }
  return regions;
}

export function diffedText(text: string): DiffedText {
  const lines = linesOf(text);
  const starts = startsOf(lines);
  return {
    text,
    lines,
    starts,
    between: new Set([...starts, ...(text === '' || text.endsWith('\n') ? [text.length] : [])]),
  };
}

/** With their ends; the last one may have none. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function startsOf(lines: readonly string[]): number[] {
  let start = 0;
  return lines.map((line) => {
    start += line.length;
    return start - line.length;
  });
}

/** The line of an offset, by halves. */
function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low;
}

function written(sign: string, lines: readonly string[]): string {
  return lines.map((line) => (line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n${noEnd}\n`)).join('');
}

function range(from: number, count: number): string {
  return `${count === 0 ? from : from + 1},${count}`;
}

/** As git writes a name with other letters than the plain ones. */
function quoted(name: string): string {
  if (/^[\w./-]+$/.test(name)) return name;
  const bytes = [...new TextEncoder().encode(name)].map((byte) => {
    const letter = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e) return `\\${byte.toString(8).padStart(3, '0')}`;
    return letter === '"' || letter === '\\' ? `\\${letter}` : letter;
  });
  return `"${bytes.join('')}"`;
}
