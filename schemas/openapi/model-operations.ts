// The operations under /v1, one row each.
import { mediaOperations } from './media-operations.ts';
import { messageOperations } from './message-operations.ts';
import { guardedRefusals, modelCallParameters, translatedRefusals } from './model-call.ts';
import { answerHeaders, type Operation } from './operation.ts';
import { realtimeOperations } from './realtime-operations.ts';
import { responseOperations } from './response-operations.ts';

const parameters = ['UserPath'] as const;

/** Served by the proxy. */
export const modelOperations: readonly Operation[] = [
  {
    id: 'createChatCompletion',
    method: 'post',
    path: '/v1/chat/completions',
    tag: 'Model API',
    access: 'client',
    summary: 'Asks a model; the answer is JSON, or an event stream with `stream: true`.',
    parameters: modelCallParameters,
    body: 'chat-completion-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'chat-completion',
      stream: 'chat',
      headers: answerHeaders,
    },
    refusals: translatedRefusals,
  },
  ...responseOperations,
  ...messageOperations,
  ...realtimeOperations,
  {
    id: 'createCompletion',
    method: 'post',
    path: '/v1/completions',
    tag: 'Model API',
    access: 'client',
    summary: 'Lets a model go on with a text, in the older API of OpenAI.',
    description: 'A provider without this endpoint is asked in a chat, with the text as the message of the user.',
    parameters: modelCallParameters,
    body: 'completion-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'completion',
      stream: 'completion',
      headers: answerHeaders,
    },
    refusals: translatedRefusals,
  },
  {
    id: 'createEmbeddings',
    method: 'post',
    path: '/v1/embeddings',
    tag: 'Model API',
    access: 'client',
    summary: 'Turns texts into vectors.',
    parameters: modelCallParameters,
    body: 'embedding-request',
    success: { status: 200, says: 'The answer of the provider.', schema: 'embedding-list', headers: answerHeaders },
    refusals: guardedRefusals,
  },
  ...mediaOperations,
  {
    id: 'listModels',
    method: 'get',
    path: '/v1/models',
    tag: 'Model API',
    access: 'client',
    summary: 'Every model and alias the caller may use, and at which endpoints.',
    description: 'With the header `anthropic-version`, in the format of Anthropic and in pages, without the endpoints.',
    parameters: ['AnthropicVersion', 'ModelLimit', 'ModelAfterId', 'ModelBeforeId', 'UserPath'],
    success: { status: 200, says: 'The models.', schema: 'model-list' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    id: 'getModel',
    method: 'get',
    path: '/v1/models/{id}',
    tag: 'Model API',
    access: 'client',
    summary: 'One model or alias, and at which endpoints it can be used.',
    parameters: ['ModelId', 'AnthropicVersion', 'UserPath'],
    success: { status: 200, says: 'The model.', schema: 'model' },
    refusals: { 404: ['model_not_found'] },
  },
  {
    id: 'getUsage',
    method: 'get',
    path: '/v1/usage',
    tag: 'Model API',
    access: 'client',
    summary: 'What the caller has used, its budgets and its limits. The request itself is not counted.',
    description:
      'The query takes start_date, end_date, days and cache_mode as /admin/usage/summary does. Usage is null, and budgets are those that are used up, while the control plane does not answer.',
    parameters,
    success: { status: 200, says: 'The usage, budgets and limits of the user path.', schema: 'usage' },
    refusals: { 400: ['invalid_query'] },
  },
];
