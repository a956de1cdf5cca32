// The contract of the response cache: answers by the key of their request, bounded in bytes, each with an end. It may lose an answer.
import type { AttemptUsage } from '../../domain/records/usage.ts';

/** The facts of an answer besides its bytes. */
export interface CachedFacts {
  /** Where it came from: the name and the type of the provider, and its id of the model. */
  readonly provider: string;
  readonly type: string;
  readonly model: string;
  /** Its usage and cost when it was made; absent: usage was not tracked. */
  readonly usage?: AttemptUsage;
}

export interface CachedAnswer {
  /** Unix milliseconds, by the clock of the proxy that put it. */
  readonly storedAtMs: number;
  readonly expiresAtMs: number;
  readonly facts: CachedFacts;
  /** The answer as JSON, in the words of its endpoint. It is never changed. */
  readonly body: Buffer;
}

/** The content and the counts of an engine; an unknown count is 0. */
export interface CacheStatus {
  readonly entries: number;
  readonly bytes: number;
  /** Answers that went before their end, to make room. */
  readonly evicted: number;
  /** Answers that were not put: too many waited, or the server was away. */
  readonly dropped: number;
}

export interface AnswerCache {
  /** It is the same one for all processes, so each says the same of it. */
  readonly isShared: boolean;
  /** It cannot be asked now: requests go on without it and do not wait. */
  readonly isAway: boolean;
  /**
   * The answer with this key; undefined when there is none, its time is over, or it cannot be had soon. A promise only where it must be
   * fetched; it never rejects.
   */
  get(key: string, nowMs: number): CachedAnswer | undefined | Promise<CachedAnswer | undefined>;
  /** Puts it in the place of one with this key. Waits for nothing and never throws. */
  put(key: string, answer: CachedAnswer, nowMs: number): void;
  /** Sets the most bytes for all answers. */
  resize(mostBytes: number): void;
  status(): CacheStatus;
  /** Resolves soon: pending writes are finished or dropped. */
  close(): Promise<void>;
}

/** The bytes that an answer counts besides its own: its key, its facts and its places in indexes. */
export const answerOverheadBytes = 512;

export function sizeOfAnswer({ body }: Pick<CachedAnswer, 'body'>): number {
  return body.length + answerOverheadBytes;
}
