// Markdown for comments of pull requests. Names come from files and from clients: none of them may become a link, an image, a mention or HTML.
import { escaped } from '../../schemas/validation/path.ts';

/** An invisible blank without width: it keeps a sign from having a meaning. */
const nothing = '\u200B';

/** A text as a person reads it, on one line. */
export function safe(text: string): string {
  return escaped(text.replaceAll(/\s+/g, ' '))
    .replaceAll('&', '&amp;')
    .replaceAll(/[\\`*_{}[\]<>()#+!|~$]/g, '\\$&')
    .replaceAll('@', `@${nothing}`)
    .replaceAll('://', `:${nothing}//`)
    .replaceAll(/\bwww\./gi, `$&${nothing}`);
}

/** A text of several lines, as it is: between fences that are longer than any in it. */
export function fenced(text: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return [fence, ...text.split('\n').map(escaped), fence];
}

/** A table, with an empty line before it; nothing without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return ['', line(head), line(head.map(() => '---')), ...rows.map((cells) => line(cells.map(safe)))];
}
