// Whether a target is asked once more for the same request, and after which pause.
import type { FailureKind } from '../../../domain/targets/failure-kind.ts';
import type { AnswerHead } from '../../upstream/answer-head.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import { askedWaitMs } from '../../upstream/retry-headers.ts';

/** The pause before the first retry is at most this, before the next twice as much. Milliseconds. */
const firstPauseMs = 200;
/** All pauses of a request together: its client waits for them. Milliseconds. */
const longestPausesMs = 1000;
/** Statuses that say: not now. */
const notNow: ReadonlySet<number> = new Set([429, 503, 529]);

/** The answer of a target. */
export interface Said {
  readonly kind: FailureKind | undefined;
  readonly failure: UpstreamFailure | undefined;
  readonly status: number;
  readonly head: AnswerHead;
  /** The wait that the body names; absent: none. Milliseconds. */
  readonly waitMs?: number | undefined;
  /** It failed within its connect timeout: what took all of it is not worth another such wait. */
  readonly isQuick: boolean;
  /** One that failed itself (5xx, 425) is asked again, too: the configuration says how many calls a request may make, or no other target can answer. */
  readonly isWanted: boolean;
}

/** Retries that went before, and how long was waited before them, in milliseconds. */
export interface Before {
  readonly retries: number;
  readonly pausedMs: number;
}

/**
 * The pause before the same target is asked again, in milliseconds; undefined: it is not. That is so only where nothing was sent, where the
 * provider says when to come again, if that is soon, and where it is wanted (a pause with full jitter: `random` from 0 to 1).
 */
export function sameTargetPauseMs(
  { kind, failure, status, head, waitMs, isQuick, isWanted }: Said,
  { retries, pausedMs }: Before,
  nowMs: () => number,
  random: () => number,
): number | undefined {
  const leftMs = longestPausesMs - pausedMs;
  // Half of what is left: there is always a pause for the next one.
  const shortMs = (): number => random() * Math.min(firstPauseMs * 2 ** retries, leftMs / 2);
  // One that closes the connection twice may do so because of the request: it does not get it once more.
  if (failure !== undefined) return failure.sent || failure.isStale || !isQuick ? undefined : shortMs();
  // What this model does not take, it does not take a moment later.
  if (head.shouldRetry === 'false' || kind === 'context_length' || kind === 'content_filter') return undefined;
  const saidMs = notNow.has(status) ? (askedWaitMs(head, nowMs()) ?? waitMs) : undefined;
  if (saidMs !== undefined) return saidMs <= leftMs ? saidMs : undefined;
  return isWanted && kind === 'server_error' ? shortMs() : undefined;
}
