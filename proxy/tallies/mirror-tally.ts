// How often a request to an alias was to be copied to its mirror, and what came of it.

/** schemas/metrics/proxy-metrics.ts says what each means. */
export const mirrorOutcomes = [
  'sent',
  'failed',
  'skipped_request',
  'skipped_access',
  'skipped_load',
  'skipped_target',
  'skipped_limit',
] as const;
export type MirrorOutcome = (typeof mirrorOutcomes)[number];

/** The most aliases that are told apart; operators may write new ones all the time. */
const mostAliases = 1_000;
const other = 'other';

export class MirrorTally {
  readonly #counts = new Map<string, Record<MirrorOutcome, number>>();

  note(alias: string, outcome: MirrorOutcome): void {
    const isKnown = this.#counts.has(alias) || this.#counts.size < mostAliases;
    this.#of(isKnown ? alias : other)[outcome] += 1;
  }

  /** By alias, all outcomes. */
  get counts(): Iterable<readonly [string, Readonly<Record<MirrorOutcome, number>>]> {
    return this.#counts;
  }

  #of(alias: string): Record<MirrorOutcome, number> {
    let counts = this.#counts.get(alias);
    if (counts === undefined) {
      counts = Object.fromEntries(mirrorOutcomes.map((outcome) => [outcome, 0])) as Record<MirrorOutcome, number>;
      this.#counts.set(alias, counts);
    }
    return counts;
  }
}
