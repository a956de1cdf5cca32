// The page of the configuration lists revisions with their commits and verdicts, and shows what differs between any two, in every form of the page.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const fleet = await shareFleet({ store: 'sqlite', upstream, config: {} });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

interface Listed {
  readonly revision: string;
  readonly subject: string | null;
  readonly proxies: readonly { readonly verdict: string }[];
}

async function newest(): Promise<Listed | undefined> {
  const answer = await fleet.admin('/admin/config/revisions');
  return ((await answer.json()) as { revisions: readonly Listed[] }).revisions[0];
}

const directory = join(fleet.home, 'config');
const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', directory, '-c', 'user.name=Ann Lee', '-c', 'user.email=ann@example.com', ...args], {
    env,
    encoding: 'utf8',
  });

async function commit(cap: string, subject: string): Promise<void> {
  const rate_limits = { user_paths: [{ path: '/team-a', limits: [{ period: 'minute', max_requests: cap }] }] };
  git('commit', '-q', '--allow-empty', '-m', subject);
  proxy?.writeConfig({
    'limits.yaml': {
      rate_limits: JSON.parse(JSON.stringify(rate_limits).replace(`"${cap}"`, /^\d/.test(cap) ? cap : `"${cap}"`)),
    },
  });
  await waitFor(subject, async () => {
    const found = await newest();
    return found?.subject === subject && found.proxies.length === 2;
  });
}

await test('revisions are listed, and two of them compared', async (t) => {
  git('init', '-q');
  await commit('60', 'begin with limits for /team-a');
  await commit('600', 'raise the limits of <b>/team-a</b> & hope');
  await commit('sixty', 'write a limit in words');
  const { page, complaints, barriers, turn, picture } = await browser.open(t, { origin: proxy.url, path: '/config' });
  const card = page.locator('section.revisions');
  const row = card.getByRole('listitem').filter({ hasText: 'raise the limits of <b>/team-a</b> & hope' });
  t.match(await row.textContent(), /In force.*Ann Lee.*1 loosened.*on 2 proxies/s);
  const rejected = card.getByRole('listitem').filter({ hasText: 'write a limit in words' }).first();
  t.match(await rejected.textContent(), /Rejected.*rejected by 2 proxies.*limits\.yaml.*max_requests/s);
  await row.getByRole('button', { name: 'Compare' }).click();
  await card.getByText('user_path /team-a minute: max_requests 60 → 600').waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await card.scrollIntoViewIfNeeded();
    await picture(`revisions-${theme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await card.scrollIntoViewIfNeeded();
  t.same(await barriers(), [], 'narrow');
  await picture('revisions-narrow');
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing scrolls sideways');
  await page.setViewportSize({ width: 1440, height: 900 });
  const [from, to] = [card.getByLabel('From'), card.getByLabel('To')];
  const [older, newer] = [await from.inputValue(), await to.inputValue()];
  await from.selectOption(newer);
  await to.selectOption(older);
  await card.getByText('user_path /team-a minute: max_requests 600 → 60').waitFor();
  t.match(page.url(), new RegExp(`from=${newer}&to=${older}`));
  t.same(complaints(), []);
});

await test('a row that was in force can be rolled back to, a rejected one and that in force cannot', async (t) => {
  const { page, complaints, barriers } = await browser.open(t, { origin: proxy.url, path: '/config' });
  const card = page.locator('section.revisions');
  const rowOf = (subject: string) => card.getByRole('listitem').filter({ hasText: subject }).first();
  const rollBack = (subject: string) => rowOf(subject).getByRole('button', { name: 'Roll back to this' });
  await rollBack('begin with limits').waitFor();
  t.same([await rollBack('raise the limits').count(), await rollBack('write a limit').count()], [0, 0]);
  const revision = await rowOf('begin with limits').locator('code').first().textContent();
  await rollBack('begin with limits').click();
  const dialog = page.getByRole('dialog', { name: `Pin revision ${revision}` });
  await dialog.getByLabel('Reason').fill('it refused nobody');
  t.same(await barriers(), []);
  await dialog.getByRole('button', { name: 'Pin it' }).click();
  await rowOf('begin with limits').getByText('Pinned').waitFor();
  await rollBack('raise the limits').waitFor();
  t.same(await rollBack('begin with limits').count(), 0);
  const answer = await fleet.admin('/admin/config/pin', { method: 'DELETE' });
  t.equal(answer.status, 200);
  t.same(complaints(), []);
});
