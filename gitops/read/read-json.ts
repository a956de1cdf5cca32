// Parses JSON text into a value with the offset of each part. Stricter than JSON.parse; messages never quote the text.

import type { Path } from '../../schemas/validation/path.ts';
import type { Tree } from '../../schemas/validation/value-at.ts';
import { pathKey } from './expand.ts';

export interface PlacedJson {
  value: unknown;
  /** The offset of the value at a path, or of its key; undefined when nothing is at the path. */
  offsetOf: (path: Path, part?: 'key' | 'value') => number | undefined;
}

export type JsonReading = PlacedJson | { problem: string; offset: number };

/** Bounds the recursion: the reader calls itself once per level. A list of limits needs three levels. */
const maxDepth = 16;
const space = /[ \t\n\r]*/y;
/** A text ends at its closing quote; JSON.parse reads its content. The loop is unrolled, so that it takes linear time. */
const token =
  /[[\]{}:,]|"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null/y;

/** Reads one JSON value. A duplicate key in an object is a problem; JSON.parse would take the last one. */
export function readJson(text: string): JsonReading {
  const offsets = new Map<string, { value: number; key?: number }>();
  let at = 0;
  try {
    const value = readValue([]);
    const end = skip();
    if (end < text.length) fail('has text after the end of the list', end);
    return { value, offsetOf: (path, part = 'value') => offsets.get(pathKey(path))?.[part] };
  } catch (error) {
    if (error instanceof Misfit) return { problem: error.message, offset: error.offset };
    throw error;
  }

  function skip(): number {
    space.lastIndex = at;
    space.exec(text);
    at = space.lastIndex;
    return at;
  }

  function take(): string {
    token.lastIndex = skip();
    const found = token.exec(text)?.[0];
    if (found === undefined) return fail(at < text.length ? notJson : 'ends too early: a bracket is not closed', at);
    at = token.lastIndex;
    return found;
  }

  function readValue(path: Path, key?: number): unknown {
    const offset = skip();
    const word = take();
    offsets.set(pathKey(path), key === undefined ? { value: offset } : { value: offset, key });
    if (path.length > maxDepth) return fail('is nested too deeply', offset);
    if (word === '[') return readList(path);
    if (word === '{') return readTree(path);
    if ([']', '}', ':', ','].includes(word)) return fail('lacks a value here', offset);
    return readScalar(word, offset);
  }

  function readList(path: Path): unknown[] {
    const list: unknown[] = [];
    if (takeIf(']')) return list;
    do list.push(readValue([...path, list.length]));
    while (goesOn(']'));
    return list;
  }

  function readTree(path: Path): Tree {
    const tree: Tree = {};
    if (takeIf('}')) return tree;
    do {
      const offset = skip();
      const word = take();
      if (!word.startsWith('"')) fail('lacks a key in double quotes here', offset);
      const key = String(readScalar(word, offset));
      if (Object.hasOwn(tree, key)) fail('has a key twice in one object', offset);
      if (!takeIf(':')) fail('lacks a colon after a key', skip());
      const value = readValue([...path, key], offset);
      // Defined, not assigned: an assignment to "__proto__" would set the prototype.
      Object.defineProperty(tree, key, { value, enumerable: true, configurable: true, writable: true });
    } while (goesOn('}'));
    return tree;
  }

  function takeIf(character: string): boolean {
    if (text[skip()] !== character) return false;
    at += 1;
    return true;
  }

  /** True after a comma, false after the closing bracket; anything else is a problem. */
  function goesOn(close: string): boolean {
    if (takeIf(',')) return true;
    if (takeIf(close)) return false;
    return fail(
      at < text.length ? 'lacks a comma or a closing bracket here' : 'ends too early: a bracket is not closed',
      at,
    );
  }
}

const notJson = 'is not valid JSON here; put keys and texts in double quotes, and write numbers as plain digits';

function readScalar(word: string, offset: number): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return fail('has a text with a control character or an unknown escape', offset);
  }
}

function fail(problem: string, offset: number): never {
  throw new Misfit(problem, offset);
}

class Misfit extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
