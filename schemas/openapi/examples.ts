// One example of every body, by the name of its schema, for readers of the API description.
import type { SchemaName } from './components.ts';

const ruleOfTeamA = {
  id: 'user_path:minute:3f1c9a7be2d04856',
  scope: 'user_path',
  subject: '/team-a',
  effective_subject: '/team-a',
  user_path: '/team-a',
  per_child: false,
  source: 'manual',
  overrides_config: true,
  declared_at: 'limits.yaml:7',
  enforced: true,
  mode: 'enforce',
  period_label: 'minute',
  period_seconds: 60,
  max_requests: 2,
  requests_used: 1,
  requests_remaining: 1,
  tokens_used: 0,
  in_flight: 0,
  window_start: '2026-03-01T21:04:10.000Z',
  window_end: '2026-03-01T21:05:11.000Z',
  reason: 'runaway batch job',
  expires_at: '2026-03-02T05:00:00.000Z',
  created_at: '2026-03-01T21:03:58.120Z',
  updated_at: '2026-03-01T21:03:58.120Z',
  updated_by: 'master_key',
} as const;

const declaredRule = {
  id: 'user_path:hour:8b5f2d1ce0a97364',
  scope: 'user_path',
  subject: '/team-b',
  effective_subject: '/team-b',
  user_path: '/team-b',
  per_child: false,
  source: 'config',
  overrides_config: false,
  declared_at: 'limits.yaml:12',
  enforced: true,
  mode: 'enforce',
  period_label: 'hour',
  period_seconds: 3600,
  max_requests: 500,
  created_at: '2026-03-01T06:00:00.000Z',
  updated_at: '2026-03-01T06:00:00.000Z',
} as const;

const keyOfAnn = {
  id: '3b241101-e2bb-4255-8caf-4136c566a962',
  name: 'Ann, editor',
  user_path: '/team-a/ann',
  allowed_models: ['chat'],
  any_user_path: false,
  dashboard_access: false,
  redacted_value: 'sk-gw-...Zk9A',
  enabled: true,
  created_at: '2026-03-01T20:00:00.000Z',
  updated_at: '2026-03-01T20:00:00.000Z',
  created_by: 'master_key',
  active: true,
} as const;

const proxy = {
  instance: 'gateway-0:8080',
  instance_shared: false,
  live: true,
  converged: true,
  heard_at: '2026-03-01T21:04:20.310Z',
  started_at: '2026-03-01T06:00:00.000Z',
  config_revision: '9f86d081884c',
  config_source: 'directory',
  state_revision: 42,
  state_source: 'store',
  limiter: 'enforcing',
  environment: 'e3b0c44298fc',
  environment_matches: true,
  last_config_error: null,
  secret_problems: [],
  left_out_providers: [],
  unusable_targets: [{ provider: 'openai', model: 'gpt-4o', reason: 'resting', until: '2026-03-01T21:04:40.000Z' }],
  unusable_target_count: 1,
} as const;

const gpt = { id: 'openai/gpt-4o', object: 'model', created: 1_772_400_000, owned_by: 'openai' } as const;
const tokenUsage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } as const;

