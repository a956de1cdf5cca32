// Keeps the rollout of revisions going: looks at the proxies twice a second, and stores what becomes of it.
import {
  type ConfigRollout,
  configRolloutId,
  type RolloutState,
  type Trial,
} from '../../domain/config-rollouts/config-rollout.ts';
import { figuresOf } from '../../domain/config-rollouts/figures.ts';
import {
  countsOfTrial,
  type Deciding,
  nextState,
  type RolledProxy,
  type RolloutFacts,
} from '../../domain/config-rollouts/next-state.ts';
import { type Sightings, sightingsAfter } from '../../domain/config-rollouts/sightings.ts';
import { configRollouts } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { packFiles } from '../../gitops/read/packed-files.ts';
import type { SourceFile } from '../../gitops/read/read.ts';
import type { Log } from '../../plane/log-events.ts';
import type { Rollout } from '../../schemas/types.ts';
import { singleFlight } from '../../store/single-flight.ts';
import { heartbeatIntervalMs } from '../../store/state/heartbeat-body.ts';
import type { Document } from '../../store/state/state-store.ts';
import type { Fleet } from '../fleet.ts';
import { createCommitter, type DocumentStore } from '../managed/commit.ts';
import { storedKind } from '../managed/stored-kind.ts';
import { mayHoldSecret } from '../secrets-in-files.ts';
import { rolledProxy } from './rolled-proxies.ts';
import type { RolloutReading } from './rollout-metrics.ts';

/** The most characters of packed files, so that the documents of a store can be read at once: some 7 MiB of YAML. */
const mostCharacters = 1_048_576;

export interface RolloutKeeperParts {
  readonly store: DocumentStore;
  readonly fleet: Pick<Fleet, 'proxies' | 'witnesses'>;
  /** The managed documents in force. */
  readonly documents: () => readonly Document[];
  readonly status: () => FollowStatus | undefined;
  /** The rollout of the configuration in force. */
  readonly rollout: () => Rollout | undefined;
  /** Undefined: they are not known any more. */
  readonly filesOf: (revision: string) => Promise<readonly SourceFile[] | undefined>;
  /** Those that are known: files that hold one are not stored. */
  readonly secrets: () => readonly string[];
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** What is known of a rollout at a moment. */
export interface RolloutView extends Pick<RolloutFacts, 'own' | 'proxies' | 'nowMs'> {
  readonly current: ConfigRollout | undefined;
}

/** The next state by what is stored; the same object, or undefined: nothing changes. */
type Decide = (stored: ConfigRollout | undefined) => RolloutState | undefined;

/** The files of a revision are neither in the directory nor in the copy of this process. */
export class FilesUnknown extends Error {}

export class RolloutKeeper {
  readonly #parts: RolloutKeeperParts;
  readonly #commit: ReturnType<typeof createCommitter>;
  readonly #looking = singleFlight(() => this.#look());
  #timer: NodeJS.Timeout | undefined;
  #sightings: Sightings | undefined;
  /** What the directory holds and waits, and since when. */
  #waiting: Deciding['waiting'];
  #trouble: string | undefined;
  /** A revision whose files cannot be in a document. */
  #unstored: string | undefined;

  constructor(parts: RolloutKeeperParts) {
    this.#parts = parts;
    this.#commit = createCommitter(parts.store, [configRollouts]);
  }

