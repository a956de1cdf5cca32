// The verdicts of the guardrails on one request: for its records, for metrics, and for the refusal.
import type { Failure } from '../answer.ts';
import { refusal } from '../errors.ts';
import {
  type Finding,
  type Guardrail,
  isRefusal,
  type Phase,
  type RefusingVerdict,
  type Verdict,
} from './guardrail.ts';

const severity: Record<Verdict['outcome'], number> = { pass: 0, flag: 1, revise: 2, failed: 3, block: 4 };

/** Adds findings to those that are known by guardrail and phase: of several of one, the first of the gravest stays. */
export function gravestOf(known: Map<string, Finding>, findings: readonly Finding[]): void {
  for (const finding of findings) {
    const key = `${finding.phase} ${finding.name}`;
    const before = known.get(key);
    if (before === undefined || severity[finding.outcome] > severity[before.outcome]) known.set(key, finding);
  }
}

/** One finding for each guardrail and phase: the first of the gravest. */
export class Verdicts {
  readonly #findings = new Map<string, Finding>();
  /** The guardrail that refuses, and why, as a client is told of it; undefined: none does. */
  refused: Failure | undefined;

  /** Throws 400 `guardrail_blocked` for a block that is enforced, and 503 `guardrail_unavailable` where there is no verdict and must be one. */
  note({ name, kind, mode }: Guardrail, phase: Phase, verdict: Verdict): void {
    const { outcome } = verdict;
    const reason = outcome === 'pass' ? undefined : verdict.reason;
    gravestOf(this.#findings, [{ name, kind, mode, phase, outcome, reason }]);
    if (mode === 'shadow' || !isRefusal(verdict)) return;
    this.refused = refusedBy(name, verdict);
    throw refusal(this.refused.code, { fill: { reason: this.refused.reason } });
  }

  /** In the order in which they were asked. */
  get all(): readonly Finding[] {
    return [...this.#findings.values()];
  }
}

function refusedBy(name: string, { outcome, reason }: RefusingVerdict): Failure {
  const code = outcome === 'block' ? 'guardrail_blocked' : 'guardrail_unavailable';
  return { code, reason: `${name} (${reason})` };
}
