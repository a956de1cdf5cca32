// How vendors say that the account of the gateway there is used up, or that they refuse its key.
import type { FailureRow } from './failure-row.ts';

const usedUp = { means: 'account', trouble: 'account_used_up' } as const;
const keyRefused = { means: 'account', trouble: 'key_refused' } as const;

/** By which a provider says that it is the key that it forbids something to, and not the request that it refuses. */
const speaksOfKey =
  /\b(?:api[\s_-]?key|access[\s_-]?key|key|credentials?|signature|(?:access|bearer|security|session|auth(?:entication|orization)?)[\s_-]token|unauthenticated|authentication)\b|invalid_api_key|authentication_error|InvalidSignature|UnrecognizedClient|ExpiredToken|MissingAuthentication|IncompleteSignature/i;

const moneyWords =
  /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|account balance is insufficient|billing (?:hard )?limit|out of credits|account is (?:in arrears|overdue)|account is in good standing/i;

export const usedUpAccounts: readonly FailureRow[] = [
  {
    ...usedUp,
    vendor: 'DeepSeek, OpenRouter, Together, Anthropic',
    source: 'https://api-docs.deepseek.com/quick_start/error_codes',
    statuses: [402],
  },
  {
    // It stays a limit for clients and for `retry.on`, but an account without credit has none a second later either.
    means: 'rate_limit',
    trouble: 'account_used_up',
    vendor: 'OpenAI, Moonshot, Z.ai',
    source: 'https://platform.openai.com/docs/guides/error-codes',
    statuses: [429],
    codes: /insufficient_?(?:balance|credits?|funds|quota)|billing|arrearage|exceeded_current_quota|^1113$/i,
  },
  {
    means: 'rate_limit',
    trouble: 'account_used_up',
    vendor: 'xAI',
    source: 'https://github.com/continuedev/continue/issues/10373',
    statuses: [429],
    words: /used all available credits or reached its monthly spending limit/i,
  },
  {
    ...usedUp,
    vendor: 'OpenAI, Anthropic, Alibaba, Google, Volcengine, Novita',
    source: 'https://help.aliyun.com/en/model-studio/error-code',
    codes:
      /insufficient_?(?:balance|credits?|funds|quota)|billing|arrearage|overdue|payment_required|exceeded_current_quota|not_enough_balance/i,
  },
  {
    ...usedUp,
    vendor: 'Anthropic, Alibaba, SiliconFlow',
    source: 'https://docs.claude.com/en/api/errors',
    statuses: [400, 403, 404, 409, 412, 422],
    words: moneyWords,
  },
  {
    ...usedUp,
    vendor: 'xAI',
    source: 'https://docs.x.ai/docs/key-information/debugging',
    words: /used all available credits|doesn't have any credits/i,
  },
  {
    ...usedUp,
    vendor: 'Fireworks (412)',
    source: 'https://github.com/pollinations/pollinations/issues/12136',
    words: /is suspended, possibly due to reaching the monthly spending limit/i,
  },
  {
    ...usedUp,
    vendor: 'Bedrock',
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/model-access.html',
    statuses: [403],
    words: /INVALID_PAYMENT_INSTRUMENT/,
  },
  {
    ...usedUp,
    vendor: 'Gemini (FAILED_PRECONDITION)',
    source: 'https://ai.google.dev/gemini-api/docs/troubleshooting',
    statuses: [400],
    words: /please enable billing/i,
  },
];

export const refusedKeys: readonly FailureRow[] = [
  {
    ...keyRefused,
    vendor: 'Gemini (400)',
    source: 'https://ai.google.dev/gemini-api/docs/troubleshooting',
    statuses: [400],
    codes: /^API_KEY_(?:INVALID|EXPIRED)$/,
  },
  {
    ...keyRefused,
    vendor: 'Gemini, xAI (400)',
    source: 'https://docs.x.ai/docs/key-information/debugging',
    statuses: [400],
    words: /^(?:API key (?:not valid|expired)|incorrect API key provided)/i,
  },
  {
    ...keyRefused,
    vendor: 'Bedrock, Gemini, Alibaba',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html',
    statuses: [403],
    codes: speaksOfKey,
  },
  {
    ...keyRefused,
    vendor: 'Bedrock, Gemini, Alibaba',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html',
    statuses: [403],
    words: speaksOfKey,
  },
];

/** Every other 403 forbids what is asked: a model of the account's plan, a region, a feature. Another account may have it. */
export const forbidden: readonly FailureRow[] = [
  {
    means: 'account',
    vendor: 'OpenAI, Anthropic',
    source: 'https://platform.openai.com/docs/guides/error-codes',
    statuses: [403],
  },
];
