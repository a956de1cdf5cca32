// Failures that may be over a moment later, where their status alone does not say so.
import type { FailureRow } from './failure-row.ts';

export const notNow: readonly FailureRow[] = [
  {
    means: 'rate_limit',
    vendor: 'Bedrock (400)',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html',
    codes: /^(?:ServiceQuotaExceededException|ThrottlingException)$/i,
  },
  {
    means: 'server_error',
    vendor: 'Bedrock (424)',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html',
    codes: /^Model(?:Stream)?ErrorException$/i,
  },
  {
    means: 'server_error',
    vendor: 'Text Generation Inference (424)',
    source: 'https://github.com/huggingface/text-generation-inference/blob/main/router/src/server.rs',
    statuses: [424],
    words: /^request failed during generation/i,
  },
  {
    means: 'rate_limit',
    vendor: 'Groq (flex tier)',
    source: 'https://console.groq.com/docs/errors',
    statuses: [498],
  },
];

export const byStatus: readonly FailureRow[] = [
  {
    means: 'timeout',
    vendor: 'OpenRouter, Bedrock (ModelTimeoutException)',
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
    statuses: [408],
  },
  {
    // Nothing was done: the server did not want to take the risk of a replay.
    means: 'server_error',
    vendor: 'any server',
    source: 'https://www.rfc-editor.org/rfc/rfc8470#section-5.2',
    statuses: [425],
  },
  {
    // A lock that another request holds; requests for answers conflict with nothing else.
    means: 'server_error',
    vendor: 'OpenAI',
    source: 'https://github.com/openai/openai-node/blob/master/src/client.ts',
    statuses: [409],
  },
  {
    means: 'rate_limit',
    vendor: 'any server',
    source: 'https://www.rfc-editor.org/rfc/rfc6585#section-4',
    statuses: [429],
  },
];
