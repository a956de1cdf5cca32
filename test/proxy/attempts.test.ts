// How many calls of providers one request makes: over all targets of an alias, and of one target that fails.
import { t as suite, test } from 'tap';
import { type Behaviour, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { shareGateway } from '../support/shared.ts';
import { watchTime } from '../support/slowdown.ts';

const names = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'];
const models = [...names, 'spent-500', 'spent-503', 'waits', 'once'];
const upstream = await startFakeUpstream({ t: suite, models });
/** A budget of its own for each alias, so that none uses up another's. */
const retry = { budget: 1 };
const targets = (count: number) => names.slice(0, count).map((name) => ({ model: `p/${name}` }));
const gateway = await shareGateway({
  config: {
    providers: { p: { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, models } },
    aliases: [
      { source: 'four', strategy: 'failover', retry, targets: targets(4) },
      { source: 'two', strategy: 'failover', retry, targets: [{ model: 'p/once' }, { model: 'p/m1' }] },
      { source: 'six', strategy: 'failover', retry, targets: targets(6) },
      { source: 'three-500', target: 'p/spent-500', retry: { ...retry, attempts: 3 } },
      { source: 'three-503', target: 'p/spent-503', retry: { ...retry, attempts: 3 } },
    ],
  },
});
const modelOf = ({ body }: Entry): string => (JSON.parse(body.toString()) as { model: string }).model;
const error = (status: number, retryAfter?: string): Behaviour => ({
  kind: 'error',
  status,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

/** The status of a request, and the models that were asked for it, in order. */
async function ask(model: string, door = 'chat/completions'): Promise<string> {
  const before = upstream.ledger.length;
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], input: 'Hello' };
  const answer = await gateway.fetch(`/v1/${door}`, { method: 'POST', body });
  await answer.text();
  return [answer.status, ...upstream.ledger.slice(before).map(modelOf)].join(' ');
}

await test('an alias of four targets of which three fail is answered by the fourth', async (t) => {
  await upstream.behave((entry) => (modelOf(entry) === 'm4' ? undefined : error(529)));
  t.equal(await ask('four'), '200 m1 m2 m3 m4');
});

await test('of more targets than five, five are asked', async (t) => {
  await upstream.behave(error(500));
  t.equal(await ask('six'), '500 m1 m2 m3 m4 m5');
});

await test('one target is asked as often as retry.attempts says, and else twice', async (t) => {
  for (const status of [500, 503]) {
    await upstream.behave(error(status));
    const model = `spent-${status}`;
    t.equal(await ask(`three-${status}`), `${status} ${model} ${model} ${model}`);
    t.equal(await ask(`p/${model}`), `${status} ${model} ${model}`);
  }
});

await test('each attempt carries the whole of a long prompt, as it came or translated', async (t) => {
  await upstream.behave(error(500));
  const content = 'a long prompt '.repeat(5_000);
  for (const door of ['chat/completions', 'messages']) {
    const before = upstream.ledger.length;
    const body = { model: 'three-500', max_tokens: 9, messages: [{ role: 'user', content }] };
    await (await gateway.fetch(`/v1/${door}`, { method: 'POST', body })).text();
    const asked = upstream.ledger.slice(before).map((entry) => entry.body.toString().includes(content));
    t.same(asked, [true, true, true], door);
  }
});

await test('a 403 about the request leads to the next target, and no other caller is kept from the first', async (t) => {
  await upstream.behave((entry) => (modelOf(entry) === 'once' ? error(403) : undefined));
  t.equal(await ask('two'), '200 once m1');
  t.equal(await ask('two'), '200 once m1');
});

await test('the client does not wait for more than a second', async (t) => {
  await upstream.behave(error(429, '2'));
  const tookMs = watchTime();
  t.equal(await ask('p/waits'), '429 waits');
  t.ok(tookMs() < 1_000);
});
