// Checks what the schema of a guardrail cannot express, in the configuration and in the admin API: phases, patterns, JSON Schemas, addresses. Pure.
import type { Guardrail } from '../types.ts';
import { compileAnswerForm, SchemaMistake } from '../validation/answer-form.ts';
import type { Path } from '../validation/path.ts';
import { compilePattern, compilePatterns } from './pattern.ts';

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

/** What is wrong with the address of a webhook; undefined: nothing is. */
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
  const alone = regex.patterns.flatMap((pattern, index) =>
    rangeMistakes([...place, index], () => compilePattern(pattern)),
  );
  // They are looked for together: a name of a group may stand in one of them alone.
  return alone.length > 0 ? alone : rangeMistakes(place, () => compilePatterns(regex.patterns), 'together ');
}

function rangeMistakes(place: GuardrailMistake['place'], compile: () => unknown, before = ''): GuardrailMistake[] {
  try {
    compile();
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ place, message: before + error.message }];
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
