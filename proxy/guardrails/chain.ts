// One text of a streamed answer on its way through what looks at it: each stage gets what the one before lets out.
import type { TextForm } from '../dialects/texts.ts';
import { followed } from '../pacing/slices.ts';
import { type Flow, settled } from './flow.ts';
import {
  type CheckContext,
  type Checks,
  type Guardrail,
  pass,
  type Released,
  type StreamCheck,
  type Verdict,
} from './guardrail.ts';

/** A check of a text, and the treatment of its verdict. */
export interface Stage {
  readonly check: StreamCheck;
  /** Gives what goes on, of what the check was given and lets out. Throws 400 `guardrail_blocked`. */
  readonly take: (released: Released, given: string) => string;
}

/** The guardrails that look at a text of an answer. What one in shadow lets out is what it got. */
export function guardedStages(
  guardrails: readonly Guardrail[],
  form: TextForm,
  context: CheckContext,
  note: (guardrail: Guardrail, verdict: Verdict) => void,
): readonly Stage[] {
  return guardrails.flatMap((guardrail): Stage[] => {
    const { output, mode } = guardrail;
    if (output === undefined) return [];
    const take: Stage['take'] = ({ text, verdict = pass }, given) => {
      note(guardrail, verdict);
      return mode === 'shadow' ? given : text;
    };
    return [{ check: streamCheck(output, form, context), take }];
  });
}

export class Chain {
  readonly #stages: readonly Stage[];

  constructor(stages: readonly Stage[]) {
    this.#stages = stages;
  }

  /** The text that may pass when `text` comes next. Throws 400 `guardrail_blocked`. */
  *push(text: string): Flow<string> {
    let told = text;
    for (const stage of this.#stages) told = yield* through(stage, told);
    return told;
  }

  /** The text is over: the rest of what may be told. */
  *end(): Flow<string> {
    let told = '';
    for (const stage of this.#stages) {
      told = yield* through(stage, told);
      told += stage.take(yield* settled(stage.check.end()), '');
    }
    return told;
  }
}

function* through({ check, take }: Stage, text: string): Flow<string> {
  return text === '' ? '' : take(yield* settled(check.push(text)), text);
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
    return followed(verdict, (come) => this.#released(come));
  }

  #released(verdict: Verdict): Released {
    if (verdict.outcome === 'pass') return { text: this.#text };
    return { text: verdict.outcome === 'revise' ? (verdict.texts?.[0] ?? this.#text) : this.#text, verdict };
  }
}
