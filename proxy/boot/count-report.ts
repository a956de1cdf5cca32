// What a heartbeat says of the response cache and of guardrails: what came of them since the start.
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { mostVerdictCounts } from '../../store/state/heartbeat-counts.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { GuardrailTally } from '../guardrails/tally.ts';

export interface CountedParts {
  readonly cache: Pick<ResponseCache, 'counts' | 'saved' | 'status'>;
  readonly observed: { readonly guardrails: Pick<GuardrailTally, 'counts'> };
}

export function reportCounts({
  cache,
  observed: { guardrails },
}: CountedParts): Pick<HeartbeatBody, 'cache' | 'verdicts'> {
  const { counts, saved } = cache;
  const { entries, bytes, evicted, dropped } = cache.status();
  const requests = [...counts].map(([endpoint, { hit, miss, bypass }]) => [endpoint, hit, miss, bypass] as const);
  return {
    cache: {
      entries: Math.max(0, entries),
      bytes: Math.max(0, bytes),
      evicted,
      dropped,
      requests: requests.sort(([one], [other]) => (one < other ? -1 : 1)),
      saved_tokens: saved.tokens,
      saved_nano_dollars: Math.round(saved.nanoDollars),
    },
    verdicts: [...guardrails.counts]
      .slice(0, mostVerdictCounts)
      .map(({ guardrail, phase, outcome, count }) => [guardrail, phase, outcome, count] as const),
  };
}
