// A budget of a dollar, with real processes from the request to the refusal, and to the record that says the same later.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream(suite);
// Whatever the answer's tokens, a request costs half a dollar.
const models = [{ id: 'm1', pricing: { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 } }];
const fleet = await startFleet(suite, {
  store: 'sqlite',
  proxies: 1,
  config: {
    providers: { fake: { type: 'openai', base_url: upstream.url, models } },
    budgets: {
      user_paths: [
        { path: '/team', limits: [{ period_seconds: 4, amount: 1 }] },
        { path: '/other', limits: [{ period: 'monthly', amount: 1 }] },
      ],
    },
  },
});
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const gateway = proxy;

async function ask(userPath: string): Promise<{ said: string; wait: number; message: string }> {
  const answer = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body: { model: 'm1', messages: [{ role: 'user', content: 'hi' }] },
  });
  const { error } = (await answer.json()) as { error?: { code: string; message: string } };
  const wait = Number(answer.headers.get('retry-after') ?? 0);
  return { said: `${answer.status} ${error?.code ?? 'ok'}`, wait, message: error?.message ?? '' };
}

const isRefused = async (userPath: string): Promise<boolean> => (await ask(userPath)).said === '429 budget_exceeded';

/** Whether the proxy knows that the budget of the path is spent. Looking costs nothing. */
async function isSpent(userPath: string): Promise<boolean> {
  const answer = await gateway.fetch(`/admin/explain?model=m1&user_path=${userPath}`);
  return ((await answer.json()) as { budgets: object[] }).budgets.length > 0;
}

interface Usage {
  readonly usage: { readonly total_cost: number; readonly total_requests: number } | null;
  readonly budgets: readonly { readonly subject: string; readonly spent: number; readonly exceeded: boolean }[];
}

async function usageOf(userPath: string): Promise<Usage> {
  return (await (await gateway.fetch('/v1/usage', { headers: { 'x-gateway-user-path': userPath } })).json()) as Usage;
}

await test('two requests of half a dollar spend it, the next is refused, and the end of the window lets go', async (t) => {
  // A window may end between two requests; then they are asked again.
  await waitFor('a spent window', async () => (await isRefused('/team/app')) && (await ask('/team')).wait >= 2);
  const { said, wait, message } = await ask('/team/deep/app');
  t.equal(said, '429 budget_exceeded');
  t.ok(wait >= 1 && wait <= 4, `${wait} s`);
  t.match(
    message,
    /^Budget exceeded for \/team: \d\.\d{6} of 1\.000000 US dollars are spent \(4s\)\. Retry in \d s\.$/,
  );
  const sought = 'user_path=/team/deep&requested_model=m1&stream=false&status_code=429';
  const entry = await waitFor('the entry of the refusal', async () => {
    const { entries } = (await (await gateway.fetch(`/admin/audit/log?${sought}`)).json()) as { entries: object[] };
    return entries[0];
  });
  t.match(entry, { alias_used: false, session_id: /^auto-/, data: { error_code: 'budget_exceeded' } });
  t.equal((await ask('/team-b')).said, '200 ok');
  await waitFor('the end of the window', async () => (await ask('/team')).said === '200 ok');
});

await test('a caller sees what it has spent, and an operator lets it go on', async (t) => {
  t.equal((await ask('/other/app')).said, '200 ok');
  t.equal((await ask('/other')).said, '200 ok');
  t.equal(await isRefused('/other'), true, 'before any record has come');
  t.match((await usageOf('/other/app')).budgets, [{ subject: '/other', spent: 1, exceeded: true }]);
  const usage = await waitFor('the record', async () => {
    const found = (await usageOf('/other/app')).usage;
    return found?.total_cost && found;
  });
  t.match(usage, { total_cost: 0.5, total_requests: 1 }, 'its own path alone');
  const reset = await gateway.fetch('/admin/budgets/reset-one', {
    method: 'POST',
    body: { user_path: '/other', period: 'monthly' },
  });
  t.match(await reset.json(), { budgets: [{ subject: '/other', spent: 0 }, { subject: '/team' }] });
  await waitFor('no verdict', async () => !(await isSpent('/other')));
  for (let count = 0; count < 2; count += 1) t.equal((await ask('/other')).said, '200 ok');
  t.equal(await isRefused('/other'), true, 'a reset begins anew');
  const raised = await gateway.fetch('/admin/budgets', {
    method: 'PUT',
    body: { user_path: '/other', budget_key: { period: 'monthly' }, amount: 100, reason: 'launch', expires_in: '8h' },
  });
  t.equal(raised.status, 200);
  await waitFor('no verdict', async () => !(await isSpent('/other')));
  t.equal((await ask('/other')).said, '200 ok');
});
