// POST /v1/embeddings
import type { ModelEndpoint } from './model-endpoint.ts';

export const embeddings: ModelEndpoint = { path: '/v1/embeddings', operation: 'embeddings' };
