// The model endpoints: a row each, data and no callbacks. pipeline.ts serves them all.
import type { Operation } from '../dialects/dialect.ts';

export interface ModelEndpoint {
  readonly path: string;
  readonly operation: Operation;
}

export const modelEndpoints: readonly ModelEndpoint[] = [
  { path: '/v1/chat/completions', operation: 'chat' },
  { path: '/v1/embeddings', operation: 'embeddings' },
];
