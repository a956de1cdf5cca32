// The operations under /v1/responses, one row each.
import { modelCallParameters, translatedRefusals } from './model-call.ts';
import { answerHeaders, type Operation } from './operation.ts';

const responses = { tag: 'Model API', access: 'client' } as const;

export const responseOperations: readonly Operation[] = [
  {
    ...responses,
    id: 'createResponse',
    method: 'post',
    path: '/v1/responses',
    summary: 'Asks a model in the Responses API; the answer is JSON, or an event stream with `stream: true`.',
    description: 'A provider that speaks another dialect is asked in its own, and its answer is translated.',
    parameters: modelCallParameters,
    body: 'response-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'response',
      stream: 'response',
      headers: answerHeaders,
    },
    refusals: translatedRefusals,
  },
];
