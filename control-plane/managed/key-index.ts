// What decisions and listings ask of all managed keys together: their order, and how many lie within a path. Of another state only what
// differs from the one before is taken in.

import { managedKeys } from '../../domain/documents/kinds.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { changedOrder } from '../../domain/sorted-list.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import type { Document, StoredState } from '../../store/state/state-store.ts';
import { changesOf } from './stored-kind.ts';

/** The keys of a state; of another state than last time, what differs is taken in. It holds until this is called again. */
export function keysOf(state: Pick<StoredState, 'documents'>): KeyIndex {
  return last.at(state);
}

/** The folded paths of keys with dashboard access that the configuration declares. */
let declaredDashboards: ReadonlySet<string> = new Set();

/** From now on these count among the keys with dashboard access. */
export function noteDeclaredKeys(keys: readonly Pick<AuthKey, 'userPath' | 'role'>[]): void {
  const dashboards = keys.filter(({ role }) => role !== undefined);
  declaredDashboards = new Set(dashboards.map(({ userPath = '/' }) => foldUserPath(userPath)));
}

/** Whether people and tokens can have dashboard access for a folded path (`dashboardPaths`). */
let areOfPeople: (folded: string) => boolean = () => false;

/** From now on these paths count as those of keys with dashboard access. */
export function notePathsOfPeople(paths: (folded: string) => boolean): void {
  areOfPeople = paths;
}

export class KeyIndex {
  #documents: readonly Document[] = [];
  /** What the order, and what the counts are of: each goes over to another state when it is asked for. */
  #ordered: readonly Document[] = [];
  #counted: readonly Document[] = [];
  #newest: readonly AuthKey[] = [];
  /** How many keys have this path or one below it, by folded path. */
  readonly #within = new Map<string, number>();
  /** How many keys with dashboard access have this path, by folded path. */
  readonly #dashboards = new Map<string, number>();

  /** Goes over to another state. What was asked before may not hold any more. */
  at({ documents }: Pick<StoredState, 'documents'>): this {
    this.#documents = documents;
    return this;
  }

  /** Every key, in the order of `newestFirst`. */
  newest(): readonly AuthKey[] {
    const { gone, come } = changesOf(managedKeys, this.#ordered, this.#documents);
    this.#ordered = this.#documents;
    this.#newest = changedOrder(this.#newest, gone, come, newestFirst);
    return this.#newest;
  }

  /** How many keys have this path or one below it. */
  countWithin(path: string): number {
    this.#count();
    return this.#within.get(foldUserPath(path)) ?? 0;
  }

  /** Whether a key with dashboard access has this path, or a person or a token can have it. */
  hasDashboard(path: string): boolean {
    this.#count();
    const folded = foldUserPath(path);
    return this.#dashboards.has(folded) || declaredDashboards.has(folded) || areOfPeople(folded);
  }

  #count(): void {
    const { gone, come } = changesOf(managedKeys, this.#counted, this.#documents);
    this.#counted = this.#documents;
    for (const key of gone) this.#raise(key, -1);
    for (const key of come) this.#raise(key, 1);
  }

  #raise({ userPath = '/', role }: AuthKey, by: number): void {
    const path = foldUserPath(userPath);
    for (const each of pathsAbove(path)) raise(this.#within, each, by);
    if (role !== undefined) raise(this.#dashboards, path, by);
  }
}

/** A folded path and all above it, the root last. */
export function pathsAbove(path: string): string[] {
  const paths: string[] = [];
  for (let end = path.length; end > 1; end = path.lastIndexOf('/', end - 1)) paths.push(path.slice(0, end));
  return [...paths, '/'];
}

/** The order of the listing: newest first, then by name, then by id. */
export function newestFirst(one: AuthKey, other: AuthKey): number {
  return other.createdAtMs - one.createdAtMs || compare(one.name, other.name) || compare(one.id, other.id);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function raise(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const last = new KeyIndex();
