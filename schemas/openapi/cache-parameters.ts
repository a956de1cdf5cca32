// The header of requests about the cache, and the query parameters of its resets.

export const cacheParameters = {
  CacheControl: {
    name: 'Cache-Control',
    in: 'header',
    description:
      'Where answers are cached: `no-cache` asks for a new one, `max-age=N` for none older than N seconds, and `no-store` keeps it out of the cache.',
    schema: { type: 'string' },
    example: 'max-age=60',
  },
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
