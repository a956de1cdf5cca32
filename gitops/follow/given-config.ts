// A configuration that a follower puts in force in place of what its directory holds.
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../read/problem.ts';
import { hashOf, revisionOf, type SourceFile } from '../read/read.ts';

/** Why it stands there: `pinned` by an operator; `rollout`: other revisions wait until it is their turn. */
export type GivenSource = 'pinned' | 'rollout';

/** What a follower has, by revisions as logs show them. */
export interface Asked {
  /** Of the directory, which may be unusable. */
  readonly directory: string;
  /** Undefined: nothing is yet. `hasRollout`: the configuration has a `rollout`. */
  readonly inForce: { readonly revision: string; readonly hasRollout: boolean } | undefined;
}

/** `held`: what is in force stays, because of a rollout. Undefined: the directory counts. */
export type Given = GivenConfig | 'held' | undefined;

export interface GivenConfig {
  readonly source: GivenSource;
  readonly files: readonly SourceFile[];
  /** Content hash as of `readDirectory`. */
  readonly hash: string;
}

/** What has become of a given configuration. */
export interface GivenStatus {
  readonly source: GivenSource;
  readonly revision: string;
  /** Why it is not in force; empty: it is. */
  readonly problems: readonly Problem[];
}

export function givenConfig(source: GivenSource, files: readonly SourceFile[]): GivenConfig {
  return { source, files, hash: hashOf(files, []) };
}

/** What is in force, where it stays. `files`: empty where they are kept already. */
export function heldConfig(hash: string, files: readonly SourceFile[] = []): GivenConfig {
  return { source: 'rollout', files, hash };
}

export function isSameGiven(one: GivenStatus | undefined, other: GivenStatus): boolean {
  return one?.revision === other.revision && isDeepStrictEqual(one.problems, other.problems);
}

export function givenStatus({ source, hash }: GivenConfig, problems: readonly Problem[] = []): GivenStatus {
  return { source, revision: revisionOf(hash), problems };
}
