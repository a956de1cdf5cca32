// Parses YAML text into a plain value with line and column of each part. Ambiguous YAML is a problem.
import { isUtf8 } from 'node:buffer';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';
import { formatPath, type Path, quote } from '../../schemas/validation/path.ts';
import { isTree, type Tree } from '../../schemas/validation/value-at.ts';
import { isSecret, type Problem } from './problem.ts';
import type { SourceFile } from './read.ts';
import { explainSyntax, tagProblem } from './syntax.ts';

export interface ParsedFile {
  /** The path for messages. */
  file: string;
  /** The path within the directory. */
  name: string;
  /** The root mapping, before variables are expanded. */
  value: Tree;
  /** Line and column of the value at a path, or of its key; the nearest parent's when there is nothing at the path. */
  locate: (path: Path, part?: 'key' | 'value') => { line: number; column: number };
  /** Values that are read, but probably not as they are meant. */
  doubts: Problem[];
}

const maxDepth = 32;
/** The most values that aliases (`*name`) may repeat in one file. */
const maxAliased = 100_000;
/** Numbers that YAML and JSON read in the same way. */
const plainNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;

/** A dot before three zeros: in some languages it separates thousands. */
const dottedThousands = /^-?[1-9][0-9]{0,2}\.000$/;

/** Adds a problem at an offset of the text. */
type Report = (offset: number, path: Path, message: string) => void;

/** How the files of others are read. */
export interface ParseManner {
  /** Whether `<<` takes the keys of other mappings in, as in YAML 1.1; those that stand beside it win. */
  readonly mergesKeys: boolean;
  /** Whether any value may be a secret: no sentence quotes one. */
  readonly hidesValues: boolean;
}

const asConfig: ParseManner = { mergesKeys: false, hidesValues: false };

