// What a client hears when providers refuse and rules are used up: one wait, of one rule or provider, and a retry is served then and no sooner.
import { type Test, test } from 'tap';
import { Refusal } from '../../../proxy/errors.ts';
import { startMs, type UsedUp, type UsedUpStand, usedUpStand } from './used-up-stand.ts';

const once = { period: 'minute', max_requests: 1 } as const;
const twice = { period: 'minute', max_requests: 2 } as const;
const slot = { period: 'concurrent', max_requests: 1 } as const;

async function refusalOf(stand: UsedUpStand, ms: number, model?: string): Promise<Refusal> {
  const outcome = await stand.ask(ms, model);
  if (outcome instanceof Refusal) return outcome;
  throw new Error(`${ms} ms after the start, ${outcome} has served it`);
}

/** A rule refuses: its words, its headers and its wait. */
function isOfRule(t: Test, refused: Refusal, whose: string, seconds: number): void {
  t.match(refused, {
    status: 429,
    code: 'rate_limit_exceeded',
    message: `Rate limit exceeded for ${whose}. Retry in ${seconds} s.`,
  });
  t.equal(refused.provider, undefined);
  t.match(refused.headers, {
    'retry-after': String(seconds),
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': String(seconds),
  });
}

/** The first provider refuses, in its own words; none of our rules is spoken of. */
function isOfProvider(t: Test, refused: Refusal, seconds: number): void {
  t.match(refused, { status: 429, code: 'too_many', message: 'slow down', provider: 'first' });
  t.equal(refused.rule, undefined);
  t.same(refused.headers, { 'retry-after': String(seconds), 'x-should-retry': 'false' });
}

interface Retry {
  /** The provider that serves it. */
  readonly by: string;
  readonly model?: string;
}

/** A retry is served at the second of a refusal, and a millisecond before it is not. */
async function servedAt(t: Test, stand: UsedUpStand, seconds: number, { by, model = 'pair' }: Retry): Promise<void> {
  const tooSoon = await refusalOf(stand, seconds * 1000 - 1, model);
  t.match(tooSoon, { status: 429, headers: { 'retry-after': '1' } }, 'a millisecond before');
  t.equal(await stand.ask(seconds * 1000, model), by, `after ${seconds} s`);
}

await test('of a provider that says 30 s and a rule of 10 s, the rule speaks', async (t) => {
  const stand = await usedUpStand(t, { saysSeconds: 30, limits: { second: once }, waits: { second: 10 } });
  isOfRule(t, await refusalOf(stand, 0), 'provider second: 1 request per minute', 10);
  t.same(stand.calls(), [1, 0]);
  await servedAt(t, stand, 10, { by: 'second' });
});

await test('of a provider that says 30 s and a rule of 50 s, the provider speaks', async (t) => {
  const stand = await usedUpStand(t, { saysSeconds: 30, limits: { second: once }, waits: { second: 50 } });
  isOfProvider(t, await refusalOf(stand, 0), 30);
  t.same(stand.calls(), [1, 0]);
  await servedAt(t, stand, 30, { by: 'first' });
});

await test('a provider that says 30 s and has a rule of 40 s waits for the rule', async (t) => {
  const limits = { first: twice, second: once };
  const stand = await usedUpStand(t, { saysSeconds: 30, limits, waits: { first: 40, second: 50 } });
  isOfRule(t, await refusalOf(stand, 0), 'provider first: 2 requests per minute', 40);
  await servedAt(t, stand, 40, { by: 'first' });
});

await test('the rule of the consumer speaks when it takes longer than every target', async (t) => {
  const waits = { second: 10, consumer: 55 };
  const stand = await usedUpStand(t, { saysSeconds: 30, limits: { second: once, consumer: twice }, waits });
  isOfRule(t, await refusalOf(stand, 0), '/team: 2 requests per minute', 55);
  t.equal(stand.counted(), 2, 'a provider was asked, so the request counts');
  await servedAt(t, stand, 55, { by: 'first' });
});

await test('the slot of the refused request itself does not stand in its way', async (t) => {
  const retry = { attempts: 1, on: ['rate_limit' as const] };
  const stand = await usedUpStand(t, { saysSeconds: 30, limits: { consumer: slot }, retry });
  isOfProvider(t, await refusalOf(stand, 0), 1);
  t.equal(await stand.ask(1_000), 'second', 'it has room, and was not asked because the alias allows one call');
});

await test('a target that is left alone gives no hope before it would be asked', async (t) => {
  const rows: [why: string, leaveAlone: (stand: UsedUpStand) => void, seconds: number][] = [
    ['it rests', (stand) => stand.stateOf('second').rest(startMs + 20_000, startMs), 20],
    ['it has used up what it grants', (stand) => useUp(stand), 20],
    ['its breaker is open', (stand) => breakUp(stand), 2],
  ];
  for (const [why, leaveAlone, seconds] of rows) {
    const stand = await usedUpStand(t, { saysSeconds: 30 });
    leaveAlone(stand);
    isOfProvider(t, await refusalOf(stand, 0), seconds);
    t.same(stand.calls(), [1, 0], why);
    t.equal(await stand.ask(seconds * 1000), 'second', why);
  }
});

function useUp(stand: UsedUpStand): void {
  const said = { 'x-ratelimit-limit-requests': '1', 'x-ratelimit-remaining-requests': '0' };
  const quota = Object.entries({ ...said, 'x-ratelimit-reset-requests': '20s' }).flat();
  const [key] = stand.targetOf('second').upstream.credentials.remembered;
  stand.stateOf('second').quota.learn({ quota: quota.map((text) => Buffer.from(text)) }, startMs, key);
}

/** Open for two seconds: its first probe failed at the start. */
function breakUp(stand: UsedUpStand): void {
  const { breaker } = stand.stateOf('second');
  for (let failure = 0; failure < 5; failure += 1) breaker.failed(startMs - 1_000);
  breaker.failed(startMs, breaker.begin(startMs));
}

await test('every target used up, or the only one: no call, nothing is paid, and a retry is served at the told second', async (t) => {
  const both: UsedUp = {
    limits: { first: once, second: once, consumer: { ...once, max_requests: 100 } },
    waits: { first: 20, second: 10 },
  };
  for (const [model, whose, seconds] of [
    ['pair', 'second', 10],
    ['second/m', 'second', 10],
    ['first/m', 'first', 20],
  ] as const) {
    const stand = await usedUpStand(t, both);
    isOfRule(t, await refusalOf(stand, 0, model), `provider ${whose}: 1 request per minute`, seconds);
    t.equal(stand.counted(), 0);
    t.same(stand.calls(), [0, 0]);
    await servedAt(t, stand, seconds, { by: whose, model });
    t.equal(stand.counted(), 1);
  }
});

await test('every target used up, and the consumer with this request: what it paid is given back before the wait is told', async (t) => {
  const limits = { first: once, second: once, consumer: twice };
  const stand = await usedUpStand(t, { limits, waits: { first: 20, second: 10, consumer: 30 } });
  isOfRule(t, await refusalOf(stand, 0), 'provider second: 1 request per minute', 10);
  t.equal(stand.counted(), 1);
  await servedAt(t, stand, 10, { by: 'second' });
});
