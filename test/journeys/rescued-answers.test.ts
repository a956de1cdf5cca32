// A stream that two targets told, and the rest of the gateway: limits, guardrails, cache and audit see one answer, and a client that has left gets no
// other target.
import { t as suite, test } from 'tap';
import { brokenOff, eventsOf, goesOn, piecesOf } from '../support/broken-streams.ts';
import { createGate, rst, startFakeUpstream } from '../support/fake-upstream.ts';
import { untilIdle } from '../support/gateway.ts';
import { recordOf } from '../support/journal.ts';
import { slotsAndWindow } from '../support/rule-figures.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(120_000);

const [first, second] = await Promise.all(['a', 'b'].map(() => startFakeUpstream({ t: suite, models: ['m', 'full'] })));
if (first === undefined || second === undefined) throw new Error('no providers');
const provider = { type: 'openai', models: ['m', 'full'], circuit_breaker: false };
const aliasOf = (source: string, model: string) => ({
  source,
  strategy: 'failover',
  retry: { budget: 1 },
  rescue: 'continue',
  targets: [{ model: `first/${model}` }, { model: `second/${model}` }],
});
const gateway = await shareGateway({
  config: {
    providers: {
      first: { ...provider, base_url: first.url },
      second: { ...provider, base_url: second.url },
    },
    aliases: [
      aliasOf('chat', 'm'),
      aliasOf('full', 'full'),
      { ...aliasOf('once', 'm'), retry: { attempts: 1 } },
      { ...aliasOf('rarely', 'm'), retry: { budget: 1, on: ['server_error'] } },
    ],
    rate_limits: {
      user_paths: [
        { path: '/', limits: slotsAndWindow(10) },
        { path: '/tokens', limits: [{ period: 'day', max_tokens: 100_000 }] },
      ],
      providers: ['first', 'second'].map((name) => ({ name, limits: slotsAndWindow(10) })),
      models: [
        { model: 'first/m', limits: slotsAndWindow(10) },
        { model: 'second/full', limits: [{ period: 'day', max_requests: 1 }] },
      ],
    },
    cache: { enabled: true, ttl: '1h' },
    audit: { bodies: true },
    guardrails: [
      {
        name: 'no-secret',
        user_paths: ['/guarded'],
        on: ['output'],
        keywords: { words: ['SECRET'], action: 'redact' },
      },
    ],
  },
});
const text = 'The answer is long enough to be cut somewhere in its middle, and it ends here.';
const pieces = piecesOf(text);

suite.beforeEach(async () => {
  await first.behave(brokenOff('chat', pieces, 6, [rst]));
  await second.behave(goesOn(text));
});
suite.afterEach(() => untilIdle(gateway));

let questions = 0;

async function ask(model: string, { path = '/', content = '', headers = {} } = {}) {
  questions += 1;
  const messages = [{ role: 'user', content: content || `Question ${questions}` }];
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model, messages, stream: true },
    headers: { 'x-gateway-user-path': path, ...headers },
  });
  return { response, id: response.headers.get('x-request-id') ?? '' };
}

/** The text that a client has read, and the error that ended it. */
async function read(model: string, more: Parameters<typeof ask>[1] = {}) {
  const { response, id } = await ask(model, more);
  const whole = await response.text();
  const chunks = [...whole.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json = '']) =>
      JSON.parse(json) as { choices?: { delta: { content?: string } }[]; error?: { code: string; message: string } },
  );
  const said = chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
  return { said, id, response, error: chunks.find(({ error }) => error !== undefined)?.error };
}

const slotsHeld = async (): Promise<number | undefined> => gateway.metric('gateway_rate_limit_in_flight');

