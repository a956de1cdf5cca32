// YAML text → plain value and the place of everything in it; anything YAML has to guess about is refused.
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';
import { formatPath, type Path, quote } from '../schemas/validation/path.ts';
import { isTree, type Tree } from '../schemas/validation/value-at.ts';
import { decode } from './decode.ts';
import { isSecret, type Problem } from './problem.ts';
import type { SourceFile } from './read.ts';
import { explainSyntax, tagRefused } from './syntax.ts';

export interface ParsedFile {
  /** Path to show to a person. */
  file: string;
  /** The root mapping, nothing expanded yet. */
  value: Tree;
  /** Line and column of the value at a path, or of its key; the nearest parent's when there is nothing at the path. */
  locate: (path: Path, part?: 'key' | 'value') => { line: number; column: number };
}

const maxDepth = 32;
/** How many values aliases (`*name`) may stand for in one file. */
const maxAliased = 100_000;
/** What YAML and JSON both read as the same number. */
const plainNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;

/** Parses one file; on any error or warning there are problems and no file. */
export function parseFile(source: SourceFile): { parsed?: ParsedFile; problems: Problem[] } {
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

  const syntax = explainSyntax(document);
  for (const { offset, message } of syntax) report(offset, [], message);
  if (syntax.length > 0) return { problems };
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) {
    report(root?.range?.[0] ?? 0, [], 'is empty; an empty configuration is written {}');
    return { problems };
  }
  if (!isMap(root)) {
    report(
      root.range[0],
      [],
      `must be a mapping of keys to values such as "providers:", found ${isSeq(root) ? 'a list' : 'a single value'}`,
    );
    return { problems };
  }

  const anchors = new Map<string, { node: ParsedNode; value: unknown; count: number; open: boolean }>();
  const resolved = new Map<Node, Node>();
  let count = 0;
  let aliased = 0;
  const rootValue = read(root, []);
  return problems.length > 0 || !isTree(rootValue)
    ? { problems }
    : { problems, parsed: { file, value: rootValue, locate } };

  function report(offset: number, path: Path, message: string): void {
    const { line, col } = lines.linePos(offset);
    problems.push({ file, line: Math.max(line, 1), column: Math.max(col, 1), path: formatPath(path), message });
  }

  function read(node: ParsedNode | null, path: Path): unknown {
    if (node === null) return null;
    if (isAlias(node)) return follow(node, path);
    count += 1;
    if (node.tag !== undefined && !isPlainTag(node)) {
      report(node.range[0], path, tagRefused);
      return null;
    }
    if (path.length > maxDepth) {
      report(node.range[0], path.slice(0, 4), `is nested too deeply: more than ${maxDepth} levels`);
      return null;
    }
    const anchor = node.anchor === undefined ? undefined : { node, value: null as unknown, count, open: true };
    if (anchor !== undefined && node.anchor !== undefined) anchors.set(node.anchor, anchor);
    const content = readContent(node, path);
    if (anchor !== undefined) Object.assign(anchor, { value: content, count: count - anchor.count + 1, open: false });
    return content;
  }

  function readContent(node: ParsedNode, path: Path): unknown {
    if (isSeq(node)) return node.items.map((item, index) => read(item, [...path, index]));
    if (!isMap(node)) return isScalar(node) ? readScalar(node, path) : null;
    const entries: Tree = {};
    const seen = new Map<string, number>();
    for (const pair of node.items) {
      const { key } = pair;
      const offset = key.range[0];
      if (!isScalar(key) || typeof key.value !== 'string') {
        report(offset, path, `has a key that is not text${isScalar(key) ? '; put it in quotes' : ''}`);
        continue;
      }
      const name = key.value;
      const first = seen.get(name);
      if (name === '<<') {
        report(offset, path, 'merge keys (<<) are not supported; repeat the keys, or use *name for a whole value');
      } else if (first !== undefined) {
        const message = `the key ${quote(name)} is given twice, first in line ${lines.linePos(first).line}`;
        report(offset, [...path, name], message);
      } else {
        seen.set(name, offset);
        const value = read(pair.value, [...path, name]);
        // Defined, not assigned: "__proto__" has to stay a key like any other.
        Object.defineProperty(entries, name, { value, enumerable: true, configurable: true, writable: true });
      }
    }
    return entries;
  }

  function readScalar(node: ParsedNode, path: Path): unknown {
    if (!isScalar(node)) return null;
    const { value, source: digits } = node;
    if (typeof value === 'number' && (!plainNumber.test(digits) || !Number.isFinite(value))) {
      const found = isSecret(path) ? '' : `, found ${quote(digits)}`;
      report(
        node.range[0],
        path,
        `must be a plain decimal number such as 10${found}; if text is meant, put it in quotes`,
      );
      return null;
    }
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
      report(node.range[0], path, 'holds a NUL character or half of a surrogate pair');
      return null;
    }
    return value;
  }

  function follow(node: ParsedNode & { source: string }, path: Path): unknown {
    const anchor = anchors.get(node.source);
    const name = quote(`*${node.source}`);
    if (anchor === undefined)
      report(node.range[0], path, `${name} refers to nothing: there is no &${node.source} before it`);
    else if (anchor.open) report(node.range[0], path, `${name} stands inside the value it refers to`);
    else if (aliased + anchor.count > maxAliased) {
      if (aliased <= maxAliased)
        report(node.range[0], path, `the aliases of this file stand for more than ${maxAliased} values`);
      aliased = maxAliased + 1;
    } else {
      aliased += anchor.count;
      count += anchor.count;
      resolved.set(node, anchor.node);
      return anchor.value;
    }
    return null;
  }

  function locate(path: Path, part: 'key' | 'value' = 'value'): { line: number; column: number } {
    let node: Node | undefined = root ?? undefined;
    let offset = root?.range?.[0] ?? 0;
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
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function isPlainTag(node: ParsedNode): boolean {
  return isScalar(node) && node.tag === 'tag:yaml.org,2002:str' && typeof node.value === 'string';
}

function nodeOf(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}
