// Finds file and line of a path in the merged configuration, for the messages of checks between sections.

import { formatPath, type Path, quote } from '../../schemas/validation/path.ts';
import { type Tree, valueAt } from '../../schemas/validation/value-at.ts';
import { pathKey } from '../read/expand.ts';
import type { ParsedFile } from '../read/parse.ts';
import type { Problem } from '../read/problem.ts';
import type { SecretPart } from '../read/secret-reference.ts';

/** One parsed file, with variables filled in and defaults set. */
export interface Part {
  parsed: ParsedFile;
  value: Tree;
  /** Top-level keys that break the schemas: they are not checked further. */
  unsound: ReadonlySet<string>;
  /** Strings whose text is unknown because of an unset variable or a reference to a secret, by `pathKey`. */
  unknown: ReadonlySet<string>;
  /** What texts with references to secrets are made of, by `pathKey`. */
  secrets: ReadonlyMap<string, readonly SecretPart[]>;
  /** Providers that are left out because a variable of theirs is not set. */
  lacking: ReadonlySet<string>;
}

export interface Sources {
  /** A problem at the value of a path, or at its key with `part: "key"`. */
  problem: (path: Path, message: string, part?: 'key' | 'value') => Problem;
  /** `config/a.yaml:3:5`, to name a second place in a sentence. */
  place: (path: Path, part?: 'key' | 'value') => string;
  /** The file that a path is in. */
  file: (path: Path) => string;
  /** The same, relative to the directory. */
  fileName: (path: Path) => string;
  /** Whether a file has the section that a path is in. */
  isDeclared: (path: Path) => boolean;
  /** `a.yaml:3`, relative to the directory, to show where an entry is declared. */
  declaredAt: (path: Path, part?: 'key' | 'value') => string;
  /** What the text at a path is made of, when it refers to secrets that are kept elsewhere. */
  secretParts: (path: Path) => readonly SecretPart[] | undefined;
  /** Whether the text at a path still holds an unset variable, or refers to a secret that is kept elsewhere. */
  isUnknown: (path: Path) => boolean;
  /** The value as written, before variables were filled in. */
  written: (path: Path) => unknown;
  /** The text as written, in quotes, for messages: the value of a variable may be a secret. */
  quoted: (path: Path) => string;
}

/** Where a path of the merged configuration is: the file, and the path within it. */
export interface Origin {
  part: Part;
  path: Path;
}

/** `originOf` may throw for a path that no file has, of which `isDeclared` is false. */
export function locateIn(originOf: (path: Path) => Origin, isDeclared: Sources['isDeclared']): Sources {
  function written(merged: Path): unknown {
    const { part, path } = originOf(merged);
    return valueAt(part.parsed.value, path);
  }
  return {
    problem(merged, message, part = 'value') {
      return problemIn(originOf(merged), message, part);
    },
    place(merged, part = 'value') {
      return placeIn(originOf(merged), part);
    },
    file: (merged) => originOf(merged).part.parsed.file,
    fileName: (merged) => originOf(merged).part.parsed.name,
    isDeclared,
    secretParts(merged) {
      const { part, path } = originOf(merged);
      return part.secrets.get(pathKey(path));
    },
    isUnknown(merged) {
      const { part, path } = originOf(merged);
      return part.unknown.size > 0 && part.unknown.has(pathKey(path));
    },
    declaredAt(merged, part = 'value') {
      const { part: owner, path } = originOf(merged);
      return `${owner.parsed.name}:${owner.parsed.locate(path, part).line}`;
    },
    written,
    quoted: (merged) => quote(String(written(merged))),
  };
}

/** A problem at a place of one file. */
export function problemIn({ part, path }: Origin, message: string, at: 'key' | 'value' = 'value'): Problem {
  return { file: part.parsed.file, ...part.parsed.locate(path, at), path: formatPath(path), message };
}

/** `file:line:column` of a place of one file. */
export function placeIn({ part, path }: Origin, at: 'key' | 'value' = 'value'): string {
  const { line, column } = part.parsed.locate(path, at);
  return `${part.parsed.file}:${line}:${column}`;
}
