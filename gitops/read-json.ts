// JSON text → value and the place of everything in it; stricter than JSON.parse, and silent about what the text holds.

import type { Path } from '../schemas/validation/path.ts';
import type { Tree } from '../schemas/validation/value-at.ts';
import { pathKey } from './expand.ts';

export interface PlacedJson {
  value: unknown;
  /** Where the value at a path begins, or its key; undefined when the path leads nowhere. */
  offsetOf: (path: Path, part?: 'key' | 'value') => number | undefined;
}

export type JsonReading = PlacedJson | { problem: string; offset: number };

/** Far more than a list of limits needs; the reader calls itself once a level. */
const maxDepth = 16;
const space = /[ \t\n\r]*/y;
/** A text goes up to its closing quote, what is in it is for JSON.parse; unrolled, so that it costs linear time at most. */
const token =
  /[[\]{}:,]|"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null/y;

/** Reads one JSON value. A key that stands twice in an object is refused; JSON.parse would take the last one in silence. */
export function readJson(text: string): JsonReading {
  const offsets = new Map<string, { value: number; key?: number }>();
  let at = 0;
  try {
    const value = readValue([]);
    const end = skip();
    if (end < text.length) refuse('has text after the end of the list', end);
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
    if (found === undefined) return refuse(at < text.length ? notJson : 'ends too early: a bracket is not closed', at);
    at = token.lastIndex;
    return found;
  }

  function readValue(path: Path, key?: number): unknown {
    const offset = skip();
    const word = take();
    offsets.set(pathKey(path), key === undefined ? { value: offset } : { value: offset, key });
    if (path.length > maxDepth) return refuse('is nested too deeply', offset);
    if (word === '[') return readList(path);
    if (word === '{') return readTree(path);
    if ([']', '}', ':', ','].includes(word)) return refuse('lacks a value here', offset);
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
      if (!word.startsWith('"')) refuse('lacks a key in double quotes here', offset);
      const key = String(readScalar(word, offset));
      if (Object.hasOwn(tree, key)) refuse('has a key twice in one object', offset);
      if (!takeIf(':')) refuse('lacks a colon after a key', skip());
      const value = readValue([...path, key], offset);
      // Defined, not assigned: "__proto__" has to stay a key like any other.
      Object.defineProperty(tree, key, { value, enumerable: true, configurable: true, writable: true });
    } while (goesOn('}'));
    return tree;
  }

  function takeIf(character: string): boolean {
    if (text[skip()] !== character) return false;
    at += 1;
    return true;
  }

  /** Whether another entry follows: a comma, or else the closing bracket. */
  function goesOn(close: string): boolean {
    if (takeIf(',')) return true;
    if (takeIf(close)) return false;
    return refuse(
      at < text.length ? 'lacks a comma or a closing bracket here' : 'ends too early: a bracket is not closed',
      at,
    );
  }
}

const notJson = 'is not valid JSON here; keys and texts stand in double quotes, numbers are plain digits';

function readScalar(word: string, offset: number): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return refuse('has a text with a control character or an unknown escape', offset);
  }
}

function refuse(problem: string, offset: number): never {
  throw new Misfit(problem, offset);
}

class Misfit extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
