// The files of the page as they are sent: imports by content hash, compressed. All of it is made once.
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { type PageFiles, readPageFiles } from './page-files.ts';

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

const script = 'text/javascript; charset=utf-8';
/** An import in any form, with its specifier. */
const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\2/g;

/** Reads every file, and names each after its content. Throws for an import that leads nowhere. */
export function buildAssets(): Assets {
  const { modules, style: look, mark: picture } = readPageFiles();
  const building = new Building(modules);
  const mark = building.add('mark.svg', 'image/svg+xml', picture);
  const sheet = look.replaceAll('url("mark.svg")', `url("${mark.address}")`);
  const style = building.add('style.css', 'text/css; charset=utf-8', sheet);
  const main = building.module('main.ts');
  return { byAddress: building.byAddress, mark, style, main, preloaded: building.reachedFrom('main.ts') };
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
  readonly #texts: PageFiles['modules'];

  constructor(texts: PageFiles['modules']) {
    this.#texts = texts;
  }

  /** A module by its path in the room, or by the name of its package; those that it imports come first. */
  module(name: string): Asset {
    const known = this.#modules.get(name);
    if (known !== undefined) return known;
    const source = this.#texts[name];
    if (source === undefined) throw new Error(`a module of the dashboard imports ${name}, which is not there`);
    const statics: string[] = [];
    const text = source.replace(imports, (whole, before: string, quote: string, specifier: string) => {
      if (!this.#isImport(specifier)) return whole;
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

  #isImport(specifier: string): boolean {
    return Object.hasOwn(this.#texts, specifier) || (/^\.{1,2}\//.test(specifier) && specifier.endsWith('.ts'));
  }
}