  begin(): void {
    this.#timer = setInterval(() => void this.#looking.join(), heartbeatIntervalMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  view(): RolloutView {
    const { documents, fleet } = this.#parts;
    const current = storedKind(configRollouts, { documents: documents() }).get(configRolloutId);
    return { current, own: this.#deciding(), proxies: fleet.proxies().map(rolledProxy), nowMs: this.#nowMs() };
  }

  /** For the metrics. */
  reading(): ReturnType<RolloutReading> {
    const { current, proxies } = this.view();
    if (current?.trial === undefined) return undefined;
    const { phase } = current.trial;
    return { phase, figures: phase === 'canary' ? figuresOf(countsOfTrial(current.trial, proxies)) : undefined };
  }

  /**
   * Stores what is decided on what is stored; false: nothing was. Rejects with refusals and `StoreUnavailable`, and with an error when the
   * files of the revision are not known.
   */
  async change(decide: Decide): Promise<boolean> {
    const { current, own } = this.view();
    const wanted = decide(current);
    if (wanted === undefined || wanted === current) return false;
    const files = await this.#filesFor(wanted, current);
    const { decision } = await this.#commit((state) => {
      const stored = storedKind(configRollouts, state).get(configRolloutId);
      const decided = decide(stored);
      // Another control plane has decided meanwhile.
      if (decided === undefined || decided === stored || decided.stable !== wanted.stable) return { changes: [] };
      const next =
        files === undefined ? { ...decided, stable: own.waiting?.revision ?? own.inForce, gates: false } : decided;
      if (files === undefined && stored?.stable === next.stable && !stored.gates) return { changes: [] };
      const rollout = { ...next, files: files ?? '', key: configRolloutId };
      return { changes: [written(configRollouts, configRolloutId, rollout)] };
    });
    return decision.changes.length > 0;
  }

  async #look(): Promise<void> {
    // Without the heartbeats of this moment nothing is known of the proxies.
    if (this.#parts.fleet.witnesses() === undefined) return;
    const { current, own, proxies, nowMs } = this.view();
    this.#see(current?.trial, proxies, nowMs);
    const facts = { own, proxies, sightings: this.#sightings ?? noSightings, nowMs };
    if (sameAs(current, nextState(current, facts))) return;
    try {
      await this.change((stored) => {
        const next = nextState(stored, facts);
        return sameAs(stored, next) ? stored : next;
      });
      this.#trouble = undefined;
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error);
      if (trouble !== this.#trouble) this.#parts.log.warn(`the rollout of the configuration waits: ${trouble}`);
      this.#trouble = trouble;
    }
  }

  #see(trial: Trial | undefined, proxies: readonly RolledProxy[], nowMs: number): void {
    const of = trial === undefined ? '' : `${trial.revision} ${trial.proxies.join()}`;
    this.#sightings = sightingsAfter(this.#sightings, { of, proxies: trial?.proxies ?? [] }, proxies, nowMs);
  }

  #deciding(): Deciding {
    const { revision = '', directory = '', waiting, rejected, source } = this.#parts.status() ?? {};
    // What cannot be used waits in vain.
    const candidate = waiting === undefined || rejected !== undefined ? undefined : waiting;
    if (this.#waiting?.revision !== candidate)
      this.#waiting = candidate === undefined ? undefined : { revision: candidate, sinceMs: this.#nowMs() };
    return {
      inForce: revision,
      rollout: this.#parts.rollout(),
      waiting: this.#waiting,
      isReading: directory === '',
      isPinned: source === 'pinned',
    };
  }

  /** The files of the stable revision, packed. Undefined: they cannot be in a document, so that every revision is for all at once. */
  async #filesFor({ stable, gates }: RolloutState, current: ConfigRollout | undefined): Promise<string | undefined> {
    if (!gates) return '';
    if (current?.stable === stable && current.files !== '') return current.files;
    if (stable === this.#unstored) return undefined;
    const found = await this.#parts.filesOf(stable);
    if (found === undefined) throw new FilesUnknown(`the files of revision ${stable} are not known`);
    if (await mayHoldSecret(found, this.#parts.secrets()))
      return this.#leaveOut(
        stable,
        'cannot be rolled out, because a secret seems to be written out in it (write a reference to it)',
      );
    const files = await packFiles(found);
    if (files.length <= mostCharacters) return files;
    const size = `${files.length} bytes packed, at most ${mostCharacters}`;
    return this.#leaveOut(stable, `is too large to be rolled out (${size})`);
  }

  #leaveOut(revision: string, why: string): undefined {
    this.#unstored = revision;
    this.#parts.log.warn(`the configuration ${why}: each revision is in force everywhere at once`);
  }

  #nowMs(): number {
    return Math.floor(this.#parts.nowMs());
  }
}

const noSightings: Sightings = { of: '', atMs: 0, all: new Map() };

function sameAs(one: RolloutState | undefined, other: RolloutState | undefined): boolean {
  return one === other || (one?.stable === other?.stable && one?.gates === other?.gates && one?.trial === other?.trial);
}
