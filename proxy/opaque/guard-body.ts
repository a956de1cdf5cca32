// Guardrails at the doors of opaque calls: they look at what passes where they can, and else it does not pass.
import type { Call } from '../call/call.ts';
import { refusal } from '../errors.ts';
import { mayChangeRequests } from '../guardrails/applying.ts';
import type { GuardedOperation, Guarding } from '../guardrails/guarding.ts';
import type { Finding } from '../guardrails/guardrail.ts';
import { followed } from '../pacing/slices.ts';
import type { RecordedGuarding } from '../records/guarded-data.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { guardCall, guarding } from '../stages/guard.ts';
import type { Knock } from './door.ts';

/** A call that names its model. */
interface NamedCall {
  readonly operation: GuardedOperation;
  readonly call: Call;
  readonly route: Route;
}

/** The call as guardrails leave it. Throws, or rejects with, 400 `guardrail_blocked` and `duplicate_key`. Nothing waits where no guardrail does. */
export function guardBody(named: NamedCall, knock: Knock): Call | Promise<Call> {
  const { call } = named;
  const rails = railsFor(named, knock);
  if (rails !== undefined) knock.noteGuarding(rails);
  return followed(guardCall(call, rails), (left) => {
    knock.capture?.takeGuarded(left.body);
    return left;
  });
}

/** The findings of guardrails, where their changes are too long to be recorded. */
export function findingsAlone(findings: () => readonly Finding[]): RecordedGuarding {
  return {
    get findings() {
      return findings();
    },
    revisions: [],
    changesAnswer: false,
  };
}

/** A call, or one of many, that is known by its model. */
type ModelCall = Omit<NamedCall, 'call'> & { readonly call: Pick<Call, 'model'> };

/** The guardrails that hold for a call; undefined: none does. */
export function railsFor({ operation, call, route }: ModelCall, knock: Knock): Guarding | undefined {
  const { exchange, principal, snapshot, capture, outside } = knock;
  return guarding(call, route, { row: { operation }, exchange, principal, snapshot, capture, outside });
}

/** Throws 403 `guardrails_prevent_endpoint` where guardrails may change or refuse what this caller sends: here they cannot look at it. */
export function refuseUnguarded({ snapshot, principal }: Pick<Knock, 'snapshot' | 'principal'>, what: string): void {
  if (mayChangeRequests(snapshot.guardrails, principal.userPath))
    throw refusal('guardrails_prevent_endpoint', { fill: { what } });
}
