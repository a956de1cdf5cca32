// A kept answer in place of an attempt: whose answer it was, and what it would have used. It cost nothing.
import type { AttemptRecord } from '../../domain/records/request-record.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';

const nothing = Object.freeze({ input: 0, output: 0, total: 0 });
/** The usage of the answer was not tracked when it was made. */
const unknown: AttemptUsage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  source: 'estimated',
  cost: nothing,
});

/** What a kept answer would have used. */
export function usageOfCached({ usage = unknown }: CachedFacts): AttemptUsage {
  return { ...usage, cost: nothing };
}

/** Moments in milliseconds. `tracksUsage`: it has usage, with the tokens that were not asked for. */
export function cachedAttempt(
  facts: CachedFacts,
  startedAtMs: number,
  endedAtMs: number,
  tracksUsage: boolean,
): AttemptRecord {
  const { provider, type, model } = facts;
  return {
    seq: 1,
    kind: 'cache',
    model,
    provider_name: provider,
    provider_type: type,
    started_ms: Math.floor(startedAtMs),
    duration_ns: Math.round((endedAtMs - startedAtMs) * 1e6),
    status_code: 200,
    success: true,
    ...(tracksUsage ? { usage: usageOfCached(facts) } : undefined),
  };
}
