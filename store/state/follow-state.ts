// The flow of the managed state: watch, read, hand over, keep a copy. A store that fails or was emptied takes nothing out of force.
import { dirname } from 'node:path';
import { singleFlight } from '../single-flight.ts';
import { changedState, stateAfter } from './changed-state.ts';
import { type Custody, hasLost, judge, lostAdvice, type Standing, unanswered, unread } from './custody.ts';
import { createKeeper, type Keeper, recallState } from './last-good-state.ts';
import { goesOnFrom, includes } from './lineage.ts';
import { mergedStates } from './merge-states.ts';
import { type SkippedDocuments, tellSkipped } from './skipped.ts';
import type { FollowStateOptions, StateFollower } from './state-follower.ts';
import type { StateEvent, StateStatus } from './state-status.ts';
import { type Commit, type CommitResult, isSamePosition, type StoredState, type StorePosition } from './state-store.ts';
import { WriteBackPace } from './write-back-pace.ts';

/** Between two looks at the settings of the store. Milliseconds. */
const inspectionMs = 2_000;
/** How long a proxy leaves it to the control plane to write back what the store has lost. Milliseconds. */
const proxyGraceMs = 1_000;

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
  #trouble: string | undefined;
  /** The settings of the server that answers were checked. */
  #isChecked = false;
  #evicts: string | undefined;
  #warnings: readonly string[] = [];
  #writeBacks = 0;
  #hasInitialised = false;
  readonly #pace = new WriteBackPace(() => void this.refresh());
  #inspections: NodeJS.Timeout | undefined;
  /** All documents are read, even if the store stands where it stood. */
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
    this.#inspections = setInterval(() => void this.#checkSettings(), inspectionMs).unref();
  }

  state(): StoredState {
    return this.#current;
  }

  status(): StateStatus {
    const { storeId, revision, mark } = this.#current;
    const { standing } = this.#custody;
    return {
      storeId,
      revision,
      mark,
      evicts: this.#evicts,
      writeBacks: this.#writeBacks,
      source: this.#source,
      isUp: this.#isUp,
      trouble: this.#trouble,
      standing,
      skipped: this.#skipped.counts(),
    };
  }

  kept(): Promise<void> {
    return this.#keeper.kept();
  }

  end(): void {
    this.#isEnding = true;
    clearInterval(this.#inspections);
    this.#pace.close();
  }

  async commit(wanted: Commit): Promise<CommitResult> {
    // A poll that is under way may have read what comes before, and put it in force after. A later one waits for this.
    await this.#polling.finished();
    const isSound = this.#source === 'store' && this.#isUp && !hasLost(this.#custody.standing);
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
    // A state that was read meanwhile is checked, too.
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
    this.#trouble = problem?.message;
    this.#isChecked = isUp;
  }

  /** Behind a store that is back may be another server, and settings change while a server runs. */
  async #checkSettings(): Promise<void> {
    const found = await this.#options.store.inspect().catch(() => undefined);
    if (found === undefined || this.#isEnding) return;
    for (const problem of found.warnings) if (!this.#warnings.includes(problem)) this.#warn(problem);
    this.#warnings = found.warnings;
    const before = this.#evicts;
    this.#evicts = found.evicts;
    if (before === undefined && found.evicts !== undefined) this.#report('evicts', found.evicts);
    if (before !== undefined && found.evicts === undefined) this.#report('keeps');
  }

  async #poll(): Promise<void> {
    await this.#committing;
    const position = await this.#options.store.revision();
    if (position.storeId === undefined && this.#judge(position, false) === 'emptied') return this.#writeBack(position);
    // A store that was away may have come back without its last changes, and count on from there.
    const mayGoOn = this.#source === 'store' && this.#isUp && !this.#mustRead;
    if (!mayGoOn || !isSamePosition(position, this.#current)) {
      const state = (mayGoOn ? await this.#readChanges() : undefined) ?? (await this.#readAll());
      const isOlder = state.storeId === this.#current.storeId && !goesOnFrom(state, this.#current);
      const standing = this.#judge(state, isOlder || this.#isOutrun(state));
      if (standing === 'emptied' || isOlder) return this.#writeBack(state, state);
      this.#follow(state);
    } else {
      this.#judge(position, this.#isOutrun(this.#current));
    }
    if (!hasLost(this.#custody.standing)) this.#pace.settled();
    if (this.#custody.standing === 'new') await this.#initialise();
  }

  /** Live proxies know changes that the store in this state does not. */
  #isOutrun(state: StoredState): boolean {
    const seen = this.#options.owner?.witnesses()?.seen ?? [];
    return seen.some((each) => each.storeId === state.storeId && !includes(state, each));
  }

  /** Undefined when the store does not say what has changed. */
  async #readChanges(): Promise<StoredState | undefined> {
    const before = this.#current;
    const changes = await this.#options.store.changesSince(before);
    return changes && changedState(before, changes);
  }

  async #readAll(): Promise<StoredState> {
    const must = this.#mustRead;
    this.#mustRead = false;
    return this.#options.store.read().catch((error: unknown) => {
      this.#mustRead ||= must;
      throw error;
    });
  }

  #judge({ storeId }: StorePosition, isBehind: boolean): Standing {
    const { owner, copyPath } = this.#options;
    const { standing: before } = this.#custody;
    const observed = { atMs: owner?.nowMs() ?? 0, remembered: this.#current.storeId, witnesses: owner?.witnesses() };
    this.#custody = judge(this.#custody, { storeId, isBehind, ...observed });
    const { standing } = this.#custody;
    if (standing !== before && (standing === 'emptied' || standing === 'behind')) this.#report(standing);
    if (standing === 'lost' && before !== 'lost') this.#report('lost', lostAdvice(dirname(copyPath)));
    return standing;
  }

  #follow(state: StoredState): void {
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

  /** `found`: where the store stands; `stored`: what it says, unless it was emptied. */
  async #writeBack(found: StorePosition, stored: StoredState = { ...empty, ...found }): Promise<void> {
    const { owner, store } = this.#options;
    // An unreadable document may be sealed with a key that the proxy does not know yet.
    const isWhole = stored.skipped.length === 0 && this.#current.skipped.length === 0;
    if (owner === undefined && !(this.#custody.standing === 'behind' && isWhole)) return;
    if (!this.#pace.mayTry(owner === undefined ? proxyGraceMs : 0)) return;
    this.#pace.tried();
    // Else another process was first.
    if (await store.rewrite(mergedStates(this.#current, stored), found)) {
      this.#writeBacks += 1;
      this.#report('reseeded');
    }
    return this.#poll();
  }

  /** A store that has an id can be told from one that was emptied. One that takes no writes now gets it at another poll. */
  async #initialise(): Promise<void> {
    // The first time it is no write-back.
    if (this.#hasInitialised) {
      if (!this.#pace.mayTry(0)) return;
      this.#pace.tried();
    }
    this.#hasInitialised = true;
    const storeId = await this.#options.store.initialise().catch(() => undefined);
    if (storeId !== undefined) await this.#poll();
  }

  #putInForce(state: StoredState): void {
    // When this throws, the state is read again: it is not in force.
    this.#options.apply(state, { source: this.#source });
    this.#current = state;
    this.#skipped.tell(state.skipped);
  }

  #report(kind: StateEvent['kind'], problem?: Error | string, revision: number = this.#current.revision): void {
    this.#options.report({ kind, revision, ...(problem === undefined ? {} : { problem }) });
  }

  #warn(problem: string | undefined): void {
    if (problem !== undefined) this.#report('warning', problem);
  }
}