await test('each rule counts its request once, and nothing stays held', async (t) => {
  const allowed = async (labels: Record<string, string>): Promise<number> =>
    (await gateway.metric('gateway_rate_limit_decisions_total', { outcome: 'allow', ...labels })) ?? 0;
  const countsOf = (): Promise<number[]> => Promise.all(['user_path', 'provider'].map((scope) => allowed({ scope })));
  const before = await countsOf();
  t.equal((await read('chat')).said, text);
  await untilIdle(gateway);
  const after = await countsOf();
  t.same(
    after.map((count, index) => count - (before[index] ?? 0)),
    [2, 4],
    'two rules of the consumer, and two of each provider',
  );
  t.equal(await slotsHeld(), 0);
});

await test('the tokens of both count for the consumer, each once', async (t) => {
  const { id } = await read('chat', { path: '/tokens' });
  await untilIdle(gateway);
  const { attempts } = await recordOf(gateway, id);
  const sum = attempts.reduce((total, { usage }) => total + (usage?.total_tokens ?? 0), 0);
  const usage = (await (
    await gateway.fetch('/v1/usage', { headers: { 'x-gateway-user-path': '/tokens' } })
  ).json()) as { rate_limits: { tokens_used?: number; max_tokens?: number }[] };
  t.match(JSON.stringify(usage), new RegExp(`\\b${sum}\\b`), `${sum} in ${JSON.stringify(usage)}`);
});

await test('what has no room, calls or permission to go on ends with the error', async (t) => {
  t.equal((await read('full')).said, text, 'the one request of its day');
  for (const model of ['full', 'once', 'rarely']) {
    const { said, error } = await read(model);
    t.equal(said, pieces.slice(0, 6).join(''), model);
    t.equal(error?.code, 'stream_incomplete', model);
  }
});

await test('a guardrail sees the words across the seam, and the audit the whole answer', async (t) => {
  const secret = piecesOf('This is a SECRET of ours, and no one else may ever read it here.');
  await first.behave(brokenOff('chat', secret, 3, [rst]));
  await second.behave(goesOn(secret.join('')));
  const { said, id } = await read('chat', { path: '/guarded' });
  t.notMatch(said, /SECRET/);
  t.match(said, /^This is a .* of ours, and no one else may ever read it here\.$/);
  const { data } = await recordOf(gateway, id);
  t.equal(data?.rescued, 'continue');
  t.match(JSON.stringify(data?.response_body), /of ours, and no one/);
});

await test('a joined answer is not kept by the cache', async (t) => {
  const content = 'The same question.';
  const caching = { content };
  t.equal((await read('chat', caching)).response.headers.get('x-cache') ?? 'miss', 'miss');
  const calls = first.ledger.length;
  t.equal((await read('chat', caching)).said, text);
  t.equal(first.ledger.length, calls + 1, 'it is asked again');
  await first.behave(goesOn(text));
  await read('chat', caching);
  await read('chat', caching);
  t.equal(first.ledger.length, calls + 2, 'an answer of one target is kept');
});

await test('no target is asked for a client that has left', async (t) => {
  const gate = createGate();
  const events = eventsOf.chat(pieces, 'first').slice(0, 4);
  await first.behave({ kind: 'sse', chunks: [...events, gate, rst] });
  const calls = second.ledger.length;
  const { response } = await ask('chat');
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await waitFor('the gateway to leave, too', () => first.ledger.at(-1)?.clientClosedAtMs !== undefined);
  gate.release();
  await untilIdle(gateway);
  t.equal(second.ledger.length, calls);
});

await test('a client that leaves while another target is asked ends that call', async (t) => {
  await second.behave({ kind: 'hang' });
  const { response, id } = await ask('chat');
  const reader = response.body?.getReader();
  await reader?.read();
  await second.waitFor((ledger) => ledger.at(-1)?.bodyComplete === true && ledger.at(-1)?.finished === false);
  await reader?.cancel();
  await waitFor('the call to end', () => second.ledger.at(-1)?.clientClosedAtMs !== undefined);
  await untilIdle(gateway);
  t.equal((await recordOf(gateway, id)).status_code, 499);
  t.equal(await slotsHeld(), 0);
});
