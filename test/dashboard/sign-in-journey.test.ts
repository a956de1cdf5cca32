// A person signs in with a real browser at a real identity provider, works, and signs out; and logs in with a key while the provider is down.
import { t as suite, test } from 'tap';
import { masterKey } from '../support/gateway.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { startSignInStand } from './sign-in-stand.ts';

suite.setTimeout(120_000);

const { company, configure, both, identityOf, publicUrl } = await startSignInStand(suite);
await configure({ company: both.company });
const browser = await shareBrowser();
/** Nobody is logged in yet; the provider may not answer. */
const expected = /status of (401|403|503)/;
const asked = { origin: publicUrl, key: null, expected };

await test('the login offers the provider beside a key, in both themes and on a telephone', async (t) => {
  const opened = await browser.open(t, asked);
  const { page, barriers, complaints, picture, turn } = opened;
  await page.getByRole('button', { name: 'Sign in with Example Inc.' }).waitFor();
  t.same(await barriers(), []);
  await picture('login');
  await turn('dark');
  t.same(await barriers(), []);
  await page.setViewportSize({ width: 390, height: 844 });
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is cut off');
  t.same(complaints(), []);
});

await test('a viewer signs in where it wanted to go, sees no way to write, and signs out at the provider too', async (t) => {
  const { page, complaints } = await browser.open(t, { ...asked, path: '/rate-limits?scope=model' });
  await page.getByRole('button', { name: 'Sign in with Example Inc.' }).click();
  await page.getByLabel('Name').fill('vic');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Rate limits', level: 1 }).waitFor();
  t.match(page.url(), `${publicUrl}/admin/dashboard/rate-limits?scope=model`, 'the session is there after a redirect');
  await page.getByRole('region', { name: 'You' }).getByText('vic@example.com').waitFor();
  t.equal(await page.getByRole('button', { name: /New|Set|Reset/ }).count(), 0, 'no way to write');
  t.notMatch(await page.evaluate('document.cookie'), /gateway/, 'no script reads a cookie');
  await page.reload();
  await page.getByRole('heading', { name: 'Rate limits', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('button', { name: /sign me out/ }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  t.match(page.url(), `${publicUrl}/admin/dashboard`, 'the provider leads back');
  await page.getByRole('button', { name: 'Sign in with Example Inc.' }).click();
  await page.getByRole('heading', { name: 'Company login' }).waitFor();
  t.pass('the provider asks again who it is');
  t.same(complaints(), []);
});

await test('an admin signs in, and the change it makes is recorded under its name', async (t) => {
  company.next = { subject: 'ann' };
  const { page, go, complaints, barriers } = await browser.open(t, asked);
  await page.getByRole('button', { name: 'Sign in with Example Inc.' }).click();
  await page.getByRole('region', { name: 'You' }).getByText('ann@example.com').waitFor();
  const written = await page.evaluate(`(async () => {
    const { csrf_token: token } = await (await fetch('/admin/session')).json();
    const body = JSON.stringify({ user_path: '/by-ann', period: 'day', max_requests: 5 });
    const headers = { 'content-type': 'application/json', 'x-csrf-token': token };
    return (await fetch('/admin/rate-limits', { method: 'PUT', headers, body })).status;
  })()`);
  t.equal(written, 200);
  await go('/requests?view=changes');
  const row = page.getByRole('row', { name: /by-ann/ });
  await row.getByText('ann@example.com').waitFor();
  await row.getByRole('link').first().click();
  await page.getByText('company:ann', { exact: true }).waitFor();
  t.same(await barriers(), []);
  t.same(complaints(), []);
});

await test('the login says why a sign-in failed, and opens with a key while the provider is down', async (t) => {
  company.next = { error: 'access_denied', description: '<b>not</b> for you' };
  const { page, complaints, barriers } = await browser.open(t, asked);
  const signIn = page.getByRole('button', { name: 'Sign in with Example Inc.' });
  await signIn.click();
  await page.getByRole('alert').getByText('access_denied: <b>not</b> for you').waitFor();
  t.same(await barriers(), []);
  await page.reload();
  await signIn.waitFor();
  t.equal(await page.getByText('access_denied').count(), 0, 'it is said once');
  company.state = 'fails';
  await configure({ company: identityOf(company, { clock_skew: '31s' }) });
  await signIn.click();
  await page.getByRole('alert').getByText('log in with a key').waitFor();
  t.same(await barriers(), []);
  await page.getByLabel('Key').fill(masterKey);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'You' }).getByText('Master key').waitFor();
  t.same(complaints(), []);
});
