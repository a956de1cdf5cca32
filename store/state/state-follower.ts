// The options and the interface of a follower of the managed state.
import type { StateOwner } from './custody.ts';
import type { SealedStore } from './sealed-store.ts';
import type { StateEvent, StateOrigin, StateStatus } from './state-status.ts';
import type { Commit, CommitResult, StoredState } from './state-store.ts';

export interface FollowStateOptions {
  readonly store: SealedStore;
  /** Where the copy lies. */
  readonly copyPath: string;
  /** Of the process that owns the documents, the control plane; a proxy has none and writes nothing. */
  readonly owner?: StateOwner;
  /** Puts a state in force. */
  readonly apply: (state: StoredState, origin: StateOrigin) => void;
  readonly report: (event: StateEvent) => void;
}

export interface StateFollower {
  /** The state in force. */
  state(): StoredState;
  status(): StateStatus;
  /**
   * Commits to the store. What was committed is in force when this resolves: worked out, when it was decided on what is in force, so
   * that no commit reads what it does not need; else read. Rejects with `StoreUnavailable`.
   */
  commit(commit: Commit): Promise<CommitResult>;
  /** Polls the store now. Resolves when what it says is in force, or when it gave no answer in time; never rejects. */
  refresh(): Promise<void>;
  /**
   * The master keys have changed: checks the seals of all documents, of those in the store at its next answer. Resolves when those in
   * force are checked; never rejects.
   */
  recheckSeals(): Promise<void>;
  /** Resolves when what is in force is copied, or after a second: a disk may hang. */
  kept(): Promise<void>;
  /** The store is about to be closed by this process: that it does not answer from now on is no outage. */
  end(): void;
}
