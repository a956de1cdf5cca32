// The guardrail that wants answers in a form: JSON that matches a JSON Schema.
import type { Guardrail } from '../../../schemas/types.ts';
import { compileAnswerForm } from '../../../schemas/validation/answer-form.ts';
import { type Checks, pass, type StreamCheck, type Verdict } from '../guardrail.ts';

/** Every text that an answer says must have the form; one that says nothing, because it calls tools, has it. Throws a SchemaMistake. */
export function answerFormChecks({ schema, action }: NonNullable<Guardrail['schema']>): Checks {
  const hasForm = compileAnswerForm(schema);
  const verdictOf = (text: string): Verdict =>
    text === '' || hasForm(jsonIn(text)) ? pass : { outcome: action, reason: 'schema' };
  return {
    texts(texts) {
      const verdicts = texts.filter(({ form }) => form === 'text').map(({ text }) => verdictOf(text));
      return verdicts.find(({ outcome }) => outcome !== 'pass') ?? pass;
    },
    stream: (form) => (form === 'text' ? heldBack(verdictOf) : unlooked),
  };
}

/** Holds a text back to its end. */
function heldBack(verdictOf: (text: string) => Verdict): StreamCheck {
  let held = '';
  return {
    push(text) {
      held += text;
      return { text: '' };
    },
    end() {
      const verdict = verdictOf(held);
      return verdict.outcome === 'pass' ? { text: held } : { text: held, verdict };
    },
  };
}

/** Looks at nothing, and holds nothing back. */
const unlooked: StreamCheck = { push: (text) => ({ text }), end: () => ({ text: '' }) };

/** Undefined, which has no form at all: it is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
