// What guardrails say of a text: those that need nothing outside look at it as at a request of chat.
import { Refusal } from '../errors.ts';
import { guardrailsFor, type NamedTargets } from '../guardrails/applying.ts';
import { run } from '../guardrails/flow.ts';
import { Guarding } from '../guardrails/guarding.ts';
import type { Guardrail } from '../guardrails/guardrail.ts';
import type { CameRefusal, SaidByGuardrails } from './came.ts';

interface Guarded {
  readonly userPath: string;
  readonly model: string;
  readonly route: NamedTargets;
}

export async function guardText(
  text: string,
  { userPath, model, route }: Guarded,
  guardrails: readonly Guardrail[],
): Promise<SaidByGuardrails> {
  const holding = guardrailsFor(guardrails, userPath, model, route);
  const isAsking = ({ kind }: Guardrail): boolean => kind === 'webhook' || kind === 'llm';
  const guarding = new Guarding(
    holding.filter((each) => !isAsking(each)),
    { requestId: 'test', userPath, model },
    'chat',
  );
  const body = Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content: text }] }));
  const refusal = await refusalOf(guarding, body);
  return { findings: guarding.findings, unasked: holding.filter(isAsking).map(({ name }) => name), refusal };
}

async function refusalOf(guarding: Guarding, body: Buffer): Promise<CameRefusal | undefined> {
  try {
    await run(guarding.onRequest(body));
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, message } = error;
    const by = guarding.findings.findLast(({ outcome, mode }) => mode === 'enforce' && outcome !== 'pass');
    return {
      status,
      code: code ?? '',
      message,
      names: by === undefined ? [] : [by.name],
      retryAfterSeconds: undefined,
    };
  }
}
