// The flow of the managed state: watch, read, hand over, keep a copy. A store that fails or was emptied takes nothing out of force.
import { dirname } from 'node:path';
import { singleFlight } from '../single-flight.ts';
import { stateAfter } from './changed-state.ts';
import { type Custody, isEmptied, judge, lostAdvice, type Standing, unanswered, unread } from './custody.ts';
import { createKeeper, type Keeper, recallState } from './last-good-state.ts';
import { type SkippedDocuments, tellSkipped } from './skipped.ts';
import type { FollowStateOptions, StateFollower } from './state-follower.ts';
import type { StateEvent, StateStatus } from './state-status.ts';
import type { Commit, CommitResult, StoredState, StorePosition } from './state-store.ts';

/** A kind whose revision is raised whenever an emptied store was given its documents back: counters were lost then. */
export const reseededKind = 'store_reseeded';

const empty: StoredState = { storeId: undefined, revision: 0, kinds: new Map(), documents: [], skipped: [] };

/** Starts following. Resolves with the first state in force: the store's, else the copy's, else an empty one. Ends with the store. */
export async function followState(options: FollowStateOptions): Promise<StateFollower> {
  const follower = new Following(options);
  await follower.start();
  return follower;
}

/** One store, and what is in force of it. */
class Following implements StateFollower {
  readonly #options: FollowStateOptions;
  readonly #keeper: Keeper;
  readonly #skipped: SkippedDocuments;
  #current = empty;
  #source: StateStatus['source'] = 'nothing';
  #custody: Custody = unread;
  #isUp = true;
  /** The settings of the server that answers were checked. */
  #isChecked = false;
  #outages = 0;
  /** The documents are read although the store stands where it stood. */
  #mustRead = false;
  #isEnding = false;
  readonly #polling = singleFlight(() => this.#pollAndReport());
  /** Polls wait for a commit of this process: it tells them what they would read. Never rejects. */
  #committing: Promise<unknown> = Promise.resolve();

  constructor(options: FollowStateOptions) {
    const warn = (problem: string | undefined): void => this.#warn(problem);
    this.#options = options;
    this.#keeper = createKeeper(options.copyPath, warn);
    this.#skipped = tellSkipped(warn);
  }

  async start(): Promise<void> {
    const { store, copyPath } = this.#options;
    const { state: copy, warning } = await recallState(copyPath);
    this.#warn(warning);
    // Known before the first poll, so that a store that was emptied meanwhile is not taken for a new one.
    if (copy !== undefined) this.#current = await store.open(copy);
    await this.refresh();
    if (this.#source !== 'store') {
      if (copy !== undefined) {
        this.#source = 'copy';
        this.#report('copy-used');
      }
      this.#putInForce(this.#current);
    }
    store.watch(() => void this.refresh());
  }

  state(): StoredState {
    return this.#current;
  }

  status(): StateStatus {
    const { storeId, revision } = this.#current;
    const { standing } = this.#custody;
    return {
      storeId,
      revision,
      source: this.#source,
      isUp: this.#isUp,
      standing,
      skipped: this.#skipped.counts(),
    };
  }

  kept(): Promise<void> {
    return this.#keeper.kept();
  }

  end(): void {
    this.#isEnding = true;
  }

