// Each API key of a provider has limits of its own: a target is used up when all of its keys are.
import { test } from 'tap';
import { LearnedQuotas, type RememberedKey } from '../../../proxy/targets/learned-quotas.ts';
import { ProviderKeys } from '../../../proxy/upstream/api-keys.ts';

const start = Date.UTC(2026, 0, 5, 12);
const said = (remaining: number) => ({
  quota: [
    'x-ratelimit-limit-requests',
    '10',
    'x-ratelimit-remaining-requests',
    `${remaining}`,
    'x-ratelimit-reset-requests',
    '10s',
  ].map((text) => Buffer.from(text)),
});

const keysOf = (count: number) => Array.from({ length: count }, () => ({ restsUntilMs: 0 }));

await test('a target is used up when nothing is left for any key that can be used', async (t) => {
  const quotas = new LearnedQuotas();
  const [first, second] = keysOf(2) as [{ restsUntilMs: number }, { restsUntilMs: number }];
  quotas.keep([first, second]);
  quotas.learn(said(0), start, first);
  t.equal(quotas.isUsedUp(start), false, 'nothing is known of the other key');
  t.equal(quotas.pressure(start), 0);
  second.restsUntilMs = start + 1;
  t.equal(quotas.isUsedUp(start), true, 'the other key rests');
  second.restsUntilMs = 0;
  quotas.learn(said(4), start, second);
  t.equal(quotas.isUsedUp(start), false);
  t.equal(quotas.pressure(start), 0.6, 'that of the better key');
  t.strictSame([...quotas.remaining(start)], [['requests', 4]]);
  quotas.learn(said(0), start + 500, second);
  t.equal(quotas.isUsedUp(start + 500), true);
  t.equal(quotas.usedUpUntilMs(start + 500), start + 1000, 'a tenth of the limit is back with the first key');
  t.equal(quotas.isUsedUp(start + 1000), false);
});

await test('what a removed key had left is forgotten, and its late answers say nothing', async (t) => {
  const quotas = new LearnedQuotas();
  const [first, second, third] = keysOf(3) as [RememberedKey, RememberedKey, RememberedKey];
  quotas.keep([first, second]);
  for (const key of [first, second]) quotas.learn(said(0), start, key);
  quotas.keep([first, second, third]);
  t.equal(quotas.isUsedUp(start), false, 'the new key has something left');
  quotas.keep([second]);
  t.equal(quotas.isUsedUp(start), true);
  quotas.keep([third]);
  quotas.learn(said(0), start, second);
  t.equal(quotas.isUsedUp(start), false);
});

await test('keys with something left are used first, in turn; a resting key last', async (t) => {
  const given = [1, 2, 3].map((position) => ({ position, secret: `key-${position}`, headers: [] }));
  const keys = new ProviderKeys().of('p', given);
  const quotas = new LearnedQuotas();
  quotas.keep(keys.remembered);
  const [first, second, third] = keys.remembered;
  const picked = (count: number) => Array.from({ length: count }, () => keys.pick(start, quotas).position).join('');
  quotas.learn(said(0), start, second);
  t.equal(picked(4), '1313');
  quotas.learn(said(0), start, first);
  quotas.learn(said(0), start, third);
  t.equal(new Set(picked(3)).size, 3, 'all in turn when nothing is left for any');
  for (const rested of [first, third])
    keys.rest(keys.pick(start, { isKeyUsedUp: (key) => key !== rested }), start + 5000);
  t.equal(picked(2), '22');
});
