// The parameters of the model API that only some of its operations have.

export const modelParameters = {
  PassthroughProvider: {
    name: 'provider',
    in: 'path',
    required: true,
    description: 'The name of a provider in the configuration, else its type: then the first provider of that type.',
    schema: { type: 'string', minLength: 1, maxLength: 100 },
    example: 'openai',
  },
  PassthroughEndpoint: {
    name: 'endpoint',
    in: 'path',
    required: true,
    description:
      'The path below the base URL of the provider. A slash may be written as `%2F`; `v1/` at its beginning is left out.',
    schema: { type: 'string', minLength: 1 },
    example: 'chat/completions',
  },
  ModelId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The name of the model. Its slashes are part of the path; send them as they are.',
    schema: { type: 'string', minLength: 1 },
    example: 'openai/gpt-4o',
  },
  RealtimeModel: {
    name: 'model',
    in: 'query',
    description:
      'provider/model, a bare model id, or an alias; for a session it is required. A body that names one goes before it.',
    schema: { type: 'string', minLength: 1, maxLength: 1024 },
    example: 'openai/gpt-realtime',
  },
  ResponseId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the response, which is found for the user path of the request that made it alone.',
    schema: { type: 'string', pattern: '^resp_[A-Za-z0-9_-]{1,128}$' },
    example: 'resp_1',
  },
  ItemLimit: {
    name: 'limit',
    in: 'query',
    description: 'The most items of the page.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    example: 100,
  },
  ItemOrder: {
    name: 'order',
    in: 'query',
    description: 'In which order, by time.',
    schema: { enum: ['asc', 'desc'], default: 'desc' },
    example: 'asc',
  },
  ItemAfter: {
    name: 'after',
    in: 'query',
    description: 'The page behind the item of this id.',
    schema: { type: 'string' },
    example: 'msg_0',
  },
  AnthropicVersion: {
    name: 'anthropic-version',
    in: 'header',
    description:
      'Its presence asks for the formats of Anthropic, in listings of models and in errors. A provider that speaks the Messages API gets it as it is, and `anthropic-beta` with it.',
    schema: { type: 'string' },
    example: '2023-06-01',
  },
  ModelLimit: {
    name: 'limit',
    in: 'query',
    description: 'Only with `anthropic-version`: the most models of the page.',
    schema: { type: 'integer', minimum: 1, maximum: 1000, default: 20 },
    example: 1000,
  },
  ModelAfterId: {
    name: 'after_id',
    in: 'query',
    description: 'Only with `anthropic-version`: the page behind this name. Names are in alphabetical order.',
    schema: { type: 'string', minLength: 1 },
    example: 'openai/gpt-4o',
  },
  ModelBeforeId: {
    name: 'before_id',
    in: 'query',
    description: 'Only with `anthropic-version`, and not beside `after_id`: the page before this name.',
    schema: { type: 'string', minLength: 1 },
    example: 'openai/gpt-4o',
  },
} as const;
