// An operator finds a refused request, reads why and sees it end; looks into a request and its conversation; asks what would happen; sees who spends, and bounds it.
import { readFileSync } from 'node:fs';
import { t as suite, type Test, test } from 'tap';
import { chooseAction } from '../support/choose-action.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

/** Would run if any page took it for markup. */
const probe = '<img src=x onerror="window.probed=1">';
const probePath = `/team-b/${probe}`;

const upstream = await startFakeUpstream({ t: suite });
const [model = ''] = upstream.models;
const limits = {
  rate_limits: {
    user_paths: [
      { path: '/team', limits: [{ period: 'hour', max_requests: 1, name: 'tiny' }] },
      { path: '/full', limits: [{ period: 'day', max_requests: 1 }] },
    ],
  },
};
const setup = {
  audit: { bodies: true, headers: true },
  providers: {
    dead: { type: 'openai', base_url: 'http://127.0.0.1:1/v1', api_key: 'sk-dead', models: ['none'] },
    fake: {
      type: 'openai',
      base_url: upstream.url,
      api_key: 'sk-fake',
      models: [{ id: model, pricing: { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 } }, 'unpriced'],
    },
  },
  guardrails: [
    { name: 'judge', user_paths: ['/judged'], llm: { model: `fake/${model}`, prompt: 'Judge.', fail: 'open' } },
  ],
  budgets: { user_paths: [{ path: '/spender', limits: [{ period: 'monthly', amount: 40 }] }] },
  aliases: [{ source: 'steady', strategy: 'failover', targets: [{ model: 'dead/none' }, { model: `fake/${model}` }] }],
};
const fleet = await startFleet(suite, {
  store: 'sqlite',
  proxies: 1,
  files: { 'limits.yaml': limits, 'setup.yaml': setup },
});
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

const ask = async (path: string, asked: string, messages: readonly object[]): Promise<number> => {
  const headers = { 'x-gateway-user-path': path, 'user-agent': probe };
  const response = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers,
    body: { model: asked, messages },
  });
  await response.body?.cancel();
  return response.status;
};
const hello = [{ role: 'user', content: 'Hello' }];

/** How many requests of a user path have entries. */
const recorded = async (path: string): Promise<number> => {
  const answer = await fleet.admin(`/admin/audit/log?user_path=${encodeURIComponent(path)}`);
  return ((await answer.json()) as { total: number }).total;
};

async function open(
  t: Test,
  path: string,
  more: { readonly key?: string; readonly origin?: string; readonly expected?: RegExp } = {},
) {
  return browser.open(t, { origin: proxy?.url ?? '', path, ...more });
}

await test('find the refused request, read why, see it end', async (t) => {
  const { page, complaints } = await open(t, '/requests?status_code=429');
  await page.getByText('No request matches the filters.').waitFor();
  t.equal(await ask('/team/app', `fake/${model}`, hello), 200);
  t.equal(await ask('/team/app', `fake/${model}`, hello), 429);
  const row = page.getByRole('row', { name: /429 rate_limit_exceeded.*by tiny/ });
  // The link beside it leads to the conversation.
  await row.getByRole('link').first().click();
  await page.getByText('It still refuses requests').waitFor();
  t.match(
    await page.getByRole('region', { name: 'Why it failed' }).textContent(),
    /Rate limit exceeded for \/team.*by the gateway.*limits\.yaml:\d+/s,
  );
  await page.getByRole('meter', { name: '/team, per hour: requests' }).waitFor();
  await fleet.write('POST', { user_path: '/team', period: 'hour' }, '/reset-one');
  await page.getByText('It admits requests again').waitFor();
  t.equal(await ask('/team/app', `fake/${model}`, hello), 200, 'so it is');
  await page.getByRole('link', { name: 'Show the rule' }).click();
  await page.getByRole('table', { name: 'Rate limits' }).getByText('tiny').waitFor();
  t.same(complaints(), []);
});

