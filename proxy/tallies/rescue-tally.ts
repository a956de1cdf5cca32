// What became of streams that broke in the middle, by the provider that broke off.
import { otherLabel, providerLabel } from './provider-label.ts';

/** schemas/metrics/proxy-metrics.ts says what each means. */
export type RescueOutcome = 'rescued' | 'no_target' | 'not_joinable' | 'differs';

interface RescueCount {
  readonly provider: string;
  readonly outcome: string;
  readonly count: number;
}

export class RescueTally {
  readonly #counts = new Map<string, RescueCount>();
  #known: ReadonlySet<string> = new Set();

  /** Only these providers have counts of their own from now on. */
  keep(providers: ReadonlySet<string>): void {
    this.#known = providers;
    for (const [key, entry] of this.#counts) {
      if (providers.has(entry.provider) || entry.provider === otherLabel) continue;
      this.#counts.delete(key);
      this.#add({ ...entry, provider: otherLabel });
    }
  }

  note(provider: string, outcome: RescueOutcome): void {
    this.#add({ provider: providerLabel(provider, this.#known), outcome, count: 1 });
  }

  get counts(): Iterable<RescueCount> {
    return this.#counts.values();
  }

  #add(entry: RescueCount): void {
    const key = `${entry.provider} ${entry.outcome}`;
    this.#counts.set(key, { ...entry, count: entry.count + (this.#counts.get(key)?.count ?? 0) });
  }
}
