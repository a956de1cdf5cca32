// Whether a target is asked once more for the same request, and after which pause.
import type { AnswerHead } from '../upstream/answer-head.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { askedWaitMs } from '../upstream/retry-headers.ts';

/** The pause before the first retry is at most this, before the next twice as much. Milliseconds. */
const firstPauseMs = 200;
const longestPauseMs = 2000;
/** Statuses that say: not now. */
const notNow: ReadonlySet<number> = new Set([429, 503, 529]);

/** What a target has answered. */
export interface Said {
  readonly failure: UpstreamFailure | undefined;
  readonly status: number;
  readonly head: AnswerHead;
  /** It failed within its connect timeout: what took all of it is not worth another such wait. */
  readonly isQuick: boolean;
}

/**
 * The pause before the same target is asked again, in milliseconds; undefined: it is not. That is so only where nothing was sent (a pause with
 * full jitter: `random` from 0 to 1), and where the provider says when to come again, if that is soon. `before`: retries that went before.
 */
export function sameTargetPauseMs(
  { failure, status, head, isQuick }: Said,
  before: number,
  nowMs: () => number,
  random: () => number,
): number | undefined {
  if (failure !== undefined) {
    // One that closes the connection twice may do so because of the request: it does not get it once more.
    return failure.sent || failure.isStale || !isQuick
      ? undefined
      : random() * Math.min(firstPauseMs * 2 ** before, longestPauseMs);
  }
  if (!notNow.has(status) || head.shouldRetry === 'false') return undefined;
  const saidMs = askedWaitMs(head, nowMs());
  return saidMs !== undefined && saidMs <= longestPauseMs ? saidMs : undefined;
}