await test('explain marks the rule that decides, and follows its counters', async (t) => {
  t.equal(await ask('/full/app', `fake/${model}`, hello), 200);
  const { page, complaints, barriers } = await open(t, '/explain?user_path=/full/app');
  await page.getByText('Who asks for what?').waitFor();
  await page.getByLabel('Model or alias').fill('steady');
  const stage = page
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name: 'Rules of the consumer' }) });
  await stage.getByText('refused here').waitFor();
  await stage.getByText('decides').waitFor();
  t.match(page.url(), /\/explain\?user_path=%2Ffull%2Fapp&model=steady$/);
  t.same(await barriers(), []);
  await fleet.write('POST', { user_path: '/full', period: 'day' }, '/reset-one');
  await page.getByText('It would be sent to').waitFor();
  t.match(await page.getByRole('list', { name: 'The way of the request' }).textContent(), /dead\/none.*fake\//s);
  t.same(complaints(), []);
});

await test('the control plane itself has no counters, and the page says where to ask', async (t) => {
  const expected = /status of 404/;
  const { page } = await open(t, '/explain?model=steady', { origin: fleet.controlPlane.address, expected });
  await page.getByText('Only a proxy can answer this.').waitFor();
  await page.getByText('/admin/dashboard/explain?model=steady').waitFor();
});

await test('a request shows its calls, bodies and conversation, and foreign text as text', async (t) => {
  const first = { role: 'user', content: `First ${probe}` };
  const turns = [first, { role: 'assistant', content: 'An answer.' }, { role: 'user', content: `Second ${probe}` }];
  t.equal(await ask(probePath, 'steady', [first]), 200);
  t.equal(await ask(probePath, 'steady', turns), 200);
  t.equal(await ask(probePath, probe, hello), 404);
  const { page, complaints, barriers, turn, picture } = await open(t, '/requests?user_path=/team-b');
  const thread = page.getByRole('row', { name: /steady.*2 requests/ });
  await thread.getByText(probePath).waitFor();
  await page
    .getByRole('row', { name: /404 model_not_found/ })
    .getByText(probe)
    .first()
    .waitFor();
  await thread.getByRole('link').first().click();
  const falls = page.getByRole('table', { name: 'Time of the request and its calls' });
  await falls.getByText('fake/').waitFor();
  for (const theme of ['dark', 'light'] as const) {
    await turn(theme);
    await picture(`request-${theme}`);
  }
  for (const summary of await page.locator('main summary').all()) await summary.click();
  await page.getByText(`Second ${probe}`.replaceAll('"', '\\"')).first().waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
  }
  await page.getByRole('link', { name: 'Conversation', exact: true }).click();
  await page.getByText(`Second ${probe}`).waitFor();
  t.equal(await page.getByText(`First ${probe}`).count(), 1, 'what was said is said once');
  for (const theme of ['dark', 'light'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`conversation-${theme}`);
  }
  t.equal(await page.locator('img, main [onerror]').count(), 0, 'no markup of others');
  t.equal(await page.evaluate('window.probed'), undefined);
  t.same(complaints(), []);
});

await test('explain names the guardrails that look at a request', async (t) => {
  const { page, complaints } = await open(t, '/explain?user_path=/judged&model=steady');
  const stage = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Guardrails' }) });
  await stage.getByText('Judging model, looks at the request').waitFor();
  await stage.getByRole('link', { name: /^setup\.yaml:\d+$/ }).waitFor();
  t.match(await stage.first().textContent(), /as the words are.*judge/s);
  t.same(complaints(), []);
});

await test('a paused list stands still, pages are in the address, and what is gone is said', async (t) => {
  const { page, go, complaints } = await open(t, '/requests?view=requests&live=off');
  await page.getByRole('table', { name: 'Requests' }).waitFor();
  t.equal(await ask('/team-c', `fake/${model}`, hello), 200);
  await waitFor('it to be recorded', async () => (await recorded('/team-c')) === 1);
  t.equal(await page.getByText('/team-c').count(), 0);
  await page.getByRole('button', { name: 'Paused' }).click();
  await page.getByRole('row', { name: /\/team-c/ }).waitFor();
  t.notMatch(page.url(), /live/);
  await go('/requests?offset=5000');
  await page.getByText('The list ends before this page.').waitFor();
  t.same(complaints(), []);
  await go('/requests/01960c5e-7a31-7c4e-9d52-6a1f0e8b4c21');
  await page.getByRole('alert').getByText('01960c5e-7a31-7c4e-9d52-6a1f0e8b4c21').waitFor();
});

