// Audit entries and usage for readers of the API description.

const usage = {
  input_tokens: 1200,
  output_tokens: 310,
  total_tokens: 1510,
  cached_input_tokens: 1024,
  uncached_input_tokens: 176,
  cache_write_input_tokens: 0,
  cached_input_ratio: 0.8533333333333334,
  estimated_cached_characters: 4096,
  entries: 1,
  rewrite_tokens_saved: 0,
  rewrite_cost_saved: 0,
} as const;

const attempt = {
  seq: 1,
  kind: 'primary',
  model: 'gpt-4o',
  provider_name: 'openai',
  provider_type: 'openai',
  started_at: '2026-03-01T21:04:20.513Z',
  duration_ns: 2840000000,
  status_code: 200,
  success: true,
} as const;

const listed = {
  id: '01960c5e-7a31-7c4e-9d52-6a1f0e8b4c21',
  request_id: 'req_5f0c2b9e1a7d000012',
  session_id: 'scoped-1f2e3d4c5b6a79880123456789abcdef',
  timestamp: '2026-03-01T21:04:20.498Z',
  method: 'POST',
  path: '/v1/chat/completions',
  status_code: 200,
  duration_ns: 2861000000,
  stream: true,
  requested_model: 'chat',
  resolved_model: 'openai/gpt-4o',
  provider: 'openai',
  provider_name: 'openai',
  user_path: '/team-a/ann',
  auth_key_id: '3b241101-e2bb-4255-8caf-4136c566a962',
  auth_method: 'api_key',
  client_ip: '10.1.2.3',
  alias_used: true,
  asked_by: 'client',
  bodies_omitted: true,
  conversation_payload: true,
  usage,
  data: { user_agent: 'openai-node/6.49.0', labels: ['editors'], attempts: [attempt], config_revision: '9f86d081884c' },
} as const;

const entry = {
  ...listed,
  bodies_omitted: false,
  data: {
    ...listed.data,
    request_body: { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello!' }] },
    response_body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' } }] },
  },
} as const;

const asked = { start_date: '2026-03-01', end_date: '2026-03-31', time_zone: 'Europe/Berlin' } as const;

const sums = {
  requests: 412,
  attempts: 431,
  input_tokens: 512000,
  output_tokens: 96000,
  total_tokens: 608000,
  uncached_input_tokens: 112000,
  cached_input_tokens: 400000,
  cache_write_input_tokens: 0,
  reasoning_tokens: 12000,
  input_cost: 0.78,
  output_cost: 0.96,
  total_cost: 1.74,
  unpriced_requests: 0,
} as const;
const { requests, input_tokens, output_tokens, total_tokens, input_cost, output_cost, total_cost, ...parts } = sums;

const record = {
  id: '01960c5e-7a31-7c4e-9d52-6a1f0e8b4c21-1',
  timestamp: '2026-03-01T21:04:23.353Z',
  request_id: 'req_5f0c2b9e1a7d000012',
  provider_id: 'chatcmpl-9f3b',
  user_path: '/team-a/ann',
  asked_by: 'client',
  auth_key_id: '3b241101-e2bb-4255-8caf-4136c566a962',
  session_id: 'scoped-1f2e3d4c5b6a79880123456789abcdef',
  endpoint: '/v1/chat/completions',
  provider: 'openai',
  provider_name: 'openai',
  model: 'gpt-4o',
  labels: ['editors'],
  source: 'reported',
  input_tokens: 1200,
  output_tokens: 310,
  total_tokens: 1510,
  cached_input_tokens: 1024,
  input_cost: 0.00172,
  output_cost: 0.0031,
  total_cost: 0.00482,
} as const;

/** By the name of the schema. */
export const recordExamples = {
  'audit-entry': entry,
  'audit-sessions': { sessions: [{ request_count: 7, latest: listed }], total: 1, limit: 25, offset: 0 },
  'audit-log': { entries: [listed], total: 1, limit: 25, offset: 0 },
  'audit-conversation': { anchor_id: entry.id, entries: [entry], truncated: false },
  'audit-stats': {
    ...asked,
    interval: 'day',
    summary: {
      requests: 412,
      succeeded: 405,
      client_errors: 5,
      refused: 4,
      server_errors: 2,
      success_rate: 0.9830097087378641,
    },
    buckets: [
      {
        start: '2026-03-01T23:00:00.000Z',
        requests: 412,
        succeeded: 405,
        client_errors: 5,
        refused: 4,
        server_errors: 2,
      },
    ],
    providers: [{ provider_name: 'openai', requests: 412, mean_duration_ns: 2640000000 }],
  },
  'usage-summary': {
    ...asked,
    total_requests: requests,
    total_input_tokens: input_tokens,
    total_output_tokens: output_tokens,
    total_tokens,
    ...parts,
    total_input_cost: input_cost,
    total_output_cost: output_cost,
    total_cost,
  },
  'usage-daily': [{ date: '2026-03-01', ...sums }],
  'usage-models': [{ model: 'gpt-4o', provider: 'openai', provider_name: 'openai', ...sums }],
  'usage-user-paths': [{ user_path: '/team-a/ann', ...sums }],
  'usage-keys': [{ auth_key_id: record.auth_key_id, ...sums }],
  'usage-labels': [{ label: 'editors', ...sums }],
  'usage-sessions': {
    entries: [
      {
        session_id: record.session_id,
        user_path: record.user_path,
        last_activity: record.timestamp,
        ...sums,
      },
    ],
    total: 1,
    limit: 50,
    offset: 0,
  },
  'usage-log': { entries: [record], total: 1, limit: 50, offset: 0 },
} as const;

const table = (first: string, value: string): string =>
  [
    [first, ...Object.keys(sums)],
    [value, ...Object.values(sums).map(String)],
  ]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('');

/** Tables, by what their rows are for. */
export const tableExamples = {
  daily: table('date', '2026-03-01'),
  keys: table('auth_key_id', record.auth_key_id),
  labels: table('label', 'editors'),
  models: table('model', 'gpt-4o'),
  'user-paths': table('user_path', '/team-a/ann'),
  log: `id,timestamp,model,total_cost\r\n${record.id},${record.timestamp},gpt-4o,0.00482\r\n`,
} as const;

/** A stream of entries. */
export const liveExample = `id: 4711\nevent: ready\ndata: {"cursor":4711}\n\nid: 4712\nevent: entry\ndata: ${JSON.stringify(listed)}\n\n: heartbeat\nid: 4712\n\n`;
