// Reads values whose shape has not been checked.
import type { Path } from './path.ts';

export type Tree = { [key: string]: unknown };

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null;
}

/** The value at a path; undefined when nothing is at the path. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (!isTree(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}