await test('a question of the gateway is marked, and is left out where requests of clients are asked for', async (t) => {
  t.equal(await ask('/judged', `fake/${model}`, hello), 200);
  await waitFor('both to be recorded', async () => (await recorded('/judged')) === 2);
  const { page, complaints } = await open(t, '/requests?view=requests&user_path=/judged');
  const question = page.getByRole('row', { name: /\/judged\/guardrails\/judge/ });
  await question.getByText('gateway', { exact: true }).waitFor();
  await page.getByText('More filters').click();
  await page.getByLabel('Asked by').selectOption({ label: 'Clients' });
  await question.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /\/judged/ }).waitFor();
  t.match(page.url(), /asked_by=client/);
  t.equal(await ask('/Judged/App', `fake/${model}`, hello), 200);
  await page.getByRole('row', { name: /\/Judged\/App/ }).waitFor();
  t.equal(await page.getByText('/guardrails/judge').count(), 0, 'also of those that come in');
  t.same(complaints(), []);
});

await test('a scoped operator finds the requests of its subtree alone', async (t) => {
  const body = { name: 'B', user_path: '/team-b', dashboard_access: true };
  const issued = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json()) as { value: string };
  const { page, complaints } = await open(t, '/requests?view=requests', { key: issued.value });
  await page.getByRole('row', { name: /404 model_not_found/ }).waitFor();
  await ask('/team-c', `fake/${model}`, hello);
  await ask('/team-b/new', `fake/${model}`, hello);
  await page.getByRole('row', { name: /\/team-b\/new/ }).waitFor();
  t.equal(await page.getByText('/team-c').count(), 0);
  t.same(complaints(), []);
});

await test('usage goes from teams to paths, names keys, and is saved as CSV', async (t) => {
  const body = { name: probe, user_path: '/spender/key' };
  const issued = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json()) as { value: string };
  const headers = { authorization: `Bearer ${issued.value}` };
  const called = { method: 'POST', headers, body: { model: `fake/${model}`, messages: hello } };
  t.equal((await proxy.fetch('/v1/chat/completions', called)).status, 200);
  t.equal(await ask('/spender/app', `fake/${model}`, hello), 200);
  await waitFor('both to be recorded', async () => (await recorded('/spender')) === 2);
  const { page, go, complaints, barriers } = await open(t, '/usage');
  const teams = page.getByRole('table', { name: 'Usage by team' });
  await teams
    .getByRole('row', { name: /\/spender 2 user paths.*\$1\.00 2/ })
    .getByRole('link')
    .click();
  await teams.getByRole('row', { name: /\/spender\/app.*50%.*\$0\.50/ }).waitFor();
  t.match(page.url(), /\/usage\?user_path=%2Fspender$/);
  await page.getByRole('link', { name: 'Keys', exact: true }).last().click();
  await page.getByRole('table', { name: 'Usage by key' }).getByText(probe).waitFor();
  t.same(await barriers(), []);
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const saved = await saving;
  t.match(saved.suggestedFilename(), /^spender-usage-keys-.*\.csv$/);
  t.match(readFileSync(await saved.path(), 'utf8'), /^auth_key_id,requests,[^\n]*\n[^,]*,1,/);
  await go('/requests?user_path=/spender/key');
  const sent = page.getByRole('row', { name: /\/spender\/key/ });
  await sent.getByRole('link').first().click();
  for (const name of [`fake/${model}`, 'fake']) {
    const link = page.getByRole('link', { name, exact: true });
    t.equal(await link.getAttribute('href'), `/admin/dashboard/models?q=${encodeURIComponent(name)}`);
  }
  await page.getByRole('link', { name: probe, exact: true }).click();
  await page.getByRole('table', { name: 'Keys' }).getByText(probe).waitFor();
  t.match(page.url(), /\/keys\?key=[\w-]+$/);
  t.equal(await page.evaluate('window.probed'), undefined);
  t.same(complaints(), []);
});

