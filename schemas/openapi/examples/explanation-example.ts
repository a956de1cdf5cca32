// Explanations for readers of the API description: one target is used up, the other one is asked.

/** Of a request at any endpoint. */
const anywhere = {
  request: { user_path: '/team-a', model: 'chat', stream: false },
  outcome: 'It would be sent to azure/gpt-4o.',
  resolution: {
    kind: 'alias',
    aliases: [
      {
        name: 'chat',
        strategy: 'failover',
        targets: ['openai/gpt-4o', 'azure/gpt-4o'],
        source: 'config',
        declared_at: 'aliases.yaml:4',
      },
    ],
    strategy: 'failover',
    attempts: 3,
  },
  budgets: [],
  rate_limits_enabled: true,
  rules: [],
  guardrails: [
    {
      name: 'mask-personal-data',
      kind: 'pii',
      on: ['input'],
      mode: 'enforce',
      order: 0,
      source: 'config',
      declared_at: 'guardrails.yaml:2',
    },
  ],
  targets: [
    {
      target: 'openai/gpt-4o',
      weight: 1,
      would: 'skip',
      reason: 'saturated',
      says: 'a rule on it is used up',
      until: '2026-03-01T21:04:51.000Z',
      first_byte_ms: 412,
      rules: [
        {
          id: 'provider:minute:5b0c8e21d7f3a946',
          name: 'openai per minute',
          scope: 'provider',
          subject: 'openai',
          effective_subject: 'openai',
          per_child: false,
          mode: 'enforce',
          period_label: 'minute',
          period_seconds: 60,
          max_requests: 500,
          exhausted: true,
          retry_after_seconds: 31,
          requests_used: 500,
          requests_remaining: 0,
          tokens_used: 0,
          in_flight: 0,
          resets_in_seconds: 31,
          source: 'config',
          declared_at: 'limits.yaml:9',
          overrides_config: false,
        },
      ],
    },
    {
      target: 'azure/gpt-4o',
      weight: 0,
      would: 'ask',
      says: 'nothing stands in its way',
      learned_remaining: { requests: 1200 },
      rules: [],
    },
  ],
  near_misses: [
    {
      kind: 'rule',
      name: 'user_path /team minute',
      reason: 'other_segment',
      says: 'its segment "team" is not "team-a": paths are compared by whole segments',
      source: 'manual',
      updated_by: 'master_key',
    },
  ],
  config_revision: '9f86d081884c',
  state_revision: 42,
  instance: 'gateway-0:8080',
  server_time: '2026-03-01T21:04:20.512Z',
} as const;

/** The same request at an endpoint that neither provider speaks. */
const explanation = {
  ...anywhere,
  request: { ...anywhere.request, endpoint: '/v1/messages' },
  counted: {
    rules: 'all',
    slot: 'answer',
    says: 'It is one request under every rule on the user path, the provider and the model, and holds one slot until its answer has ended.',
  },
  targets: anywhere.targets.map((target) => ({ ...target, relay: 'translated', translated_to: 'chat' })),
} as const;

const explainedRequest = {
  id: '0f1d7c52-6c9e-4d5a-9a63-0a4a3c1b7e21',
  request_id: 'req_5f0c2b9e1a7d000012',
  endpoint: '/v1/chat/completions',
  received_at: '2026-03-01T21:04:20.498Z',
  is_over: true,
  duration_ms: 812,
  answer: { status: 200 },
  attempts: [
    {
      target: 'azure/gpt-4o',
      outcome: 'accepted',
      started_at: '2026-03-01T21:04:20.513Z',
      duration_ms: 640,
      status: 200,
    },
  ],
  explanation: anywhere,
} as const;

/** By the name of the schema. */
export const explanationExamples = { explanation, 'explained-request': explainedRequest } as const;
