// How the requests of the configuration in force have ended, for the rollout of revisions.
import { firstByteBounds, type RevisionCounts } from '../../domain/config-rollouts/figures.ts';

/** A model request of a client that is over. */
export interface RevisionRequest {
  /** Of the snapshot that it was served with. */
  readonly revision: string;
  readonly status: number;
  /** The gateway itself refused it. */
  readonly isOwnRefusal: boolean;
  /** From the first byte of the request to the first byte of a provider's answer, in milliseconds; undefined: none answered. */
  readonly firstByteMs: number | undefined;
}

/** Nothing is counted before a revision is in force. */
export class RevisionTally {
  #revision: string | undefined;
  #sinceMs = 0;
  #requests = 0;
  #errors = 0;
  #refusals = 0;
  #firstBytes = new Float64Array(firstByteBounds.length + 1);

  /** This revision is in force; counts begin anew when it is another one. `nowMs`: Unix milliseconds. */
  keep(revision: string, nowMs: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#sinceMs = nowMs;
    this.#requests = 0;
    this.#errors = 0;
    this.#refusals = 0;
    this.#firstBytes = new Float64Array(firstByteBounds.length + 1);
  }

  /** A request that began with another revision is not counted. */
  end({ revision, status, isOwnRefusal, firstByteMs }: RevisionRequest): void {
    if (revision !== this.#revision) return;
    this.#requests += 1;
    if (status >= 500) this.#errors += 1;
    else if (isOwnRefusal && (status === 429 || status === 403)) this.#refusals += 1;
    if (firstByteMs === undefined) return;
    let bucket = 0;
    while (bucket < firstByteBounds.length && firstByteMs > (firstByteBounds[bucket] ?? 0)) bucket += 1;
    this.#firstBytes[bucket] = (this.#firstBytes[bucket] ?? 0) + 1;
  }

  /** Undefined: no revision is in force. `sinceMs`: Unix milliseconds. */
  counts(): (RevisionCounts & { readonly sinceMs: number }) | undefined {
    if (this.#revision === undefined) return undefined;
    return {
      sinceMs: this.#sinceMs,
      requests: this.#requests,
      errors: this.#errors,
      refusals: this.#refusals,
      firstBytes: [...this.#firstBytes],
    };
  }
}
