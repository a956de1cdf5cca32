// Reads the members of a foreign configuration by type, and remembers which were read: what is left over has no counterpart.
import { basename } from 'node:path';
import { formatPath, type Path } from '../../schemas/validation/path.ts';
import { isTree, type Tree } from '../../schemas/validation/value-at.ts';
import { pathKey } from '../read/expand.ts';
import type { ParsedFile } from '../read/parse.ts';
import { mostProblems, type Problem } from '../read/problem.ts';

/** A value of the source, and where it stands. */
export interface Piece {
  readonly path: Path;
  readonly value: unknown;
}

/** A mapping of the source. */
export interface TreePiece extends Piece {
  readonly value: Tree;
}

/**
 * The readers give undefined, or an empty list, for a member that is absent, null, or of another type; the last is a problem. They mark the
 * member as read.
 */
export interface Source {
  readonly root: TreePiece;
  readonly problems: Problem[];
  member(parent: TreePiece, key: string): Piece | undefined;
  text(parent: TreePiece, key: string): string | undefined;
  number(parent: TreePiece, key: string): number | undefined;
  flag(parent: TreePiece, key: string): boolean | undefined;
  tree(parent: TreePiece, key: string): TreePiece | undefined;
  /** The entries of a list. */
  items(parent: TreePiece, key: string): Piece[];
  /** The mappings of a list. */
  trees(parent: TreePiece, key: string): TreePiece[];
  /** A list of texts; one text stands for a list of it. */
  texts(parent: TreePiece, key: string): string[];
  /** The members that no reader has read, without those that are null. */
  unread(parent: TreePiece): Piece[];
  /** `config.yaml:12` */
  where(piece: Piece): string;
  fail(piece: Piece, message: string): void;
}

/** The kinds of values, as sentences call them. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isTree(value)) return 'a mapping';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : 'true or false';
}

/** `shown`: the file as notes name it. No value of the source enters a message. */
export function openSource({ value, locate, file }: ParsedFile): Source {
  const done = new Set<string>();
  const problems: Problem[] = [];
  const source: Source = {
    root: { path: [], value },
    problems,
    member(parent, key) {
      const path = [...parent.path, key];
      done.add(pathKey(path));
      const found = Object.hasOwn(parent.value, key) ? parent.value[key] : undefined;
      return found === undefined || found === null ? undefined : { path, value: found };
    },
    text: (parent, key) => textOf(source.member(parent, key)),
    number(parent, key) {
      const piece = source.member(parent, key);
      if (piece === undefined) return undefined;
      const { value: found } = piece;
      const number =
        typeof found === 'string' && /^\s*[-+]?[\d.]+(?:e[-+]?\d+)?\s*$/i.test(found) ? Number(found) : found;
      if (typeof number === 'number' && Number.isFinite(number)) return number;
      return misfit(piece, 'a number');
    },
    flag(parent, key) {
      const piece = source.member(parent, key);
      if (piece === undefined || typeof piece.value === 'boolean') return piece?.value as boolean | undefined;
      const word = String(piece.value).toLowerCase();
      if (typeof piece.value === 'string' && ['true', 'yes', 'on'].includes(word)) return true;
      if (typeof piece.value === 'string' && ['false', 'no', 'off'].includes(word)) return false;
      return misfit(piece, 'true or false');
    },
    tree: (parent, key) => treeOf(source.member(parent, key)),
    items(parent, key) {
      const piece = source.member(parent, key);
      if (piece === undefined) return [];
      if (!Array.isArray(piece.value)) return misfit(piece, 'a list') ?? [];
      return piece.value.map((item: unknown, index) => ({ path: [...piece.path, index], value: item }));
    },
    trees: (parent, key) => source.items(parent, key).flatMap((item) => treeOf(item) ?? []),
    texts(parent, key) {
      const { value: found } = source.member(parent, key) ?? {};
      if (typeof found === 'string') return [found];
      return source.items(parent, key).flatMap((item) => textOf(item) ?? []);
    },
    unread(parent) {
      const keys = Object.keys(parent.value).filter((key) => !done.has(pathKey([...parent.path, key])));
      return keys.flatMap((key) => source.member(parent, key) ?? []);
    },
    where: ({ path }) => `${basename(file)}:${locate(path, typeof path.at(-1) === 'number' ? 'value' : 'key').line}`,
    fail(piece, message) {
      // Each has a place, and to find one takes time.
      if (problems.length >= mostProblems) return;
      problems.push({ file, ...locate(piece.path), path: formatPath(piece.path), message });
    },
  };
  return source;

  function textOf(piece: Piece | undefined): string | undefined {
    if (piece === undefined) return undefined;
    if (typeof piece.value === 'string') return piece.value;
    if (typeof piece.value === 'number' || typeof piece.value === 'boolean') return String(piece.value);
    return misfit(piece, 'text');
  }

  function treeOf(piece: Piece | undefined): TreePiece | undefined {
    if (piece === undefined) return undefined;
    const { path, value: found } = piece;
    return isTree(found) && !Array.isArray(found) ? { path, value: found } : misfit(piece, 'a mapping');
  }

  function misfit(piece: Piece, expected: string): undefined {
    source.fail(piece, `must be ${expected}, found ${piece.value === null ? 'nothing' : kindOf(piece.value)}`);
    return undefined;
  }
}

/** `model_list[0].litellm_params.model`, in brackets nothing that a file could not hold as a key. */
export function nameOf({ path }: Piece): string {
  return formatPath(path);
}
