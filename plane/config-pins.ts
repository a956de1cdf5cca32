// The pin of an operator as a process keeps to it: its files stand in place of the directory until its end, and the log says so.
import { type ConfigPin, standingPin } from '../domain/config-pins/config-pin.ts';
import { configPins } from '../domain/documents/kinds.ts';
import { type KindReading, readAgain, type StoredDocument } from '../domain/documents/managed-kind.ts';
import { authorFacts, expiryMs } from '../domain/rules/authorship.ts';
import type { Follower } from '../gitops/follow/follow.ts';
import { type GivenConfig, givenConfig } from '../gitops/follow/given-config.ts';
import { unpackFiles } from '../gitops/read/packed-files.ts';
import { CallAt } from './call-at.ts';
import type { Log } from './log-events.ts';

/** Between two lines that say that the configuration is still pinned. Milliseconds. */
const reminderMs = 3_600_000;

export interface PinParts {
  /** The time by which authority ends, see `authorityClock`. Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Undefined before the configuration is followed: it asks then. */
  readonly follower: () => Pick<Follower, 'given'> | undefined;
}

export class ConfigPins {
  readonly #parts: PinParts;
  readonly #end: CallAt;
  #stored: KindReading<ConfigPin> | undefined;
  /** In force at the last look. */
  #pin: ConfigPin | undefined;
  #given: { readonly pin: ConfigPin; readonly config: Promise<GivenConfig> } | undefined;
  #reminder: NodeJS.Timeout | undefined;

  constructor(parts: PinParts) {
    this.#parts = parts;
    this.#end = new CallAt(parts.nowMs, () => this.#look());
  }

  /** The managed documents in force, sorted by kind and id. */
  documents(documents: readonly StoredDocument[]): void {
    const before = this.#stored;
    this.#stored = readAgain(configPins, documents, before);
    if (this.#stored !== before) this.#look();
  }

  /** The pin that is in force now. */
  standing(): ConfigPin | undefined {
    return standingPin(this.#stored?.values ?? [], this.#parts.nowMs());
  }

  /** Its files. */
  async given(): Promise<GivenConfig | undefined> {
    const pin = this.standing();
    if (pin === undefined) return undefined;
    if (this.#given?.pin !== pin) this.#given = { pin, config: configOf(pin) };
    return this.#given.config;
  }

  #look(): void {
    const before = this.#pin;
    const pin = this.standing();
    this.#pin = pin;
    this.#end.await(pin && expiryMs(pin));
    if (pin === before) return;
    clearInterval(this.#reminder);
    if (pin === undefined) {
      this.#given = undefined;
      if (before !== undefined) this.#tellEnd(before);
    } else {
      this.#parts.log.warn(factsOf(pin), 'config pinned');
      this.#reminder = setInterval(() => this.#parts.log.warn(factsOf(pin), 'config is pinned'), reminderMs).unref();
    }
    void this.#parts.follower()?.given();
  }

  #tellEnd(pin: ConfigPin): void {
    const isOver = expiryMs(pin) <= this.#parts.nowMs();
    this.#parts.log.warn(factsOf(pin), isOver ? 'config pin has ended' : 'config pin was taken back');
  }
}

/** A damaged document has no files: then it cannot be put in force. */
async function configOf({ revision, files }: ConfigPin): Promise<GivenConfig> {
  const unpacked = await unpackFiles(files, revision);
  return unpacked === undefined ? { source: 'pinned', files: [], hash: revision } : givenConfig('pinned', unpacked);
}

function factsOf(pin: ConfigPin): object {
  return { config_revision: pin.revision, ...authorFacts(pin) };
}
