// What operators see of discovered models, and what they may write about them: the control plane asks no provider.
import { t as suite, test } from 'tap';
import { type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const upstream = await startFakeUpstream({ t: suite });
const body = { data: [{ id: 'gpt-4o' }, { id: 'meta-llama/llama-3' }] };
await upstream.behave(({ method }: Entry) => (method === 'GET' ? { kind: 'json', body } : undefined));
const config = { providers: { router: { type: 'openai', base_url: upstream.url, discovery: { exclude: ['x*'] } } } };
const fleet = await shareFleet({ store: 'redis', config });
const [proxy] = fleet.proxies as readonly [Gateway];

async function statusOf(model: string, key?: string): Promise<number> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const call = { model, messages: [{ role: 'user', content: 'a' }] };
  const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body: call });
  await response.text();
  return response.status;
}

async function write(path: string, sent: object, method = 'PUT'): Promise<{ status: number; text: string }> {
  const response = await fleet.admin(path, { method, body: sent });
  return { status: response.status, text: await response.text() };
}

await test('the config says that models are discovered, the status how many and when', async (t) => {
  const shown = await (await fleet.admin('/admin/config')).json();
  t.match(shown, {
    providers: [{ name: 'router', models: 'discovered', discovery: { exclude: ['x*'], refresh: '1h' } }],
  });
  await waitFor('the status to have them', async () => {
    const text = await (await fleet.admin('/admin/status')).text();
    return /"discovered_models":\[\{"provider":"router","count":2,"discovered_at":"20/.test(text);
  });
});

await test('aliases, keys and rules may name models that may be there', async (t) => {
  const aliases = [
    { source: 'now', target: 'router/gpt-4o' },
    { source: 'bare', target: 'meta-llama/llama-3' },
    { source: 'later', target: 'router/gpt-9' },
    { source: 'all/*', target: 'router/*' },
    { source: 'raced', hedge: true, target: 'gpt-4o' },
  ];
  for (const alias of aliases) t.match(await write('/admin/virtual-models', alias), { status: 200 }, alias.source);
  t.match(await write('/admin/virtual-models', { source: 'typo', target: 'ruoter/gpt-4o' }), { status: 400 });
  t.match(
    await write('/admin/rate-limits', {
      scope: 'model',
      subject: 'gpt-9',
      limit_key: { period: 'hour' },
      max_requests: 1,
    }),
    {
      status: 200,
      text: /"enforced":true/,
    },
  );
  const names = ['meta-llama/llama-3', 'router/gpt-9', 'gpt-9'];
  const issued = await write('/admin/auth-keys', { name: 'k', allowed_models: names }, 'POST');
  t.equal(issued.status, 201);
  const { value } = JSON.parse(issued.text) as { value: string };
  await waitFor('the last alias to be in force', async () => (await statusOf('raced')) === 200);
  const found = await Promise.all(['now', 'bare', 'later', 'all/gpt-4o', 'router/x'].map((name) => statusOf(name)));
  t.same(found, [200, 200, 404, 200, 404]);
  await waitFor('the key to be in force', async () => (await statusOf('meta-llama/llama-3', value)) === 200);
  t.equal(await statusOf('router/gpt-4o', value), 403);
});
