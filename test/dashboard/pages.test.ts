// Every page in a real browser: it says nothing to the console, keeps the rules of accessibility in both themes, and shows foreign text as text.
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { isPictured } from '../support/browser.ts';
import { isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';
import { addLivelyDay } from './lively-day.ts';
import { makeSamples, sampleAliases, sampleGuardrails } from './setup-samples.ts';

/** A page: its address, the name of its picture, and what is on it once its data is there. */
const pages: readonly (readonly [path: string, picture: string, shown: string])[] = [
  ['', 'overview', 'text=Refused by limits'],
  ['/explain?user_path=/team-b&model=fake/fake-small', 'explain', 'text=What the name means'],
  ['/rate-limits', 'rate-limits', 'text=runaway batch job'],
  ['/budgets', 'budgets', 'text=records.yaml'],
  ['/playground?model=chat', 'playground', 'text=Nothing was asked yet.'],
  ['/requests', 'requests', 'text=429 rate_limit_exceeded'],
  ['/usage?days=1', 'usage', 'text=Share of the cost'],
  ['/keys', 'keys', 'text=Ann, editor'],
  ['/models', 'models', 'text=Limits of the provider'],
  ['/config', 'config', 'text=Every proxy follows'],
  ['/guardrails', 'guardrails', 'text=no-project-names'],
  ['/cache', 'cache', 'text=Hit ratio'],
];

/** Of these, a short run asks for the rules of accessibility in a narrow window too: plots, cards of rules, cards of records, a form. */
const narrowSample = new Set(['', '/rate-limits', '/requests', '/playground?model=chat']);

const upstream = await startFakeUpstream({ t: suite });
const [large = '', small = ''] = upstream.models;

const limits = {
  rate_limits: {
    user_paths: [
      { path: '/team-a', limits: [{ period: 'minute', max_requests: 20, max_tokens: 20_000 }] },
      { path: '/team-b', limits: [{ period: 'minute', max_requests: 2, name: 'small' }] },
      { path: '/team-c', limits: [{ period: 'hour', max_requests: 1, mode: 'shadow' }] },
    ],
    providers: [{ name: 'fake', limits: [{ period: 'concurrent', max_requests: 20 }] }],
    models: [{ model: small, limits: [{ period_seconds: 300, max_tokens: 40_000 }] }],
  },
};

/** Would run if any page took it for markup. */
const probe = isPictured ? 'nightly-batch' : '<img src=x onerror="window.probed=1">';
const probePath = isPictured ? '/team-a/batch' : '/team-a/<script>window.probed=2</script>';

const pricing = (id: string, perMtok: number) => ({
  id,
  pricing: { input_per_mtok: perMtok, output_per_mtok: 4 * perMtok, per_request: perMtok / 500 },
});
const settings = { type: 'openai', base_url: upstream.url, api_key: 'sk-fake' };
const providers = {
  fake: { ...settings, models: [pricing(large, 3), pricing(small, 0.2)] },
  reserve: { ...settings, models: [pricing(large, 5)] },
};
const records = {
  audit: { bodies: true },
  budgets: {
    user_paths: [
      { path: '/research', limits: [{ period: 'daily', amount: 0.04 }] },
      { path: '/team-a', limits: [{ period: 'monthly', amount: 25 }] },
    ],
    labels: [{ label: 'batch', limits: [{ period: 'weekly', amount: 10, mode: 'shadow' }] }],
  },
};
const samples = { large, small, probe };
const files = {
  'limits.yaml': limits,
  'providers.yaml': { providers },
  'records.yaml': records,
  'aliases.yaml': sampleAliases(samples),
  'guardrails.yaml': sampleGuardrails,
  'cache.yaml': { cache: { enabled: true, without: ['/team-a', '/team-b', '/team-c', '/research'] } },
};
const fleet = await shareFleet({ store: 'sqlite', scope: 'fleet', files });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

const askAs = async (path: string, model = `fake/${small}`): Promise<number> => {
  const body = { model, messages: [{ role: 'user', content: probe }] };
  const headers = { 'x-gateway-user-path': path, 'user-agent': probe };
  const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body });
  await response.body?.cancel();
  return response.status;
};
for (const path of ['/team-a/app', '/team-a/app', '/team-b', '/team-b', '/team-b', '/team-c', '/team-c', probePath])
  await askAs(path);
