// Which headers of a provider's answer are kept, by name and in any case.
import { test } from 'tap';
import { readAnswerHead } from '../../proxy/upstream/answer-head.ts';

const raw = (...texts: string[]) => texts.map((text) => Buffer.from(text));

await test('headers about the limits of the provider are kept as they came, and no others', async (t) => {
  const others = [
    'Content-Type',
    'application/json',
    'Transfer-Encoding',
    'chunked',
    'x-request-id',
    'r',
    'openai-processing-ms',
    '12',
    'strict-transport-security',
    'max-age=1',
    'access-control-allow-origin',
    '*',
    'x-envoy-upstream-service-time',
    '9',
    'anthropic-organization-id',
    'o',
    'x-ratelimi',
    '1',
  ];
  t.equal(readAnswerHead(raw(...others)).quota, undefined);
  const ofQuota = [
    'X-RateLimit-Limit-Requests',
    '60',
    'x-ratelimit-remaining-tokens',
    '1000',
    'x-ratelimit-reset',
    '1s',
    'x-ratelimit-remaining',
    '5',
    'Anthropic-RateLimit-Input-Tokens-Reset',
    '2027-01-15T08:00:30Z',
  ];
  const { quota, framed, contentType } = readAnswerHead(raw(...ofQuota, ...others));
  t.same(quota?.map(String), ofQuota);
  t.equal(framed, true);
  t.equal(contentType, 'application/json');
});
