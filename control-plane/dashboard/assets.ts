// The files of the page as they are sent: types stripped, imports by content hash, compressed. All of it is made once.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, posix } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';

/** Below it lie all files, at addresses that change with their content. */
export const assetsPath = '/admin/dashboard/assets/';

/** A file in each of its encodings. */
export interface Asset {
  /** The whole path. */
  readonly address: string;
  readonly type: string;
  /** Compressed when first asked for: most are never sent in most encodings. */
  bytes(encoding: Encoding): Buffer;
}

export type Encoding = 'br' | 'gzip' | 'identity';

export interface Assets {
  /** By address. */
  readonly byAddress: ReadonlyMap<string, Asset>;
  /** The mark of the product: the icon of the page, and beside its name. */
  readonly mark: Asset;
  readonly style: Asset;
  readonly main: Asset;
  /** Every module that `main.ts` imports, at whatever distance, but for pages, which are loaded when they are shown. */
  readonly preloaded: readonly Asset[];
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

const script = 'text/javascript; charset=utf-8';
/** An import in any form, with its specifier. */
const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\2/g;

/** Reads every file and strips its types, which takes a third of a second. Throws for an import that leads nowhere. */
export function buildAssets(): Assets {
  const building = new Building();
  const mark = building.add('mark.svg', 'image/svg+xml', readFileSync(join(room, 'mark.svg'), 'utf8'));
  const sheet = styleText().replaceAll('url("mark.svg")', `url("${mark.address}")`);
  const style = building.add('style.css', 'text/css; charset=utf-8', sheet);
  const main = building.module('main.ts');
  return { byAddress: building.byAddress, mark, style, main, preloaded: building.reachedFrom('main.ts') };
}

/** The look of all pages, then what a page adds to it. */
function styleText(): string {
  const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.css'));
  const ofPages = files.filter((path) => path !== 'style.css').toSorted();
  const paths = [packageFile('uplot/dist/uPlot.min.css'), ...['style.css', ...ofPages].map((path) => join(room, path))];
  return paths.map((path) => readFileSync(path, 'utf8')).join('\n');
}

/** Finds a file of a package where Node does, which need not be beside this folder. */
function packageFile(path: string): string {
  const name = path.slice(0, path.indexOf('/'));
  const entry = new URL(import.meta.resolve(name)).pathname;
  const marker = `/node_modules/${name}/`;
  const end = entry.lastIndexOf(marker);
  if (end === -1) throw new Error(`the package ${name} does not lie in node_modules`);
  return decodeURIComponent(entry.slice(0, end + marker.length - name.length - 1)) + path;
}

const compress: Readonly<Record<Encoding, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes, { level: 9 }),
  br: (bytes) => {
    // Most files are a few KB: the default window of 4 MiB makes each of them ten times as slow.
    const params = { [zlib.BROTLI_PARAM_QUALITY]: 9, [zlib.BROTLI_PARAM_LGWIN]: 16 };
    return brotliCompressSync(bytes, { params });
  },
};

/** Each encoding is made once. */
function inEncodings(identity: Buffer): Asset['bytes'] {
  const made = new Map<Encoding, Buffer>();
  return (encoding) => {
    const known = made.get(encoding) ?? compress[encoding](identity);
    made.set(encoding, known);
    return known;
  };
}

class Building {
  readonly byAddress = new Map<string, Asset>();
  readonly #modules = new Map<string, Asset>();
  /** The static imports of each module, by name. */
  readonly #statics = new Map<string, readonly string[]>();
  readonly #files = new Set(
    readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/')),
  );

  /** A module by its path in the room, or by the name of its package; those that it imports come first. */
  module(name: string): Asset {
    const known = this.#modules.get(name);
    if (known !== undefined) return known;
    const statics: string[] = [];
    const text = this.#source(name).replace(imports, (whole, before: string, quote: string, specifier: string) => {
      if (!isImport(specifier)) return whole;
      const target = specifier.startsWith('.') ? posix.join(posix.dirname(name), specifier) : specifier;
      if (!before.includes('(')) statics.push(target);
      return `${before}${quote}${this.module(target).address}${quote}`;
    });
    const file = name.replace(/\.ts$/, '.js').replaceAll('/', '-');
    const asset = this.add(file.endsWith('.js') ? file : `${file}.js`, script, text);
    this.#modules.set(name, asset);
    this.#statics.set(name, statics);
    return asset;
  }

  add(file: string, type: string, text: string): Asset {
    const identity = Buffer.from(text);
    const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 12);
    const dot = file.lastIndexOf('.');
    const address = `${assetsPath}${file.slice(0, dot)}.${hash}${file.slice(dot)}`;
    const asset = { address, type, bytes: inEncodings(identity) };
    this.byAddress.set(address, asset);
    return asset;
  }

  reachedFrom(name: string): Asset[] {
    const reached = new Set([name]);
    // A set gives what is added while it is walked, too.
    for (const each of reached) for (const next of this.#statics.get(each) ?? []) reached.add(next);
    return [...reached].map((each) => this.module(each));
  }

  #source(name: string): string {
    const file = packages[name];
    if (file !== undefined) return readFileSync(packageFile(file), 'utf8').replace(/\/\/# sourceMappingURL=.*$/m, '');
    if (!this.#files.has(name)) throw new Error(`a module of the dashboard imports ${name}, which is not there`);
    return stripTypes(readFileSync(join(room, name), 'utf8'));
  }
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

function isImport(specifier: string): boolean {
  return Object.hasOwn(packages, specifier) || (/^\.{1,2}\//.test(specifier) && specifier.endsWith('.ts'));
}
