// What the errors of vendors mean: as they are written there, in the format in which they come.
import { test } from 'tap';
import { readError as readBedrock } from '../../../proxy/dialects/bedrock/read-error.ts';
import { readError as readChat } from '../../../proxy/dialects/chat/read/read-error.ts';
import type { ProviderWords } from '../../../proxy/dialects/dialect.ts';
import { readError as readGemini } from '../../../proxy/dialects/gemini/read-error.ts';
import { readError as readMessages } from '../../../proxy/dialects/messages/read/read-error.ts';
import { diagnose, failureRows } from '../../../proxy/providers/failures/diagnose.ts';

type Reader = (text: string) => ProviderWords;
/** `<kind>` or `<kind>, <why the target rests>`; `final`: no other target is asked. */
type Row = readonly [vendor: string, status: number | undefined, body: string | object, meaning: string];

const openai = (message: string, code: string | null = null, more: object = {}): object => ({
  error: { message, type: 'invalid_request_error', param: null, code, ...more },
});
const anthropic = (type: string, message: string): object => ({ type: 'error', error: { type, message } });
const google = (code: number, status: string, message: string, details: object[] = []): object => ({
  error: { code, message, status, details },
});

const chat: readonly Row[] = [
  [
    'OpenAI',
    400,
    openai("This model's maximum context length is 8192 tokens.", 'context_length_exceeded'),
    'context_length',
  ],
  ['OpenAI Responses', 400, openai('Your input exceeds the context window of this model.'), 'context_length'],
  [
    'OpenAI',
    429,
    openai('Request too large for gpt-4o on tokens per min (TPM)', 'rate_limit_exceeded'),
    'context_length',
  ],
  ['Azure', 400, openai('Input tokens exceed the configured limit of 272000 tokens.'), 'context_length'],
  ['Groq', 413, openai('Request too large for model `m` on TPM', 'rate_limit_exceeded'), 'context_length'],
  ['Groq', 400, openai('Please reduce the length of the messages or completion.'), 'context_length'],
  [
    'Mistral',
    400,
    { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
    'context_length',
  ],
  [
    'Cohere',
    400,
    { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' },
    'context_length',
  ],
  [
    'OpenRouter',
    400,
    { error: { code: 400, message: "This endpoint's maximum context length is 1048576 tokens." } },
    'context_length',
  ],
  [
    'OpenRouter, behind it',
    400,
    {
      error: {
        code: 400,
        message: 'Provider returned error',
        metadata: { raw: '{"error":{"message":"prompt is too long: 9 > 8"}}' },
      },
    },
    'context_length',
  ],
  [
    'Together',
    422,
    openai('Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.'),
    'context_length',
  ],
  ['Fireworks', 400, openai('The prompt is too long: 140000, model maximum context length: 131071'), 'context_length'],
  [
    'vLLM',
    400,
    { object: 'error', message: 'The decoder prompt (length 9) is longer than the maximum model length of 8.' },
    'context_length',
  ],
  [
    'llama.cpp',
    400,
    { error: { code: 400, message: 'too large', type: 'exceed_context_size_error' } },
    'context_length',
  ],
  ['Ollama', 500, { error: 'the input length exceeds the context length' }, 'context_length'],
  [
    'xAI',
    400,
    { code: 'x', error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
    'context_length',
  ],
  ['in a 200 without a status', undefined, openai('prompt is too long'), 'context_length'],
  ['a proxy before it', 413, '<html><title>413 Request Entity Too Large</title></html>', 'final'],
  ['a limit of tokens', 429, openai('Too many tokens, please wait before trying again.'), 'rate_limit'],

  ['Azure', 400, openai('The response was filtered.', 'content_filter'), 'content_filter'],
  [
    'Azure, inside',
    400,
    openai('No.', null, { innererror: { code: 'ResponsibleAIPolicyViolation' } }),
    'content_filter',
  ],
  [
    'OpenAI',
    400,
    openai('Invalid prompt: it was flagged as potentially violating our usage policy.', 'invalid_prompt'),
    'content_filter',
  ],
  [
    'OpenRouter',
    403,
    { error: { code: 403, message: 'Your chosen model requires moderation and your input was flagged' } },
    'content_filter',
  ],
  [
    'xAI',
    403,
    { code: 'x', error: 'Content violates usage guidelines. API key ID: 1, failed check: SAFETY_CHECK_TYPE_BIO' },
    'content_filter',
  ],
  ['DeepSeek', 400, openai('Content Exists Risk', 'invalid_request_error'), 'content_filter'],
  ['Alibaba', 400, openai('Input data may contain inappropriate content.', 'data_inspection_failed'), 'content_filter'],
  ['a wrong prompt', 400, openai('Invalid prompt: a message has no role.', 'invalid_prompt'), 'final'],

  ['OpenAI', 401, openai('Incorrect API key provided', 'invalid_api_key'), 'account, key_refused'],
  ['xAI', 400, { code: 'x', error: 'Incorrect API key provided: xa***. ' }, 'account, key_refused'],
  ['a key', 403, openai('This API key may not.'), 'account, key_refused'],
  ['what it forbids', 403, openai('Country not supported'), 'account'],
  ['DeepSeek', 402, openai('Insufficient Balance'), 'account, account_used_up'],
  ['OpenAI', 400, openai('No.', 'billing_hard_limit_reached'), 'account, account_used_up'],
  ['OpenAI', 429, openai('You exceeded your current quota', 'insufficient_quota'), 'rate_limit, account_used_up'],
  ['OpenAI', 429, openai('Rate limit reached', 'rate_limit_exceeded'), 'rate_limit'],
  [
    'Alibaba',
    400,
    openai('Access denied, please make sure your account is in good standing.', 'Arrearage'),
    'account, account_used_up',
  ],
  [
    'Fireworks',
    412,
    openai('Account x is suspended, possibly due to reaching the monthly spending limit'),
    'account, account_used_up',
  ],
  [
    'xAI',
    429,
    'Your team has either used all available credits or reached its monthly spending limit.',
    'rate_limit, account_used_up',
  ],

  ['OpenAI', 404, openai('The model `m` does not exist', 'model_not_found'), 'model_gone, model_unavailable'],
  [
    'OpenAI',
    403,
    openai('Project `p` does not have access to model `m`', 'model_not_found'),
    'model_gone, model_unavailable',
  ],
  ['Azure', 404, openai('The API deployment does not exist.', 'DeploymentNotFound'), 'model_gone, model_unavailable'],
  ['Groq', 400, openai('It has been decommissioned', 'model_decommissioned'), 'model_gone, model_unavailable'],
  ['Ollama', 404, { error: "model 'm' not found" }, 'model_gone, model_unavailable'],
  ['OpenRouter', 400, { error: { code: 400, message: 'm is not a valid model ID' } }, 'model_gone, model_unavailable'],
  ['DeepSeek', 400, openai('Model Not Exist'), 'model_gone, model_unavailable'],
  ['a path that is not there', 404, '404 page not found', 'model_gone'],
  ['something that the request names', 404, openai('No such File object: file-1'), 'final'],
  ['a wrong parameter', 400, openai('x is not supported by this model', 'unsupported_parameter'), 'final'],

  ['OpenRouter', 408, openai('Your request timed out'), 'timeout'],
  ['too early', 425, '', 'server_error'],
  ['a conflict', 409, openai('No.'), 'server_error'],
  ['Groq flex', 498, openai('Flex tier capacity exceeded'), 'rate_limit'],
  ['a wrong request', 400, openai('No.'), 'final'],
  ['a break', 500, openai('No.'), 'server_error'],
  ['an unknown error in a 200', undefined, openai('No.'), 'invalid_answer'],
];

const messages: readonly Row[] = [
  [
    'Anthropic',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
    'context_length',
  ],
  [
    'Anthropic',
    400,
    anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 1 + 2 > 2'),
    'context_length',
  ],
  ['Anthropic', 413, anthropic('request_too_large', 'Request exceeds the maximum size'), 'context_length'],
  [
    'Anthropic',
    400,
    anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
    'content_filter',
  ],
  [
    'Anthropic',
    400,
    anthropic('invalid_request_error', 'Your credit balance is too low to access the API.'),
    'account, account_used_up',
  ],
  ['Anthropic', 402, anthropic('billing_error', 'No.'), 'account, account_used_up'],
  ['Anthropic', 404, anthropic('not_found_error', 'model: claude-1'), 'model_gone, model_unavailable'],
  ['Anthropic', 529, anthropic('overloaded_error', 'Overloaded'), 'server_error'],
];

const gemini: readonly Row[] = [
  [
    'Gemini',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    ),
    'context_length',
  ],
  [
    'Vertex AI',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'Unable to submit request because the input token count is 9 but model only supports up to 8.',
    ),
    'context_length',
  ],
  [
    'Gemini',
    400,
    google(400, 'INVALID_ARGUMENT', 'API key not valid.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
    ]),
    'account, key_refused',
  ],
  [
    'Gemini',
    403,
    google(403, 'PERMISSION_DENIED', 'Method unregistered callers: use an API key'),
    'account, key_refused',
  ],
  [
    'Gemini',
    404,
    google(404, 'NOT_FOUND', 'models/m is not found for API version v1beta'),
    'model_gone, model_unavailable',
  ],
  ['Gemini', 429, google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota'), 'rate_limit'],
  ['Gemini', 503, google(503, 'UNAVAILABLE', 'The model is overloaded.'), 'server_error'],
];

const bedrock: readonly Row[] = [
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }, 'context_length'],
  [
    'Bedrock, Claude',
    400,
    { message: 'The model returned the following errors: prompt is too long: 9 > 8' },
    'context_length',
  ],
  ['Bedrock, Nova', 400, { message: 'This request has been blocked by our content filters.' }, 'content_filter'],
  ['Bedrock', 400, { __type: 'ServiceQuotaExceededException', message: 'No.' }, 'rate_limit'],
  ['Bedrock', 424, { __type: 'x#ModelErrorException:http://y', message: 'No.' }, 'server_error'],
  ['Bedrock', 408, { __type: 'ModelTimeoutException', message: 'No.' }, 'timeout'],
  ['Bedrock', 403, { message: 'The security token included in the request is invalid.' }, 'account, key_refused'],
  ['Bedrock', 400, { message: 'The provided model identifier is invalid.' }, 'model_gone, model_unavailable'],
  ['Bedrock', 400, { __type: 'ValidationException', message: 'No.' }, 'final'],
];

