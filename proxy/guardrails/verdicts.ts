// What the guardrails said of one request: for its records, for metrics, and for the refusal.
import { refusal } from '../errors.ts';
import type { Finding, Guardrail, Phase, Verdict } from './guardrail.ts';

const severity: Record<Verdict['outcome'], number> = { pass: 0, flag: 1, revise: 2, block: 3 };

/** One finding for each guardrail and phase: the first of the gravest. */
export class Verdicts {
  readonly #findings = new Map<string, Finding>();
  /** The guardrail that refuses, and why; undefined: none does. */
  blockedBy: string | undefined;

  /** Throws 400 `guardrail_blocked` for a block that is enforced. */
  note({ name, kind, mode }: Guardrail, phase: Phase, verdict: Verdict): void {
    const { outcome } = verdict;
    const reason = outcome === 'pass' ? undefined : verdict.reason;
    const key = `${phase} ${name}`;
    const before = this.#findings.get(key);
    if (before === undefined || severity[outcome] > severity[before.outcome]) {
      this.#findings.set(key, { name, kind, mode, phase, outcome, reason });
    }
    if (outcome === 'block' && mode === 'enforce') {
      this.blockedBy = `${name} (${verdict.reason})`;
      throw refusal('guardrail_blocked', { fill: { reason: this.blockedBy } });
    }
  }

  /** In the order in which they were asked. */
  get all(): readonly Finding[] {
    return [...this.#findings.values()];
  }
}
