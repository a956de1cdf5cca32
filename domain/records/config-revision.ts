// A revision of the configuration that was put in force or rejected, as the control plane keeps it.

/** How many changes there are of each kind, as `check --diff` calls them. */
export type ChangeCounts = Readonly<
  Partial<Record<'added' | 'removed' | 'loosened' | 'tightened' | 'changed', number>>
>;

/** The commit that the files are of, as far as it is known. */
export interface ConfigCommit {
  /** In hex, or as `GATEWAY_CONFIG_COMMIT` says it. */
  readonly commit: string;
  readonly author?: string;
  /** Of the author's clock. Unix milliseconds. */
  readonly authored_ms?: number;
  /** The first line of its message, without control characters. */
  readonly subject?: string;
}

/** What is known of a revision beside its files. */
export interface RevisionFacts extends Partial<ConfigCommit> {
  /** The control plane that has kept it. */
  readonly instance: string;
  /** Against what was in force before; absent: not known. */
  readonly changes?: ChangeCounts;
  /** Why it was rejected: the first sentences. */
  readonly problems?: readonly string[];
  readonly problem_count?: number;
  /** Why there are no files: they are too large, could not be read, or a secret seems to be written out in them. */
  readonly without_files?: 'too_large' | 'unreadable' | 'may_hold_secret';
}

/** One moment at which a content was put in force, or rejected: a content that comes again is another entry. */
export interface RevisionEntry {
  /** As logs and heartbeats name it. */
  readonly revision: string;
  /** SHA-256 over the names of the files and their hashes, in hex; the revision itself where there are no files. */
  readonly hash: string;
  /** Unix milliseconds. */
  readonly at_ms: number;
  readonly outcome: 'applied' | 'rejected';
  readonly facts: RevisionFacts;
}

/** What a proxy has made of a revision. Times are Unix milliseconds. */
export interface ProxyVerdict {
  readonly instance: string;
  /** Since when it has had it in force; absent: it never had. */
  readonly in_force_ms?: number;
  /** Until when; absent: no other one is known to have come. */
  readonly until_ms?: number;
  readonly rejected_ms?: number;
  /** The first sentences of why. */
  readonly problems?: readonly string[];
}

/** A file of a revision. */
export interface RevisionFile {
  /** Path within the directory, with slashes. */
  readonly name: string;
  /** SHA-256 of its bytes, in hex. */
  readonly hash: string;
  readonly bytes: number;
}
