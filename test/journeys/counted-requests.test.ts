// Usage counts requests of clients once, and calls of providers apart: as many as limits and the audit log say.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const broken = await startFakeUpstream({ t: suite });
await broken.behave({ kind: 'error', status: 500 });
await keepThings(upstream, 'a');
const provider = { type: 'groq', api_key: `\${TEST_PROVIDER_KEY}`, models: ['m'] };
const fleet = await shareFleet({
  store: 'sqlite',
  config: {
    providers: { good: { ...provider, base_url: upstream.url }, bad: { ...provider, base_url: broken.url } },
    aliases: [{ source: 'either', strategy: 'failover', targets: [{ model: 'bad/m' }, { model: 'good/m' }] }],
    rate_limits: { user_paths: [{ path: '/counted', limits: [{ period: 'day', max_requests: 100 }] }] },
  },
});
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const gateway = proxy;

const headers = { 'x-gateway-user-path': '/counted' };
const messages = [{ role: 'user', content: 'hello' }];

async function ask(path: string, body?: object): Promise<{ readonly status: number; readonly id: string }> {
  const sent = body === undefined ? {} : { method: 'POST', body };
  const answer = await gateway.fetch(path, { ...sent, headers });
  const { id = '' } = (await answer.json()) as { id?: string };
  return { status: answer.status, id };
}

async function upload(text: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([text]), 'batch.jsonl');
  const answer = await fetch(`${gateway.url}/v1/files?provider=good`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${gateway.masterKey}` },
    body: form,
  });
  return ((await answer.json()) as { id: string }).id;
}

const read = async <Body>(path: string): Promise<Body> => (await (await gateway.fetch(path)).json()) as Body;

/** Sums once this many calls of providers are in them. */
function sumsWith(attempts: number): Promise<{ readonly total_requests: number; readonly attempts: number }> {
  return waitFor(`${attempts} attempts in the sums`, async () => {
    const sums = await read<{ total_requests: number; attempts: number }>('/admin/usage/summary?user_path=/counted');
    return sums.attempts === attempts ? sums : undefined;
  });
}

await test('a failover is one request and two attempts; polls, uploads and what a provider refuses are attempts alone', async (t) => {
  await upstream.behave({ kind: 'openai' });
  t.equal((await ask('/v1/chat/completions', { model: 'either', messages })).status, 200);
  t.match(await sumsWith(2), { total_requests: 1 });

  await upstream.behave({ kind: 'error', status: 400 });
  t.equal((await ask('/v1/chat/completions', { model: 'good/m', messages })).status, 400);
  t.match(await sumsWith(3), { total_requests: 1 });

  await keepThings(upstream, 'a');
  const line = JSON.stringify({
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'good/m', messages },
  });
  const file = await upload(`${line}\n`);
  t.match(await sumsWith(4), { total_requests: 1 });
  const batch = await ask('/v1/batches', {
    input_file_id: file,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  t.equal(batch.status, 200);
  t.match(await sumsWith(5), { total_requests: 2 }, 'a batch is one request');
  t.equal((await ask(`/v1/batches/${batch.id}`)).status, 200);
  t.match(await sumsWith(6), { total_requests: 2 });
});

await test('every listing and table says both', async (t) => {
  for (const by of ['daily', 'models', 'user-paths']) {
    const rows = await read<{ requests: number; attempts: number }[]>(`/admin/usage/${by}?user_path=/counted`);
    const sum = (name: 'requests' | 'attempts') => rows.reduce((total, row) => total + row[name], 0);
    t.same([sum('requests'), sum('attempts')], [2, 6], by);
  }
  const table = await (await gateway.fetch('/admin/usage/user-paths?user_path=/counted&format=csv')).text();
  t.match(table, /^user_path,requests,attempts,.*\r\n\/counted,2,6,/);
  const own = (await (await gateway.fetch('/v1/usage', { headers })).json()) as { usage: object };
  t.match(own.usage, { total_requests: 2, attempts: 6 });
});
