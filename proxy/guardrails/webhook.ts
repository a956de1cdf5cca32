// The guardrail that asks a service of the operator. Its contract is in examples/guardrails/README.md.
import { parseObject } from '../dialects/json/json.ts';
import type { SaidText } from '../dialects/texts.ts';
import type { Hook, HookReply } from '../upstream/hooks.ts';
import { type Ask, CheckFailure } from './asked.ts';
import type { CheckContext, Verdict } from './guardrail.ts';
import { readReason } from './reason.ts';

/** Members that an answer may have. */
const known: ReadonlySet<string> = new Set(['verdict', 'reason', 'texts']);
/** All texts that take the place of others together; of long ones, twice as many. Characters. */
const usualCharacters = 1024 * 1024;

/** Asks a service in the name of a guardrail. */
export function webhookAsk(guardrail: string, hook: Hook): Ask {
  return async (texts, context) => {
    if (context.outside === undefined) throw new CheckFailure('not_asked');
    const reply = await context.outside.askHook(
      hook,
      Buffer.from(JSON.stringify(questionOf(guardrail, texts, context))),
    );
    return verdictOf(reply, texts);
  };
}

function questionOf(guardrail: string, texts: readonly SaidText[], context: CheckContext): object {
  const { phase, requestId, userPath, model } = context;
  const said = texts.map(({ role, form, text }) => ({ role, form, text }));
  return { guardrail, phase, request_id: requestId, user_path: userPath, model, texts: said };
}

/** Every answer that is not exactly what the contract says is a failure. */
function verdictOf({ body, trouble }: HookReply, asked: readonly SaidText[]): Verdict {
  if (trouble !== undefined) throw new CheckFailure(trouble);
  const answer = parseObject(body.toString('utf8'));
  if (answer === undefined || Object.keys(answer).some((name) => !known.has(name))) throw invalid();
  const { verdict, reason: said, texts } = answer;
  const reason = said === undefined || said === null ? undefined : readReason(said);
  if (reason === undefined && said !== undefined && said !== null) throw invalid();
  if (verdict !== 'revise' && texts !== undefined) throw invalid();
  switch (verdict) {
    case 'pass':
      return { outcome: 'pass' };
    case 'block':
    case 'flag':
      return { outcome: verdict, reason: reason ?? 'webhook' };
    case 'revise':
      return { outcome: 'revise', texts: textsOf(texts, asked), ...(reason === undefined ? undefined : { reason }) };
    default:
      throw invalid();
  }
}

function textsOf(texts: unknown, asked: readonly SaidText[]): readonly string[] {
  if (!Array.isArray(texts) || texts.length !== asked.length || !texts.every((text) => typeof text === 'string'))
    throw invalid();
  const before = asked.reduce((sum, { text }) => sum + text.length, 0);
  const after = texts.reduce((sum, text) => sum + text.length, 0);
  if (after > Math.max(usualCharacters, 2 * before)) throw invalid();
  return texts;
}

function invalid(): CheckFailure {
  return new CheckFailure('invalid');
}
