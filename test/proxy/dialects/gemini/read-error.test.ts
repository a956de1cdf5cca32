// Error bodies in Google's words.
import { test } from 'tap';
import { readError } from '../../../../proxy/dialects/gemini/read-error.ts';

await test('an error alone or in a list: status, reason, place, and when to try again', async (t) => {
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' };
  const quota = { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaValue: '10' }] };
  const exhausted = {
    code: 429,
    message: 'You exceeded your quota.',
    status: 'RESOURCE_EXHAUSTED',
    details: [quota, retry],
  };
  const expected = {
    message: 'You exceeded your quota.',
    code: '429',
    param: null,
    type: 'RESOURCE_EXHAUSTED',
    further: { retryDelay: '34.07s', details: [quota, retry] },
  };
  t.same(readError(JSON.stringify({ error: exhausted })), expected);
  t.same(readError(JSON.stringify([{ error: exhausted }])), expected);
  t.equal(Object.keys(readError(JSON.stringify({ error: exhausted })).further)[0], 'retryDelay', 'it comes first');

  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
  };
  const field = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents[0]' }] };
  const invalid = { code: 400, message: 'No.', status: 'INVALID_ARGUMENT', details: [info, field], other: 1 };
  t.match(readError(JSON.stringify({ error: invalid })), {
    code: 'API_KEY_INVALID',
    param: 'contents[0]',
    type: 'INVALID_ARGUMENT',
    further: { other: 1 },
  });
});

await test('any other text is the message', async (t) => {
  const nothing = { code: null, param: null, type: null, further: {} };
  for (const text of [
    '',
    'Bad Gateway',
    '<html>',
    '[]',
    '{}',
    'null',
    '{"error":null}',
    '[[{"error":1}]]',
    '{"error":',
  ]) {
    t.same(readError(text), { ...nothing, message: text }, text);
  }
  t.same(readError('{"error":"no"}'), { ...nothing, message: 'no' });
  t.same(readError('{"error":{"code":{},"details":{"a":1}}}'), {
    ...nothing,
    message: '{"error":{"code":{},"details":{"a":1}}}',
    further: { details: { a: 1 } },
  });
});
