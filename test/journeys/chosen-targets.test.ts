// Which target of an alias a request goes to: the least busy one, those of a tier, those whose conditions are true.
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
    aliases: [
      { source: 'busy', strategy: 'least_busy', targets: [{ model: 'one/m' }, { model: 'two/m' }] },
      { source: 'tiers', targets: [{ model: 'two/m', tier: 2 }, { model: 'one/m' }] },
      {
        source: 'fits',
        targets: [
          { model: 'one/m', when: 'tokens < 500 && !stream' },
          { model: 'two/m', when: 'stream || headers["x-tier"] == "gold" || path.within("/big")' },
        ],
      },
    ],
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

/** Which of the two was asked, and the code of a refusal. */
async function askedBy(body: object, headers: Record<string, string> = {}): Promise<string> {
  const before = upstreams.map(({ ledger }) => ledger.length);
  const response = await ask(body, headers);
  const text = await response.text();
  const asked = ['one', 'two'].filter((_, index) => (upstreams[index]?.ledger.length ?? 0) > (before[index] ?? 0));
  return [...asked, ...(response.ok ? [] : [(JSON.parse(text) as { error: { code: string } }).error.code])].join(' ');
}

await test('tiers: the second is asked while the first fails', async (t) => {
  await one.behave({ kind: 'openai' });
  t.equal(await askedBy({ model: 'tiers' }), 'one');
  await one.behave({ kind: 'error', status: 500 });
  t.equal(await askedBy({ model: 'tiers' }), 'one two');
  await one.behave({ kind: 'openai' });
});

await test('conditions choose the target, in one piece and as a stream, and what fits none is refused', async (t) => {
  const long = { model: 'fits', messages: [{ role: 'user', content: 'word '.repeat(1000) }] };
  const rows: readonly [body: object, headers: Record<string, string>, asked: string][] = [
    [{ model: 'fits' }, {}, 'one'],
    [{ model: 'fits', stream: true }, {}, 'two'],
    [long, {}, 'no_target_matches'],
    [long, { 'x-tier': 'gold' }, 'two'],
    [long, { 'x-gateway-user-path': '/big/team' }, 'two'],
    [{ ...long, stream: true }, {}, 'two'],
  ];
  for (const [body, headers, asked] of rows) t.equal(await askedBy(body, headers), asked, JSON.stringify(headers));
  const anthropic = await proxy.fetch('/v1/messages', { method: 'POST', body: { ...long, max_tokens: 5 } });
  t.match(
    [anthropic.status, await anthropic.json()],
    [400, { type: 'error', error: { type: 'invalid_request_error' } }],
  );
  const explained = await ask(long, { 'x-gateway-explain': '1' });
  await explained.text();
  const id = explained.headers.get('x-gateway-explain-id') ?? '';
  const told = async () => (await (await proxy.fetch(`/admin/explain/${id}`)).json()) as object;
  t.match(await told(), {
    explanation: {
      refusal: { code: 'no_target_matches' },
      targets: [
        { target: 'one/m', reason: 'condition_false', conditions: [{ when: 'tokens < 500 && !stream', holds: false }] },
        { target: 'two/m', reason: 'condition_false' },
      ],
    },
  });
});

await test('an operator sets an alias with conditions, and it is in force', async (t) => {
  const put = (body: object) => fleet.admin('/admin/virtual-models', { method: 'PUT', body });
  const bad = await put({ source: 'mine', targets: [{ model: 'one/m', when: 'token < 5' }] });
  t.match([bad.status, await bad.json()], [400, { param: 'targets[0].when', message: /did you mean .*tokens/ }]);
  const good = {
    source: 'mine',
    when: 'tokens < 500',
    targets: [{ model: 'one/m', when: 'stream' }, { model: 'two/m' }],
  };
  t.equal((await put(good)).status, 200);
  await waitFor('it to be in force', async () => (await ask({ model: 'mine', stream: true })).status === 200);
  t.equal(await askedBy({ model: 'mine' }), 'two');
  const long = [{ role: 'user', content: 'word '.repeat(1000) }];
  t.equal(await askedBy({ model: 'mine', messages: long }), 'model_not_found', 'without it the name is none');
});
