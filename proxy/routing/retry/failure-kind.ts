// The kind of a call's failure: it decides whether the request is tried again, and how the target's breaker counts it.
import type { Diagnosis, FailureKind } from '../../../domain/targets/failure-kind.ts';
import type { Refusal } from '../../errors.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';

/** The outcome of a failed call. */
export interface Failed {
  readonly refused: Pick<Refusal, 'code' | 'diagnosis'>;
  /** The answer did not come completely; undefined: it did, and cannot be relayed. */
  readonly failure: UpstreamFailure | undefined;
}

/**
 * What a failure means: of an error in a complete answer, as the table of failures says (providers/failures). Without a kind it must not be
 * tried again, because the request itself is wrong.
 */
export function meaningOf({ refused, failure }: Failed): Diagnosis {
  if (failure !== undefined) return { kind: kindOfFailure(failure), trouble: undefined };
  if (refused.diagnosis !== undefined) return refused.diagnosis;
  return { kind: refused.code === 'upstream_invalid_response' ? 'invalid_answer' : undefined, trouble: undefined };
}

function kindOfFailure({ failure, sent }: UpstreamFailure): FailureKind {
  if (!sent) return 'unreachable';
  return failure.code === 'upstream_timeout' ? 'timeout' : 'invalid_answer';
}
