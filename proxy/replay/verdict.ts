// What becomes of one request in one configuration.

/**
 * `served`: a provider answers. `cached`: the response cache does. `refused`: by a rule, a budget, or because the key or the model may not be used.
 * `failed`: it fails as it did when it was recorded, whatever the configuration says.
 */
export type Outcome = 'served' | 'cached' | 'refused' | 'failed';

export interface Verdict {
  readonly outcome: Outcome;
  /** Of a refusal: its error code, and the rule, budget, key or model that refuses. */
  readonly code?: string;
  readonly by?: string;
  /** `<provider>/<model>` that answers. */
  readonly target?: string;
  /** US dollars; null: no price is known. Absent: nothing was spent. */
  readonly cost?: number | null;
  /** Its tokens were not recorded at this target. */
  readonly isGuessed?: boolean;
}

export function refused(code: string, by: string): Verdict {
  return { outcome: 'refused', code, by };
}