const tables: readonly [readError: Reader, rows: readonly Row[]][] = [
  [readChat, chat],
  [readMessages, messages],
  [readGemini, gemini],
  [readBedrock, bedrock],
];

await test('what an error of a vendor means', async (t) => {
  for (const [readError, rows] of tables) {
    for (const [vendor, status, body, meaning] of rows) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const { kind = 'final', trouble } = diagnose({ status, words: readError(text) });
      t.equal(trouble === undefined ? kind : `${kind}, ${trouble}`, meaning, `${vendor}: ${status} ${text}`);
    }
  }
});

await test('the wait that Google names in a body counts, with a limit alone', async (t) => {
  const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' };
  const body = JSON.stringify(google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', [info]));
  for (const readError of [readGemini, readChat]) {
    t.equal(diagnose({ status: 429, words: readError(body) }).waitMs, 34_500);
    t.equal(diagnose({ status: 503, words: readError(body) }).waitMs, undefined);
  }
  const odd = JSON.stringify(google(429, 'RESOURCE_EXHAUSTED', 'No.', [{ ...info, retryDelay: 'soon' }]));
  t.equal(diagnose({ status: 429, words: readGemini(odd) }).waitMs, undefined);
});

await test('every row cites a page, and says by what it is known', async (t) => {
  for (const { vendor, source, statuses, codes, words } of failureRows) {
    t.match(source, /^https:\/\/\S+$/, vendor);
    t.ok(statuses ?? codes ?? words, vendor);
  }
});

await test('a hostile message is read in bounded time', async (t) => {
  const startedMs = performance.now();
  for (const part of ['model ', 'not found ', 'input token count ', 'insufficient ', 'key ', ' '])
    diagnose({ status: 404, words: readChat(JSON.stringify({ error: { message: part.repeat(100_000) } })) });
  t.ok(performance.now() - startedMs < 2_000);
});
