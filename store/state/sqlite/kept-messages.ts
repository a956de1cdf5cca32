// The messages between the two ends of the kept items; the bytes of an item go beside them.
import type { KeptKey, KeptLimits } from '../kept-items.ts';

export type KeptOperation = 'put' | 'get' | 'remove' | 'sweep';

export interface PutInput {
  readonly key: KeptKey;
  readonly expiresAtMs: number;
  readonly limits: KeptLimits;
  readonly nowMs: number;
}

/** Of `get`, whose output is whether there is one, and of `remove`, whose output is whether there was one. */
export interface KeyInput {
  readonly key: KeptKey;
  readonly nowMs: number;
}

/** The output of a sweep is whether more may be left to do. */
export interface SweepInput {
  readonly nowMs: number;
}
