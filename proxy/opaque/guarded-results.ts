// Applies guardrails to the results of a batch.
import { type Answer, ReheadedAnswer, type Tap } from '../answer.ts';
import { refusal } from '../errors.ts';
import { changesAnswers } from '../guardrails/applying.ts';
import { PiecesTap } from '../guardrails/guarded-stream.ts';
import { Guarding } from '../guardrails/guarding.ts';
import type { Finding } from '../guardrails/guardrail.ts';
import { resultPieces } from '../guardrails/result-lines.ts';
import { gravestOf } from '../guardrails/verdicts.ts';
import type { Knock } from './door.ts';
import { findingsAlone } from './guard-body.ts';

export interface GuardedResults {
  /** The answer, without the length that its head says. */
  readonly answer: Answer;
  readonly tap: Tap;
}

/**
 * Undefined: no guardrail looks at answers of this caller. Which model has answered is not known for certain, so those of some models hold,
 * too. Throws 502 `upstream_invalid_response` for results that cannot be read.
 */
export function guardedResults(
  answer: Answer,
  knock: Knock,
  report: (error: unknown) => void,
): GuardedResults | undefined {
  const { exchange, principal, snapshot, outside } = knock;
  const { userPath } = principal;
  const holding = changesAnswers(snapshot.guardrails, userPath);
  if (holding.length === 0 || answer.status >= 300) return undefined;
  if (answer.status !== 200)
    throw refusal('upstream_invalid_response', { fill: { reason: 'it is no whole file, so it cannot be checked' } });
  const findings = new Map<string, Finding>();
  let open: Guarding | undefined;
  const note = (): void => gravestOf(findings, open?.findings ?? []);
  knock.noteGuarding(
    findingsAlone(() => {
      note();
      return [...findings.values()];
    }),
  );
  const guardingOf = (operation: ConstructorParameters<typeof Guarding>[2]): Guarding => {
    note();
    open = new Guarding(holding, { requestId: exchange.id, userPath, model: '', outside }, operation);
    return open;
  };
  const tap = new PiecesTap({ open: () => resultPieces(guardingOf), refused: () => undefined, answer, report });
  return { answer: new FlowingAnswer(answer), tap };
}

/** An answer that flows to its client, whether all of it is there or not: what looks at it may wait. */
class FlowingAnswer extends ReheadedAnswer {
  override get complete(): boolean {
    return false;
  }
}
