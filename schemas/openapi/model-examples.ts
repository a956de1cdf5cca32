// One example of every body of the model API, by the name of its schema.
const gpt = { id: 'openai/gpt-4o', object: 'model', created: 0, owned_by: 'openai' } as const;
const tokenUsage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } as const;
const question = { role: 'user', content: 'Hello' } as const;

/** An example for each schema. */
export const modelExamples = {
  'chat-completion': {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: tokenUsage,
  },
  'chat-completion-request': { model: 'chat', messages: [question] },
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
  completion: {
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_772_400_000,
    model: 'gpt-4o',
    choices: [{ text: 'Hello!', index: 0, logprobs: null, finish_reason: 'stop' }],
    usage: tokenUsage,
  },
  'completion-request': { model: 'chat', prompt: 'Hello', max_tokens: 16 },
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'gpt-4o',
    content: [{ type: 'text', text: 'Hello!' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 },
  },
  'message-request': { model: 'chat', max_tokens: 1024, messages: [question] },
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_772_400_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'gpt-4o',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello!', annotations: [] }],
      },
    ],
    previous_response_id: null,
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
  },
  'response-deleted': { id: 'resp_1', object: 'response.deleted', deleted: true },
  'response-input-items': {
    object: 'list',
    data: [{ type: 'message', id: 'msg_0', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    first_id: 'msg_0',
    last_id: 'msg_0',
    has_more: false,
  },
  'response-request': { model: 'chat', input: 'Hello' },
  'token-count': { input_tokens: 9 },
  'token-count-request': { model: 'chat', messages: [question] },
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
} as const;
