// The kind of a call's failure: it decides whether the request is tried again, and how the target's breaker counts it.
import type { Diagnosis, FailureKind } from '../../../domain/targets/failure-kind.ts';
import type { Refusal } from '../../errors.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';

/** The outcome of a failed call. */
export interface Failed {
  readonly refused: Pick<Refusal, 'code' | 'diagnosis'>;
  /** The answer did not come completely; undefined: it did, and cannot be relayed. */
  readonly failure: UpstreamFailure | undefined;
  readonly stream: boolean;
}

/**
 * What a failure means: of an error in a complete answer, as the table of failures says (providers/failures). Without a kind it must not be
 * tried again, because the provider may have done the work (it broke off behind the request, before an answer), or because the request
 * itself is wrong.
 */
export function meaningOf({ refused, failure, stream }: Failed): Diagnosis {
  if (failure !== undefined) return { kind: kindOfFailure(failure, stream), trouble: undefined };
  if (refused.diagnosis !== undefined) return refused.diagnosis;
  return { kind: refused.code === 'upstream_invalid_response' ? 'invalid_answer' : undefined, trouble: undefined };
}

function kindOfFailure({ failure, sent }: UpstreamFailure, stream: boolean): FailureKind | undefined {
  if (!sent) return 'unreachable';
  if (failure.code === 'upstream_timeout') return 'timeout';
  // A stream that breaks off before its first event has said nothing; other answers may have been under way.
  if (failure.code === 'upstream_disconnected') return stream ? 'invalid_answer' : undefined;
  return 'invalid_answer';
}