await test('figures and lists of the overview lead to what is behind them', async (t) => {
  t.equal(await ask('/other', 'fake/unpriced', hello), 200);
  const { page, complaints, barriers } = await open(t, '?days=3');
  await page.locator('.tile', { hasText: 'Cost' }).getByText('1 without a price').waitFor();
  await page.getByRole('link', { name: 'Refused by limits' }).click();
  await page
    .getByRole('row', { name: /429 rate_limit_exceeded/ })
    .first()
    .waitFor();
  t.match(page.url(), /\/requests\?view=requests&days=3&status_code=429$/);
  t.same(await barriers(), []);
  await page.goBack();
  await page.getByRole('link', { name: 'fake', exact: true }).click();
  await page.getByRole('row', { name: /200/ }).first().waitFor();
  t.match(page.url(), /\/requests\?view=requests&provider=fake&days=3$/);
  await page.goBack();
  await page.getByRole('link', { name: '/full/app' }).click();
  await page.getByRole('table', { name: 'Usage by model' }).getByText(model).waitFor();
  t.match(page.url(), /\/usage\?user_path=%2Ffull%2Fapp&by=model&days=3$/);
  t.same(complaints(), []);
});

await test('the last minutes show what fails since when, how long requests took, and gaps where there were none', async (t) => {
  for (let round = 0; round < 4; round += 1) t.ok((await ask('/broken', 'dead/none', hello)) >= 500);
  await waitFor('all to be recorded', async () => (await recorded('/broken')) === 4);
  const { page, go, complaints, barriers, turn, picture } = await open(t, '');
  const failing = page.getByRole('list', { name: 'What fails now' });
  await failing.getByText('at dead: 4 of 4 requests in ten minutes').waitFor({ timeout: 15_000 });
  await page.getByText(/^[\d.]+% of requests fail$/).waitFor();
  t.equal(await page.getByText('All is well').count(), 0);
  await page.getByRole('link', { name: '15 min', exact: true }).click();
  t.match(page.url(), /\?minutes=15$/);
  for (const title of ['Requests', 'Duration', 'Time to first byte', 'Tokens', 'Cost'])
    await page.getByRole('img', { name: `${title}: a plot.` }).waitFor();
  await page.getByText('Duration as a table').click();
  const minutes = page.getByRole('region', { name: 'Duration as a table' }).locator('tbody tr');
  t.equal(await minutes.count(), 15);
  const cells = await minutes.locator('td:nth-child(2)').allTextContents();
  t.ok(cells.includes('–') && cells.some((text) => /\d (µs|ms|s)$/.test(text)), cells.join());
  await page.getByRole('main').getByText('Times are of UTC').waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`minutes-${theme}`);
  }
  await failing.locator('a[href$="/models?q=dead"]').waitFor();
  await failing.getByRole('link', { name: /fail$/ }).click();
  await page
    .getByRole('row', { name: /dead\/none/ })
    .first()
    .waitFor();
  t.match(page.url(), /requested_model=dead%2Fnone&provider=dead&error_type=provider_error&minutes=60$/);
  t.equal(await page.getByLabel('Time').inputValue(), 'minutes=60');
  await go('/usage?minutes=60');
  await page.getByText('Requests as a table').click();
  t.equal(await page.getByRole('region', { name: 'Requests as a table' }).locator('tbody tr').count(), 60);
  await page.getByLabel('Time').selectOption({ label: 'Today' });
  await page.getByText('each hour').first().waitFor();
  t.match(page.url(), /\/usage\?days=1$/);
  t.same(complaints(), []);
});

