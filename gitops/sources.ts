// Finds file and line of a path in the merged configuration, for the messages of checks between sections.

import { formatPath, type Path, quote } from '../schemas/validation/path.ts';
import { type Tree, valueAt } from '../schemas/validation/value-at.ts';
import { pathKey } from './expand.ts';
import type { ParsedFile } from './parse.ts';
import type { Problem } from './problem.ts';

/** One parsed file, with variables filled in and defaults set. */
export interface Part {
  parsed: ParsedFile;
  value: Tree;
  /** Top-level keys that break the schemas: they are not checked further. */
  unsound: ReadonlySet<string>;
  /** Strings whose text is unknown because of an unset variable, by `pathKey`. */
  unknown: ReadonlySet<string>;
}

export interface Sources {
  /** A problem at the value of a path, or at its key with `part: "key"`. */
  problem: (path: Path, message: string, part?: 'key' | 'value') => Problem;
  /** `config/a.yaml:3`, to name a second place in a sentence. */
  place: (path: Path, part?: 'key' | 'value') => string;
  /** Whether the text at a path still holds an unset variable. */
  isUnknown: (path: Path) => boolean;
  /** The value as written, before variables were filled in. */
  written: (path: Path) => unknown;
  /** The text as written, in quotes, for messages: the value of a variable may be a secret. */
  quoted: (path: Path) => string;
}

/** `owners` says which part each top-level key was taken from. Throws for a path of another key. */
export function locateIn(owners: ReadonlyMap<string, Part>): Sources {
  function owner(path: Path): Part {
    const part = owners.get(String(path[0]));
    if (part === undefined) throw new Error(`no file declares ${formatPath(path)}`);
    return part;
  }
  function written(path: Path): unknown {
    return valueAt(owner(path).parsed.value, path);
  }
  return {
    problem(path, message, part = 'value') {
      const { parsed } = owner(path);
      return { file: parsed.file, ...parsed.locate(path, part), path: formatPath(path), message };
    },
    place(path, part = 'value') {
      const { parsed } = owner(path);
      return `${parsed.file}:${parsed.locate(path, part).line}`;
    },
    isUnknown: (path) => owner(path).unknown.has(pathKey(path)),
    written,
    quoted: (path) => quote(String(written(path))),
  };
}
