// Replaces the names in traffic by hashes, so that a file of it may lie in a repository, and finds those again that a configuration names.
import { createHmac } from 'node:crypto';
import type { TrafficLine } from './traffic.ts';

/** Hex digits of a hash: enough to tell a million names apart. */
const digits = 12;
const keyPrefix = 'config:';

/** Gives the same hash for a name in any letter case. */
export type HashName = (name: string) => string;

export function hasherOf(salt: string): HashName {
  const known = new Map<string, string>();
  return (name) => {
    const folded = name.toLowerCase();
    let hash = known.get(folded);
    if (hash === undefined) {
      hash = `h${createHmac('sha256', salt).update(folded).digest('hex').slice(0, digits)}`;
      if (known.size < 100_000) known.set(folded, hash);
    }
    return hash;
  };
}

/** Finds names by their hashes: those that stand in one of these values, as parts of texts. Other hashes stay. */
export function revealerOf(values: readonly unknown[], hash: HashName): HashName {
  const byHash = new Map<string, string>();
  const note = (text: string): void => {
    for (const part of [text, ...text.split('/')]) if (part !== '') byHash.set(hash(part), part);
  };
  for (const value of values) walk(value, note);
  return (name) => byHash.get(name) ?? name;
}

/** The line with another name for every segment of its user path, its labels, its key and its session. */
export function renamedLine(line: TrafficLine, rename: HashName): TrafficLine {
  // A rule is named after whom it is for.
  const { user_path: userPath, labels, key, session, rule: _, ...others } = line;
  const renamedKey = key?.startsWith(keyPrefix) ? keyPrefix + rename(key.slice(keyPrefix.length)) : key && rename(key);
  return {
    ...others,
    user_path: renamedPath(userPath, rename),
    ...(labels === undefined ? {} : { labels: labels.map(rename) }),
    ...(renamedKey === undefined ? {} : { key: renamedKey }),
    ...(session === undefined ? {} : { session: rename(session) }),
  };
}

/** A path with every segment renamed. */
export function renamedPath(path: string, rename: HashName): string {
  return path
    .split('/')
    .map((segment) => (segment === '' ? '' : rename(segment)))
    .join('/');
}

function walk(value: unknown, note: (text: string) => void): void {
  if (typeof value === 'string') note(value);
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) walk(each, note);
}
