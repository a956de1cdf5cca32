// The error with which every operation of the state store rejects when the store cannot do it now: a reason for code, a sentence for a person.

/**
 * `unreachable`: no server answers, or the file is missing. `timeout`: no answer in time. `garbled`: the answer is too large, or that to
 * something else. After these three a write may have happened.
 * `unreplicated`: the write has happened, but fewer replicas than wanted have it, so a failover now would undo it.
 * `read_only`, `full`: reads may still work. `evicts`: it may drop keys by itself, and gets no new documents. `denied`: credentials or certificates. `corrupt`: what lies there is not ours or is
 * damaged. `newer_schema`: a newer version of the gateway has been here.
 */
export type StoreFailure =
  | 'unreachable'
  | 'timeout'
  | 'garbled'
  | 'unreplicated'
  | 'read_only'
  | 'full'
  | 'evicts'
  | 'denied'
  | 'corrupt'
  | 'newer_schema';

/** The message says what to do and never holds a password or an address with credentials. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly reason: StoreFailure;

  constructor(reason: StoreFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.reason = reason;
  }
}
