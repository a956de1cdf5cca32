// Guardrails that ask a service or a model: the texts that they ask about, and the outcome when no verdict comes.
import { isObject, type JsonValue, parseJson } from '../dialects/json/json.ts';
import type { SaidText } from '../dialects/texts.ts';
import type { CheckContext, Checks, FailedVerdict, Verdict } from './guardrail.ts';
import { windowed } from './windowed.ts';

/** Asks for a verdict about texts. Rejects with a CheckFailure. */
export type Ask = (texts: readonly SaidText[], context: CheckContext) => Promise<Verdict>;

/** Why there is no verdict: a category, for records and metrics. */
export class CheckFailure extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`no verdict: ${reason}`);
    this.name = 'CheckFailure';
    this.reason = reason;
  }
}

/** How it is asked, and what follows when that fails. */
export interface AskedSettings {
  readonly fail: FailedVerdict['fail'];
  /** Characters of a streamed text that are asked about together. */
  readonly window: number;
}

/** The checks of a guardrail that asks: all texts of a request or an answer together, a streamed text window by window. */
export function askedChecks(ask: Ask, { fail, window }: AskedSettings): Checks {
  const asked = async (by: Ask, said: readonly SaidText[], context: CheckContext): Promise<Verdict> => {
    if (said.every(({ text }) => text === '')) return { outcome: 'pass' };
    try {
      return await by(said, context);
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      return { outcome: 'failed', reason: error.reason, fail };
    }
  };
  const whole: Ask = async (said, context) => keepsForms(await ask(said, context), said);
  // Of JSON, a part can be changed only where all of it is known.
  const stream: Checks['stream'] = (form, context) =>
    windowed(form === 'json' ? Number.POSITIVE_INFINITY : window, (text) =>
      asked(whole, [{ role: 'assistant', form, text }], context),
    );
  return { texts: (said, context) => asked(whole, said, context), stream };
}

/** Checks that texts for tools are still JSON after a revision. Throws a CheckFailure. */
function keepsForms(verdict: Verdict, said: readonly SaidText[]): Verdict {
  if (verdict.outcome !== 'revise') return verdict;
  const isBroken = verdict.texts?.some(
    (text, index) => said[index]?.form === 'json' && !isJson(text, said[index].text),
  );
  if (isBroken) throw new CheckFailure('invalid');
  return verdict;
}

/** An object stays one, a list a list; a text that was no JSON before may stay as it was. */
function isJson(text: string, before: string): boolean {
  try {
    const [now, then] = [parseJson(text), parsed(before)];
    return (isObject(then) ? isObject(now) : true) && (Array.isArray(then) ? Array.isArray(now) : true);
  } catch {
    return text === before;
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
