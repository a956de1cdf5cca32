// The messages between the two ends of the embedded semantic cache; the bytes of a vector go beside them.
import type { Neighbour } from './neighbours.ts';

export type VectorOperation = 'nearest' | 'put' | 'forget';

/** The message to the thread beside the bytes of a vector; members that an operation does not need are empty. */
export interface VectorInput {
  readonly partition: string;
  readonly key: string;
  readonly expiresAtMs: number;
  readonly mostEntries: number;
  readonly nowMs: number;
}

export interface VectorOutput {
  readonly neighbour: Neighbour | null;
  readonly entries: number;
}
