// Fills ${VAR} and ${VAR:-default} into the string values of a parsed file.
import type { Path } from './problem.ts';
import { isTree, type Tree } from './value-at.ts';

/**
 * What becomes of variables: `error` and `warning` expand them and say how bad an unset one is (such a string then stays as it is
 * written), `keep` expands nothing.
 */
export type Variables = 'error' | 'warning' | 'keep';

export interface Expanded {
  value: Tree;
  /** Strings whose final text is unknown, by `pathKey`: rules about their form cannot be checked. */
  unknown: Set<string>;
  errors: { path: Path; message: string }[];
  warnings: { path: Path; message: string }[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$\$|\$\{([^}]*)(\}?)/g;
const inside = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^$]*))?$/;

/** One text for a path, to look it up in a set. */
export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** Whether a text refers to a variable. `$$` stands for one dollar and refers to nothing. */
export function refersToVariable(text: string): boolean {
  return [...text.matchAll(reference)].some(([match]) => match !== '$$');
}

/** Builds a new tree; keys, numbers and booleans are left alone. Messages name variables, never their values. */
export function expand(root: Tree, environment: Environment, variables: Variables): Expanded {
  const result: Expanded = { value: {}, unknown: new Set(), errors: [], warnings: [] };
  result.value = walkTree(root, []);
  return result;

  function walk(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return value.includes('$') ? fill(value, path) : value;
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
    return isTree(value) ? walkTree(value, path) : value;
  }

  function walkTree(value: Tree, path: Path): Tree {
    const copy: Tree = {};
    for (const [key, item] of Object.entries(value)) {
      const filled = walk(item, [...path, key]);
      Object.defineProperty(copy, key, { value: filled, enumerable: true, configurable: true, writable: true });
    }
    return copy;
  }

  function fill(text: string, path: Path): string {
    const seen = { unset: new Set<string>(), malformed: false };
    const filled = text.replaceAll(reference, (match: string, content: string | undefined, end: string | undefined) => {
      if (match === '$$') return '$';
      const [, name, fallback] = (end === '}' ? inside.exec(content ?? '') : null) ?? [];
      if (name === undefined) {
        seen.malformed = true;
        return match;
      }
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
      if (value === undefined) seen.unset.add(name);
      return value ?? match;
    });
    if (seen.malformed) {
      result.errors.push({
        path,
        message: `has a malformed variable; write $\{NAME} or $\{NAME:-default}, and $$ for a dollar sign`,
      });
    } else if (variables !== 'keep') {
      for (const name of seen.unset) {
        const list = variables === 'error' ? result.errors : result.warnings;
        list.push({
          path,
          message: `the environment variable ${name} is not set; set it, or give a default: \${${name}:-…}`,
        });
      }
    }
    const isUnknown = seen.malformed || seen.unset.size > 0 || (variables === 'keep' && refersToVariable(text));
    if (isUnknown) result.unknown.add(pathKey(path));
    return isUnknown || variables === 'keep' ? text : filled;
  }
}
