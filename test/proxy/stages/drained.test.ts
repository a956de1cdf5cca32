// A target that an operator has taken out gets no call: others are asked, and where there is none the client hears when to come again.
import { test } from 'tap';
import { Refusal } from '../../../proxy/errors.ts';
import { usedUpStand } from './used-up-stand.ts';

const once = { period: 'minute', max_requests: 1 } as const;

await test('requests go to the others; a provider and one of its models are told apart', async (t) => {
  const stand = await usedUpStand(t, {});
  for (const [out, by] of [
    [{ first: 60 }, 'second'],
    [{ 'first/m': 60 }, 'second'],
    [{ FIRST: 60 }, 'second'],
    [{ 'first/other': 60 }, 'first'],
    [{}, 'first'],
  ] as const) {
    stand.drain(out);
    t.equal(await stand.ask(0), by, JSON.stringify(out));
  }
});

await test('with nothing else to ask it is 503 until the first of them is back, and counts nothing', async (t) => {
  const stand = await usedUpStand(t, { limits: { consumer: once } });
  stand.drain({ first: 900, 'second/m': 20, second: 40 });
  const refused = await stand.ask(500);
  t.match(refused, {
    status: 503,
    code: 'target_drained',
    message: /taken second out until 2026-01-01T00:00:40\.000Z, .* Retry in 40 s/,
    headers: { 'retry-after': '40' },
  });
  t.notMatch(String(refused), /maintenance|master_key/, 'why and by whom is for operators');
  t.match(await stand.ask(0, 'first/m'), {
    code: 'target_drained',
    headers: { 'retry-after': '900', 'x-should-retry': 'false' },
  });
  t.same(stand.calls(), [0, 0]);
  stand.drain({});
  t.equal(await stand.ask(1_000), 'first', 'what it has paid it got back');
});

await test('beside one whose rule is used up, the rule speaks', async (t) => {
  const stand = await usedUpStand(t, { limits: { second: once }, waits: { second: 10 } });
  stand.drain({ first: 5 });
  t.match(await stand.ask(0), { status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after': '10' } });
});

await test('it is not asked behind one that fails, nor again, and the wait that is told knows of it', async (t) => {
  const stand = await usedUpStand(t, { saysSeconds: 30, retry: { attempts: 3, on: ['rate_limit'] } });
  stand.drain({ second: 12 });
  const refused = await stand.ask(0);
  t.ok(refused instanceof Refusal);
  t.match(refused, { status: 429, code: 'too_many', headers: { 'retry-after': '12' } });
  t.same(stand.calls(), [1, 0]);
});
