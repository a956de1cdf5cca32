// The operations under /v1/messages, one row each.
import { modelCallParameters, modelCallRefusals, translatedRefusals } from './model-call.ts';
import { answerHeaders, type Operation } from './operation.ts';

const messages = { tag: 'Model API', access: 'client', method: 'post', surface: 'anthropic' } as const;
/** To count tokens is under no rule. */
const { 429: _, ...uncounted } = modelCallRefusals;
const parameters = [...modelCallParameters, 'AnthropicVersion'] as const;

export const messageOperations: readonly Operation[] = [
  {
    ...messages,
    id: 'createMessage',
    path: '/v1/messages',
    summary: 'Asks a model in the Messages API; the answer is JSON, or an event stream with `stream: true`.',
    description: 'A provider that speaks another dialect is asked in its own, and its answer is translated.',
    parameters,
    body: 'message-request',
    success: {
      status: 200,
      says: 'The answer of the provider.',
      schema: 'message',
      stream: 'message',
      headers: answerHeaders,
    },
    refusals: translatedRefusals,
  },
  {
    ...messages,
    id: 'countTokens',
    path: '/v1/messages/count_tokens',
    summary: 'How many tokens the prompt of a message has. It counts under no rule.',
    description: 'For a provider that cannot count them, the gateway estimates.',
    parameters,
    body: 'token-count-request',
    success: {
      status: 200,
      says: 'The tokens of the prompt.',
      schema: 'token-count',
      headers: ['x-upstream-request-id', 'x-gateway-explain-id'],
    },
    refusals: uncounted,
  },
];
