// Counts what guardrails say.
import type { Finding, Guardrail, Phase } from './guardrail.ts';

/** Stands for guardrails that are not configured any more. */
const other = 'other';

const phases: readonly Phase[] = ['input', 'output'];

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

  /** Only these have counts of their own from now on; their failures are shown at 0 from the start, so that `increase()` sees the first one. */
  keep(guardrails: readonly Pick<Guardrail, 'name' | 'mode' | Phase>[]): void {
    const names = new Set(guardrails.map(({ name }) => name));
    this.#names = names;
    for (const [key, entry] of this.#counts) {
      if (names.has(entry.guardrail) || entry.guardrail === other) continue;
      this.#counts.delete(key);
      this.#add({ ...entry, guardrail: other });
    }
    for (const each of guardrails) {
      const { name, mode } = each;
      for (const phase of phases.filter((one) => each[one] !== undefined))
        this.#add({ guardrail: name, phase, outcome: outcomeIn(mode, 'failed'), count: 0 });
    }
  }

  note(findings: readonly Finding[]): void {
    for (const { name, phase, outcome, mode } of findings) {
      const guardrail = this.#names.has(name) ? name : other;
      this.#add({ guardrail, phase, outcome: outcomeIn(mode, outcome), count: 1 });
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

function outcomeIn(mode: Finding['mode'], outcome: Finding['outcome']): string {
  return mode === 'shadow' && outcome !== 'pass' ? `shadow_${outcome}` : outcome;
}
