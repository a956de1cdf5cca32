// An operator overrides a limit in the dashboard, a client is refused, the operator sees it, and all is as before.
import type { Page } from 'playwright-core';
import { t as suite, type Test, test } from 'tap';
import { chooseAction } from '../support/choose-action.ts';
import { isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { delaysUntilCap } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(120_000);

const declared = { rate_limits: { user_paths: [{ path: '/team', limits: [{ period: 'day', max_requests: 100 }] }] } };
const upstream = await startFakeUpstream({ t: suite });
const fleet = await shareFleet({ store: 'sqlite', scope: 'fleet', upstream, files: { 'limits.yaml': declared } });
const [proxy, other] = fleet.proxies;
if (proxy === undefined || other === undefined) throw new Error('there are two proxies');
const browser = await shareBrowser();

const askAs = async (path: string, through = proxy): Promise<number> => {
  const body = { model: `fake/${upstream.models[0]}`, messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { 'x-gateway-user-path': path };
  const response = await through.fetch('/v1/chat/completions', { method: 'POST', headers, body });
  await response.body?.cancel();
  return response.status;
};

/** Opens the page of rate limits; `key`: that of another operator. */
async function openLimits(t: Test, key = masterKey) {
  const expected = /status of (401|403|503)|ERR_/;
  const opened = await browser.open(t, { origin: proxy?.url ?? '', path: '/rate-limits', expected, key });
  const { page } = opened;
  const row = page.getByRole('row', { name: /\/team / });
  return { ...opened, row };
}

await test('log in, override a limit, see a request refused, delete the override, log out', async (t) => {
  const { page, row, complaints, barriers } = await openLimits(t);
  t.equal(await askAs('/team/app'), 200);
  await row.getByText('1 / 100 requests').waitFor();
  await row.getByText('limits.yaml').waitFor();

  await chooseAction(row, 'Override');
  const dialog = page.getByRole('dialog');
  t.same(await barriers(), []);
  await dialog.getByLabel('Requests').fill('1');
  await dialog.getByLabel('Reason').fill('runaway job');
  await dialog.getByText('The same as YAML').click();
  t.match(
    await dialog.locator('pre').textContent(),
    /- path: \/team\n {6}limits:\n {8}- period: day\n {10}max_requests: 1\n/,
  );
  await dialog.getByRole('button', { name: 'Override' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.equal(await askAs('/team/app'), 429);
  await row.getByText('1 / 1 requests').waitFor();
  t.match(await row.textContent(), /Override.*ends in.*(7 h 59|8 h).*“runaway job” – master key/);
  await waitFor('the refusal to show', async () => (await row.getByRole('cell').nth(2).textContent())?.trim() === '1');

  await chooseAction(row, 'Delete');
  await dialog.getByRole('button', { name: 'Delete rule' }).click();
  await row.getByText('/ 100 requests').waitFor();
  t.equal(await page.getByRole('dialog').count(), 0);
  t.equal(await askAs('/team/app'), 200);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  // A question that was under way may say first that the session is over.
  await waitFor('the cookie to go', async () => (await page.context().cookies()).length === 0);
  t.same(complaints(), []);
});

await test('the use of a rule is that of the fleet, with the part of each proxy and what holds without the store', async (t) => {
  await fleet.write('PUT', { user_path: '/shared', period: 'day', max_requests: 10, max_tokens: 10_000 });
  await delaysUntilCap(fleet.proxies, '/shared', 10);
  for (const through of [proxy, proxy, other]) t.equal(await askAs('/shared', through), 200);
  const { page, go, complaints, barriers } = await openLimits(t);
  const row = page.getByRole('row', { name: /\/shared / });
  await row.getByText('3 / 10 requests').waitFor();
  await row.getByText('2 proxies together').waitFor();
  await row.getByRole('button', { name: 'Proxies: /shared, per day' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 proxies count this rule together, to the last unit.').waitFor();
  for (const [instance, requests] of [
    ['proxy-1', '2'],
    ['proxy-2', '1'],
  ] as const) {
    const part = dialog
      .getByRole('row', { name: new RegExp(instance) })
      .getByRole('cell')
      .nth(1);
    await waitFor(`the part of ${instance}`, async () => (await part.textContent()) === requests);
  }
  t.same(await barriers(), []);
  await dialog.getByRole('button', { name: 'Close' }).click();

  await chooseAction(row, 'Edit');
  await dialog.getByLabel('Without the state store').selectOption('closed');
  await dialog.getByText('The same as YAML').click();
  t.match(await dialog.locator('pre').textContent(), /\n {10}on_store_loss: closed\n/);
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await row.getByText('closed without store').waitFor();

  await go(`/explain?user_path=/shared&model=fake/${upstream.models[0]}`);
  await page.getByText('All 2 proxies count it together; without the state store each admits nothing.').waitFor();
  await page.getByText('3 / 10 requests').waitFor();
  t.same(await barriers(), []);
  t.same(complaints(), []);
  await fleet.write('DELETE', { user_path: '/shared', period: 'day' });
});

await test('a rule is made, moved with a warning, and a mistake is said at its field', async (t) => {
  const { page } = await openLimits(t);
  await page.getByRole('button', { name: 'New rule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await dialog.getByText('Say whom or what the rule is for.').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'subject');
  await dialog.getByLabel('User path').fill('/new');
  await dialog.getByLabel('Requests').fill('99999999999999999');
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await dialog.getByText('Write a whole number.').waitFor();
  await dialog.getByLabel('Requests').fill('7');
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  const row = page.getByRole('row', { name: /\/new / });
  await chooseAction(row, 'Edit');
  await dialog.getByLabel('Period').selectOption('hour');
  await dialog.getByText('its counters begin at zero').waitFor();
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await row.getByText('per hour').waitFor();
  const listed = async () => {
    const answer = await fleet.admin('/admin/rate-limits?user_path=/new');
    return ((await answer.json()) as { rate_limits: object[] }).rate_limits;
  };
  // The new one is made before the old one goes.
  await waitFor('the old one to be gone', async () => (await listed()).length === 1);
  t.match(await listed(), [{ period_label: 'hour', max_requests: 7, source: 'manual' }]);
});

await test('a scoped operator limits a path of its subtree, sees the refusal, and is refused beyond it', async (t) => {
  const body = { name: 'lead', user_path: '/team', dashboard_access: true };
  // The proxy that passes a write on has it in force when it answers.
  const issued = await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json();
  const { page, complaints } = await openLimits(t, (issued as { value: string }).value);
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'New rule' }).click();
  await dialog.getByLabel('User path').fill('/elsewhere');
  await dialog.getByLabel('Requests').fill('1');
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await dialog.getByText('outside of its user path').waitFor();
  t.equal(await dialog.count(), 1, 'the rule is not stored');
  await dialog.getByLabel('User path').fill('/team/batch');
  await dialog.getByRole('button', { name: 'Store rule' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.same([await askAs('/team/batch'), await askAs('/team/batch')], [200, 429]);
  const row = page.getByRole('row', { name: /\/team\/batch / });
  await row.getByText('1 / 1 requests').waitFor();
  await chooseAction(row, 'Delete');
  await dialog.getByRole('button', { name: 'Delete rule' }).click();
  await row.waitFor({ state: 'detached' });
  t.equal(await askAs('/team/batch'), 200);
  t.same(complaints(), []);
});

await test('the requests of a user path are stopped where its usage is seen, and allowed again', async (t) => {
  const { page, go, row, complaints, barriers } = await openLimits(t);
  await go('/usage?user_path=/team');
  await page.getByRole('button', { name: 'Stop requests' }).click();
  const dialog = page.getByRole('dialog');
  t.equal(await dialog.getByLabel('User path').inputValue(), '/team');
  await dialog.getByRole('button', { name: 'Stop requests' }).click();
  await dialog.getByText('Say why').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'reason');
  t.same(await barriers(), []);
  await dialog.getByLabel('Reason').fill('a loop');
  await dialog.getByRole('button', { name: 'Stop requests' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.equal(await askAs('/team/app'), 429);
  await page.getByRole('main').getByRole('link', { name: 'Rate limits' }).click();
  const stopped = row.filter({ hasText: 'stopped' });
  await stopped.getByText(/ends in (29|30) min/).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await stopped.getByRole('button', { name: /^Actions: / }).click();
  const action = stopped.getByRole('button', { name: /^Allow again: / });
  const left = await action.evaluate((element) => element.getBoundingClientRect().left);
  t.ok(left > 0, 'a menu is in the window, also a narrow one');
  await action.click();
  await dialog.getByText('a loop').waitFor();
  await dialog.getByRole('button', { name: 'Allow requests' }).click();
  await stopped.waitFor({ state: 'detached' });
  t.equal(await askAs('/team/app'), 200);
  t.same(complaints(), []);
});

await test('all counters are reset when the word is typed, not before', async (t) => {
  const { page, row } = await openLimits(t);
  await askAs('/team/app');
  await row.getByText(/[1-9] \/ 100 requests/).waitFor();
  await page.getByRole('button', { name: 'Reset all' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Reset all counters' }).click();
  await dialog.getByText('Type reset to confirm.').waitFor();
  await dialog.getByLabel(/^Type/).fill('reset');
  await page.keyboard.press('Enter');
  await row.getByText('0 / 100 requests').waitFor();
  t.equal(await dialog.count(), 0);
});

await test('filters are in the address, and what they leave is linked', async (t) => {
  const { page } = await openLimits(t);
  await page.getByLabel('Source').selectOption('manual');
  await page.getByLabel('Subject, name or reason').fill('new');
  await waitFor('the address to follow', () => page.url().endsWith('?source=manual&q=new'));
  await page.reload();
  await page.getByText('1 of 2 rules').waitFor();
  await page.getByLabel('Subject, name or reason').fill('none');
  await page.getByText('No rule matches the filters.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByText('2 rules').waitFor();
  t.match(page.url(), /\/rate-limits$/);
  for (const [shown, address] of [
    ['No rule matches the filters.', '?source=manual&q=none'],
    ['1 of 2 rules', '?source=manual&q=new'],
    ['1 of 2 rules', '?source=manual'],
    ['2 rules', '/rate-limits'],
  ] as const) {
    await page.goBack();
    await waitFor(`Back to ${address}`, () => page.url().endsWith(address));
    await page.getByText(shown, { exact: true }).waitFor();
  }
  await page.goForward();
  await page.getByRole('button', { name: 'Clear filters' }).waitFor();
  t.equal(await page.getByLabel('Source').inputValue(), 'manual');
});

/** How many rules each answer of the API has brought, and how many bytes. */
function watchAnswers(page: Page) {
  const answers: Promise<{ readonly rules: number; readonly bytes: number }>[] = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (!/^\/admin\/(?!dashboard|live)/.test(pathname)) return;
    const read = async () => {
      const text = await response.text();
      const { rate_limits: rules = [] } = JSON.parse(text) as { rate_limits?: object[] };
      return { rules: rules.length, bytes: text.length };
    };
    // What is under way when the page is left has no text.
    answers.push(read().catch(() => ({ rules: 0, bytes: 0 })));
  });
  return async () => {
    const all = await Promise.all(answers);
    return { rules: Math.max(...all.map(({ rules }) => rules)), bytes: Math.max(...all.map(({ bytes }) => bytes)) };
  };
}

/** A path, of as many as the page has rules of. */
const manyPath = (index: number): string => `/many/${String(index).padStart(5, '0')}`;
const many = isFull ? 10_000 : 1_000;

await test('of thousands of rules a page asks for those in view, and searches all', async (t) => {
  const limits = [{ period: 'day', max_requests: 10_000 }];
  const user_paths = Array.from({ length: many }, (_, index) => ({ path: manyPath(index), limits }));
  const lastPath = manyPath(many - 1);
  await proxy.applyConfig({ 'limits.yaml': { rate_limits: { user_paths } } }, 20_000);
  const isListed = async () =>
    (await (await fleet.admin(`/admin/rate-limits?user_path=${lastPath}`)).text()).includes(lastPath);
  await waitFor('the control plane to list them', isListed);
  const { page, complaints, barriers } = await openLimits(t);
  const table = page.getByRole('table', { name: 'Rate limits' });
  await table.getByText('/many/00000').waitFor();
  const most = watchAnswers(page);
  await page.reload();
  await table.getByText('/many/00000').waitFor();
  t.equal(await table.getAttribute('aria-rowcount'), String(many + 2));
  t.ok((await table.getByRole('row').count()) < 100);
  await page.getByRole('region', { name: 'Rate limits' }).focus();
  const last = table.getByRole('row', { name: `${lastPath} ` });
  // A list that comes at the same moment may take its end elsewhere.
  await waitFor('the last rule', async () => {
    await page.keyboard.press('End');
    return last.isVisible();
  });
  t.equal(await askAs(`${lastPath}/app`), 200);
  // Each of the two proxies has the cap for itself.
  await last.getByText('1 / 20k requests').waitFor();
  t.same(await barriers(), []);
  for (const [order, first] of [
    ['ascending', '/many/00000'],
    ['descending', '/new'],
  ] as const) {
    await table.getByRole('button', { name: 'Subject' }).click();
    await table.getByRole('row').nth(1).getByText(first, { exact: true }).waitFor();
    t.equal(await table.getByRole('columnheader', { name: 'Subject' }).getAttribute('aria-sort'), order);
  }
  t.match(page.url(), /\?sort=-subject$/);
  await page.getByLabel('Subject, name or reason').fill('/many/0050');
  await page.getByText(`10 of ${(many + 1).toLocaleString('en')} rules`).waitFor();
  await table.getByText('/many/00509').waitFor();
  await page.getByLabel('Subject, name or reason').fill('');
  await table.getByText(lastPath).waitFor();
  for (const name of ['Configuration', 'Models and aliases']) {
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page
      .getByText(name === 'Configuration' ? new RegExp(`^${isFull ? '10K' : '1,001'}\\s*1 of operators`) : 'fake')
      .first()
      .waitFor();
  }
  const { rules, bytes } = await most();
  t.ok(rules > 0 && rules <= 100, `no answer has more than 100 rules: ${rules}`);
  t.ok(bytes < 100_000, `no answer has more than 100 kB: ${bytes}`);
  t.same(complaints(), []);
});
