// The keys of a provider: used in turn, resting when they were refused or limited, remembered across reloads.
import { test } from 'tap';
import { noHead } from '../../proxy/upstream/answer-head.ts';
import { type ApiKeys, ProviderKeys, type RefusedKey } from '../../proxy/upstream/api-keys.ts';

const nowMs = Date.UTC(2026, 0, 1);
const given = (secrets: string) =>
  secrets.split('').map((secret, index) => ({ position: index + 1, secret, headers: ['authorization', secret] }));

/** The secrets of the next keys. */
function picks(keys: ApiKeys, count: number, atMs: number): string {
  return Array.from({ length: count }, () => keys.pick(atMs).secret).join('');
}

/** Answers a key, which is found by its turn. */
function answer(keys: ApiKeys, secret: string, status: number, retryAfter?: string): void {
  for (let turn = 0; turn < 9; turn += 1) {
    const key = keys.pick(nowMs);
    if (key.secret !== secret) continue;
    keys.answered(key, status, { ...noHead, retryAfter }, nowMs);
    return;
  }
  throw new Error(`${secret} has no turn`);
}

await test('keys are used in turn, without those that rest', (t) => {
  const keys = new ProviderKeys().of('p', given('abc'));
  t.equal(picks(keys, 6, nowMs), 'abcabc');
  t.same(keys.pick(nowMs).headers, ['authorization', 'a']);
  answer(keys, 'b', 401);
  t.equal(picks(keys, 4, nowMs), 'caca');
  t.equal(picks(keys, 4, nowMs + 59_999), 'caca');
  t.ok(picks(keys, 3, nowMs + 60_000).includes('b'), 'after a minute it is tried again');
  t.same(keys.rests(nowMs), [
    { position: 1, isResting: false },
    { position: 2, isResting: true },
    { position: 3, isResting: false },
  ]);
  t.end();
});

await test('a limited key rests for as long as the provider asks, at most a minute, and a second if it does not say', (t) => {
  const waits: [retryAfter: string | undefined, ms: number][] = [
    [undefined, 1_000],
    ['nonsense', 1_000],
    ['0.25', 250],
    ['7', 7_000],
    ['3600', 60_000],
    [new Date(nowMs + 5_000).toUTCString(), 5_000],
    // That would be at once, and is no way to treat a provider that refuses.
    ['0', 1_000],
    [new Date(nowMs - 5_000).toUTCString(), 1_000],
  ];
  for (const [retryAfter, ms] of waits) {
    const keys = new ProviderKeys().of('p', given('ab'));
    answer(keys, 'a', 429, retryAfter);
    t.equal(picks(keys, 2, nowMs + ms - 1), 'bb', `${retryAfter}: ${ms}`);
    t.ok(picks(keys, 2, nowMs + ms).includes('a'), `${retryAfter}: ${ms}`);
  }
  const exact = new ProviderKeys().of('p', given('ab'));
  exact.answered(exact.pick(nowMs), 429, { ...noHead, retryAfter: '7', retryAfterMs: '300' }, nowMs);
  t.equal(picks(exact, 2, nowMs + 299), 'bb');
  t.ok(picks(exact, 2, nowMs + 300).includes('a'), 'retry-after-ms is more exact');
  t.end();
});

await test('a key whose account has no money left rests for a minute, and is not called refused', (t) => {
  const refused: number[] = [];
  const keys = new ProviderKeys(({ position }) => refused.push(position)).of('p', given('ab'));
  answer(keys, 'a', 402);
  t.equal(picks(keys, 2, nowMs + 59_999), 'bb');
  t.ok(picks(keys, 2, nowMs + 60_000).includes('a'));
  t.same(refused, []);
  t.equal(keys.troubles()[0]?.trouble?.kind, 'account_used_up');
  t.end();
});

await test('while all rest, the one that is free soonest is used; other answers say nothing about a key', (t) => {
  const keys = new ProviderKeys().of('p', given('abc'));
  for (const status of [200, 400, 403, 404, 500, 503, 529]) answer(keys, 'a', status, '60');
  t.equal(picks(keys, 3, nowMs), 'bca');
  const asked = keys.pick(nowMs);
  t.ok(keys.hasOtherFree(asked, nowMs));
  answer(keys, 'a', 401);
  answer(keys, 'b', 429, '20');
  answer(keys, 'c', 429, '30');
  t.equal(picks(keys, 3, nowMs), 'bbb');
  t.notOk(keys.hasOtherFree(asked, nowMs + 19_999));
  t.equal(picks(keys, 2, nowMs + 20_000), 'bb');
  const single = new ProviderKeys().of('p', given('a'));
  t.equal(single.pick(nowMs).secret, 'a');
  t.notOk(single.hasOtherFree(single.pick(nowMs), nowMs), 'the only key is no other one');
  t.end();
});

await test('a key that is refused is told of once, until it has worked again', (t) => {
  const told: RefusedKey[] = [];
  const keys = new ProviderKeys((refused) => void told.push(refused)).of('p', given('ab'));
  const [, key] = [keys.pick(nowMs), keys.pick(nowMs)] as const;
  for (let count = 0; count < 3; count += 1) keys.answered(key, 401, noHead, nowMs);
  t.same(told, [{ provider: 'p', position: 2, count: 2 }]);
  const sinceMs = nowMs;
  keys.answered(key, 429, noHead, nowMs + 5);
  keys.answered(key, 401, noHead, nowMs + 9);
  t.same(
    keys.troubles().map(({ trouble }) => trouble),
    [undefined, { kind: 'key_refused', sinceMs }],
    'since the first refusal',
  );
  keys.answered(key, 200, noHead, nowMs);
  t.equal(keys.troubles()[1]?.trouble, undefined);
  keys.answered(key, 401, noHead, nowMs);
  t.equal(told.length, 2);
  t.end();
});

await test('a reload keeps what is known of a key for as long as its provider has it', (t) => {
  const provider = new ProviderKeys();
  const first = provider.of('p', given('abc'));
  provider.keep([{ name: 'p', credentials: first }]);
  answer(first, 'b', 401);
  const moved = provider.of('p', given('bd'));
  provider.keep([{ name: 'p', credentials: moved }]);
  t.equal(picks(moved, 2, nowMs), 'dd', 'at another position too');
  t.equal(
    picks(provider.of('q', given('bd')), 2, nowMs),
    'bd',
    'the same key of another provider has a state of its own',
  );
  provider.keep([]);
  t.equal(picks(provider.of('p', given('bd')), 2, nowMs), 'bd');
  t.end();
});