/** An example for each schema; each is valid under its schema. */
export const examples: Readonly<Record<SchemaName, unknown>> = {
  'admin-error': {
    code: 'invalid_member',
    message: 'The member "max_requests" must be a whole number from 1 to 9007199254740991.',
    param: 'max_requests',
    status_code: 400,
    type: 'invalid_request_error',
  },
  'api-description': { openapi: '3.1.0', info: { title: 'Model gateway', version: '1.0' }, paths: {} },
  'auth-key': { ...keyOfAnn, last_used_at: '2026-03-01T21:00:00.000Z' },
  'auth-key-allowed-models': { allowed_models: ['chat', 'openai/*'] },
  'auth-key-change': { user_path: '/team-b/ann', expires_in: '90d' },
  'auth-key-dashboard-access': { dashboard_access: true },
  'auth-key-issued': { ...keyOfAnn, value: 'sk-gw-0V7mXk2TqLw9bRj4ZyH1cUe8sNdPaG6fIoKtQxWvZk9' },
  'auth-key-labels': { labels: ['editors'] },
  'auth-key-list': [{ ...keyOfAnn, last_used_at: '2026-03-01T21:00:00.000Z' }],
  'auth-key-write': { name: 'Ann, editor', user_path: '/team-a/ann', allowed_models: ['chat'] },
  'chat-completion': {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: tokenUsage,
  },
  'chat-completion-request': { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
  config: {
    server_time: '2026-03-01T21:04:20.512Z',
    config_revision: '9f86d081884c',
    config_source: 'directory',
    state_revision: 42,
    providers: [
      { name: 'openai', type: 'openai', models: ['gpt-4o'], stream_usage: true, declared_at: 'providers.yaml:3' },
    ],
    aliases: [
      {
        source: 'chat',
        strategy: 'round_robin',
        targets: [{ model: 'openai/gpt-4o', weight: 1 }],
        declared_at: 'aliases.yaml:4',
      },
    ],
    rate_limits_enabled: true,
    rate_limits: [declaredRule],
  },
  'embedding-list': {
    object: 'list',
    data: [{ index: 0, embedding: [0.01, -0.02] }],
    usage: { ...tokenUsage, completion_tokens: 0, total_tokens: 9 },
  },
  'embedding-request': { model: 'openai/text-embedding-3-small', input: 'Hello' },
  model: gpt,
  'model-error': {
    error: {
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded for /team-a: 2 requests per minute. Retry in 31 s.',
      param: null,
      type: 'rate_limit_error',
    },
  },
  'model-list': { object: 'list', data: [gpt] },
  'rate-limit-delete': { user_path: '/team-a', limit_key: { period: 'minute' } },
  'rate-limit-reset': { confirmation: 'reset' },
  'rate-limit-reset-one': { user_path: '/team-a', period: 'minute' },
  'rate-limit-write': {
    user_path: '/team-a',
    limit_key: { period: 'minute' },
    max_requests: 2,
    reason: 'runaway batch job',
    expires_at: '2030-03-02T05:00:00Z',
  },
  'rate-limits': { rate_limits: [ruleOfTeamA], server_time: '2026-03-01T21:04:20.512Z' },
  'reset-done': { status: 'ok' },
  status: {
    server_time: '2026-03-01T21:04:20.512Z',
    converged: true,
    lag_seconds: 0,
    desired: { config_revision: '9f86d081884c', state_revision: 42, environment: 'e3b0c44298fc' },
    proxies: [proxy],
    last_rejected_config: null,
    secret_problems: [],
    store: { engine: 'redis', status: 'up', source: 'store', store_id: '6fa459ea-ee8a-4ca4-894e-db77e160355e' },
  },
  usage: {
    user_path: '/team-a/ann',
    server_time: '2026-03-01T21:04:20.512Z',
    usage: null,
    budgets: [],
    rate_limits: [
      {
        subject: '/team-a',
        per_child: false,
        effective_subject: '/team-a',
        user_path: '/team-a',
        mode: 'enforce',
        period_seconds: 60,
        period_label: 'minute',
        max_requests: 2,
        requests_used: 1,
        requests_remaining: 1,
        requests_usage_ratio: 0.5,
        tokens_used: 0,
        in_flight: 0,
        window_start: '2026-03-01T21:04:10.000Z',
        window_end: '2026-03-01T21:05:11.000Z',
        resets_in_seconds: 51,
        exhausted: false,
      },
    ],
  },
};

/** An event stream, as `stream: true` asks for it. */
export const streamExample = [
  'data: {"choices":[{"index":0,"delta":{"content":"Hello!"}}]}',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  'data: [DONE]',
]
  .map((line) => `${line}\n\n`)
  .join('');
