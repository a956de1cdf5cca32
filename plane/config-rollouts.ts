// The rollout of revisions as a process keeps to it: which one it may put in force, and the files of the one that all may have.
import type { ConfigRollout, Trial } from '../domain/config-rollouts/config-rollout.ts';
import { takingOf } from '../domain/config-rollouts/taking.ts';
import { configRollouts } from '../domain/documents/kinds.ts';
import { type KindReading, readAgain, type StoredDocument } from '../domain/documents/managed-kind.ts';
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import type { Follower } from '../gitops/follow/follow.ts';
import { type Asked, type Given, type GivenConfig, givenConfig } from '../gitops/follow/given-config.ts';
import { unpackFiles } from '../gitops/read/packed-files.ts';

export interface RolloutParts {
  /** The name of a proxy; undefined: the control plane, which never goes first. */
  readonly instance: string | undefined;
  /** Undefined before the configuration is followed: it asks then. */
  readonly follower: () => Pick<Follower, 'given'> | undefined;
}

/** How long the control plane may take to begin a rollout, and to end one whose time is over. Milliseconds. */
const [beginMs, endMs] = [20_000, 30_000];

export class ConfigRollouts {
  readonly #parts: RolloutParts;
  #waiting: { readonly revision: string; readonly sinceMs: number } | undefined;
  #stored: KindReading<ConfigRollout> | undefined;
  #unpacked: { readonly files: string; readonly config: Promise<GivenConfig> } | undefined;

  constructor(parts: RolloutParts) {
    this.#parts = parts;
  }

  /** The managed documents in force, sorted by kind and id. */
  documents(documents: readonly StoredDocument[]): void {
    const before = this.#stored;
    this.#stored = readAgain(configRollouts, documents, before);
    if (this.#stored !== before) void this.#parts.follower()?.given();
  }

  /** Undefined: there is none. */
  current(): ConfigRollout | undefined {
    return this.#stored?.values[0];
  }

  /** The proxies that have another revision than the others, for a while. */
  tried(): Pick<Trial, 'revision' | 'proxies'> | undefined {
    const { trial } = this.current() ?? {};
    return trial?.phase === 'canary' ? trial : undefined;
  }

  /** Whether the directory holds a revision that waits, and that nothing is going to let in: it was aborted, or no control plane begins. */
  waitsInVain({ waiting, given }: Pick<FollowStatus, 'waiting' | 'given'>, nowMs: number): boolean {
    if (waiting === undefined || given?.source !== 'rollout') {
      this.#waiting = undefined;
      return false;
    }
    if (this.#waiting?.revision !== waiting) this.#waiting = { revision: waiting, sinceMs: nowMs };
    const { trial } = this.current() ?? {};
    if (trial?.revision !== waiting) return nowMs - this.#waiting.sinceMs > beginMs;
    return trial.phase === 'canary' ? nowMs > trial.untilMs + endMs : trial.phase === 'aborted';
  }

  /** What stands in place of the directory. */
  async given({ directory, inForce }: Asked): Promise<Given> {
    const rollout = this.current();
    const taking = takingOf(rollout, { instance: this.#parts.instance, directory, inForce });
    if (taking === 'directory') return undefined;
    if (taking === 'hold' || rollout === undefined) return 'held';
    if (this.#unpacked?.files !== rollout.files) this.#unpacked = { files: rollout.files, config: configOf(rollout) };
    return this.#unpacked.config;
  }
}

/** A damaged document has no files: then it cannot be put in force. */
async function configOf({ stable, files }: ConfigRollout): Promise<GivenConfig> {
  const unpacked = await unpackFiles(files, stable);
  return unpacked === undefined ? { source: 'rollout', files: [], hash: stable } : givenConfig('rollout', unpacked);
}
