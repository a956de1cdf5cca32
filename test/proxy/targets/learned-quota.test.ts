// Limits learned from the headers of answers, in the ways of the providers.
import * as fc from 'fast-check';
import { test } from 'tap';
import { LearnedQuota } from '../../../proxy/targets/learned-quota.ts';
import { durationMs, momentMs } from '../../../proxy/targets/reset-time.ts';
import { runs } from '../../support/extent.ts';

const start = Date.parse('2027-01-15T08:00:00Z');

/** The head of an answer with these headers. */
const head = (headers: Record<string, string>) => ({
  quota: Object.entries(headers)
    .flat()
    .map((text) => Buffer.from(text)),
});

function learned(headers: Record<string, string>): LearnedQuota {
  const quota = new LearnedQuota();
  quota.learn(head(headers), start);
  return quota;
}

await test('a reset is read however a provider writes it', async (t) => {
  const durations: [text: string, ms: number | undefined][] = [
    ['1s', 1000],
    ['20ms', 20],
    ['6m0s', 360_000],
    ['2m59.56s', 179_560],
    ['1h2m3s', 3_723_000],
    ['1d', 86_400_000],
    ['7', 7000],
    ['11.38', 11_380],
    ['', undefined],
    ['soon', undefined],
    ['1x', undefined],
    ['1.2.3s', undefined],
    ['s', undefined],
    ['1'.repeat(41), undefined],
  ];
  for (const [text, ms] of durations) t.equal(durationMs(text), ms, text);
  const moments: [text: string, ms: number | undefined][] = [
    ['2027-01-15T08:00:30Z', start + 30_000],
    [String(start / 1000 + 30), start + 30_000],
    [String(start + 30_000), start + 30_000],
    ['30', undefined],
    ['1s', undefined],
    ['2027-02-31T08:00:30Z', undefined],
  ];
  for (const [text, ms] of moments) t.equal(momentMs(text), ms, text);
});

await test('what is used up is so until enough of it has come back', async (t) => {
  const rows: [what: string, headers: Record<string, string>, usedUpMs: number][] = [
    [
      'OpenAI: one of 60 requests comes back each second',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1m0s',
      },
      1000,
    ],
    [
      'OpenAI: a hundredth of the tokens must be there',
      {
        'X-RateLimit-Limit-Tokens': '40000',
        'X-RateLimit-Remaining-Tokens': '12',
        'X-RateLimit-Reset-Tokens': '39.988s',
      },
      388,
    ],
    ['Azure tells no reset', { 'x-ratelimit-limit-requests': '60', 'x-ratelimit-remaining-requests': '0' }, 1000],
    ['a reset without a limit', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '3s' }, 3000],
    [
      'Anthropic',
      {
        'anthropic-ratelimit-input-tokens-limit': '50000',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2027-01-15T08:01:00Z',
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2027-01-15T08:00:02Z',
      },
      600,
    ],
    [
      'a day until the reset is at most a minute',
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1d' },
      60_000,
    ],
    ['something is left', { 'x-ratelimit-remaining-requests': '1', 'x-ratelimit-reset-requests': '9s' }, 0],
    ['-1 is no limit', { 'x-ratelimit-remaining-requests': '-1', 'x-ratelimit-reset-requests': '9s' }, 0],
    ['nonsense', { 'x-ratelimit-remaining-requests': 'none', 'x-ratelimit-remaining-': '0', 'x-ratelimit': '0' }, 0],
  ];
  for (const [what, headers, usedUpMs] of rows) {
    const quota = learned(headers);
    t.equal(quota.isUsedUp(start + usedUpMs - 1), usedUpMs > 0, what);
    t.equal(quota.isUsedUp(start + usedUpMs + 1), false, what);
  }
});

await test('pressure falls as the limit comes back', async (t) => {
  const quota = learned({
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-remaining-requests': '20',
    'x-ratelimit-reset-requests': '10s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '900',
    'x-ratelimit-reset-tokens': '10s',
  });
  t.equal(quota.pressure(start).toFixed(3), '0.800');
  t.equal(quota.pressure(start + 5000).toFixed(3), '0.400');
  t.equal(quota.pressure(start + 10_000), 0);
  t.same(
    [...quota.remaining(start + 5000)],
    [
      ['requests', 60],
      ['tokens', 950],
    ],
  );
  t.equal(new LearnedQuota().pressure(start), 0, 'nothing is known');
});

await test('while there is plenty, answers are read ten times a second; when it is short, each one is', async (t) => {
  const told = (remaining: number) =>
    head({ 'x-ratelimit-limit-requests': '100', 'x-ratelimit-remaining-requests': String(remaining) });
  const quota = new LearnedQuota();
  const left = (atMs: number) => [...quota.remaining(atMs)][0]?.[1];
  quota.learn(told(90), start);
  quota.learn(told(50), start + 99);
  t.equal(left(start), 90);
  quota.learn(told(10), start + 100);
  t.equal(left(start + 100), 10);
  quota.learn(told(9), start + 101);
  t.equal(left(start + 101), 9);
  quota.learn({ quota: undefined }, start + 102);
  t.equal(left(start + 101), 9, 'an answer without limits says nothing');
});

await test('no header of a provider makes it throw, or hold more than its own fields', async () => {
  const name = fc.oneof(
    fc.constantFrom(
      'x-ratelimit-limit-requests',
      'x-ratelimit-remaining-tokens',
      'X-RateLimit-Reset',
      'anthropic-ratelimit-requests-reset',
    ),
    fc.string(),
  );
  const value = fc.oneof(fc.string(), fc.double().map(String), fc.constantFrom('1s', '2027-01-15T08:00:30Z', '0'));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (pairs) => {
      const quota = new LearnedQuota();
      quota.learn({ quota: pairs.flat().map((text) => Buffer.from(text)) }, start);
      const pressure = quota.pressure(start + 10);
      return (
        quota.usedUpUntilMs <= start + 60_000 &&
        pressure >= 0 &&
        pressure <= 1 &&
        [...quota.remaining(start)].length <= 4
      );
    }),
    runs(1000),
  );
});