  async commit(wanted: Commit): Promise<CommitResult> {
    // A poll that is under way may have read what comes before, and put it in force after. A later one waits for this.
    await this.#polling.finished();
    const isSound = this.#source === 'store' && this.#isUp && !isEmptied(this.#custody.standing);
    const before = !this.#polling.isRunning() && isSound ? this.#current : undefined;
    const done = this.#options.store.commit(wanted).then((result) => {
      return { result, isInForce: this.#advance(before, wanted, result) };
    });
    this.#committing = Promise.allSettled([this.#committing, done]);
    const { result, isInForce } = await done;
    if (!isInForce) await this.refresh();
    return result;
  }

  /** Puts in force what a commit has made of a state. False when that is not known to be all. */
  #advance(before: StoredState | undefined, wanted: Commit, result: CommitResult): boolean {
    if (before === undefined || before !== this.#current) return false;
    const { store } = this.#options;
    const after = stateAfter(before, wanted, result, (change, at) => store.asRead(change, at));
    if (after === undefined) return false;
    this.#putInForce(after);
    this.#report('applied');
    this.#keeper.keep(after);
    return true;
  }

  refresh(): Promise<void> {
    return this.#polling.next();
  }

  async recheckSeals(): Promise<void> {
    this.#mustRead = true;
    await this.refresh();
    if (!this.#mustRead) return;
    const before = this.#current;
    const checked = await this.#options.store.open(before);
    // What was read meanwhile is checked.
    if (this.#current === before) this.#putInForce(checked);
  }

  async #pollAndReport(): Promise<void> {
    const problem = await this.#poll().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    // A store that is being closed is no outage.
    if (this.#isEnding) return;
    const isUp = problem === undefined;
    if (!isUp) this.#custody = unanswered(this.#custody);
    if (isUp !== this.#isUp) this.#report(isUp ? 'available' : 'unavailable', problem);
    if (isUp && !this.#isChecked) await this.#checkSettings();
    this.#isUp = isUp;
    this.#isChecked = isUp;
  }

  /** Behind a store that is back may be another server. */
  async #checkSettings(): Promise<void> {
    for (const problem of await this.#options.store.warnings().catch(() => [])) this.#warn(problem);
  }

  async #poll(): Promise<void> {
    await this.#committing;
    const mark = await this.#options.store.revision();
    if (this.#judge(mark) === 'emptied') return this.#writeBack();
    // A store that was away may have come back without its last changes, and count on from there.
    const isSame = mark.storeId === this.#current.storeId && mark.revision === this.#current.revision;
    if (this.#mustRead || !(this.#source === 'store' && this.#isUp && isSame)) {
      const state = await this.#readAll();
      if (this.#judge(state) === 'emptied') return this.#writeBack();
      this.#follow(state);
    }
    if (this.#custody.standing === 'new') await this.#initialise();
  }

  async #readAll(): Promise<StoredState> {
    const must = this.#mustRead;
    this.#mustRead = false;
    return this.#options.store.read().catch((error: unknown) => {
      this.#mustRead ||= must;
      throw error;
    });
  }

  #judge({ storeId }: StorePosition): Standing {
    const { owner, copyPath } = this.#options;
    const { standing: before } = this.#custody;
    const observed = { atMs: owner?.nowMs() ?? 0, remembered: this.#current.storeId, witnesses: owner?.witnesses() };
    this.#custody = judge(this.#custody, { storeId, ...observed });
    const { standing } = this.#custody;
    if (standing === 'emptied' && before !== 'emptied') this.#report('emptied');
    if (standing === 'lost' && before !== 'lost') this.#report('lost', lostAdvice(dirname(copyPath)));
    return standing;
  }

  #follow(state: StoredState): void {
    if (!this.#isUp) this.#outages += 1;
    if (this.#custody.standing === 'replaced') {
      this.#report('replaced', undefined, state.revision);
      this.#keeper.setAside();
      this.#custody = { standing: 'held' };
    }
    // A store that was read without an id and has one now was given it: nothing in it has changed.
    const { storeId, revision } = this.#current;
    const wasNamed = this.#source === 'store' && storeId === undefined && state.revision === revision;
    this.#source = 'store';
    this.#putInForce(state);
    if (!wasNamed) this.#report('applied');
    this.#keeper.keep(state);
  }

  async #writeBack(): Promise<void> {
    if (this.#options.owner === undefined) return;
    // A process that polls only now sees the same store and documents as before; this kind tells that all the rest is gone.
    const kinds = new Map([...this.#current.kinds, [reseededKind, this.#current.revision + 1]]);
    const isDone = await this.#options.store.reseed({ ...this.#current, kinds });
    // Else another control plane was first.
    if (isDone) this.#report('reseeded');
    return this.#poll();
  }

  /** A store that has an id can be told from one that was emptied. One that takes no writes now gets it at another poll. */
  async #initialise(): Promise<void> {
    const storeId = await this.#options.store.initialise().catch(() => undefined);
    if (storeId !== undefined) await this.#poll();
  }

  #putInForce(state: StoredState): void {
    this.#current = state;
    this.#options.apply(state, { source: this.#source, outages: this.#outages });
    this.#skipped.tell(state.skipped);
  }

  #report(kind: StateEvent['kind'], problem?: Error | string, revision: number = this.#current.revision): void {
    this.#options.report({ kind, revision, ...(problem === undefined ? {} : { problem }) });
  }

  #warn(problem: string | undefined): void {
    if (problem !== undefined) this.#report('warning', problem);
  }
}
