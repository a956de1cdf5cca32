// Tries the guardrails in force on a request or an answer that is never sent. Nothing is counted, and no service or model is asked.
import type { RequestRevision } from '../../domain/records/request-record.ts';
import type { Failure } from '../answer.ts';
import { editable } from '../dialects/editing.ts';
import type { JsonObject } from '../dialects/json/json.ts';
import { Refusal } from '../errors.ts';
import { run } from '../guardrails/flow.ts';
import { type GuardedOperation, Guarding } from '../guardrails/guarding.ts';
import type { Guardrail, Phase, Verdict } from '../guardrails/guardrail.ts';
import { plainRevision } from '../guardrails/revisions.ts';
import { parsedObject, writtenBody } from '../http/parsed-body.ts';
import { inSlices } from '../pacing/slices.ts';

/** The request or answer that is tried. */
export interface Trial {
  readonly operation: GuardedOperation;
  readonly phase: Phase;
  readonly userPath: string;
  readonly model: string;
  /** A request, or a whole answer. */
  readonly body: JsonObject;
}

export interface TriedGuardrail extends Pick<Guardrail, 'name' | 'kind' | 'mode' | 'order'> {
  readonly outcome: Verdict['outcome'] | 'not_asked' | 'not_reached';
  readonly reason?: string;
}

export interface Tried {
  /** Null: it would go on. */
  readonly refused: Failure | null;
  /** In their order. */
  readonly verdicts: readonly TriedGuardrail[];
  readonly revisions: readonly RequestRevision[];
  /** As it would go on; undefined: it would not. */
  readonly body: JsonObject | undefined;
}

/** Kinds that ask a service or a model. */
const asking: ReadonlySet<string> = new Set(['webhook', 'llm']);

/** `holding`: the guardrails for this caller and model, in their order. Throws what a body that cannot be read is refused with. */
export async function tryGuardrails(holding: readonly Guardrail[], trial: Trial): Promise<Tried> {
  const { operation, phase, userPath, model } = trial;
  const looking = holding.filter((guardrail) => guardrail[phase] !== undefined);
  const asked = looking.filter(({ kind }) => !asking.has(kind));
  const guarding = new Guarding(asked, { requestId: 'test', userPath, model }, operation);
  const body = await outcomeOf(guarding, trial).catch((error: unknown) => {
    if (guarding.refused === undefined || !(error instanceof Refusal)) throw error;
    return undefined;
  });
  const said = new Map(guarding.findings.map((finding) => [finding.name, finding]));
  const verdicts = looking.map(({ name, kind, mode, order }): TriedGuardrail => {
    const finding = said.get(name);
    const outcome = finding?.outcome ?? (asking.has(kind) ? 'not_asked' : 'not_reached');
    return { name, kind, mode, order, outcome, ...(finding?.reason === undefined ? {} : { reason: finding.reason }) };
  });
  return { refused: guarding.refused ?? null, verdicts, revisions: guarding.revisions.map(plainRevision), body };
}

async function outcomeOf(guarding: Guarding, { phase, body }: Trial): Promise<JsonObject | undefined> {
  const bytes = await inSlices(writtenBody(body, true));
  if (phase === 'input') return await inSlices(parsedObject(await run(guarding.onRequest(bytes))));
  const answer = editable(await inSlices(parsedObject(bytes))) ?? {};
  await run(guarding.onAnswer(answer));
  return answer;
}
