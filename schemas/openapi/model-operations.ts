// The operations under /v1, one row each.
import { answerHeaders, type Operation, type Refusals } from './operation.ts';

const parameters = ['UserPath'] as const;
const modelParameters = ['UserPath', 'Explain'] as const;
const modelRefusals: Refusals = {
  400: [
    'invalid_json',
    'invalid_model',
    'invalid_stream',
    'duplicate_key',
    'forbidden_key',
    'body_too_deep',
    'body_too_many_keys',
    'routing_member_not_allowed',
  ],
  403: ['model_access_denied'],
  404: ['model_not_found'],
  408: ['request_timeout'],
  413: ['body_too_large'],
  415: ['unsupported_media_type', 'unsupported_encoding'],
  429: ['rate_limit_exceeded'],
  502: [
    'upstream_unavailable',
    'upstream_dns',
    'upstream_tls',
    'upstream_disconnected',
    'upstream_invalid_response',
    'upstream_unauthorized',
    'stream_incomplete',
  ],
  504: ['upstream_timeout'],
};

/** Served by the proxy. */
export const modelOperations: readonly Operation[] = [
  {
    id: 'createChatCompletion',
    method: 'post',
    path: '/v1/chat/completions',
    tag: 'Model API',
    access: 'client',
    summary: 'Asks a model; the answer is JSON, or an event stream with `stream: true`.',
    parameters: modelParameters,
    body: 'chat-completion-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'chat-completion',
      isStreamed: true,
      headers: answerHeaders,
    },
    refusals: modelRefusals,
  },
  {
    id: 'createEmbeddings',
    method: 'post',
    path: '/v1/embeddings',
    tag: 'Model API',
    access: 'client',
    summary: 'Turns texts into vectors.',
    parameters: modelParameters,
    body: 'embedding-request',
    success: { status: 200, says: 'The answer of the provider.', schema: 'embedding-list', headers: answerHeaders },
    refusals: modelRefusals,
  },
  {
    id: 'listModels',
    method: 'get',
    path: '/v1/models',
    tag: 'Model API',
    access: 'client',
    summary: 'Every model and alias the caller may use.',
    parameters,
    success: { status: 200, says: 'The models.', schema: 'model-list' },
  },
  {
    id: 'getModel',
    method: 'get',
    path: '/v1/models/{id}',
    tag: 'Model API',
    access: 'client',
    summary: 'One model or alias.',
    parameters: ['ModelId', 'UserPath'],
    success: { status: 200, says: 'The model.', schema: 'model' },
    refusals: { 404: ['model_not_found'] },
  },
  {
    id: 'getUsage',
    method: 'get',
    path: '/v1/usage',
    tag: 'Model API',
    access: 'client',
    summary: "The caller's limits, and what is left of them. The request itself is not counted.",
    parameters,
    success: { status: 200, says: 'The limits of the user path.', schema: 'usage' },
  },
];
