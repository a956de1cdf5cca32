// How vendors say that a request is too long for the model: one with a larger window may serve it.
import type { FailureRow } from './failure-row.ts';

const means = 'context_length';

export const contextLength: readonly FailureRow[] = [
  {
    means,
    vendor: 'OpenAI, Azure, Groq, Cerebras, OpenRouter',
    source: 'https://platform.openai.com/docs/guides/error-codes',
    codes: /^context_length_exceeded$/i,
  },
  {
    means,
    vendor: 'OpenAI, DeepSeek, OpenRouter, vLLM, Meta models at Bedrock',
    source: 'https://github.com/evalstate/fast-agent/issues/621',
    words: /maximum context length (?:is|of) \d/i,
  },
  {
    means,
    vendor: 'OpenAI (Responses)',
    source: 'https://github.com/anomalyco/opencode/issues/6071',
    words: /exceeds the context window/i,
  },
  {
    means,
    vendor: 'Azure',
    source: 'https://github.com/BerriAI/litellm/issues/15968',
    words: /input tokens exceed the configured limit/i,
  },
  {
    means,
    vendor: 'OpenAI, Groq',
    source: 'https://github.com/TheR1D/shell_gpt/issues/653',
    // It is larger than what the account may send in a minute: waiting does not help, so 429 does not mean a limit here.
    statuses: [413, 429],
    words: /^request too large for /i,
  },
  {
    means,
    vendor: 'Groq, Cerebras',
    source: 'https://console.groq.com/docs/errors',
    words: /reduce the length of the (?:messages|prompt|input)/i,
  },
  {
    means,
    vendor: 'Anthropic, Fireworks, Claude at Bedrock and Vertex',
    source: 'https://docs.claude.com/en/docs/build-with-claude/context-windows',
    words: /prompt is too long/i,
  },
  {
    means,
    vendor: 'Anthropic',
    source: 'https://github.com/continuedev/continue/issues/8454',
    words: /exceed context limit/i,
  },
  {
    means,
    vendor: 'Anthropic',
    source: 'https://docs.claude.com/en/api/errors',
    codes: /^request_too_large$/i,
  },
  {
    means,
    vendor: 'Gemini',
    source: 'https://ai.google.dev/gemini-api/docs/troubleshooting',
    words: /input token count\b.{0,60}\bexceeds the maximum number of tokens/i,
  },
  {
    means,
    vendor: 'Vertex AI',
    source: 'https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors',
    words: /input token count is \d+ but (?:the )?model only supports up to/i,
  },
  {
    means,
    vendor: 'Bedrock',
    source: 'https://github.com/aws-samples/bedrock-chat/issues/95',
    words: /input is too long for requested model/i,
  },
  {
    means,
    vendor: 'Bedrock (Titan, Nova)',
    source: 'https://docs.aws.amazon.com/nova/latest/userguide/text-troubleshooting.html',
    words: /too many input tokens|number of input tokens exceeds maximum length|expected maxLength: \d+, actual: \d+/i,
  },
  {
    means,
    vendor: 'Mistral',
    source: 'https://github.com/BerriAI/litellm/pull/21647',
    words: /too large for model with \d+ maximum context length/i,
  },
  {
    means,
    vendor: 'Cohere',
    source: 'https://docs.cohere.com/reference/errors',
    words: /^too many tokens: /i,
  },
  {
    means,
    vendor: 'Text Generation Inference, Together',
    source: 'https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs',
    words: /`?inputs`? tokens \+ `?max_new_tokens`? must be <=|`?inputs`? must have less than \d+ tokens/i,
  },
  {
    means,
    vendor: 'vLLM',
    source: 'https://github.com/vllm-project/vllm/pull/12600',
    words: /longer than the maximum model length/i,
  },
  {
    means,
    vendor: 'SGLang',
    source: 'https://github.com/BerriAI/litellm/issues/10793',
    words: /longer than the model's context length/i,
  },
  {
    means,
    vendor: 'llama.cpp',
    source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    codes: /^exceed_context_size_error$/i,
  },
  {
    means,
    vendor: 'llama.cpp',
    source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    words: /exceeds the available context size/i,
  },
  {
    means,
    vendor: 'Ollama',
    source: 'https://github.com/ollama/ollama/blob/main/server/routes.go',
    words: /input length exceeds the context length|exceeded max context length/i,
  },
  {
    means,
    vendor: 'LM Studio',
    source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
    words: /greater than the context length|loaded with context length of only|n_keep \(\d+\) >= n_ctx/i,
  },
  {
    means,
    vendor: 'xAI',
    source: 'https://github.com/openxjarvis/pi-mono-python',
    words: /maximum prompt length is \d/i,
  },
  {
    means,
    vendor: 'MiniMax',
    source: 'https://github.com/openxjarvis/pi-mono-python',
    words: /context window exceeds limit/i,
  },
  {
    means,
    vendor: 'Moonshot',
    source: 'https://github.com/MoonshotAI/kimi-cli/issues/2011',
    words: /exceeded model token limit|model max length exceeded/i,
  },
  {
    means,
    vendor: 'Alibaba',
    source: 'https://help.aliyun.com/en/model-studio/error-code',
    words: /range of input length should be/i,
  },
  {
    means,
    vendor: 'Z.ai',
    source: 'https://docs.z.ai/api-reference/api-code',
    codes: /^1261$/,
  },
  {
    means,
    vendor: 'Perplexity',
    source: 'https://github.com/BerriAI/litellm/pull/21647',
    words: /total length of all messages is too long/i,
  },
  {
    means,
    vendor: 'GitHub Models',
    source: 'https://docs.github.com/en/github-models/use-github-models/prototyping-with-ai-models',
    codes: /^(?:model_max_prompt_tokens_exceeded|tokens_limit_reached)$/i,
  },
  {
    means,
    vendor: 'LiteLLM in front of a provider',
    source: 'https://docs.litellm.ai/docs/exception_mapping',
    words: /ContextWindowExceededError/,
  },
];
