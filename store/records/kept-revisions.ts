// What the record store does with revisions of the configuration.
import type { ProxyVerdict, RevisionEntry, RevisionFile } from '../../domain/records/config-revision.ts';

/** A revision as it is listed. */
export interface ListedRevision extends RevisionEntry {
  /** Counts of the entry, rising. */
  readonly id: number;
  /** Undefined: they are not kept. */
  readonly files?: { readonly count: number; readonly bytes: number };
  readonly verdicts: readonly ProxyVerdict[];
}

export interface RevisionToKeep extends RevisionEntry {
  /** Absent: they are not kept. */
  readonly files?: readonly RevisionFile[];
}

/** The most that is kept. What is newest, and what is in force, always stays. */
export interface RevisionBounds {
  readonly entries: number;
  /** Of all files, packed. */
  readonly bytes: number;
}

export interface KeptRevision {
  /** False: the entry before it is of the same content and outcome, or files are lacking. */
  readonly isNew: boolean;
  /** Hashes of files that have to be kept before it. */
  readonly lacking: readonly string[];
}

export interface PackedFile {
  /** SHA-256 of its bytes, in hex. */
  readonly hash: string;
  /** Before they were packed. */
  readonly bytes: number;
  /** Base64 of gzip. */
  readonly packed: string;
}

/** What a proxy says of a revision now. */
export interface NotedVerdict {
  readonly instance: string;
  readonly revision: string;
  readonly verdict: 'in_force' | 'rejected';
  /** Unix milliseconds. */
  readonly sinceMs: number;
  readonly problems: readonly string[];
}

/** A part of `RecordStore`. */
export interface RevisionStore {
  /** The newest first. */
  revisions(): Promise<readonly ListedRevision[]>;
  /** Of the newest entry of a revision whose files are kept. Undefined: there is none. */
  revisionFiles(
    revision: string,
  ): Promise<{ readonly hash: string; readonly files: readonly RevisionFile[] } | undefined>;
  /** In any order; those that are not there are left out. */
  packedFiles(hashes: readonly string[]): Promise<readonly PackedFile[]>;
  /** Those that are there already are passed over. */
  keepFiles(files: readonly PackedFile[]): Promise<number>;
  /** Keeps an entry whose files are kept already, and removes the oldest beyond the bounds. */
  keepRevision(revision: RevisionToKeep, bounds: RevisionBounds): Promise<KeptRevision>;
  /**
   * Verdicts of proxies about the newest entry of each revision. One that has a revision in force has left the others. What it has left stays
   * so. `live`: those that are heard now; of others, no more than `mostGone` stay for each entry. Gives the instances whose revision is not there.
   */
  noteVerdicts(verdicts: readonly NotedVerdict[], live: readonly string[], atMs: number): Promise<readonly string[]>;
}

/** Proxies of an entry that are no longer heard, such as former pods. */
export const mostGone = 50;