/** Parses one file. Any error or warning of the YAML parser is a problem; with problems there is no file. */
export function parseFile(
  source: SourceFile,
  manner: ParseManner = asConfig,
): { parsed?: ParsedFile; problems: Problem[] } {
  const file = source.path;
  const decoded = decode(source.bytes);
  if (decoded.problem !== undefined) {
    return {
      problems: [{ file, line: decoded.line, column: Math.min(1, decoded.line), path: '', message: decoded.problem }],
    };
  }
  const lines = new LineCounter();
  const document = parseDocument(decoded.text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const problems: Problem[] = [];
  const report: Report = (offset, path, message) => {
    problems.push({ file, ...placeOf(lines, offset), path: formatPath(path), message });
  };

  const conflict = conflictMarker(decoded.text);
  if (conflict !== undefined) {
    report(
      conflict,
      [],
      'is a marker of a merge conflict (<<<<<<<, =======, >>>>>>>); resolve it, and remove the markers',
    );
    return { problems };
  }
  const syntax = explainSyntax(document, decoded.text);
  for (const { offset, message } of syntax)
    report(offset, [], manner.hidesValues ? message.replace(/^(is not valid YAML): .*$/s, '$1') : message);
  if (syntax.length > 0) return { problems };
  const root = document.contents;
  if (!isMap(root)) {
    report(root?.range?.[0] ?? 0, [], explainRoot(root));
    return { problems };
  }
  const doubts: Problem[] = [];
  const doubt: Report = (offset, path, message) => {
    doubts.push({ file, ...placeOf(lines, offset), path: formatPath(path), message });
  };
  const reader = new ContentReader(lines, report, doubt, manner);
  const value = reader.read(root, []);
  if (problems.length > 0 || !isTree(value)) return { problems };
  const locate: ParsedFile['locate'] = (path, part = 'value') =>
    placeOf(lines, offsetOf(root, reader.resolved, path, part));
  return { problems, parsed: { file, name: source.name, value, locate, doubts } };
}

/** The offset of a merge conflict that git wrote: the line where it begins, when there is one where it ends. */
function conflictMarker(text: string): number | undefined {
  const begin = /^<{7} /m.exec(text);
  return begin !== null && /^>{7} /m.test(text) ? begin.index : undefined;
}

/** Line and column, both from 1. */
function placeOf(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** The problem of a root that is not a mapping. */
function explainRoot(root: ParsedNode | null): string {
  if (root === null || (isScalar(root) && root.value === null)) {
    return 'is empty; an empty configuration is written {}';
  }
  const found = isSeq(root) ? 'a list' : 'a single value';
  return `must be a mapping of keys to values such as "providers:", found ${found}`;
}

/** A value with an anchor (`&name`), possibly not read to its end. */
interface Anchor {
  readonly node: ParsedNode;
  value: unknown;
  /** The number of values in it. */
  count: number;
  isOpen: boolean;
}

/** Turns the nodes of one file into plain values. */
class ContentReader {
  /** The node that each alias (`*name`) refers to. */
  readonly resolved = new Map<Node, Node>();
  readonly #anchors = new Map<string, Anchor>();
  readonly #lines: LineCounter;
  readonly #report: Report;
  readonly #doubt: Report;
  readonly #manner: ParseManner;
  #count = 0;
  #aliased = 0;

  constructor(lines: LineCounter, report: Report, doubt: Report, manner: ParseManner) {
    this.#manner = manner;
    this.#lines = lines;
    this.#report = report;
    this.#doubt = doubt;
  }

  read(node: ParsedNode | null, path: Path): unknown {
    if (node === null) return null;
    if (isAlias(node)) return this.#follow(node, path);
    this.#count += 1;
    if (node.tag !== undefined && !isPlainTag(node)) {
      this.#report(node.range[0], path, tagProblem);
      return null;
    }
    if (path.length > maxDepth) {
      this.#report(node.range[0], path.slice(0, 4), `is nested too deeply: more than ${maxDepth} levels`);
      return null;
    }
    if (node.anchor === undefined) return this.#readContent(node, path);
    const before = this.#count;
    const anchor: Anchor = { node, value: null, count: 0, isOpen: true };
    this.#anchors.set(node.anchor, anchor);
    anchor.value = this.#readContent(node, path);
    anchor.count = this.#count - before + 1;
    anchor.isOpen = false;
    return anchor.value;
  }

  #readContent(node: ParsedNode, path: Path): unknown {
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, [...path, index]));
    if (!isMap(node)) return isScalar(node) ? this.#readScalar(node, path) : null;
    const entries: Tree = {};
    const taken: Tree = {};
    const seen = new Map<string, number>();
    for (const pair of node.items) {
      const { key } = pair;
      const offset = key.range[0];
      if (!isScalar(key) || typeof key.value !== 'string') {
        this.#report(offset, path, `has a key that is not text${isScalar(key) ? '; put it in quotes' : ''}`);
        continue;
      }
      const name = key.value;
      const first = seen.get(name);
      if (name === '<<' && this.#manner.mergesKeys) this.#merge(taken, pair.value, path);
      else if (name === '<<') {
        this.#report(
          offset,
          path,
          'merge keys (<<) are not supported; repeat the keys, or use *name for a whole value',
        );
      } else if (first !== undefined) {
        const message = `the key ${quote(name)} is given twice, first in line ${this.#lines.linePos(first).line}`;
        this.#report(offset, [...path, name], message);
      } else {
        seen.set(name, offset);
        const value = this.read(pair.value, [...path, name]);
        define(entries, name, value);
      }
    }
    for (const [name, value] of Object.entries(taken)) if (!seen.has(name)) define(entries, name, value);
    return entries;
  }

  /** Adds the keys of a mapping, or of each mapping of a list; of two equal ones the first counts. */
  #merge(taken: Tree, node: ParsedNode | null, path: Path): void {
    const value = this.read(node, path);
    for (const mapping of Array.isArray(value) ? value : [value]) {
      if (!isTree(mapping) || Array.isArray(mapping)) {
        this.#report(node?.range[0] ?? 0, path, 'merges (<<) what is no mapping');
        return;
      }
      for (const [name, inner] of Object.entries(mapping)) if (!Object.hasOwn(taken, name)) define(taken, name, inner);
    }
  }

  #readScalar(node: ParsedNode, path: Path): unknown {
    if (!isScalar(node)) return null;
    const { value, source: digits } = node;
    if (typeof value === 'number' && (!plainNumber.test(digits) || !Number.isFinite(value))) {
      const found = this.#manner.hidesValues || isSecret(path) ? '' : `, found ${quote(digits)}`;
      this.#report(
        node.range[0],
        path,
        `must be a plain decimal number such as 10${found}; if text is meant, put it in quotes`,
      );
      return null;
    }
    if (typeof value === 'number' && dottedThousands.test(digits) && !isSecret(path) && !this.#manner.hidesValues) {
      const thousands = digits.replaceAll('.', '');
      this.#doubt(
        node.range[0],
        path,
        `is read as ${value}, because a dot separates decimals; write ${value} or ${thousands}`,
      );
    }
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
      this.#report(node.range[0], path, 'holds a NUL character or half of a surrogate pair');
      return null;
    }
    return value;
  }

  #follow(node: ParsedNode & { source: string }, path: Path): unknown {
    const anchor = this.#anchors.get(node.source);
    const name = quote(`*${node.source}`);
    if (anchor === undefined)
      this.#report(node.range[0], path, `${name} refers to nothing: there is no &${node.source} before it`);
    else if (anchor.isOpen) this.#report(node.range[0], path, `${name} is inside the value it refers to`);
    else if (this.#aliased + anchor.count > maxAliased) {
      if (this.#aliased <= maxAliased)
        this.#report(node.range[0], path, `the aliases (*name) of this file repeat more than ${maxAliased} values`);
      this.#aliased = maxAliased + 1;
    } else {
      this.#aliased += anchor.count;
      this.#count += anchor.count;
      this.resolved.set(node, anchor.node);
      return anchor.value;
    }
    return null;
  }
}