for (const model of [`fake/${large}`, `fake/${large}`, `reserve/${large}`]) await askAs('/research', model);
await askAs('/team-a', probe);
await makeSamples(fleet, samples);
const until = { expires_in: '8h' };
await fleet.write('PUT', {
  user_path: '/team-a',
  period: 'minute',
  max_requests: 5,
  reason: 'runaway batch job',
  ...until,
});
await fleet.write('PUT', { user_path: `/${probe}`, period: 'day', max_requests: 5, reason: probe });
await fleet.write('PUT', { scope: 'model', subject: probe, period: 'day', max_requests: 5, mode: 'shadow' });
if (isPictured) await addLivelyDay(join(fleet.home, 'data'), samples, Date.now());
await waitFor('the requests to be recorded', async () => {
  const { summary } = (await (await fleet.admin('/admin/audit/stats?days=1')).json()) as {
    summary: { requests: number };
  };
  return summary.requests >= 12;
});

await test('every page, in both themes and two widths', async (all) => {
  const opened = await browser.open(all, { origin: proxy.url });
  const { page, complaints, barriers, go, turn, picture: keep } = opened;
  for (const [path, picture, shown] of pages) {
    await all.test(path === '' ? '/' : path, async (t) => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await go(path);
      await page.locator(shown).first().waitFor();
      for (const theme of ['light', 'dark'] as const) {
        await turn(theme);
        t.same(await barriers(), [], theme);
        await keep(`${picture}-${theme}`);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      await turn('light');
      const isNarrow = (): Promise<boolean> =>
        page.evaluate(
          'document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll(".table-scroll.cards")].every((each) => each.scrollWidth <= each.clientWidth)',
        );
      await page.locator(shown).first().waitFor();
      // Plots follow a window a moment later.
      t.ok(await waitFor('nothing beside a narrow window', isNarrow));
      if (isFull || narrowSample.has(path)) t.same(await barriers('without colours'), [], 'narrow');
      const foreign = await page.locator('img, iframe, body script, main [onerror]').count();
      t.equal(foreign, 0, 'no markup of others');
      t.equal(await page.evaluate('window.probed'), undefined);
      t.same(complaints(), []);
    });
  }
  await all.test('the menu of a narrow window', async (t) => {
    await go('/rate-limits');
    await page.getByRole('table', { name: 'Rate limits' }).waitFor();
    t.notOk(await page.getByRole('link', { name: 'Overview' }).isVisible());
    await page.getByRole('button', { name: 'Menu' }).click();
    t.same(await barriers(), []);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await keep('narrow');
    t.same(complaints(), []);
  });
});

await test('an override as a patch: the lines of its file, and none with a secret', async (t) => {
  const { page, complaints, barriers, turn, picture } = await browser.open(t, { origin: proxy.url, path: '/config' });
  const shown = async (button: string): Promise<string> => {
    await page.getByRole('button', { name: button, exact: true }).click();
    const text = page.getByRole('dialog').locator('pre');
    await text.waitFor();
    return (await text.textContent()) ?? '';
  };
  const one = await shown('Put into git: user_path /team-a minute');
  t.match(one, /^# rate limit user_path \/team-a minute: .*runaway batch job.*\n[\s\S]*\n\+ +max_requests: 5\n/);
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`drift-${theme}`);
  }
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 390, height: 844 });
  const all = await shown('Put everything into git');
  t.match(all, '+++ b/manual.yaml');
  t.notMatch(all, /sk-fake/);
  await picture('drift-narrow');
  t.same(complaints(), []);
});

await test('the login keeps the rules, says what is wrong with a key, and leads to the page that was asked for', async (t) => {
  const expected = /status of 401/;
  const opened = await browser.open(t, {
    origin: proxy.url,
    path: '/rate-limits?scope=model',
    key: null,
    expected,
  });
  const { page, complaints, barriers } = opened;
  t.same(await barriers(), []);
  await page.getByLabel('Key').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('This key is not valid').waitFor();
  t.same(await barriers(), []);
  await page.getByLabel('Key').fill(proxy.masterKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Rate limits' }).waitFor();
  t.match(page.url(), /\/rate-limits\?scope=model$/);
  t.notMatch(await page.evaluate('document.cookie'), /gateway_session/, 'no script reads the session');
  t.same(complaints(), []);
});

await test('the viewer chooses a theme, which stays', async (t) => {
  const { page } = await browser.open(t, { origin: proxy.url });
  const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const light = await ground();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await ground();
  t.not(dark, light);
  await page.reload();
  await page.locator('h1').waitFor();
  t.equal(await ground(), dark);
});
