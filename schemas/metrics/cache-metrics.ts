// The metrics of the proxy about the response cache: names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const cacheMetrics = {
  cacheRequests: {
    name: 'gateway_cache_requests_total',
    type: 'counter',
    help: 'Model requests of endpoints and user paths that are cached, by endpoint and outcome: hit, miss, bypass (the request may not have a kept answer, or did not want one, or Redis was away).',
    labelNames: ['endpoint', 'outcome'],
  },
  cacheBytes: {
    name: 'gateway_cache_bytes',
    type: 'gauge',
    help: 'What kept answers take: in the memory of this proxy, or in Redis as it was last written to by this proxy.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  cacheEntries: {
    name: 'gateway_cache_entries',
    type: 'gauge',
    help: 'Kept answers, as for gateway_cache_bytes.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  cacheEvictions: {
    name: 'gateway_cache_evictions_total',
    type: 'counter',
    help: 'Answers that went before their time was over, to make room (cache.max_bytes).',
    labelNames: [],
  },
  cacheDropped: {
    name: 'gateway_cache_dropped_writes_total',
    type: 'counter',
    help: 'Answers that were not kept because Redis was away, too slow or full.',
    labelNames: [],
  },
  cacheWaiting: {
    name: 'gateway_cache_waiting_requests',
    type: 'gauge',
    help: 'Requests that wait for the answer to an equal one at this moment (cache.share_concurrent).',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  cacheSemantic: {
    name: 'gateway_cache_semantic_total',
    type: 'counter',
    help: 'Requests without an equal one that the semantic layer could serve (cache.semantic), by outcome: hit, miss, skipped (too long, or not a text of the user at the end), busy (too many at once), refused (the embedding is beyond a limit or a budget of the caller), timeout, failed (no embedding, or the store of them failed), paused (a moment after several failures), cancelled (the client left).',
    labelNames: ['outcome'],
  },
  cacheSemanticEntries: {
    name: 'gateway_cache_semantic_entries',
    type: 'gauge',
    help: 'Embeddings that are kept: in the memory of this proxy, or in PostgreSQL as it was last written to by this proxy.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  cacheSemanticDropped: {
    name: 'gateway_cache_semantic_dropped_writes_total',
    type: 'counter',
    help: 'Embeddings that were not kept because too many waited, or their store failed.',
    labelNames: [],
  },
  cacheSavedTokens: {
    name: 'gateway_cache_saved_tokens_total',
    type: 'counter',
    help: 'Tokens of answers that were served from the cache.',
    labelNames: [],
  },
  cacheSavedCost: {
    name: 'gateway_cache_saved_cost_dollars_total',
    type: 'counter',
    help: 'What the answers that were served from the cache had cost when they were made, in US dollars, as far as prices are known.',
    labelNames: [],
  },
} as const satisfies Record<string, MetricDefinition>;
