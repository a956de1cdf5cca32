// What the page is made of, as text: its modules without types, its style and its mark. A build (deploy/build.ts) reads it once, and what is
// shipped has it in one file.
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

export interface PageFiles {
  /** The modules of the page by their path in `page/`, and those of packages by the name that imports give. */
  readonly modules: Readonly<Record<string, string>>;
  readonly style: string;
  readonly mark: string;
}

/** Where the browser's modules lie. */
const room = join(import.meta.dirname, 'page');

/** The packages that a browser loads, and the file of each. */
const packages: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
  uplot: 'uplot/dist/uPlot.esm.js',
};

/** Reads every file and strips its types, which takes a third of a second. */
export function readPageFiles(): PageFiles {
  const paths = readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'));
  const own = paths.filter((path) => path.endsWith('.ts'));
  const ofPackages = Object.entries(packages).map(([name, path]) => [name, withoutMap(packageFile(path))] as const);
  const modules = [
    ...own.map((path) => [path, stripTypes(readFileSync(join(room, path), 'utf8'))] as const),
    ...ofPackages,
  ];
  return {
    modules: Object.fromEntries(modules),
    style: styleOf(paths.filter((path) => path.endsWith('.css'))),
    mark: readFileSync(join(room, 'mark.svg'), 'utf8'),
  };
}

/** The look of all pages, then what a page adds to it. */
function styleOf(paths: readonly string[]): string {
  const ofPages = paths.filter((path) => path !== 'style.css').toSorted();
  const own = ['style.css', ...ofPages].map((path) => readFileSync(join(room, path), 'utf8'));
  return [packageFile('uplot/dist/uPlot.min.css'), ...own].join('\n');
}

/** Finds a file of a package where Node does, which need not be beside this folder. */
function packageFile(path: string): string {
  const name = path.slice(0, path.indexOf('/'));
  const entry = new URL(import.meta.resolve(name)).pathname;
  const marker = `/node_modules/${name}/`;
  const end = entry.lastIndexOf(marker);
  if (end === -1) throw new Error(`the package ${name} does not lie in node_modules`);
  return readFileSync(decodeURIComponent(entry.slice(0, end + marker.length - name.length - 1)) + path, 'utf8');
}

function withoutMap(text: string): string {
  return text.replace(/\/\/# sourceMappingURL=.*$/m, '');
}

/** Node warns once that this is experimental; an operator can do nothing about it, and tests show when it changes. */
function stripTypes(text: string): string {
  const warn = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' });
  } finally {
    process.emitWarning = warn;
  }
}
