// The pin of the configuration in the dashboard: its window, the banner on every page, and its end; then the card of a rollout. On one machine with
// SQLite; the tests share the fleet, in their order.
import { t as suite, test } from 'tap';
import { startFleet } from '../support/fleet.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(120_000);

/** `number` makes it a revision of its own. */
const config = (number: number) => ({
  rollout: { proxies: 1, for: '1h', abort_if: { error_share: '5%', refusals: '10%', p95: '2s' } },
  rate_limits: { user_paths: [{ path: '/number', limits: [{ period: 'day', max_requests: number }] }] },
});
const fleet = await startFleet(suite, { store: 'sqlite', proxies: 2, config: config(1) });
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

await test('a rollout is shown with its limits and aborted with a reason, which stays until it is finished', async (t) => {
  const phaseIs = (wanted: string): Promise<boolean> =>
    waitFor(`the rollout to be ${wanted}`, async () => {
      const { phase } = (await (await fleet.admin('/admin/config/rollout')).json()) as { phase: string };
      return phase === wanted;
    });
  proxy.writeConfig({ 'gateway.yaml': config(2) });
  await phaseIs('canary');
  const { page, complaints, barriers, turn, picture } = await browser.open(t, { origin: proxy.url, path: '/config' });
  const dialog = page.getByRole('dialog');
  const card = page.getByRole('region', { name: 'Rollout', exact: true });
  await card.getByText('All take it in').waitFor();
  t.match(await card.textContent(), /limit 5%.*limit 10%.*limit 2\.00 s/s);
  await card.getByRole('button', { name: 'Abort' }).click();
  await dialog.getByRole('button', { name: 'Abort' }).click();
  await dialog.getByText('Say why').waitFor();
  await dialog.getByLabel('Reason').fill('wrong model for /team-a');
  await dialog.getByRole('button', { name: 'Abort' }).click();
  await card.getByText('wrong model for /team-a (by master_key)').waitFor();
  await phaseIs('aborted');
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`rollout-${theme}`);
  }
  await card.getByRole('button', { name: 'Finish' }).click();
  await dialog.getByRole('button', { name: 'Finish' }).click();
  await card.getByText('is for all proxies').waitFor();
  await phaseIs('finished');
  t.same(complaints(), []);
});
