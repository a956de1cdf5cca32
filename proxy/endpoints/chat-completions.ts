// POST /v1/chat/completions: JSON, or an event stream when the body says `stream: true`.
import type { ModelEndpoint } from './model-endpoint.ts';

export const chatCompletions: ModelEndpoint = { path: '/v1/chat/completions', operation: 'chat' };
