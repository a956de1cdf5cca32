// The pin of the configuration in the dashboard: its window, the banner on every page, and its end; on one machine with SQLite.
import { t as suite, test } from 'tap';
import { startFleet } from '../support/fleet.ts';
import { shareBrowser } from '../support/shared-browser.ts';

suite.setTimeout(120_000);

const fleet = await startFleet(suite, { store: 'sqlite', proxies: 1, config: {} });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

await test('a revision is pinned on its page, every page says so, and its banner ends it', async (t) => {
  const { page, complaints, barriers } = await browser.open(t, { origin: proxy.url, path: '/config' });
  const dialog = page.getByRole('dialog');
  const banner = page.getByRole('status', { name: 'Pin of the configuration' });
  await page.getByRole('button', { name: 'Keep to the one in force' }).click();
  await dialog.getByRole('button', { name: 'Pin it' }).click();
  await dialog.getByText('Say why').waitFor();
  await dialog.getByLabel('Reason').fill('nothing may change tonight');
  await dialog.getByRole('button', { name: 'Pin it' }).click();
  await banner.getByText('nothing may change tonight').waitFor();
  t.same(await barriers(), []);
  await page.getByRole('link', { name: 'Models' }).click();
  t.match(await banner.textContent(), /pinned to [0-9a-f]{12} for .*, by master_key/);
  await banner.getByRole('button', { name: 'End the pin' }).click();
  await dialog.getByRole('button', { name: 'End the pin' }).click();
  await banner.getByText('nothing may change tonight').waitFor({ state: 'detached' });
  const { pin } = (await (await fleet.admin('/admin/config/pin')).json()) as { pin: object | null };
  t.equal(pin, null);
  t.same(complaints(), []);
});
