// The headers that clients of Anthropic read instead of the gateway's.
const count = { type: 'integer', minimum: 0 } as const;
const moment = { type: 'string', format: 'date-time' } as const;

export const anthropicHeaders = {
  'request-id': { description: 'The same as x-request-id, for clients of Anthropic.', schema: { type: 'string' } },
  'anthropic-ratelimit-requests-limit': { description: 'As x-ratelimit-limit-requests.', schema: count },
  'anthropic-ratelimit-requests-remaining': { description: 'As x-ratelimit-remaining-requests.', schema: count },
  'anthropic-ratelimit-requests-reset': {
    description: 'The moment that x-ratelimit-reset-requests leads to, RFC 3339.',
    schema: moment,
  },
  'anthropic-ratelimit-tokens-limit': { description: 'As x-ratelimit-limit-tokens.', schema: count },
  'anthropic-ratelimit-tokens-remaining': { description: 'As x-ratelimit-remaining-tokens.', schema: count },
  'anthropic-ratelimit-tokens-reset': {
    description: 'The moment that x-ratelimit-reset-tokens leads to, RFC 3339.',
    schema: moment,
  },
} as const;

/** Of the above those that speak of limits. */
export const anthropicLimitHeaders = [
  'anthropic-ratelimit-requests-limit',
  'anthropic-ratelimit-requests-remaining',
  'anthropic-ratelimit-requests-reset',
  'anthropic-ratelimit-tokens-limit',
  'anthropic-ratelimit-tokens-remaining',
  'anthropic-ratelimit-tokens-reset',
] as const satisfies readonly (keyof typeof anthropicHeaders)[];
