// The operations under /v1/responses, one row each.
import { modelCallParameters, translatedRefusals } from './model-call.ts';
import { answerHeaders, type Operation, type Refusals } from './operation.ts';

const responses = { tag: 'Model API', access: 'client' } as const;
const path = '/v1/responses/{id}';
const parameters = ['ResponseId', 'UserPath'] as const;
const headers = ['x-upstream-request-id'] as const;
/** The errors of every operation on a stored response. What its provider is asked for may fail as a call does. */
const storedRefusals: Refusals = {
  404: ['response_not_found'],
  502: translatedRefusals[502] ?? [],
  503: ['stored_responses_unavailable'],
  504: ['upstream_timeout'],
};

export const responseOperations: readonly Operation[] = [
  {
    ...responses,
    id: 'createResponse',
    method: 'post',
    path: '/v1/responses',
    summary: 'Asks a model in the Responses API; the answer is JSON, or an event stream with `stream: true`.',
    description:
      'A provider that speaks another dialect is asked in its own, and its answer is translated. What it does not store, the gateway does.',
    parameters: modelCallParameters,
    body: 'response-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'response',
      stream: 'response',
      headers: answerHeaders,
    },
    refusals: {
      ...translatedRefusals,
      400: [...(translatedRefusals[400] ?? []), 'response_kept_elsewhere'],
      404: [...(translatedRefusals[404] ?? []), 'response_not_found'],
      503: ['stored_responses_unavailable'],
    },
  },
  {
    ...responses,
    id: 'getResponse',
    method: 'get',
    path,
    summary: 'A stored response, from where it is kept: at the provider, or here.',
    parameters,
    success: { status: 200, says: 'The response.', schema: 'response', headers },
    refusals: { ...storedRefusals, 400: ['invalid_query', 'unsupported_response_operation'] },
  },
  {
    ...responses,
    id: 'deleteResponse',
    method: 'delete',
    path,
    summary: 'Deletes a stored response, where it is kept too.',
    parameters,
    success: { status: 200, says: 'It is deleted.', schema: 'response-deleted', headers },
    refusals: storedRefusals,
  },
  {
    ...responses,
    id: 'cancelResponse',
    method: 'post',
    path: `${path}/cancel`,
    summary: 'Stops a response in the background, which only a provider can make.',
    parameters,
    success: { status: 200, says: 'The response.', schema: 'response', headers },
    refusals: { ...storedRefusals, 400: ['unsupported_response_operation'] },
  },
  {
    ...responses,
    id: 'listResponseInputItems',
    method: 'get',
    path: `${path}/input_items`,
    summary: 'What a stored response was asked with.',
    parameters: ['ResponseId', 'ItemLimit', 'ItemOrder', 'ItemAfter', 'UserPath'],
    success: { status: 200, says: 'A page of the items.', schema: 'response-input-items', headers },
    refusals: { ...storedRefusals, 400: ['invalid_query'] },
  },
];
