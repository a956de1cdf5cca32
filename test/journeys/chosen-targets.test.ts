// Which target of an alias a request goes to: the least busy one.
import { t as suite, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const upstreams = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const [one, two] = upstreams;
const provider = (url: string) => ({ type: 'openai', base_url: url, models: ['m'] });
const fleet = await startFleet(suite, {
  store: 'sqlite',
  proxies: 1,
  config: {
    providers: { one: provider(one.url), two: provider(two.url) },
    aliases: [{ source: 'busy', strategy: 'least_busy', targets: [{ model: 'one/m' }, { model: 'two/m' }] }],
  },
});
const [proxy] = fleet.proxies as readonly [Gateway];

const messages = [{ role: 'user', content: 'a' }];
const ask = (body: object, headers: Record<string, string> = {}): ReturnType<Gateway['fetch']> =>
  proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body: { messages, ...body } });

/** The open requests of each target, as the proxy says them. */
async function open(): Promise<(number | undefined)[]> {
  const { targets } = (await (await proxy.fetch('/admin/explain?model=busy')).json()) as {
    targets: readonly { readonly target: string; readonly open_requests?: number }[];
  };
  return ['one/m', 'two/m'].map((name) => targets.find(({ target }) => target === name)?.open_requests);
}

await test('least_busy asks the target with the fewest open requests, and none stays open', async (t) => {
  const gate = createGate();
  await one.behave({
    kind: 'sse',
    chunks: ['data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', gate, 'data: [DONE]\n\n'],
  });
  const gone = new AbortController();
  const streams = [await ask({ model: 'one/m', stream: true }), await ask({ model: 'one/m', stream: true })];
  const left = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { messages, model: 'one/m', stream: true },
    signal: gone.signal,
  });
  t.same(await open(), [3, undefined]);
  for (let request = 0; request < 4; request += 1)
    t.equal((await (await ask({ model: 'busy' })).text()).length > 0, true);
  t.same([one.ledger.length, two.ledger.length], [3, 4]);
  gone.abort();
  await left.text().catch(() => '');
  gate.release();
  for (const stream of streams) await stream.text();
  await waitFor('no request to be open', async () => (await open()).every((count) => count === undefined));
  await one.behave({ kind: 'error', status: 500 });
  for (let request = 0; request < 3; request += 1) t.equal((await ask({ model: 'busy' })).status, 200);
  await waitFor('none to be open behind failures', async () => (await open()).every((count) => count === undefined));
});
