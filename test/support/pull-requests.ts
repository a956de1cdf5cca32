// The comments of pull requests that docs/pipeline.md shows, by the headings that they stand under.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '../../docs/pipeline.md');
const block = /^### (.+)\n((?:(?!^#).*\n)*?)````markdown\n([\s\S]*?)\n````$/gm;

/** Heading → comment. */
export function pagePullRequests(): ReadonlyMap<string, string> {
  const page = readFileSync(file, 'utf8');
  return new Map([...page.matchAll(block)].map(([, heading = '', , comment = '']) => [heading, comment]));
}

/** Replaces these comments in the page. */
export function writePullRequests(comments: Readonly<Record<string, string>>): void {
  const page = readFileSync(file, 'utf8');
  const written = page.replaceAll(block, (whole, heading: string, before: string) => {
    const comment = comments[heading];
    return comment === undefined ? whole : `### ${heading}\n${before}\`\`\`\`markdown\n${comment}\n\`\`\`\``;
  });
  writeFileSync(file, written);
}
