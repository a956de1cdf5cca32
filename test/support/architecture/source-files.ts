// Reads the TypeScript files of the repository: their text, what they import, how long their functions are.
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix, relative } from 'node:path';

/** The top of the repository. */
export const top = join(import.meta.dirname, '../../..');

/** A file of the repository: path from its top, with slashes, and content. */
export interface File {
  readonly path: string;
  readonly text: string;
}

const importShapes = [
  /^[ \t]*(?:import|export)\s+[\w$\s{},*]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^[ \t]*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"`]([^'"`]+)['"`]/g,
  /\bnew URL\(\s*['"]([^'"]+\.ts)['"],\s*import\.meta\.url/g,
];

/** Everything a file imports, in any form (types, re-exports, dynamic, worker entries): paths from the top, or package names. */
export function importsOf({ path, text }: File): string[] {
  const found = importShapes.flatMap((shape) => [...text.matchAll(shape)].map((match) => match[1] ?? ''));
  return found.map((name) => {
    const ours = name.startsWith('.') || extname(name) === '.ts';
    return ours ? posix.join(posix.dirname(path), name) : name;
  });
}

/** The text without comments, so that words about a thing are not the thing. */
export function codeOf(text: string): string {
  return text.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** `fastify` of `fastify/lib/x`, `@a/b` of `@a/b/c`; undefined for files and for node's own modules. */
export function packageOf(name: string): string | undefined {
  if (/\.(ts|json)$|^node:|^schemas\/validation\/generated\//.test(name)) return undefined;
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Functions and methods by the formatter's layout: each ends with the first brace that stands as far in as its first line. */
export function functionsOf(text: string): { readonly at: number; readonly lines: number }[] {
  const lines = text.split('\n');
  const indentOf = (line = ''): number => line.search(/\S/);
  return lines.flatMap((line, index) => {
    if (!/(=>|\)|\): .*) \{$/.test(line) || /^\s*(\} )?(else|if|for|while|switch|catch)\b/.test(line)) return [];
    const indent = indentOf(line);
    // A head of several lines ends with its parenthesis as far in as it begins.
    const head = lines.slice(0, index);
    const first = /^\s*\)/.test(line) ? head.findLastIndex((before) => indentOf(before) === indent) : index;
    const length = lines
      .slice(index + 1)
      .findIndex((after) => indentOf(after) === indent && after.trim().startsWith('}'));
    return length === -1 ? [] : [{ at: first + 1, lines: index + length + 2 - first }];
  });
}

/** Every TypeScript file below the rooms, tests excepted. */
export function sources(): File[] {
  const rooms = ['schemas', 'domain', 'store', 'gitops', 'plane', 'proxy', 'control-plane', 'deploy', 'examples'];
  return rooms
    .flatMap((room) => typescriptBelow(join(top, room)))
    .map((path) => ({
      path: relative(top, path).replaceAll('\\', '/'),
      text: readFileSync(path, 'utf8'),
    }));
}

function typescriptBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}