await test('a budget is overridden, runs out, is reset and deleted; its curve shows what is left', async (t) => {
  const { page, go, complaints, barriers, turn, picture } = await open(t, '/budgets');
  const row = page.getByRole('row', { name: /\/spender / });
  await row.getByText('$1.00 of $40.00').waitFor();
  await page.getByRole('status').getByText('fake/unpriced have no price').waitFor();
  await chooseAction(row, 'Override');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Amount in US dollars').fill('nothing');
  await dialog.getByRole('button', { name: 'Override' }).click();
  await dialog.getByText('Write an amount in US dollars').waitFor();
  t.same(await barriers(), []);
  await dialog.getByLabel('Amount in US dollars').fill('0.75');
  await dialog.getByLabel('Reason').fill(probe);
  await dialog.getByText('The same as YAML').click();
  t.match(
    await dialog.locator('pre').textContent(),
    /- path: "\/spender"\n {6}limits:\n {8}- period: monthly\n {10}amount: 0\.75\n/,
  );
  await dialog.getByRole('button', { name: 'Override' }).click();
  await page.getByText('In force on the proxy.').waitFor();
  await row.getByText('spent, refuses').waitFor();
  await waitFor('the proxy to refuse', async () => (await ask('/spender/app', `fake/${model}`, hello)) === 429);

  await go('/requests?user_path=/spender&status_code=429');
  await page
    .getByRole('row', { name: /429 budget_exceeded/ })
    .getByRole('link')
    .first()
    .click();
  await page.getByText('It still refuses requests').waitFor();
  const budget = { user_path: '/spender', budget_key: { period: 'monthly' } };
  const override = (more: object) => fleet.admin('/admin/budgets', { method: 'PUT', body: { ...budget, ...more } });
  t.equal((await override({ amount: 5, mode: 'hard' })).status, 200);
  await page.reload();
  await page.getByText('those that may cost more than what is left, $4.00 less what').waitFor();
  t.equal((await override({ amount: 0.75, reason: probe })).status, 200);
  await page.getByRole('link', { name: 'Show the budget' }).click();
  await page.getByRole('img', { name: /are left$/ }).waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`budget-${theme}`);
  }
  await chooseAction(page, 'Reset');
  await dialog.getByRole('button', { name: 'Reset budget' }).click();
  await page.getByText('$0.00 of $0.75').waitFor();
  await chooseAction(page, 'Delete');
  await dialog.getByRole('button', { name: 'Delete budget' }).click();
  await page.getByText('of $40.00').first().waitFor();
  t.equal(await page.evaluate('window.probed'), undefined);
  t.same(complaints(), []);
});

await test('windows begin when it is said, a budget is made for a label, and all are reset when the word is typed', async (t) => {
  const { page, complaints, barriers } = await open(t, '/budgets?show=manual', { expected: /status of 400/ });
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Windows' }).click();
  await dialog.getByLabel('First day of the week').selectOption('Sunday');
  await dialog.getByLabel('Hour of the day').fill('24');
  await dialog.getByRole('button', { name: 'Store' }).click();
  await dialog.getByRole('textbox', { name: 'Hour of the day', description: /23/ }).waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'daily_reset_hour', 'a mistake is said at its field');
  t.same(await barriers(), []);
  await dialog.getByLabel('Hour of the day').fill('6');
  await dialog.getByRole('button', { name: 'Store' }).click();
  await dialog.waitFor({ state: 'detached' });
  const anchors = { daily_reset_hour: 6, weekly_reset_weekday: 0, monthly_reset_day: 1 };
  t.match(await (await fleet.admin('/admin/budgets/settings')).json(), anchors);
  await page.getByRole('button', { name: 'New budget' }).click();
  await dialog.getByLabel('Scope').selectOption('label');
  await dialog.getByLabel('Label', { exact: true }).fill('batch');
  await dialog.getByLabel('Amount in US dollars').fill('5');
  await dialog.getByLabel('Mode').selectOption('hard');
  await dialog.getByRole('combobox', { name: 'Mode', description: /set aside before it is made/ }).waitFor();
  await dialog.getByRole('button', { name: 'Store budget' }).click();
  await page.getByRole('row', { name: /batch Label, daily hard/ }).waitFor();
  await page.getByRole('button', { name: 'Reset all' }).click();
  await dialog.getByRole('button', { name: 'Reset all budgets' }).click();
  await dialog.getByText('Type reset to confirm.').waitFor();
  await dialog.getByLabel(/^Type/).fill('reset');
  await page.keyboard.press('Enter');
  await page.getByText('Every budget: reset').waitFor();
  t.same(complaints(), []);
});
