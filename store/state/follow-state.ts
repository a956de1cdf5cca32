// The flow of the managed state: watch, read, hand over, keep a copy. A store that fails or was emptied takes nothing out of force.
import { changedState } from './changed-state.ts';
import { createKeeper, recallState } from './last-good-state.ts';
import type { SealedStore } from './sealed-store.ts';
import { tellSkipped } from './skipped.ts';
import type { Commit, CommitResult, StoredState, StoreMark } from './state-store.ts';

export interface FollowStateOptions {
  readonly store: Pick<
    SealedStore,
    'read' | 'revision' | 'commit' | 'watch' | 'reseed' | 'warnings' | 'open' | 'asRead'
  >;
  /** Where the copy lies. */
  readonly copyPath: string;
  /** Whether an emptied store is given its documents back: the control plane does, which owns them. */
  readonly reseeds: boolean;
  /** Puts a state in force. */
  readonly apply: (state: StoredState, origin: StateOrigin) => void;
  readonly report: (event: StateEvent) => void;
}

/**
 * `applied`: in force now. `unavailable`, `available`: the store began to fail, or works again. `copy-used`: started without the
 * store. `emptied`: the store lost its documents, what was in force stays; `reseeded`: and they were written back. `replaced`: it is
 * another store than before. `warning`: worth a line.
 */
export interface StateEvent {
  readonly kind:
    | 'applied'
    | 'unavailable'
    | 'available'
    | 'copy-used'
    | 'emptied'
    | 'reseeded'
    | 'replaced'
    | 'warning';
  readonly revision: number;
  readonly problem?: Error | string;
}

export interface StateStatus extends StoreMark {
  /** Where what is in force came from; `nothing` until the store was read for the first time, or was found new. */
  readonly source: 'store' | 'copy' | 'nothing';
  readonly isUp: boolean;
  /** The store has lost the documents that are in force. */
  readonly isEmptied: boolean;
  /** Stored documents that are not in force: those that are garbage, and those without a good seal. */
  readonly skipped: { readonly unreadable: number; readonly unsealed: number };
}

/** Where a state that is put in force came from. */
export interface StateOrigin {
  /** `nothing`: it is empty, because the store could not be read yet. */
  readonly source: StateStatus['source'];
  /** How often the store has been away: after each time, the same revision may stand for something else. */
  readonly outages: number;
}

export interface StateFollower {
  /** What is in force. */
  state(): StoredState;
  status(): StateStatus;
  /**
   * Commits to the store. What was committed is in force when this resolves: worked out, when it was decided on what is in force, so
   * that no commit reads what it does not need; else read. Rejects with `StoreUnavailable`.
   */
  commit(commit: Commit): Promise<CommitResult>;
  /** Looks at the store now; resolves when the verdict is in force, whether or not the store answered. */
  refresh(): Promise<void>;
  /** Resolves when what is in force is copied, or after a second: a disk may hang. */
  kept(): Promise<void>;
}

/** A kind whose revision is raised whenever an emptied store was given its documents back: counters were lost then. */
export const reseededKind = 'store_reseeded';

const empty: StoredState = { storeId: undefined, revision: 0, kinds: new Map(), documents: [], skipped: [] };

