// The timeouts of a provider.

/** How long to wait for what, in milliseconds. */
export interface Patience {
  /** From sending to the first byte of the body. */
  readonly firstByteMs: number;
  /** From sending to the end of the first event of a stream. */
  readonly firstEventMs: number;
  /** The same, while another target can be asked: at most `firstEventMs`. */
  readonly otherEventMs: number;
  /** Between two chunks of the body. */
  readonly streamIdleMs: number;
  /** For all of it. */
  readonly totalMs: number;
  /** For the usage of a stream whose client left behind its last words. */
  readonly usageDrainMs: number;
}
