// One secret of a vault that is fetched again while the process runs. What was fetched last stays in force while the vault is down.
import { type KeyReading, keyOf } from '../read/key-file.ts';
import type { SecretReference } from '../read/secret-reference.ts';
import { HeldSecret, type Look } from './held-secret.ts';

/** Reads secrets of vaults. */
export interface Vaults {
  /** Between two fetches of a secret. Milliseconds. */
  readonly refreshMs: number;
  /** The secret, or the end of a sentence that says why there is none, without anything of it. Bounded in time; never rejects. */
  readonly fetch: (reference: SecretReference) => Promise<{ readonly bytes: Buffer } | { readonly trouble: string }>;
}

/** After a failure the next fetch comes so soon; after each further one, twice as late, up to the usual time. Milliseconds. */
const firstRetryMs = 1_000;
/** The fetches of a fleet shall not come at one time: each waits longer or shorter by this share at most. */
const jitter = 0.1;

export class FetchedSecret extends HeldSecret {
  readonly #reference: SecretReference;
  readonly #vaults: Vaults;
  readonly #nowMs: () => number;
  #dueMs = 0;
  #failures = 0;
  #fetching: Promise<void> | undefined;
  #arrived: KeyReading | undefined;

  constructor(
    reference: SecretReference,
    vaults: Vaults,
    { nowMs, problemOf }: { readonly nowMs: () => number; readonly problemOf: (key: string) => string | undefined },
  ) {
    super(undefined, problemOf);
    this.#reference = reference;
    this.#vaults = vaults;
    this.#nowMs = nowMs;
  }

  /** Fetches the secret and takes it. Never rejects. */
  async read(): Promise<void> {
    await this.#fetchOnce();
    this.#takeArrived();
  }

  /** Takes what has arrived since the last look, and has the secret fetched when it is time. Does not wait for that. */
  look(): Look | undefined {
    const change = this.#takeArrived();
    if (this.#nowMs() >= this.#dueMs) void this.#fetchOnce();
    return change;
  }

  #takeArrived(): Look | undefined {
    const reading = this.#arrived;
    this.#arrived = undefined;
    return reading === undefined ? undefined : this.take(this.judged(reading));
  }

  /** One fetch at a time; calls while it is under way share it. */
  #fetchOnce(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const answer = await this.#vaults.fetch(this.#reference);
    this.#arrived = 'trouble' in answer ? answer : keyOf(answer.bytes);
    const isRead = 'key' in this.#arrived;
    this.#failures = isRead ? 0 : this.#failures + 1;
    if (isRead) this.readAtMs = this.#nowMs();
    const { refreshMs } = this.#vaults;
    const waitMs = this.#failures === 0 ? refreshMs : Math.min(refreshMs, firstRetryMs * 2 ** (this.#failures - 1));
    this.#dueMs = this.#nowMs() + waitMs * (1 - jitter + 2 * jitter * Math.random());
  }
}
