// The flow of the managed state: watch, read, hand over, keep a copy. A store that fails or was emptied takes nothing out of force.
import { setTimeout } from 'node:timers/promises';
import { keepState, recallState, setAside } from './last-good-state.ts';
import type { SealedStore } from './sealed-store.ts';
import { tellSkipped } from './skipped.ts';
import type { StoredState, StoreMark } from './state-store.ts';

export interface FollowStateOptions {
  readonly store: Pick<SealedStore, 'read' | 'revision' | 'watch' | 'reseed' | 'warnings' | 'open'>;
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
  /** Looks at the store now; resolves when the verdict is in force, whether or not the store answered. */
  refresh(): Promise<void>;
  /** Resolves when what is in force is copied, or after a second: a disk may hang. */
  kept(): Promise<void>;
}

/** A kind whose revision is raised whenever an emptied store was given its documents back: counters were lost then. */
export const reseededKind = 'store_reseeded';

/** How long anybody waits for the copy. */
const copyPatienceMs = 1_000;

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
  let toKeep: (StoredState & { storeId: string }) | undefined;
  let keeping: Promise<void> | undefined;
  let isReplacing = false;
  let outages = 0;

  function putInForce(state: StoredState): void {
    current = state;
    apply(state, { source, outages });
  }

  function warn(problem: string | undefined): void {
    if (problem !== undefined) report({ kind: 'warning', revision: current.revision, problem });
  }

  const skipped = tellSkipped(warn);

  /** Writes the newest state and then, if there is a newer one by then, that: no look at the store waits for a disk. */
  async function keepNewest(): Promise<void> {
    for (let state = toKeep; state !== undefined; state = toKeep) {
      toKeep = undefined;
      if (isReplacing) {
        isReplacing = false;
        warn(await setAside(copyPath));
      }
      warn(await keepState(copyPath, state));
    }
    keeping = undefined;
  }

  async function look(): Promise<void> {
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
      isReplacing = true;
    }
    // A store that was read without an id and has one now was given it: nothing in it has changed.
    const wasNamed = source === 'store' && current.storeId === undefined && state.revision === current.revision;
    source = 'store';
    putInForce(state);
    skipped.tell(state.skipped);
    if (!wasNamed) report({ kind: 'applied', revision: state.revision });
    if (state.storeId === undefined) return;
    toKeep = { ...state, storeId: state.storeId };
    keeping ??= keepNewest();
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
    refresh,
    async kept() {
      await Promise.race([keeping, setTimeout(copyPatienceMs, undefined, { ref: false })]);
    },
  };
}
