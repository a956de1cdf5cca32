// What is known of the probes of a provider.

/** `up`: it answered as asked; `down`: it could not be reached, did not answer, or failed by itself; `unclear`: anything else, such as a refused key. */
export const probeOutcomes = ['up', 'down', 'unclear'] as const;
export type ProbeOutcome = (typeof probeOutcomes)[number];

export interface KnownProbe {
  readonly provider: string;
  /** Undefined: the provider is asked for its models. */
  readonly model: string | undefined;
  /** Of the last probe, whichever proxy made it; undefined: none is known. */
  readonly last: { readonly outcome: ProbeOutcome; readonly atMs: number } | undefined;
  /** The probes of this proxy. */
  readonly counts: Readonly<Record<ProbeOutcome, number>>;
}
