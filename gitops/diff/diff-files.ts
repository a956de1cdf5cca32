// The differences between two states of the configuration's files, value by value, also of files that break the schemas. Pure.
import { isDeepStrictEqual } from 'node:util';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import { escaped, type Path } from '../../schemas/validation/path.ts';
import { isTree } from '../../schemas/validation/value-at.ts';
import { parseFile } from '../read/parse.ts';
import type { SourceFile } from '../read/read.ts';
import { maySayText } from '../read/said-values.ts';

export interface FileDifference {
  /** The path within the directory. */
  readonly file: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Undefined: the values cannot be compared. */
  readonly values?: readonly ValueDifference[];
  /** Why they cannot. */
  readonly uncompared?: 'not_yaml' | 'too_large';
}

export interface ValueDifference {
  /** Such as `rate_limits.user_paths[/team-a].limits[minute].max_requests`: entries of lists by what names them. */
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** In the file as it is now; undefined for what is gone. Counted from 1. */
  readonly line?: number;
  /** As JSON, shortened; undefined: there is none, or it may be a secret. */
  readonly before?: string;
  readonly after?: string;
}

/** A value that is no mapping, and where it is. */
interface Leaf {
  readonly path: Path;
  readonly value: unknown;
}

/** Files whose changed texts are longer than this together are named, not compared: they are parsed in this thread. Bytes. */
const mostBytes = 512 * 1024;
const mostLetters = 200;
const nothing: ReadonlyMap<string, Leaf> = new Map();

/** Both lists as `readDirectory` gives them; in the order of the names. */
export function diffFiles(before: readonly SourceFile[], after: readonly SourceFile[]): FileDifference[] {
  const [old, present] = [before, after].map((files) => new Map(files.map((file) => [file.name, file])));
  const names = [...new Set([...(old?.keys() ?? []), ...(present?.keys() ?? [])])].sort();
  const changed = names.flatMap((file) => {
    const [from, to] = [old?.get(file), present?.get(file)];
    if (from !== undefined && to !== undefined && Buffer.compare(from.bytes, to.bytes) === 0) return [];
    return [{ file, from, to }];
  });
  const bytes = changed.reduce((sum, { from, to }) => sum + (from?.bytes.length ?? 0) + (to?.bytes.length ?? 0), 0);
  return changed.map(({ file, from, to }) => {
    const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed';
    if (bytes > mostBytes) return { file, change, uncompared: 'too_large' };
    const values = diffValues(from, to);
    return values === undefined ? { file, change, uncompared: 'not_yaml' } : { file, change, values };
  });
}

function diffValues(from: SourceFile | undefined, to: SourceFile | undefined): ValueDifference[] | undefined {
  const [old, present] = [from, to].map((file) => (file === undefined ? undefined : parseFile(file).parsed));
  if ((from !== undefined && old === undefined) || (to !== undefined && present === undefined)) return undefined;
  const [left, right] = [old, present].map((parsed) => (parsed === undefined ? nothing : leavesOf(parsed.value)));
  const keys = [...new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])];
  return keys.flatMap((key): ValueDifference[] => {
    const [was, is] = [left?.get(key), right?.get(key)];
    if (isDeepStrictEqual(was?.value, is?.value)) return [];
    return [
      {
        path: withoutKeys(escaped(key)),
        change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed',
        ...(is === undefined || present === undefined ? {} : { line: present.locate(is.path).line }),
        ...sayOf('before', was),
        ...sayOf('after', is),
      },
    ];
  });
}

function sayOf(side: 'before' | 'after', leaf: Leaf | undefined): Partial<ValueDifference> {
  if (leaf === undefined || !maySayText(leaf.path, leaf.value)) return {};
  return { [side]: withoutKeys(escaped(JSON.stringify(leaf.value))).slice(0, mostLetters) };
}

/** Every value that is no mapping and no list of mappings, by its path in words. */
function leavesOf(root: object): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const walk = (value: unknown, path: Path, words: string): void => {
    if (Array.isArray(value) && value.length > 0 && value.every((item) => isTree(item) && !Array.isArray(item))) {
      const seen = new Map<string, number>();
      value.forEach((item: object, index) => {
        const name = nameOf(item) ?? String(index);
        const count = (seen.get(name) ?? 0) + 1;
        seen.set(name, count);
        walk(item, [...path, index], `${words}[${name}${count === 1 ? '' : ` #${count}`}]`);
      });
    } else if (isTree(value) && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [key, item] of Object.entries(value))
        walk(item, [...path, key], words === '' ? key : `${words}.${key}`);
    } else leaves.set(words, { path, value });
  };
  walk(root, [], '');
  return leaves;
}

/** The members that identify an entry of a list. */
const naming = ['path', 'name', 'model', 'source', 'label', 'period', 'period_seconds'] as const;

function nameOf(item: object): string | undefined {
  for (const key of naming) {
    const value: unknown = Reflect.get(item, key);
    if (typeof value === 'string' || typeof value === 'number') return String(value).slice(0, mostLetters);
  }
  return undefined;
}
