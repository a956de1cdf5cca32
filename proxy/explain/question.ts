// The question for an explanation, and which operator reads the answer.
import type { Facts } from '../../domain/conditions/facts.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { NamingEndpoint } from '../endpoints/naming-endpoint.ts';
import type { Counting } from '../limits/counted-rules.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { ClientRequest } from '../snapshot/client-credential.ts';
import type { InForce } from '../snapshot/in-force.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { NeededRoom } from '../stages/fitting.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { MatchingRule } from './explanation.ts';

/** What a question says of a request besides its name and its caller. Absent: not known. */
export interface SaidFacts {
  readonly tools?: number;
  readonly images?: boolean;
  /** By their names in lower case; others are not known. */
  readonly headers?: ReadonlyMap<string, string>;
}

/** A request that is not sent. */
export interface Question {
  /** As a header would name it, normalised. */
  readonly userPath: string;
  readonly model: string;
  readonly stream: boolean;
  /** Where it would be sent; absent: some endpoint that all targets have and all rules count. */
  readonly endpoint?: NamingEndpoint | undefined;
  /** The conversation it belongs to. */
  readonly thread: string | undefined;
  /** The tokens of its prompt, as the question says. */
  readonly inputTokens?: number | undefined;
  /** The room for its prompt and answer; absent: not known. */
  readonly needed?: NeededRoom | undefined;
  /** Undefined: the master key, or none in a gateway without one. */
  readonly key: AuthKey | undefined;
  /** Whole Unix milliseconds. */
  readonly nowMs: number;
  /** The time by which keys end. Unix milliseconds. */
  readonly authorityMs: number;
  /** The operator sees this user path and the paths below it; `/` is the whole gateway. */
  readonly scope: string;
  /** What it says of the request for conditions; absent: nothing. */
  readonly said?: SaidFacts;
  /** Of a request on its way: what conditions ask of it. */
  readonly facts?: Facts;
  /** Of a request on its way: what its client may have for providers that are asked with its credential. Absent: that is not known. */
  readonly asking?: ClientRequest;
  /** Of a request on its way: the rules of its consumer before it was counted. They have admitted it. */
  readonly before?: readonly MatchingRule[];
}

/** The sources of the answer. None of them is changed. */
export interface ExplainSources {
  readonly snapshot: Snapshot;
  readonly inForce: InForce;
  readonly limiter: Pick<Limiter, 'forUserPath' | 'forTarget' | 'report' | 'unlimited' | 'windowsForUserPath'>;
  readonly budgets: Pick<Budgets, 'covering'>;
  readonly targets: Pick<TargetStates, 'of' | 'drainOf'>;
  /** Gives the order of the next request, and takes no turn. */
  readonly foretell: Balance;
}

/** Whether the operator may see what belongs to a user path (undefined: to the whole gateway). */
export function sees({ scope }: Pick<Question, 'scope'>, userPath: string | undefined): boolean {
  return scope === '/' || (userPath !== undefined && isWithin(userPath, scope));
}

/** Which rules count the request. */
export function countingOf({ endpoint }: Pick<Question, 'endpoint'>): Counting {
  return endpoint?.counts ?? 'everything';
}
