// One text of a streamed answer on its way through all guardrails: each gets what the one before lets out.
import type { TextForm } from '../dialects/texts.ts';
import { type Flow, settled } from './flow.ts';
import type { Guarding } from './guarding.ts';
import {
  type CheckContext,
  type Checks,
  type Guardrail,
  pass,
  type Released,
  type StreamCheck,
  type Verdict,
} from './guardrail.ts';
import { unmasking } from './kinds/unmask.ts';

interface Stage {
  /** Undefined: it puts back what was masked. */
  readonly guardrail: Guardrail | undefined;
  readonly check: StreamCheck;
}

export class Chain {
  readonly #guarding: Guarding;
  readonly #stages: readonly Stage[];

  constructor(guarding: Guarding, form: TextForm) {
    this.#guarding = guarding;
    const context = guarding.context('output');
    const stages = guarding.guardrails.flatMap((guardrail): Stage[] => {
      const { output } = guardrail;
      return output === undefined ? [] : [{ guardrail, check: streamCheck(output, form, context) }];
    });
    const check = unmasking(form, context);
    this.#stages = check === undefined ? stages : [...stages, { guardrail: undefined, check }];
  }

  /** What may be told when this comes next. Throws 400 `guardrail_blocked`. */
  *push(text: string): Flow<string> {
    let told = text;
    for (const stage of this.#stages) told = yield* this.#through(stage, told);
    return told;
  }

  /** The text is over: the rest of what may be told. */
  *end(): Flow<string> {
    let told = '';
    for (const stage of this.#stages) {
      told = yield* this.#through(stage, told);
      const rest = yield* settled(stage.check.end());
      told += this.#take(stage, rest, '');
    }
    return told;
  }

  *#through(stage: Stage, text: string): Flow<string> {
    if (text === '') return '';
    return this.#take(stage, yield* settled(stage.check.push(text)), text);
  }

  /** What a guardrail in shadow lets out is what it got. */
  #take({ guardrail }: Stage, { text, verdict = pass }: Released, given: string): string {
    if (guardrail === undefined) return text;
    this.#guarding.note(guardrail, verdict);
    return guardrail.mode === 'shadow' ? given : text;
  }
}

function streamCheck(checks: Checks, form: TextForm, context: CheckContext): StreamCheck {
  return checks.stream?.(form, context) ?? new WithheldText(checks, form, context);
}

/** Holds a text back to its end, and looks at it then. */
class WithheldText implements StreamCheck {
  readonly #checks: Checks;
  readonly #form: TextForm;
  readonly #context: CheckContext;
  #text = '';

  constructor(checks: Checks, form: TextForm, context: CheckContext) {
    this.#checks = checks;
    this.#form = form;
    this.#context = context;
  }

  push(text: string): Released {
    this.#text += text;
    return { text: '' };
  }

  end(): Released | Promise<Released> {
    const said = [{ role: 'assistant', form: this.#form, text: this.#text }] as const;
    const verdict = this.#checks.texts?.(said, this.#context) ?? pass;
    return verdict instanceof Promise ? verdict.then((come) => this.#released(come)) : this.#released(verdict);
  }

  #released(verdict: Verdict): Released {
    if (verdict.outcome === 'pass') return { text: this.#text };
    return { text: verdict.outcome === 'revise' ? (verdict.texts?.[0] ?? this.#text) : this.#text, verdict };
  }
}
