// The workers of a proxy as their parent knows them: which serve, which are silent, and how long one that has ended by itself waits for its next start.
import type { WorkerStatus, WorkerView } from './messages.ts';

/** The first pause of a worker; each further one is twice as long, up to the longest. Milliseconds. */
const firstPauseMs = 100;
const longestPauseMs = 10_000;
/** Beats without a sign of life: from then on it counts as missing, and from then on as stuck. The beats of the parent count, not a clock: a machine that slept has missed none. */
const silentBeats = 6;
const stuckBeats = 60;
/** Beats after which a start counts as a good one. */
const goodBeats = 120;

export class CrewMember implements WorkerView {
  readonly number: number;
  /** As it last said; undefined since its last end. */
  status: WorkerStatus | undefined;
  #missedBeats = 0;
  #beats = 0;
  #pauseMs = firstPauseMs;

  constructor(number: number) {
    this.number = number;
  }

  get readiness(): WorkerView['readiness'] {
    return this.#missedBeats < silentBeats ? this.status?.readiness : undefined;
  }

  /** It has begun to serve, and says something from time to time. */
  get isServing(): boolean {
    return this.status !== undefined;
  }

  /** It says how it is. */
  heard(status: WorkerStatus): void {
    this.status = status;
    this.#missedBeats = 0;
  }

  /** Twice a second. True: it is stuck, so it should be ended. One that has not begun to serve never is: a start takes as long as it takes. */
  beat(): boolean {
    if (this.status === undefined) return false;
    this.#beats += 1;
    this.#missedBeats += 1;
    if (this.#beats > goodBeats) this.#pauseMs = firstPauseMs;
    return this.#missedBeats === stuckBeats;
  }

  /** It has ended. Gives the pause until it should start again, in milliseconds. */
  ended(): number {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    this.status = undefined;
    this.#missedBeats = 0;
    this.#beats = 0;
    return pauseMs;
  }
}

/** What the others of this worker are. */
export function othersOf(crew: readonly CrewMember[], number: number): readonly WorkerView[] {
  return crew
    .filter((each) => each.number !== number)
    .map((each) => ({ number: each.number, readiness: each.readiness }));
}
