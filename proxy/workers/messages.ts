// What workers and their parent say to each other over the channel of the parent: JSON, a few small messages a second, never a request of a client.
import type { Readiness } from '../readiness.ts';

/** How often a worker says how it is. Milliseconds. */
export const beatMs = 500;

/** How a worker is. */
export interface WorkerStatus {
  readonly readiness: Readiness;
  /** How long it lets open requests finish when it is stopped. Milliseconds. */
  readonly graceMs: number;
}

/** A worker as the others see it. */
export interface WorkerView {
  readonly number: number;
  /** Undefined: it starts, is gone, or has said nothing for three seconds. */
  readonly readiness: Readiness | undefined;
}

/** What one worker asks all others; each answers in one text, or null when it has nothing to say. */
export type Question =
  /** The text of its metrics. */
  | { readonly about: 'metrics' }
  /** The explanation of a request by its id. */
  | { readonly about: 'explanation'; readonly id: string }
  /** Nothing, once what it was writing of this id can be read. */
  | { readonly about: 'kept'; readonly id: string; readonly owner: string }
  /** Anything once it enforces this revision of the managed state. */
  | { readonly about: 'enforced'; readonly revision: number };

/** Null: none. */
export type Reply = string | null;

/** What all others are told. `atMs`: Unix milliseconds of the clock of requests. */
export interface FailedLogin {
  readonly address: string | undefined;
  readonly atMs: number;
}

/** How long answers are waited for: as long as a store may take to write, where one does. Milliseconds. */
export const patienceMs: Readonly<Record<Question['about'], number>> = {
  metrics: 1_000,
  explanation: 500,
  kept: 2_000,
  enforced: 1_100,
};

export type FromWorker =
  | { readonly kind: 'status'; readonly status: WorkerStatus }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: Reply }
  | { readonly kind: 'failed_login'; readonly failed: FailedLogin };

export type FromParent =
  | { readonly kind: 'signal'; readonly name: NodeJS.Signals }
  | { readonly kind: 'others'; readonly others: readonly WorkerView[] }
  | { readonly kind: 'asked'; readonly id: number; readonly question: Question }
  | { readonly kind: 'replies'; readonly id: number; readonly replies: readonly string[] }
  | { readonly kind: 'failed_login'; readonly failed: FailedLogin };
