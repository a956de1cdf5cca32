// What a write of counters rejects with when a later one is stored already: another process writes under the same instance name.

/** Nothing was written. A write that timed out may have been the later one: go on above `stored`. */
export class SequenceRefused extends Error {
  override readonly name = 'SequenceRefused';
  /** The sequence number that is stored. */
  readonly stored: number;

  constructor(instance: string, sequence: number, stored: number) {
    super(
      `counters of ${instance} were refused: write ${sequence} is not above the stored ${stored}; does another process run as ${instance}?`,
    );
    this.stored = stored;
  }
}
