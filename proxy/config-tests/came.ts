// What has become of the request of a test.
import type { Explanation } from '../explain/explanation.ts';
import type { Finding } from '../guardrails/guardrail.ts';

/** What refuses, by all its names; the first is for people. */
export interface CameRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly names: readonly string[];
  readonly retryAfterSeconds: number | undefined;
}

/** What has become of the request of a test. */
export interface Came {
  readonly refusal: CameRefusal | undefined;
  /** `<provider>/<model>`, in the order in which they would be asked. */
  readonly targets: readonly string[];
  /** The names of the alias; none: it is no alias. */
  readonly alias: readonly string[];
  readonly guardrails: SaidByGuardrails;
  /** US dollars; null: there is no price. Undefined: the tokens are not given. */
  readonly price: number | null | undefined;
  /** In full; it takes long, so it is made for those who read it. */
  readonly explain: () => Explanation | undefined;
}

export interface SaidByGuardrails {
  /** In their order. */
  readonly findings: readonly Finding[];
  /** The names of those that ask a service or a model, which a test does not. */
  readonly unasked: readonly string[];
  /** Of the one that refuses. */
  readonly refusal: CameRefusal | undefined;
}
