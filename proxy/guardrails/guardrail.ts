// The interface of a guardrail: the user paths that it is for, and its checks of a request, an answer and a stream.
import type { GuardrailKind } from '../../domain/guardrails/merge-guardrails.ts';
import type { Guardrail as WrittenGuardrail } from '../../schemas/types.ts';
import type { RequestTexts, Role, SaidText, TextForm } from '../dialects/texts.ts';
import type { Hook } from '../upstream/hooks.ts';
import type { Masks } from './masks.ts';
import type { Outside } from './outside.ts';

/** input: the request; output: the answer. */
export type Phase = 'input' | 'output';

/**
 * The verdict of a guardrail. `reason` is a category, such as `card`: clients and records get it, so it never has the
 * found text. revise: `texts` are as many as the guardrail got, in the same order; undefined where it changed them in
 * place. `leftOut`: members of the request that its provider does not get.
 */
export type Verdict =
  | { readonly outcome: 'pass' }
  | {
      readonly outcome: 'revise';
      readonly reason?: string;
      readonly texts?: readonly string[];
      readonly leftOut?: readonly string[];
    }
  | { readonly outcome: 'flag' | 'block'; readonly reason: string }
  | FailedVerdict;

/** There is no verdict, because who was to give it did not. closed: as if it had refused; open: as if it had passed. */
export interface FailedVerdict {
  readonly outcome: 'failed';
  readonly reason: string;
  readonly fail: 'open' | 'closed';
}

/** A verdict, or the lack of one, that lets nothing go on. */
export type RefusingVerdict = { readonly outcome: 'block'; readonly reason: string } | FailedVerdict;

export function isRefusal(verdict: Verdict): verdict is RefusingVerdict {
  return verdict.outcome === 'block' || (verdict.outcome === 'failed' && verdict.fail === 'closed');
}

export const pass: Verdict = Object.freeze({ outcome: 'pass' });

/** The request that is looked at. */
export interface CheckContext {
  readonly phase: Phase;
  /** The id of the request. */
  readonly requestId: string;
  readonly userPath: string;
  /** As the client asks for it. */
  readonly model: string;
  /** The masked values of this request. */
  readonly masks: Masks;
  /** The services and models that guardrails may ask; absent: none. */
  readonly outside?: Outside | undefined;
}

/** The result for a part of a stream: the text that may pass now, and the verdict on it. */
export interface Released {
  readonly text: string;
  /** Undefined: nothing was found. Behind `block` nothing is told any more. */
  readonly verdict?: Verdict | undefined;
}

/** Looks at one text while it comes, and holds back what it cannot judge yet. Nothing is pushed while a promise is open. */
export interface StreamCheck {
  push(text: string): Released | Promise<Released>;
  /** The text is over: what was held back. */
  end(): Released | Promise<Released>;
}

/** The checks of a kind of guardrail. It offers those that it can do; the pipeline uses the one that fits. */
export interface Checks {
  /** A request as a whole; it may change it where it stands. */
  readonly request?: (request: RequestTexts, context: CheckContext) => Verdict | Promise<Verdict>;
  /** All texts of a request that it is to look at, or of an answer. */
  readonly texts?: (texts: readonly SaidText[], context: CheckContext) => Verdict | Promise<Verdict>;
  /** A text of a streamed answer. Without it a stream is held back to its end, and `texts` are asked. */
  readonly stream?: (form: TextForm, context: CheckContext) => StreamCheck;
}

/** A guardrail of the configuration, compiled. */
export interface Guardrail {
  readonly name: string;
  readonly kind: GuardrailKind;
  readonly mode: WrittenGuardrail['mode'];
  readonly order: number;
  /** Whose texts of a request it looks at. */
  readonly roles: ReadonlySet<Role>;
  readonly input: Checks | undefined;
  readonly output: Checks | undefined;
  /** The service that it asks; absent: none. */
  readonly hook?: Hook | undefined;
  /** The model that it asks; undefined: none. */
  readonly asks: string | undefined;
  /** False: it cannot judge. An operator set it with another version of the gateway, or a secret of it was never read. */
  readonly isCompiled: boolean;
  /** Where it is declared, `<file>:<line>`; undefined: by an operator. */
  readonly source: string | undefined;
  /** The operator who set it; undefined: it is declared. */
  readonly updatedBy: string | undefined;
  /** Normalised user paths, with all below them; undefined: every one. */
  readonly userPaths: readonly string[] | undefined;
  /** Names as clients ask for them, folded; undefined: all. */
  readonly models: ReadonlySet<string> | undefined;
}

/** The verdict of a guardrail on a request, for records and metrics. */
export interface Finding {
  readonly name: string;
  readonly kind: GuardrailKind;
  readonly mode: WrittenGuardrail['mode'];
  readonly phase: Phase;
  readonly outcome: Verdict['outcome'];
  readonly reason: string | undefined;
}
