// The usage and the cost of one attempt, as records keep them (spec: What the service does 8, Limits 7, Audit entry `usage`).

/** Nano-dollars, 10⁻⁹ US dollars, whole: sums of them are exact. */
export type NanoDollars = number;

/**
 * How the counts are known. `reported`: the provider said so. `estimated`: worked out from what passed, of a whole answer. `partial`: worked
 * out from what had passed when the answer broke off or the client left.
 */
export const usageSources = ['reported', 'estimated', 'partial'] as const;
export type UsageOrigin = (typeof usageSources)[number];

export interface UsageCounts {
  /** All input, cached input included. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  /** Parts of the input and the output; absent: not reported. */
  readonly cached_input_tokens?: number;
  readonly cache_write_input_tokens?: number;
  /** Of the cache writes, those that are kept for an hour. */
  readonly cache_write_1h_input_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly audio_input_tokens?: number;
  /** Of the cached input and of the audio input. */
  readonly cached_audio_input_tokens?: number;
  readonly audio_output_tokens?: number;
  /** Counts of everything that is billed otherwise than by tokens. */
  readonly audio_seconds?: number;
  readonly characters?: number;
  readonly images?: number;
}

export interface Cost {
  readonly input: NanoDollars;
  readonly output: NanoDollars;
  readonly total: NanoDollars;
}

/** One executed attempt: a request that reached a provider. Counts of 0 say that nothing was used, or nothing came. */
export interface AttemptUsage extends UsageCounts {
  readonly source: UsageOrigin;
  /** Null: there is no price for what was used. 0: it was free. */
  readonly cost: Cost | null;
  /** The provider's id of the answer. */
  readonly provider_id?: string;
}
