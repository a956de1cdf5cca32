// How vendors say that they refuse a request for its content. Another vendor may serve it, which an alias has to allow.
import type { FailureRow } from './failure-row.ts';

const means = 'content_filter';

export const contentFilter: readonly FailureRow[] = [
  {
    means,
    vendor: 'OpenAI, Azure, Moonshot',
    source: 'https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter',
    codes: /^(?:content_filter|content_policy_violation|ResponsibleAIPolicyViolation|moderation_blocked)$/i,
  },
  {
    means,
    vendor: 'Azure',
    source: 'https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter',
    words: /content management policy/i,
  },
  {
    means,
    vendor: 'OpenAI',
    source: 'https://platform.openai.com/docs/guides/error-codes',
    codes: /^invalid_prompt$/i,
    words: /flagged|usage policy/i,
  },
  {
    means,
    vendor: 'Anthropic',
    source: 'https://docs.claude.com/en/api/errors',
    words: /blocked by content filtering policy/i,
  },
  {
    means,
    vendor: 'Bedrock (Nova)',
    source: 'https://docs.aws.amazon.com/nova/latest/userguide/text-troubleshooting.html',
    words: /blocked by our content filters/i,
  },
  {
    means,
    vendor: 'Vertex AI',
    source: 'https://cloud.google.com/vertex-ai/generative-ai/docs/image/responsible-ai-imagen',
    words: /violates? (?:our|Google's) (?:usage guidelines|Responsible AI)/i,
  },
  {
    means,
    vendor: 'OpenRouter',
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
    statuses: [403],
    words: /requires moderation|was flagged/i,
  },
  {
    means,
    vendor: 'xAI',
    source: 'https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267',
    words: /content violates usage guidelines|SAFETY_CHECK_TYPE/i,
  },
  {
    means,
    vendor: 'DeepSeek',
    source: 'https://github.com/deepseek-ai/awesome-deepseek-integration/issues/13',
    words: /content exists risk/i,
  },
  {
    means,
    vendor: 'Alibaba',
    source: 'https://help.aliyun.com/en/model-studio/error-code',
    codes: /^data_?inspection_?failed$/i,
  },
  {
    means,
    vendor: 'Z.ai',
    source: 'https://docs.z.ai/api-reference/api-code',
    codes: /^1301$/,
  },
  {
    means,
    vendor: 'MiniMax',
    source: 'https://platform.minimax.io/docs/api-reference/errorcode',
    codes: /^102[67]$/,
  },
  {
    means,
    vendor: 'Moonshot',
    source: 'https://platform.moonshot.ai/docs/api/chat',
    words: /rejected because it was considered high risk/i,
  },
  {
    means,
    vendor: 'Volcengine',
    source: 'https://www.volcengine.com/docs/82379/1299023',
    codes: /SensitiveContentDetected/i,
  },
  {
    means,
    vendor: 'Novita, ZenMux',
    source: 'https://novita.ai/docs/api-reference/basic-error-code.md',
    codes: /^(?:illegal_prompt|safety_check_failed)$/i,
  },
  {
    means,
    vendor: 'LiteLLM in front of a provider',
    source: 'https://docs.litellm.ai/docs/exception_mapping',
    words: /ContentPolicyViolationError/,
  },
];
