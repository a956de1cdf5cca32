// How vendors say that they do not have the model, or not any more.
import type { FailureRow } from './failure-row.ts';

const gone = { means: 'model_gone', trouble: 'model_unavailable' } as const;

export const missingModels: readonly FailureRow[] = [
  {
    ...gone,
    vendor: 'OpenAI, Azure, Groq, Mistral, Perplexity, Together, Alibaba, GitHub Models',
    source: 'https://console.groq.com/docs/errors',
    codes:
      /model.*(?:not_?found|unsupported|not_?supported|unavailable|deprecated|decommissioned|retired|not_?available)|^(?:unsupported|deprecated|unknown|invalid)_model$/i,
  },
  {
    ...gone,
    vendor: 'Azure',
    source: 'https://github.com/microsoft/chat-copilot/issues/111',
    codes: /^DeploymentNotFound$/i,
  },
  {
    ...gone,
    vendor: 'OpenAI, Anthropic, Gemini, Vertex AI, Bedrock, Cohere, xAI, Fireworks, vLLM, Ollama',
    source: 'https://docs.claude.com/en/api/errors',
    // Only here words suffice: at other statuses they may be about a parameter ("… is not supported by this model").
    statuses: [404, 410],
    words:
      /^model: |^(?=.*\b(?:models?|deployment)\b)(?=.*(?:not found|does not exist|unsupported|not supported|unavailable|not available|deprecated|retired|disabled|removed|end of its life|not deployed))/is,
  },
  {
    ...gone,
    vendor: 'Bedrock (400, 403)',
    source: 'https://github.com/earendil-works/pi/issues/4993',
    words:
      /model identifier is invalid|model version has reached the end of its life|with on-demand throughput isn.t supported|don't have access to the model with the specified model ID/i,
  },
  {
    ...gone,
    vendor: 'Mistral',
    source: 'https://docs.mistral.ai/api/',
    statuses: [400],
    words: /^invalid model: /i,
  },
  {
    ...gone,
    vendor: 'DeepSeek, xAI, Cloudflare',
    source: 'https://api-docs.deepseek.com/quick_start/error_codes',
    statuses: [400],
    words: /^(?:model not exist|model not found|.{0,40}no such model)/i,
  },
  {
    ...gone,
    vendor: 'OpenRouter',
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
    statuses: [400, 404],
    words: /is not a valid model ID|^no (?:endpoints|allowed providers)\b/i,
  },
];

/** What a 404 means that does not name a model. */
export const missingThings: readonly FailureRow[] = [
  {
    // The request names an object that the provider does not keep.
    means: 'final',
    vendor: 'OpenAI, Anthropic',
    source: 'https://platform.openai.com/docs/api-reference/responses/create',
    statuses: [404, 410],
    words:
      /\b(?:file|image|document|response|conversation|item|thread|assistant|prompt|vector[ _]store|container|cached?[ _]?content|batch|voice|tool|skill)s?\b/i,
  },
  {
    // Its server has no such path: the config is wrong there, and the request is not.
    means: 'model_gone',
    vendor: 'any server',
    source: 'https://www.rfc-editor.org/rfc/rfc9110#name-404-not-found',
    statuses: [404, 410],
  },
];