/** Starts following. Resolves with the first state in force: the store's, else the copy's, else an empty one. Ends with the store. */
export async function followState(options: FollowStateOptions): Promise<StateFollower> {
  const { store, copyPath, reseeds, apply, report } = options;
  let current = empty;
  let source = 'nothing' as StateStatus['source'];
  let isUp = true;
  let isChecked = false;
  let isEmptied = false;
  let running: Promise<void> | undefined;
  let isAskedAgain = false;
  let outages = 0;
  /** Looks wait for a commit of this process: it tells them what they would read. Never rejects. */
  let committing: Promise<unknown> = Promise.resolve();
  const keeper = createKeeper(copyPath, warn);

  function putInForce(state: StoredState): void {
    current = state;
    apply(state, { source, outages });
  }

  function warn(problem: string | undefined): void {
    if (problem !== undefined) report({ kind: 'warning', revision: current.revision, problem });
  }

  const skipped = tellSkipped(warn);

  async function commit(wanted: Commit): Promise<CommitResult> {
    // A look that is under way may have read what comes before, and put it in force after. A later one waits for this.
    await running;
    const before = running === undefined && source === 'store' && isUp && !isEmptied ? current : undefined;
    const done = store.commit(wanted).then((result) => ({ result, isInForce: advance(before, wanted, result) }));
    committing = Promise.allSettled([committing, done]);
    const { result, isInForce } = await done;
    if (!isInForce) await refresh();
    return result;
  }

  /** Puts in force what a commit has made of a state. False when that is not known to be all. */
  function advance(before: StoredState | undefined, { storeId, changes }: Commit, result: CommitResult): boolean {
    if (before === undefined || before !== current || result.conflict === true) return false;
    const { revision } = result;
    if (typeof storeId !== 'string' || storeId !== before.storeId || revision !== before.revision + 1) return false;
    const changed = changes.map(({ kind, id, body }) => {
      return { kind, id, document: body === undefined ? undefined : store.asRead({ kind, id, body }, revision) };
    });
    putInForce(changedState(before, changed, revision));
    skipped.tell(current.skipped);
    report({ kind: 'applied', revision });
    keeper.keep(current);
    return true;
  }

  async function look(): Promise<void> {
    await committing;
    const mark = await store.revision();
    if (mark.storeId === undefined && current.storeId !== undefined) return meetEmptied();
    if (isEmptied) isEmptied = false;
    // A store that was away may have come back without its last changes, and count on from there.
    const isSame = mark.storeId === current.storeId && mark.revision === current.revision;
    if (source === 'store' && isUp && isSame) return;
    const state = await store.read();
    if (state.storeId === undefined && current.storeId !== undefined) return meetEmptied();
    if (!isUp) outages += 1;
    if (current.storeId !== undefined && state.storeId !== current.storeId) {
      report({ kind: 'replaced', revision: state.revision });
      keeper.setAside();
    }
    // A store that was read without an id and has one now was given it: nothing in it has changed.
    const wasNamed = source === 'store' && current.storeId === undefined && state.revision === current.revision;
    source = 'store';
    putInForce(state);
    skipped.tell(state.skipped);
    if (!wasNamed) report({ kind: 'applied', revision: state.revision });
    keeper.keep(state);
  }

  async function meetEmptied(): Promise<void> {
    if (!isEmptied) report({ kind: 'emptied', revision: current.revision });
    isEmptied = true;
    if (!reseeds) return;
    // Who looks only now sees the same store and documents as before; this kind tells that all the rest is gone.
    const kinds = new Map([...current.kinds, [reseededKind, current.revision + 1]]);
    const isDone = await store.reseed({ ...current, kinds });
    isEmptied = false;
    // Else another control plane was first.
    if (isDone) report({ kind: 'reseeded', revision: current.revision });
    return look();
  }

  /** Behind a store that is back may be another server. */
  async function checkSettings(): Promise<void> {
    for (const problem of await store.warnings().catch(() => [])) warn(problem);
  }

  async function lookAndSay(): Promise<void> {
    let problem: unknown;
    try {
      await look();
    } catch (error) {
      problem = error;
    }
    const works = problem === undefined;
    if (works !== isUp) {
      const said = problem instanceof Error ? problem : new Error(String(problem));
      report({
        kind: works ? 'available' : 'unavailable',
        revision: current.revision,
        ...(works ? {} : { problem: said }),
      });
    }
    if (works && !isChecked) await checkSettings();
    isUp = works;
    isChecked = works;
  }

  /** One look at a time; a wish that comes meanwhile is one more look afterwards. */
  function refresh(): Promise<void> {
    if (running !== undefined) {
      isAskedAgain = true;
      return running;
    }
    running = (async () => {
      do {
        isAskedAgain = false;
        await lookAndSay();
      } while (isAskedAgain);
      running = undefined;
    })();
    return running;
  }

  const { state: copy, warning } = await recallState(copyPath);
  warn(warning);
  // Known before the first look, so that a store that was emptied meanwhile is not taken for a new one.
  if (copy !== undefined) current = await store.open(copy);
  await refresh();
  if (source !== 'store') {
    if (copy !== undefined) {
      source = 'copy';
      skipped.tell(current.skipped);
      report({ kind: 'copy-used', revision: copy.revision });
    }
    putInForce(current);
  }
  store.watch(() => void refresh());
  return {
    state: () => current,
    status: () => ({
      storeId: current.storeId,
      revision: current.revision,
      source,
      isUp,
      isEmptied,
      skipped: skipped.counts(),
    }),
    commit,
    refresh,
    kept: () => keeper.kept(),
  };
}
