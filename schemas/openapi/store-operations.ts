// The operations on files and batches, one row each: what providers keep for a user path.
import { modelCallRefusals } from './model-call.ts';
import { limitHeaders, type Operation, type Refusals } from './operation.ts';

const { 408: late = [], 413: tooLarge = [], 429: limited = [], 502: broken = [], 504: slow = [] } = modelCallRefusals;
/** The errors of whatever a provider is asked for. */
const asked: Refusals = {
  408: late,
  413: tooLarge,
  502: broken,
  503: ['kept_ids_unavailable', 'target_drained', 'provider_credential_missing'],
  504: slow,
};
const kept: Refusals = { ...asked, 404: ['kept_not_found'] };
const listed: Refusals = {
  400: ['invalid_query'],
  404: ['kept_not_found'],
  503: ['kept_ids_unavailable', 'overloaded', 'target_drained', 'provider_credential_missing'],
};
const mistakes = ['invalid_json', 'duplicate_key', 'invalid_parameter'];

const opaque = { tag: 'Files and batches', access: 'client', isOpaque: true } as const;
const ofMessages = { ...opaque, surface: 'anthropic' } as const;
const uncounted = { status: 200, says: 'The answer of the provider.', headers: ['x-upstream-request-id'] } as const;
const counted = { ...uncounted, headers: ['x-upstream-request-id', ...limitHeaders] } as const;
const page = { status: 200, says: 'A page, the newest first.', headers: ['x-gateway-incomplete'] } as const;
const byId = ['KeptId', 'UserPath'] as const;
const submission =
  'It counts as one request under the rules of the user path, holds no slot, and rules of providers and models do not apply.';

export const storeOperations: readonly Operation[] = [
  {
    ...opaque,
    id: 'createFile',
    method: 'post',
    path: '/v1/files',
    summary: 'Uploads a file to a provider, which keeps it; nothing is counted.',
    description:
      'A form with `purpose` and `file`, as OpenAI has it, passed on while it comes. With several providers that keep files, name one: in the query, or in the field `provider` before the file. Each line of a batch names a model that you may use at this provider, an alias too; send `purpose` before the file where its first line may be malformed.',
    parameters: ['KeptProvider', 'UserPath'],
    success: uncounted,
    refusals: {
      ...asked,
      400: ['invalid_upload', 'invalid_batch_input', 'provider_needed', 'unknown_provider', 'unsupported_operation'],
      403: ['guardrails_prevent_endpoint'],
    },
  },
  {
    ...opaque,
    id: 'listFiles',
    method: 'get',
    path: '/v1/files',
    summary: 'The files of the user path at all providers.',
    description: 'Of each provider the newest 1,000 entries are looked through.',
    parameters: ['ItemLimit', 'ItemAfter', 'KeptPurpose', 'KeptProvider', 'UserPath'],
    success: page,
    refusals: listed,
  },
  {
    ...opaque,
    id: 'getFile',
    method: 'get',
    path: '/v1/files/{id}',
    summary: 'What is known of a file.',
    parameters: byId,
    success: uncounted,
    refusals: kept,
  },
  {
    ...opaque,
    id: 'deleteFile',
    method: 'delete',
    path: '/v1/files/{id}',
    summary: 'Deletes a file at its provider.',
    parameters: byId,
    success: uncounted,
    refusals: kept,
  },
  {
    ...opaque,
    id: 'getFileContent',
    method: 'get',
    path: '/v1/files/{id}/content',
    summary: 'The bytes of a file.',
    parameters: byId,
    success: uncounted,
    refusals: kept,
  },
  {
    ...opaque,
    id: 'createBatch',
    method: 'post',
    path: '/v1/batches',
    summary: 'Submits an uploaded file of calls as a batch, to the provider that keeps it.',
    description: submission,
    parameters: ['UserPath'],
    success: counted,
    refusals: { ...kept, 400: [...mistakes, 'unsupported_operation'], 429: limited },
  },
  {
    ...opaque,
    id: 'listBatches',
    method: 'get',
    path: '/v1/batches',
    summary: 'The batches of the user path at all providers.',
    description: 'Of each provider the newest 1,000 entries are looked through.',
    parameters: ['ItemLimit', 'ItemAfter', 'KeptProvider', 'UserPath'],
    success: page,
    refusals: listed,
  },
  {
    ...opaque,
    id: 'getBatch',
    method: 'get',
    path: '/v1/batches/{id}',
    summary: 'How far a batch is; from then on its output files can be read.',
    parameters: byId,
    success: uncounted,
    refusals: kept,
  },
  {
    ...opaque,
    id: 'cancelBatch',
    method: 'post',
    path: '/v1/batches/{id}/cancel',
    summary: 'Cancels a batch.',
    parameters: byId,
    success: uncounted,
    refusals: kept,
  },
  {
    ...ofMessages,
    id: 'createMessageBatch',
    method: 'post',
    path: '/v1/messages/batches',
    summary: 'Submits calls of the Messages API as a batch, to one provider to which all their models lead.',
    description: submission,
    parameters: ['AnthropicVersion', 'UserPath'],
    success: counted,
    refusals: { ...asked, 400: [...mistakes, 'invalid_batch_input', 'batch_needs_one_provider'], 429: limited },
  },
  {
    ...ofMessages,
    id: 'listMessageBatches',
    method: 'get',
    path: '/v1/messages/batches',
    summary: 'The batches of messages of the user path at all providers.',
    description: 'Of each provider the newest 1,000 entries are looked through.',
    parameters: ['ItemLimit', 'KeptAfterId', 'KeptProvider', 'AnthropicVersion', 'UserPath'],
    success: page,
    refusals: listed,
  },
  {
    ...ofMessages,
    id: 'getMessageBatch',
    method: 'get',
    path: '/v1/messages/batches/{id}',
    summary: 'How far a batch of messages is.',
    description: '`results_url` is a path here.',
    parameters: [...byId, 'AnthropicVersion'],
    success: uncounted,
    refusals: kept,
  },
  {
    ...ofMessages,
    id: 'deleteMessageBatch',
    method: 'delete',
    path: '/v1/messages/batches/{id}',
    summary: 'Deletes a batch of messages that has ended.',
    parameters: [...byId, 'AnthropicVersion'],
    success: uncounted,
    refusals: kept,
  },
  {
    ...ofMessages,
    id: 'cancelMessageBatch',
    method: 'post',
    path: '/v1/messages/batches/{id}/cancel',
    summary: 'Cancels a batch of messages.',
    parameters: [...byId, 'AnthropicVersion'],
    success: uncounted,
    refusals: kept,
  },
  {
    ...ofMessages,
    id: 'getMessageBatchResults',
    method: 'get',
    path: '/v1/messages/batches/{id}/results',
    summary: 'The results of a batch of messages, a line of JSON each.',
    parameters: [...byId, 'AnthropicVersion'],
    success: uncounted,
    refusals: kept,
  },
];
