// The parameters of explanations by their component name.

export const explainParameters = {
  ExplainedModel: {
    name: 'model',
    in: 'query',
    required: true,
    description: 'The model or alias that the request would ask for.',
    schema: { type: 'string', minLength: 1, maxLength: 1024 },
    example: 'chat',
  },
  ExplainedUserPath: {
    name: 'user_path',
    in: 'query',
    description: 'The user path that it would name; / without it, for a scoped operator its own.',
    schema: { type: 'string' },
    example: '/team-a/app',
  },
  ExplainedKey: {
    name: 'key_id',
    in: 'query',
    description: 'The id of the managed key that it would have. Without it, the master key.',
    schema: { type: 'string' },
    example: '3b241101-e2bb-4255-8caf-4136c566a962',
  },
  ExplainedEndpoint: {
    name: 'endpoint',
    in: 'query',
    description:
      'The path of the endpoint where it would be sent, one at which a request names a model. With it, each target says whether and how it can be asked there, and `counted` which rules count. Without it, every target counts as one that can be asked, and every rule.',
    schema: { type: 'string' },
    example: '/v1/audio/speech',
  },
  ExplainedStream: {
    name: 'stream',
    in: 'query',
    description: 'Whether it would ask for a stream.',
    schema: { enum: ['true', 'false'] },
    example: 'true',
  },
  ExplainedThread: {
    name: 'thread',
    in: 'query',
    description: 'The conversation that it would belong to, for session_affinity.',
    schema: { type: 'string', maxLength: 1024 },
    example: 'conversation-17',
  },
  ExplainedInputTokens: {
    name: 'input_tokens',
    in: 'query',
    description:
      'The tokens of its prompt: targets with a smaller context window are passed over while another one is left.',
    schema: { type: 'integer', minimum: 0, maximum: 999999999 },
    example: 150000,
  },
  ExplainedTools: {
    name: 'tools',
    in: 'query',
    description: 'How many tools it would offer, for conditions.',
    schema: { type: 'integer', minimum: 0 },
    example: '3',
  },
  ExplainedImages: {
    name: 'images',
    in: 'query',
    description: 'Whether it would hold an image, for conditions.',
    schema: { enum: ['true', 'false'] },
    example: 'true',
  },
  ExplainedHeaders: {
    name: 'header',
    in: 'query',
    description: 'The headers that it would have, for conditions: header[x-tier]=gold.',
    style: 'deepObject',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    example: { 'x-tier': 'gold' },
  },
  ExplanationId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The X-Gateway-Explain-Id of an answer.',
    schema: { type: 'string', format: 'uuid' },
    example: '0f1d7c52-6c9e-4d5a-9a63-0a4a3c1b7e21',
  },
  Explain: {
    name: 'X-Gateway-Explain',
    in: 'header',
    description:
      '`1`, with the master key or a key of the role operator for the whole gateway: the answer names an explanation of the request. Ignored otherwise.',
    schema: { const: '1' },
    example: '1',
  },
} as const;
