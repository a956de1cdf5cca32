// The contract of the semantic cache: finds the nearest vector among those whose other parts are equal, with the key of its answer. It may lose a vector.

/** A place among vectors. Those of one partition have the same length; those of two are never compared. */
export interface VectorPlace {
  /** A hash: at most 64 characters. */
  readonly partition: string;
  /** Not only zeros. */
  readonly vector: Float32Array<ArrayBuffer>;
}

/** The answer with this key was given to what stands at this place. */
export interface PlacedAnswer extends VectorPlace {
  readonly key: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export interface Neighbour {
  readonly key: string;
  /** The cosine of both vectors, of six digits: 1 for the same direction. */
  readonly similarity: number;
}

/** The content and the counts of an engine, as far as it knows. */
export interface NeighbourStatus {
  readonly entries: number;
  /** Vectors that were not put: too many waited, or the store failed. */
  readonly dropped: number;
}

export interface Neighbours {
  /** They are the same ones for all processes. */
  readonly isShared: boolean;
  /** Resolves when it can be asked; rejects with a sentence that says what is wrong. */
  ready(): Promise<void>;
  /** The nearest one of the partition whose time is not over; undefined: there is none. Rejects as `ready` does, at the latest at its deadline. */
  nearest(place: VectorPlace, nowMs: number): Promise<Neighbour | undefined>;
  /** Puts it in the place of one of the partition with the same key. Those that end first go when there are too many. Waits for nothing and never throws. */
  put(placed: PlacedAnswer, nowMs: number): void;
  /** The answer of this key is gone. Waits for nothing and never throws. */
  forget(partition: string, key: string): void;
  /** How many may be held from now on. */
  resize(mostEntries: number): void;
  status(): NeighbourStatus;
  close(): Promise<void>;
}

/** More vectors than this that wait to be put are dropped. */
const mostPuts = 64;

/** Puts under way, for which no request waits: one that fails, and one too many, is dropped and counted. */
export class Puts {
  dropped = 0;
  #open = 0;

  start(write: () => Promise<unknown>): void {
    if (this.#open >= mostPuts) {
      this.dropped += 1;
      return;
    }
    this.#open += 1;
    const lost = write().catch(() => {
      this.dropped += 1;
    });
    void lost.then(() => {
      this.#open -= 1;
    });
  }
}

/** The similarity of two vectors, 1 to -1, from their distance of 0 to 2. */
export function similarityOf(distance: number): number {
  return Math.round((1 - distance) * 1e6) / 1e6;
}
