// A configuration that a follower puts in force in place of what its directory holds.
import type { Problem } from '../read/problem.ts';
import { hashOf, revisionOf, type SourceFile } from '../read/read.ts';

/** Why it stands there: `pinned` by an operator. */
export type GivenSource = 'pinned';

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

export function givenStatus({ source, hash }: GivenConfig, problems: readonly Problem[] = []): GivenStatus {
  return { source, revision: revisionOf(hash), problems };
}
