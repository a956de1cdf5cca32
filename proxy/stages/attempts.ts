// The outcome of asking targets: the calls that failed, and the one whose answer is relayed.
import type { Answer } from '../answer.ts';
import type { Call } from '../call/call.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import type { Operation, Surface } from '../dialects/dialect.ts';
import type { ResponseHome } from '../kept/kept-responses.ts';
import type { Relayed } from '../providers/dialects.ts';
import type { Named } from '../records/spans/answer-names.ts';
import type { Allowance, ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { CallsBefore, FailedCall } from '../routing/target-call.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { Reading } from '../translation/reading.ts';
import type { Rescuing } from '../translation/rescue/rescuing.ts';
import type { Translated } from '../translation/translated.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { Expected } from './expect.ts';

/** A call, where it may go, and what its consumer was allowed. */
export interface RoutedCall {
  readonly operation: Operation;
  readonly surface: Surface;
  /** Rules count it. */
  readonly isCounted: boolean;
  readonly call: Call;
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
  /** What it will probably take; absent: nothing is set aside for it. */
  readonly expected?: Expected | undefined;
  /** The translated call of each target that does not speak the client's dialect; undefined: all speak it. */
  readonly translated: ReadonlyMap<Target, Translated> | undefined;
  /** The mark of the only API key that it may be asked with, as long as that is configured; absent: any. */
  readonly keyMark?: string | undefined;
  /** The labels of the caller's key, whose session of a cloud identity is used; absent: it has none. */
  readonly labels?: readonly string[] | undefined;
  /** Another target tells the rest of its stream where one breaks off; absent: none does. */
  readonly rescue?: Rescued | undefined;
  /** The calls before these, and the targets that are left, in their order; absent: these are the first calls. */
  readonly goingOn?: (CallsBefore & { readonly targets: readonly Target[] }) | undefined;
  /** Guardrails may look at its answer, so all of it is waited for; absent: there are none. */
  readonly guarding?: { readonly readsAnswer: boolean } | undefined;
}

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
interface Attempt {
  readonly target: Target;
  readonly startedAtMs: number;
  /** When its answer could be relayed, or it had failed. */
  readonly endedAtMs: number;
  /** The id of its span; undefined: no traces are made. */
  readonly spanId: string | undefined;
}

/** A target whose answer is relayed. */
export interface Accepted extends Attempt {
  readonly routed: RoutedCall;
  readonly refused: undefined;
  readonly answer: Answer;
  /** The allowance of the request under the rules of its provider and model. */
  readonly allowance: Allowance;
  readonly state: TargetState;
  /** All targets, in the order in which they were to be asked. */
  readonly order: readonly Target[];
  /** When all calls of the request together must be over. */
  readonly latestMs: number;
  /** Has another target go on where this one breaks off; absent: none does. */
  readonly rescuing?: Rescuing | undefined;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  /** The form of the bytes of the answer. */
  readonly relayed: Relayed;
  /** Undefined: they are the client's own dialect. */
  readonly reading: Reading | undefined;
  /** The provider's id of the request, as it may be shown. */
  readonly upstreamId: string | undefined;
  /** Headers of the provider that the client is told, by name; the id is one of them. */
  readonly told: Readonly<Record<string, string>>;
  /** How the answer calls itself, once that has come. */
  readonly named: Named;
  /** Where the provider keeps the answer for later; absent: nowhere. */
  readonly home?: ResponseHome | undefined;
  /** The provider that was asked, where it speaks the language of the client: it may keep what it makes in the background. */
  readonly maker?: ResponseHome | undefined;
}

/** A target whose answer is not relayed, or that gave none. `answer`: as much of it as came. */
export type FailedAttempt = FailedCall<Target> & { readonly answer: UpstreamAnswer };
