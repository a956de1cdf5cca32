// Counts what guardrails say.
import type { Finding } from './guardrail.ts';

/** Stands for guardrails that are not configured any more. */
const other = 'other';

/** One count, in the words of metric labels. */
export interface GuardrailCount {
  readonly guardrail: string;
  readonly phase: string;
  readonly outcome: string;
  readonly count: number;
}

export class GuardrailTally {
  readonly #counts = new Map<string, GuardrailCount>();
  #names: ReadonlySet<string> = new Set();

  /** Only these have counts of their own from now on. */
  keep(names: ReadonlySet<string>): void {
    this.#names = names;
    for (const [key, entry] of this.#counts) {
      if (names.has(entry.guardrail) || entry.guardrail === other) continue;
      this.#counts.delete(key);
      this.#add({ ...entry, guardrail: other });
    }
  }

  note(findings: readonly Finding[]): void {
    for (const { name, phase, outcome, mode } of findings) {
      const guardrail = this.#names.has(name) ? name : other;
      const isShadow = mode === 'shadow' && outcome !== 'pass';
      this.#add({ guardrail, phase, outcome: isShadow ? `shadow_${outcome}` : outcome, count: 1 });
    }
  }

  get counts(): Iterable<GuardrailCount> {
    return this.#counts.values();
  }

  #add(entry: GuardrailCount): void {
    const key = `${entry.guardrail} ${entry.phase} ${entry.outcome}`;
    this.#counts.set(key, { ...entry, count: entry.count + (this.#counts.get(key)?.count ?? 0) });
  }
}
