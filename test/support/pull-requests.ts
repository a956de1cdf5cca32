// The comments of pull requests that docs/pipeline.md shows, by the headings that they stand under.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '../../docs/pipeline.md');
/** As text, because the formatter would format Markdown. It shortens fences to what their content needs. */
const block = /^### (.+)\n((?:(?!^#).*\n)*?)(`{3,})text\n([\s\S]*?)\n\3$/gm;

/** Heading → comment. */
export function pagePullRequests(): ReadonlyMap<string, string> {
  const page = readFileSync(file, 'utf8');
  return new Map([...page.matchAll(block)].map(([, heading = '', , , comment = '']) => [heading, comment]));
}

/** Replaces these comments in the page. */
export function writePullRequests(comments: Readonly<Record<string, string>>): void {
  const page = readFileSync(file, 'utf8');
  const written = page.replaceAll(block, (whole, heading: string, before: string) => {
    const comment = comments[heading];
    if (comment === undefined) return whole;
    const fence = comment.includes('```') ? '````' : '```';
    return `### ${heading}\n${before}${fence}text\n${comment}\n${fence}`;
  });
  writeFileSync(file, written);
}
