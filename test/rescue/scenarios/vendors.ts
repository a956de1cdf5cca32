// What vendors say of a prompt that is too long, and of content that they filter.
import type { Act, Scenario, WireName } from '../scenario.ts';

const tooLong = (name: string, wire: WireName, act: Act, more: Partial<Scenario> = {}): Scenario => ({
  name: `the prompt is too long: ${name}`,
  wire,
  plans: [act, 'answers'],
  sees: 'answer',
  ...more,
});

const openaiError = (message: string, code: string | null, more: object = {}): object => ({
  error: { message, type: 'invalid_request_error', param: 'messages', code, ...more },
});

export const vendors: readonly Scenario[] = [
  tooLong(
    'OpenAI',
    'chat',
    {
      status: 400,
      says: openaiError(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
        'context_length_exceeded',
      ),
    },
    { isPublished: true },
  ),
  tooLong('OpenAI, Responses', 'responses', {
    status: 400,
    says: openaiError(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      'context_length_exceeded',
    ),
  }),
  tooLong('Anthropic', 'messages', { status: 400, says: 'prompt is too long: 210000 tokens > 200000 maximum' }),
  tooLong('Anthropic, 413', 'messages', { status: 413, says: 'Request exceeds the maximum allowed number of bytes.' }),
  tooLong('Google', 'gemini', {
    status: 400,
    says: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  }),
  tooLong('Bedrock', 'bedrock', {
    status: 400,
    headers: { 'x-amzn-errortype': 'ValidationException' },
    says: 'Input is too long for requested model.',
  }),
  tooLong('vLLM', 'chat', {
    status: 400,
    says: {
      object: 'error',
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  }),
  tooLong('llama.cpp', 'chat', {
    status: 400,
    says: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 5000,
        n_ctx: 4096,
      },
    },
  }),
  {
    name: 'the prompt is too long for every provider',
    wire: 'chat',
    plans: [
      {
        status: 400,
        says: openaiError("This model's maximum context length is 8192 tokens.", 'context_length_exceeded'),
      },
      { status: 400, says: 'prompt is too long: 210000 tokens > 200000 maximum' },
    ],
    sees: { status: 400 },
  },
];
