// The playground: a model is asked with the key of a client, the answer is explained, and the same request is given as programs that work.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { t as suite, type Test, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';

const run = promisify(execFile);

const upstream = await startFakeUpstream({ t: suite });
const [, small = ''] = upstream.models;
const pricing = { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 };
const declared = {
  providers: {
    fake: { type: 'openai', base_url: upstream.url, api_key: 'sk-fake', models: [{ id: small, pricing }] },
  },
  aliases: [{ source: 'chat', target: `fake/${small}` }],
  rate_limits: { user_paths: [{ path: '/team', limits: [{ period: 'day', max_requests: 1 }] }] },
};
const fleet = await shareFleet({ store: 'sqlite', files: { 'all.yaml': declared } });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

async function open(t: Test, path: string, more: { readonly key?: string; readonly expected?: RegExp } = {}) {
  return browser.open(t, { origin: proxy?.url ?? '', path, ...more });
}

await test('the playground asks as a client does, shows what it costs and what is left, and explains', async (t) => {
  const { page, complaints, barriers, turn, picture } = await open(t, '/playground?model=chat', {
    expected: /status of (429|400)/,
  });
  const sent: Record<string, string>[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/v1/')) void request.allHeaders().then((all) => sent.push(all));
  });
  const send = page.getByRole('button', { name: 'Send' });
  await send.click();
  await page.getByText('Write what the model is asked.').waitFor();
  await page.getByLabel('Prompt').fill("What's a gateway?");
  await send.click();
  await page.getByText('Type a key, or make one.').waitFor();
  t.same(await barriers(), []);
  await page.getByLabel('Or a new one, for the user path').fill('/team/play');
  await page.getByRole('button', { name: 'Make a key for an hour' }).click();
  await page.getByText('Playground of the master key, for /team/play').waitFor();
  await send.click();
  const answer = page.getByRole('region', { name: 'Answer' });
  await answer.getByText('Hello from the fake upstream').waitFor();
  await answer.getByText('$0.50').waitFor();
  await answer.getByText(/0 of 1 requests/).waitFor();
  t.match(await answer.textContent(), new RegExp(`fake/${small}.*in, .*out`, 's'));
  for (const theme of ['dark', 'light'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`playground-${theme}`);
  }
  await send.click();
  await answer.getByText('429 rate_limit_exceeded').waitFor();
  t.match(await answer.textContent(), /Retry after/);
  t.equal(sent.length, 2);
  t.ok(
    sent.every(({ authorization = '', cookie }) => authorization.startsWith('Bearer sk-gw-') && cookie === undefined),
    'the session asks nothing of models',
  );
  const key = sent[0]?.['authorization']?.slice('Bearer '.length) ?? '';
  const kept = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.cookie])',
  );
  t.notMatch([kept, await page.content()].join(), key, 'the key is nowhere but in memory');

  const programs = page.getByRole('region', { name: 'The same as a program' });
  const env = { ...process.env, GATEWAY_KEY: proxy.masterKey };
  await programs.getByText('curl', { exact: true }).waitFor();
  const curl = (await programs.locator('pre').textContent()) ?? '';
  t.match(await run('bash', ['-c', curl], { env }), { stdout: /Hello/ });
  await programs.getByRole('button', { name: 'TypeScript' }).click();
  await programs.getByText('import OpenAI').waitFor();
  const typescript = (await programs.locator('pre').textContent()) ?? '';
  const evaluated = ['--input-type=module-typescript', '-e', typescript];
  // The SDK is one of the packages of the tests.
  const cwd = dirname(import.meta.dirname);
  t.match(await run(process.execPath, evaluated, { cwd, env }), { stdout: /^Hello from the fake/ });
  await programs.getByRole('button', { name: 'Python' }).click();
  await programs.getByText('api_key=os.environ["GATEWAY_KEY"]').waitFor();

  await answer.getByRole('link', { name: 'Explain this' }).click();
  await page.getByText('with the key Playground of the master key').waitFor();
  t.match(page.url(), /\/explain\?user_path=%2Fteam%2Fplay&model=chat&key_id=/);
  await page.goBack();
  await page.getByRole('button', { name: 'Delete it' }).click();
  await page.getByLabel('Key', { exact: true }).fill(proxy.masterKey);
  await page.getByText('Show the answer as it comes').click();
  await send.click();
  await answer.getByText('no rule limits this key').waitFor();
  await answer.getByText('Hello from the fake upstream').waitFor();
  t.match(await answer.getByRole('link', { name: 'Explain this' }).getAttribute('href'), /\/explain\/[\w-]{36}$/);
  await page.reload();
  await page.getByText('Nothing was asked yet.').waitFor();
  t.equal(await page.getByLabel('Key', { exact: true }).inputValue(), '');
  t.same(complaints(), []);
});

await test('in the playground a scoped operator spends in its subtree alone, and only a proxy asks models', async (t) => {
  const body = { name: 'lead', user_path: '/team-b', dashboard_access: true };
  const issued = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json()) as { value: string };
  const expected = /status of (403|404)/;
  const { page } = await open(t, '/playground', { key: issued.value, expected });
  const path = page.getByLabel('Or a new one, for the user path');
  t.equal(await path.inputValue(), '/team-b');
  await path.fill('/spender');
  await page.getByRole('button', { name: 'Make a key for an hour' }).click();
  await page.getByText('outside of /team-b').waitFor();
  await page.goto(`${fleet.controlPlane.address}/admin/dashboard/playground`);
  await page.getByLabel('Key', { exact: true }).fill('sk-gw-any');
  await page.getByLabel('Model or alias').fill('chat');
  await page.getByLabel('Prompt').fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Only a proxy can answer this.').waitFor();
});

await test('requests are listed with their cost, also as CSV, and the writes of operators apart', async (t) => {
  const body = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  for (const path of ['/spender/key', '/spender/app']) {
    const headers = { 'x-gateway-user-path': path };
    const answer = await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body });
    await answer.body?.cancel();
  }
  const { page, go, complaints } = await open(t, '/requests?view=requests&user_path=/spender');
  const listed = page.getByRole('table', { name: 'Requests' });
  for (const path of ['key', 'app'])
    await listed.getByRole('row', { name: new RegExp(`/spender/${path}.*\\$0\\.50`) }).waitFor();
  await listed.getByRole('button', { name: 'Consumer' }).click();
  await listed.getByRole('row').nth(1).getByText('/spender/app', { exact: true }).waitFor();
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const lines = readFileSync(await (await saving).path(), 'utf8').split('\r\n');
  t.match(lines, [/^timestamp,id,.*,total_cost$/, /\/spender\/.*,0\.5$/, /\/spender\/.*,0\.5$/, '']);
  await go('/requests?view=requests');
  await listed.getByText('/spender/app').first().waitFor();
  t.notMatch(await listed.textContent(), '/admin/');
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  const changes = page.getByRole('table', { name: 'Changes' });
  await changes
    .getByRole('row', { name: /POST \/admin\/auth-keys.*master key/ })
    .first()
    .waitFor();
  t.notMatch(await changes.textContent(), '/v1/');
  t.same(complaints(), []);
});
