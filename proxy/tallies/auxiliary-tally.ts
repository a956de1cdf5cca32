// How often the gateway itself asked models, for what, and what came of it.

/**
 * The purposes for which the gateway itself calls models: each is a level of user paths, `<path of the
 * caller>/<purpose>/<name>`.
 */
export const auxiliaryPurposes = ['guardrails', 'cache', 'mirror', 'probes'] as const;
export type AuxiliaryPurpose = (typeof auxiliaryPurposes)[number];

/** schemas/metrics/proxy-metrics.ts says what each means. */
export const auxiliaryOutcomes = ['answered', 'refused', 'failed', 'timeout', 'cancelled'] as const;
export type AuxiliaryOutcome = (typeof auxiliaryOutcomes)[number];

export class AuxiliaryTally {
  readonly #counts = new Map<string, number>();

  note(purpose: AuxiliaryPurpose, outcome: AuxiliaryOutcome): void {
    this.#counts.set(`${purpose} ${outcome}`, this.count(purpose, outcome) + 1);
  }

  count(purpose: AuxiliaryPurpose, outcome: AuxiliaryOutcome): number {
    return this.#counts.get(`${purpose} ${outcome}`) ?? 0;
  }
}
