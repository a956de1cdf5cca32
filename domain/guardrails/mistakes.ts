// Checks what the schema of a guardrail cannot express, in the configuration and in the admin API: phases, patterns, JSON Schemas, addresses. Pure.
import type { RE2JS } from 're2js';
import {
  compilePattern,
  compilePatterns,
  mostInAll,
  PatternTooLarge,
  tooLongToCompile,
} from '../../schemas/formats/pattern.ts';
import type { Guardrail } from '../../schemas/types.ts';
import { compileAnswerForm, SchemaMistake } from '../../schemas/validation/answer-form.ts';
import type { Path } from '../../schemas/validation/path.ts';

export interface GuardrailMistake {
  /** Within the guardrail. */
  readonly place: Path;
  /** The end of the sentence "The member … ". */
  readonly message: string;
}

/** Kinds that look at one side alone. */
const inputAlone = ['system_prompt', 'limits'] as const;

/** All mistakes but those of its user paths and of its address. */
export function guardrailMistakes(guardrail: Guardrail): GuardrailMistake[] {
  return [...phaseMistakes(guardrail), ...patternMistakes(guardrail), ...schemaMistakes(guardrail)];
}

/** The mistake in the address of a webhook, as the end of a sentence; undefined for a valid one. */
export function webhookProblem(text: string): string | undefined {
  const url = URL.parse(text);
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isUsable && !text.includes('#')) return undefined;
  return 'must be an http or https address without credentials and fragment';
}

function phaseMistakes(guardrail: Guardrail): GuardrailMistake[] {
  const { on = [] } = guardrail;
  const kind = inputAlone.find((name) => guardrail[name] !== undefined);
  return on.flatMap((phase, index): GuardrailMistake[] => {
    if (phase === 'output' && kind !== undefined)
      return [{ place: ['on', index], message: `${kind} looks at requests alone: input` }];
    if (phase === 'input' && guardrail.schema !== undefined)
      return [{ place: ['on', index], message: 'schema looks at answers alone: output' }];
    return [];
  });
}

function patternMistakes({ regex }: Guardrail): GuardrailMistake[] {
  if (regex === undefined) return [];
  const place = ['regex', 'patterns'];
  const tooLong = tooLongToCompile(regex.patterns);
  if (tooLong !== undefined) return [{ place, message: tooLong }];
  const mistakes: GuardrailMistake[] = [];
  let left = mostInAll;
  for (const [index, pattern] of regex.patterns.entries()) {
    const compiled = compiledOr(() => compilePattern(pattern));
    if (compiled instanceof RangeError) mistakes.push({ place: [...place, index], message: compiled.message });
    else left -= compiled.programSize();
    // The others are not compiled: that may take long.
    if (left < 0) return [{ place, message: `together are too large: more than ${mostInAll} instructions of RE2` }];
    if (compiled instanceof PatternTooLarge) return mistakes;
  }
  if (mistakes.length > 0) return mistakes;
  // They are looked for together: a name of a group may stand in one of them alone.
  const together = compiledOr(() => compilePatterns(regex.patterns));
  return together instanceof RangeError ? [{ place, message: `together ${together.message}` }] : [];
}

function compiledOr(compile: () => RE2JS): RE2JS | RangeError {
  try {
    return compile();
  } catch (error) {
    if (error instanceof RangeError) return error;
    throw error;
  }
}

function schemaMistakes({ schema }: Guardrail): GuardrailMistake[] {
  if (schema === undefined) return [];
  try {
    compileAnswerForm(schema.schema);
    return [];
  } catch (error) {
    if (!(error instanceof SchemaMistake)) throw error;
    return [{ place: ['schema', 'schema', ...error.place], message: error.message }];
  }
}
