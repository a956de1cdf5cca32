// Guardrails for tests, as the loader and the compiler make them of YAML.
import { stringify } from 'yaml';
import { mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import type { Sink } from '../../../proxy/answer.ts';
import type { EditableObject } from '../../../proxy/dialects/editing.ts';
import { compileGuardrails } from '../../../proxy/guardrails/compile-guardrails.ts';
import type { Flow } from '../../../proxy/guardrails/flow.ts';
import { GuardTap, type StreamGuard } from '../../../proxy/guardrails/guarded-stream.ts';
import type { Guarding } from '../../../proxy/guardrails/guarding.ts';
import type { Guardrail } from '../../../proxy/guardrails/guardrail.ts';
import { one } from '../../gitops/load-fixtures.ts';

/** Compiles guardrails; those without a name are called `g1`, `g2` and so on. */
export function railsOf(guardrails: readonly object[]): readonly Guardrail[] {
  const named = guardrails.map((written, index) => ({ name: `g${index + 1}`, ...written }));
  const { config, problems } = one(stringify({ guardrails: named }));
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return compileGuardrails(mergeGuardrails(config.guardrails, []), { places: new Map() });
}

/** Checks an answer where it stands, and puts back what was masked, as the line does. */
export function* toldOf(guarding: Guarding, body: EditableObject): Flow<void> {
  yield* guarding.onAnswer(body);
  const { puttingBack, texts } = guarding;
  if (puttingBack === undefined || texts.answer === undefined) return;
  yield* puttingBack.onTexts(texts.answer(body).texts);
  puttingBack.repeatAsked(body);
}

/** The same for a stream: gives the sink that its events go to. */
export function openGuarded(guarding: Guarding, guard: Pick<StreamGuard, 'answer' | 'report'>, next: Sink): Sink {
  const edits = guarding.puttingBack;
  const last = edits === undefined ? next : new GuardTap({ ...guard, guarding, edits }).open(next);
  return new GuardTap({ ...guard, guarding, edits: guarding }).open(last);
}
