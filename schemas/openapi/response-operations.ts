// The operations under /v1/responses, one row each.
import { guardedRefusals, modelCallParameters, translatedRefusals } from './model-call.ts';
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

/** The operations of providers with the Responses format only; their request is that of a response. */
const native = {
  ...responses,
  method: 'post',
  isOpaque: true,
  parameters: modelCallParameters,
  success: { status: 200, says: 'The answer of the provider.', headers: answerHeaders },
  refusals: {
    ...guardedRefusals,
    400: [...(guardedRefusals[400] ?? []), 'response_kept_elsewhere'].filter(
      (code) => code !== 'unsupported_operation',
    ),
    404: [...(guardedRefusals[404] ?? []), 'response_not_found', 'endpoint_not_supported'],
    503: [...(guardedRefusals[503] ?? []), 'stored_responses_unavailable'],
  },
} as const satisfies Partial<Operation>;

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
      503: ['stored_responses_unavailable', 'target_drained', 'provider_credential_missing'],
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
  {
    ...native,
    id: 'compactResponse',
    path: '/v1/responses/compact',
    summary: 'A conversation in fewer items, which later requests begin with.',
    description: 'For providers that speak Responses themselves; any other model is answered 404.',
  },
  {
    ...native,
    id: 'countInputTokens',
    path: '/v1/responses/input_tokens',
    summary: 'How many tokens the input of a response has. It counts under no rule.',
    description: 'For providers that speak Responses themselves; any other model is answered 404.',
    success: { ...native.success, headers: ['x-upstream-request-id', 'x-gateway-explain-id'] },
  },
];
