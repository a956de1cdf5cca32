// The query parameters of resets of the cache.

export const cacheParameters = {
  CacheScope: {
    name: 'scope',
    in: 'query',
    description: 'All answers.',
    schema: { const: 'gateway' },
    example: 'gateway',
  },
  CacheUserPath: {
    name: 'user_path',
    in: 'query',
    description: 'The answers that requests of this user path and of all below it get.',
    schema: { type: 'string' },
    example: '/team-a',
  },
  CacheModel: {
    name: 'model',
    in: 'query',
    description:
      'The answers of this model: an alias or another name that requests have, a model of a provider with its name in front, or a bare id. Letter case does not matter.',
    schema: { type: 'string', maxLength: 1024 },
    example: 'openai/gpt-4o-mini',
  },
} as const;
