// A provider refuses: with a status, once or always, with a pause or without.
import type { Act, Scenario } from '../scenario.ts';

const status = (code: number, says?: string | object, headers: Record<string, string> = {}): Act => ({
  status: code,
  headers,
  ...(says === undefined ? {} : { says }),
});
/** The scenario: the first provider does this, the second one answers. */
const beside = (name: string, act: Act | readonly Act[], more: Partial<Scenario> = {}): Scenario => ({
  name,
  plans: [act, 'answers'],
  sees: 'answer',
  ...more,
});
const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();

const quota = {
  error: {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    param: null,
    code: 'insufficient_quota',
  },
};
const published = { isPublished: true } as const;

export const statuses: readonly Scenario[] = [
  beside('429, a rate limit', status(429), published),
  beside('429 with `Retry-After` in seconds', status(429, undefined, { 'retry-after': '30' })),
  beside('429 with `Retry-After` as a date', status(429, undefined, { 'retry-after': inAnHour })),
  beside('429 with `retry-after-ms`', status(429, undefined, { 'retry-after-ms': '30000' })),
  {
    name: '429 with `retry-after-ms: 200`, once, and no other provider',
    plans: [[status(429, undefined, { 'retry-after-ms': '200' }), 'answers']],
    sees: 'answer',
    calls: [2],
  },
  beside('429, a quota that is used up', status(429, quota), published),
  {
    name: 'a quota 429 beside a rate 429, and a third that answers',
    plans: [status(429, quota), status(429), 'answers'],
    sees: 'answer',
  },
  beside('500 once, then good', [status(500), 'answers'], published),
  {
    name: '500 once, then good, and no other provider',
    plans: [[status(500), 'answers']],
    sees: 'answer',
    calls: [2],
  },
  beside('500 always', status(500), published),
  beside('502, a page of a load balancer', status(502, '<html><head><title>502 Bad Gateway</title></head></html>')),
  beside('503', status(503), published),
  {
    name: '503 with `Retry-After: 1`, once, and no other provider',
    plans: [[status(503, undefined, { 'retry-after': '1' }), 'answers']],
    sees: 'answer',
    calls: [2],
    withinMs: 2_500,
  },
  beside('504', status(504)),
  beside('529, overloaded', status(529)),
  beside('401, the key of the gateway is refused', status(401, 'Incorrect API key provided.'), published),
  beside('402, no credit left', status(402, 'Insufficient credits.'), published),
  beside('403, the account may not use the model', status(403, 'Your API key has no access to this model.')),
  beside(
    '404, the model is gone',
    status(404, {
      error: {
        message: 'The model `m` has been deprecated.',
        type: 'invalid_request_error',
        param: null,
        code: 'model_not_found',
      },
    }),
    { ...published, wire: 'chat' },
  ),
  beside('404, the model is gone (Anthropic)', status(404, 'model: m was not found'), { wire: 'messages' }),
  beside(
    '404, the model is gone (Google)',
    status(404, 'models/m is not found for API version v1beta, or is not supported for generateContent.'),
    { wire: 'gemini' },
  ),
  beside('408, the provider has timed out', status(408)),
  beside('409, a conflict at the provider', status(409)),
  beside('425, too early', status(425)),
  {
    name: '400, the request is wrong',
    plans: [status(400, 'temperature: must be at most 2'), 'answers'],
    sees: { status: 400 },
    calls: [1, 0],
  },
  {
    name: 'a provider whose quota headers say 0',
    plans: [
      {
        headers: {
          'x-ratelimit-limit-requests': '1',
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-reset-requests': '40s',
        },
      },
      'answers',
    ],
    sees: 'answer',
    isSecond: true,
    wire: 'chat',
  },
];