/** Defined, not assigned: an assignment to "__proto__" would set the prototype. */
function define(tree: Tree, name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The offset of the value at `path`, or of its key; of its nearest parent when nothing is at the path. */
function offsetOf(root: Node, resolved: ReadonlyMap<Node, Node>, path: Path, part: 'key' | 'value'): number {
  let node: Node | undefined = root;
  let offset = root.range?.[0] ?? 0;
  for (const [depth, step] of path.entries()) {
    const inner: Node | undefined = node === undefined ? node : (resolved.get(node) ?? node);
    const wantsKey = part === 'key' && depth === path.length - 1;
    if (isSeq(inner)) node = nodeOf(inner.items[Number(step)]);
    else if (isMap(inner)) {
      const pair = inner.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) break;
      node = nodeOf(pair.value);
      if (wantsKey || node === undefined) offset = nodeOf(pair.key)?.range?.[0] ?? offset;
    } else break;
    if (node === undefined) break;
    if (!wantsKey) offset = node.range?.[0] ?? offset;
  }
  return offset;
}

function isPlainTag(node: ParsedNode): boolean {
  return isScalar(node) && node.tag === 'tag:yaml.org,2002:str' && typeof node.value === 'string';
}

function nodeOf(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}

type Decoded = { text: string; problem?: undefined } | { text?: undefined; problem: string; line: number };

/** Removes a byte order mark. UTF-16, NUL and invalid UTF-8 give a sentence and the line (0: the whole file). */
function decode(bytes: Uint8Array): Decoded {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { problem: 'is UTF-16 text; save it as UTF-8', line: 0 };
  }
  const nul = bytes.indexOf(0);
  if (nul !== -1) return { problem: 'holds a NUL byte, so it is not a text file in UTF-8', line: lineAt(bytes, nul) };
  if (!isUtf8(bytes))
    return { problem: 'holds bytes that are not UTF-8; save the file as UTF-8', line: firstBadLine(bytes) };
  return { text: new TextDecoder().decode(bytes) };
}

function lineAt(bytes: Uint8Array, offset: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) line += 1;
  return line;
}

function firstBadLine(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    line += 1;
    start = end + 1;
  }
  return line;
}
