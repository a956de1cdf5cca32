// Money over a fleet: two proxies on one store spend together what a budget allows, though 50 clients ask at once and records come later.
import { t as suite, test } from 'tap';
import { type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const clients = 50;
const amount = 10;
/** Of a token, in dollars. */
const price = 100 / 1e6;
/** Tokens of an answer: none is longer, and clients say so. */
const longest = 1_500;

/** From 500 up to the longest, the same in each run. */
const tokensOf = ({ id }: Entry): number => 500 + ((id * 7_919) % (longest - 499));

const upstream = await startFakeUpstream({ t: suite });
await upstream.behave((entry) => {
  const completion_tokens = tokensOf(entry);
  const usage = { prompt_tokens: 0, completion_tokens, total_tokens: completion_tokens };
  const message = { role: 'assistant', content: 'ok' };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const next = { kind: 'json' as const, body: { id: `c${entry.id}`, object: 'chat.completion', choices, usage } };
  return { kind: 'delay', ms: 20, next };
});
const models = [
  { id: 'm1', pricing: { input_per_mtok: 0, output_per_mtok: price * 1e6 } },
  { id: 'fee', pricing: { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 } },
];
const monthly = (mode: string) => [{ period: 'monthly', amount, mode }];
const fleet = await shareFleet({
  store: 'redis',
  scope: 'fleet',
  config: {
    providers: { fake: { type: 'openai', base_url: upstream.url, models } },
    // A machine that is busy for long enough looks like a lost store.
    rate_limits: { on_store_loss: 'closed' },
    budgets: {
      user_paths: [
        { path: '/fee', limits: monthly('enforce') },
        { path: '/loop', limits: monthly('enforce') },
        { path: '/enforce', limits: monthly('enforce') },
        { path: '/hard', limits: monthly('hard') },
      ],
    },
  },
});
const [first, second] = fleet.proxies as readonly [Gateway, Gateway];

interface Said {
  readonly status: number;
  readonly waitSeconds: number;
  readonly message: string;
}

async function ask(proxy: Gateway, userPath: string, model: string): Promise<Said> {
  const answer = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body: { model, max_tokens: longest, messages: [{ role: 'user', content: 'hi' }] },
  });
  const { error } = (await answer.json()) as { error?: { message: string } };
  return {
    status: answer.status,
    waitSeconds: Number(answer.headers.get('retry-after') ?? 0),
    message: error?.message ?? '',
  };
}

/** One client: it goes on while it is told to wait no longer than a moment. Gives the last refusal. */
async function spend(proxy: Gateway, userPath: string, model: string): Promise<Said> {
  let last: Said | undefined;
  await waitFor('the end of the money', async () => {
    last = await ask(proxy, userPath, model);
    return last.waitSeconds > 1;
  });
  return last as Said;
}

/** What the answers from `since` on have cost, in dollars. */
function costSince(since: number): number {
  return upstream.ledger.slice(since).reduce((sum, entry) => sum + tokensOf(entry) * price, 0);
}

function allSpend(userPath: string, model: string): Promise<Said[]> {
  return Promise.all(
    Array.from({ length: clients }, (_, index) => spend(index % 2 === 0 ? first : second, userPath, model)),
  );
}

await test('a call whose cost is known before is never one too many', async (t) => {
  const since = upstream.ledger.length;
  const refusals = await allSpend('/fee/app', 'fee');
  t.equal(upstream.ledger.length - since, 20, '20 calls of half a dollar');
  t.same(new Set(refusals.map(({ status }) => status)), new Set([429]));
  t.match(refusals[0]?.message, 'Budget exceeded for /fee: 10.000000 of 10.000000 US dollars are spent (monthly).');
});

await test('one client after the other spends at most one call too many, through whichever proxy it asks', async (t) => {
  const since = upstream.ledger.length;
  let count = 0;
  while ((await ask(count % 2 === 0 ? first : second, '/loop', 'm1')).status === 200) count += 1;
  const cost = costSince(since);
  t.ok(cost >= amount && cost - amount < longest * price, `${cost.toFixed(2)} of ${amount}`);
});

await test('50 clients at once overspend by no more than their open calls', async (t) => {
  const since = upstream.ledger.length;
  await allSpend('/enforce/app', 'm1');
  const cost = costSince(since);
  t.ok(cost >= amount, `${cost.toFixed(2)} of ${amount} are spent`);
  t.ok(cost <= amount + clients * longest * price, `${cost.toFixed(2)} of ${amount}`);
  t.comment(`${cost.toFixed(2)} of ${amount} spent`);
});

await test('a hard budget is never exceeded, and what calls do not take of what they set aside is spent by others', async (t) => {
  const since = upstream.ledger.length;
  const refusals = await allSpend('/hard/app', 'm1');
  const cost = costSince(since);
  t.ok(cost <= amount, `${cost.toFixed(2)} of ${amount}`);
  t.ok(cost > amount - longest * price, `${cost.toFixed(2)} of ${amount}: the rest is less than one call`);
  t.match(refusals[0]?.message, /and this request may cost up to 0\.15\d{4}\. Retry/);
});
