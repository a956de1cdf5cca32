// What Anthropic's clients are told of limits, and what its errors say.
import { test } from 'tap';
import { anthropicLimitHeaders } from '../../../../proxy/dialects/messages/limit-headers.ts';
import { messagesTranslation } from '../../../../proxy/dialects/messages/translate.ts';

await test('limits are told in the words of Anthropic, the reset as a time', (t) => {
  const requests = ['x-ratelimit-limit-requests', '60', 'x-ratelimit-remaining-requests', '59'];
  const headers = ['Date', 'x', ...requests, 'x-ratelimit-reset-requests', '31', 'X-RateLimit-Remaining-Tokens', '0'];
  t.same(anthropicLimitHeaders(headers, 1_767_225_600), [
    'anthropic-ratelimit-requests-limit',
    '60',
    'anthropic-ratelimit-requests-remaining',
    '59',
    'anthropic-ratelimit-requests-reset',
    '2026-01-01T00:00:31Z',
    'anthropic-ratelimit-tokens-remaining',
    '0',
  ]);
  t.same(anthropicLimitHeaders(['x-ratelimit-reset-tokens', '1'], 0.25), [
    'anthropic-ratelimit-tokens-reset',
    '1970-01-01T00:00:02Z',
  ]);
  t.same(anthropicLimitHeaders([], 0), []);
  t.end();
});

await test('an error is read in the words of Anthropic and of the clouds in front of it', (t) => {
  const words = { message: '', type: null, code: null, param: null, further: {} };
  const cases: readonly [string, object][] = [
    [
      '{"type":"error","error":{"type":"not_found_error","message":"model: x"},"request_id":"req_1"}',
      { ...words, type: 'not_found_error', message: 'model: x' },
    ],
    [
      '{"type":"error","error":{"type":"a","message":"b","details":{"c":1}}}',
      { ...words, type: 'a', message: 'b', further: { details: { c: 1 } } },
    ],
    ['[{"error":{"code":429,"message":"Quota"}}]', { ...words, code: '429', message: 'Quota' }],
    ['{"message":"Too many tokens"}', { ...words, message: 'Too many tokens' }],
    ['<html>busy</html>', { ...words, message: '<html>busy</html>' }],
    ['', words],
  ];
  for (const [text, expected] of cases) t.same(messagesTranslation.readError(text), expected, text);
  t.end();
});
