// The model endpoints: a row each, data and no callbacks. pipeline.ts serves them all.
import type { Operation } from '../dialects/dialect.ts';

export interface ModelEndpoint {
  readonly path: string;
  readonly operation: Operation;
  /** Rules count its requests and tokens, and refuse them (spec, Limits 1). */
  readonly isCounted: boolean;
}

export const modelEndpoints: readonly ModelEndpoint[] = [
  { path: '/v1/chat/completions', operation: 'chat', isCounted: true },
  { path: '/v1/completions', operation: 'completions', isCounted: true },
  { path: '/v1/responses', operation: 'responses', isCounted: true },
  { path: '/v1/messages', operation: 'messages', isCounted: true },
  // It asks no model, and providers charge nothing for it.
  { path: '/v1/messages/count_tokens', operation: 'count_tokens', isCounted: false },
  { path: '/v1/embeddings', operation: 'embeddings', isCounted: true },
];
