// An operator issues a key in the dashboard, a client uses it with the official SDK, the operator rotates and revokes it.
import { AuthenticationError, OpenAI } from 'openai';
import { t as suite, type Test, test } from 'tap';
import { chooseAction } from '../support/choose-action.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const [large = '', small = ''] = upstream.models;
const aliases = { aliases: [{ source: 'chat', target: `fake/${small}` }] };
const fleet = await shareFleet({ store: 'sqlite', upstream, files: { 'aliases.yaml': aliases } });
const [proxy, other] = fleet.proxies;
if (proxy === undefined || other === undefined) throw new Error('there are no proxies');
const browser = await shareBrowser();

/** Whether a client with this key gets an answer at a proxy. */
async function isServed(
  key: string,
  model = 'chat',
  at: { readonly url: string } = proxy ?? { url: '' },
): Promise<boolean> {
  const client = new OpenAI({ apiKey: key, baseURL: `${at.url}/v1`, maxRetries: 0 });
  const asked = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return asked.then(
    ({ choices }) => choices.length === 1,
    (error: unknown) => {
      if (error instanceof AuthenticationError) return false;
      throw error;
    },
  );
}

async function open(t: Test, path: string, key?: string) {
  const opened = await browser.open(t, {
    origin: proxy?.url ?? '',
    path,
    expected: /status of (400|403|404|409)/,
    ...(key === undefined ? {} : { key }),
  });
  const { page } = opened;
  return { ...opened, dialog: page.getByRole('dialog') };
}

await test('a key is created, used, rotated and revoked; its secret is shown once', async (t) => {
  const { page, dialog, complaints, barriers } = await open(t, '/keys');
  await page.getByText('There are no managed keys.').waitFor();
  await page.getByRole('button', { name: 'New key' }).click();
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByText('Give the key a name').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'name');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Ann, editor');
  await dialog.getByLabel('User path', { exact: true }).fill('/team-a/ann');
  await dialog.getByLabel('Labels').fill('editors, trial');
  await dialog.getByLabel('Models', { exact: true }).fill('nobody/x');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByText('there is no provider "nobody"').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'allowed_models', 'a mistake is said at its field');
  await dialog.getByLabel('Models', { exact: true }).fill('chat');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByText('Copy it now').waitFor();
  t.same(await barriers(), []);
  const secret = (await dialog.getByLabel('Secret').textContent()) ?? '';
  t.match(secret, /^sk-gw-[\w-]{43}$/);
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.ok((await isServed(secret)) && (await isServed(secret, 'chat', other)), 'what is shown as done is so everywhere');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.notMatch(await page.content(), secret.slice(6, -4), 'it is nowhere on the page any more');
  const row = page.getByRole('row', { name: /^Ann, editor/ });
  t.match(await row.textContent(), /sk-gw-.*editorstrial.*\/team-a\/ann.*chat.*active/s);

  await chooseAction(row, 'Rotate');
  await dialog.getByLabel('The old key').selectOption('Works for an hour more');
  await dialog.getByRole('button', { name: 'Rotate key' }).click();
  const renewed = (await dialog.getByLabel('Secret').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();
  await waitFor('the new secret to work', () => isServed(renewed));
  t.ok(await isServed(secret), 'the old one works for a while longer');
  await row.filter({ hasText: 'ends in' }).waitFor();
  t.equal(await row.count(), 2);

  for (const revoked of [1, 2]) {
    await chooseAction(row.filter({ hasNotText: 'revoked' }).first(), 'Deactivate');
    await dialog.getByRole('button', { name: 'Deactivate key' }).click();
    await waitFor('it to show as revoked', async () => (await row.getByText('revoked').count()) === revoked);
  }
  for (const each of [secret, renewed]) await waitFor('the key to be refused', async () => !(await isServed(each)));
  t.same(complaints(), []);
});

await test('a key is edited: only what differs is sent, and dashboard access by itself', async (t) => {
  const body = { name: 'app', user_path: '/team-b', allowed_models: ['chat'], description: 'of team B' };
  await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).body?.cancel();
  const { page, dialog } = await open(t, '/keys?q=team-b');
  await chooseAction(page, 'Edit', 'app');
  await dialog.getByLabel('Models', { exact: true }).fill('');
  await dialog.getByLabel('Expires').selectOption('In 30 days');
  await dialog.getByText('May use the dashboard').click();
  await dialog.getByLabel('Role').selectOption('operator');
  const sent: string[] = [];
  page.on('request', (request) => {
    if (!['GET', 'HEAD'].includes(request.method())) sent.push(`${request.method()} ${request.postData()}`);
  });
  await dialog.getByRole('button', { name: 'Store key' }).click();
  await page.getByRole('row', { name: /^app/ }).getByText('every model').waitFor();
  t.same(sent, ['PATCH {"allowed_models":[],"expires_in":"30d"}', 'PUT {"dashboard_access":true,"role":"operator"}']);
  t.match(await page.getByRole('row', { name: /^app/ }).textContent(), /operator.*ends in (29|30) d/s);
});

await test('a scoped operator sees and issues keys of its subtree, and no models page', async (t) => {
  const draft = { name: 'lead', user_path: '/team-a', dashboard_access: true };
  const lead = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body: draft })).json()) as {
    value: string;
  };
  const { page, go, dialog, complaints } = await open(t, '/keys', lead.value);
  await page.getByRole('row', { name: /^lead/ }).waitFor();
  t.equal(await page.getByRole('row', { name: /^app/ }).count(), 0);
  t.equal(await page.getByRole('link', { name: 'Models and aliases' }).count(), 0);
  await page.getByRole('button', { name: 'New key' }).click();
  t.equal(await dialog.getByLabel('User path', { exact: true }).inputValue(), '/team-a');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('outside');
  await dialog.getByLabel('User path', { exact: true }).fill('/team-b');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByText('outside of /team-a').waitFor();
  await go('/models');
  await page.getByText('This page shows the whole gateway').waitFor();
  t.same(complaints(), []);
});

await test('an alias is made, used, changed, and the one of the configuration is overridden and comes back', async (t) => {
  const { page, dialog, complaints } = await open(t, '/models');
  await page.getByRole('button', { name: 'New alias' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('assistant');
  await dialog.getByLabel('Target 1', { exact: true }).fill(small.slice(0, 4));
  // The names of what there is complete the field.
  await dialog.locator(`datalist option[value="fake/${small}"]`).waitFor({ state: 'attached' });
  await dialog.getByLabel('Target 1', { exact: true }).fill('fake/none');
  await dialog.getByRole('button', { name: 'Store alias' }).click();
  await dialog.getByText('cannot be used').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'targets');
  await dialog.getByLabel('Target 1', { exact: true }).fill(`fake/${small}`);
  await dialog.getByRole('button', { name: 'Add target' }).click();
  await dialog.getByLabel('Target 2', { exact: true }).fill(`fake/${large}`);
  await dialog.getByLabel('Weight of target 2').fill('3');
  await dialog.getByText('The same as YAML').click();
  t.match(await dialog.locator('pre').textContent(), `- { model: fake/${large}, weight: 3 }`);
  await dialog.getByRole('button', { name: 'Store alias' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  for (let count = 0; count < 4; count += 1) t.ok(await isServed(proxy.masterKey, 'assistant'));
  const row = page.getByRole('row', { name: /^assistant/ });
  await row.getByText('×3').waitFor();
  await row
    .getByText(/^[1-9][\d.]*%$/)
    .first()
    .waitFor();

  await chooseAction(page, 'Override', 'chat');
  await dialog.getByText('declares this alias at aliases.yaml:').waitFor();
  await dialog.getByLabel('Target 1', { exact: true }).fill(`fake/${large}`);
  await dialog.getByRole('button', { name: 'Override' }).click();
  const chat = page.getByRole('row', { name: /^chat/ });
  await chat.getByText(/^Override aliases\.yaml/).waitFor();
  await chooseAction(chat, 'Delete');
  await dialog.getByText('is in force again').waitFor();
  await dialog.getByRole('button', { name: 'Delete alias' }).click();
  await chat.getByText('Config').waitFor();
  t.same(complaints(), []);
});

await test('a provider is taken out with a reason and an end, shows it, and is given back', async (t) => {
  const status = async (): Promise<number> => {
    const body = { model: `fake/${small}`, messages: [{ role: 'user', content: 'Hello' }] };
    const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body });
    await response.body?.cancel();
    return response.status;
  };
  const { page, go, dialog, complaints, barriers, turn, picture } = await open(t, '/models');
  const provider = page.getByRole('table', { name: 'Providers' }).getByRole('row', { name: /^fake/ });
  await provider.getByRole('button', { name: 'Take out: fake' }).click();
  await dialog.getByRole('button', { name: 'Take out' }).click();
  await dialog.getByText('Say why').waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'reason');
  t.notMatch(await dialog.getByLabel('End').textContent(), 'Does not end by itself');
  t.same(await barriers(), []);
  await picture('take-out');
  await dialog.getByLabel('Reason').fill('maintenance of the provider');
  await dialog.getByRole('button', { name: 'Take out' }).click();
  await provider.getByText('taken out', { exact: true }).waitFor();
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.equal(await status(), 503);
  t.match(await provider.textContent(), /back in (1 h|59 min|60 min).*maintenance of the provider/s);
  const target = page.getByRole('table', { name: 'Targets' }).getByRole('row', { name: `fake/${small}` });
  t.match(await target.textContent(), /taken out.*with its provider/s);
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await picture(`taken-out-${theme}`);
  }
  await go('');
  await page.getByRole('link', { name: '1 target taken out' }).click();
  await page.getByRole('button', { name: 'Give back: fake' }).click();
  await dialog.getByText('maintenance of the provider').waitFor();
  await dialog.getByRole('button', { name: 'Give back' }).click();
  await provider.getByText('taken out', { exact: true }).waitFor({ state: 'detached' });
  await waitFor('it to be asked again', async () => (await status()) === 200);
  t.same(complaints(), []);
});

await test('a provider that fails shows: its breaker, its failures', async (t) => {
  await upstream.behave({ kind: 'error', status: 500 });
  t.teardown(() => upstream.behave({ kind: 'openai' }));
  const body = { model: `fake/${large}`, messages: [{ role: 'user', content: 'Hello' }] };
  for (let count = 0; count < 6; count += 1)
    await (await proxy.fetch('/v1/chat/completions', { method: 'POST', body })).body?.cancel();
  const { page, go, barriers } = await open(t, '/models?show=blocked');
  const row = page.getByRole('table', { name: 'Targets' }).getByRole('row', { name: `fake/${large}` });
  await row.getByText(/breaker (half )?open/).waitFor();
  t.match(await row.textContent(), /\d failed/);
  await page.getByText(/of 2 not usable/).waitFor();
  t.same(await barriers(), []);
  await go('');
  await page.getByRole('link', { name: 'targets unusable' }).first().waitFor();
  t.same(await barriers(), []);
  await page.getByRole('link', { name: 'targets unusable' }).first().click();
  await row.waitFor();
});

await test('a mistake on disk shows with its line and what would change, and goes when it is corrected', async (t) => {
  const { page, go, complaints, barriers } = await open(t, '/config');
  await page.getByText('The directory holds what is in force.').waitFor();
  const odd = '<img src=x onerror="window.probed=1">';
  const limits = (cap: unknown) => ({
    rate_limits: { user_paths: [{ path: '/a', limits: [{ period: 'day', max_requests: cap }] }] },
  });
  await proxy.applyConfig({ 'limits.yaml': limits(7) });
  await waitFor('the control plane to follow', async () => {
    const text = await (await fleet.admin('/admin/config')).text();
    return text.includes('"max_requests":7');
  });
  proxy.writeConfig({ 'limits.yaml': limits(odd) });
  await page
    .getByText(/limits\.yaml:\d+:\d+/)
    .first()
    .waitFor();
  const difference = page.getByRole('table', { name: 'Differences in limits.yaml' });
  await difference.getByText('rate_limits.user_paths[/a].limits[day].max_requests').waitFor();
  t.match(await difference.textContent(), /changed.*7.*<img src=x/);
  await page.getByText('It rejects the configuration on disk').first().waitFor();
  t.same(await barriers(), []);
  await page.getByRole('link', { name: 'limits.yaml', exact: true }).click();
  const text = page.getByRole('list', { name: 'The text of limits.yaml' });
  await text.getByText('max_requests: 7').waitFor();
  proxy.writeConfig({ 'limits.yaml': limits(8) });
  await page.getByText('The directory holds what is in force.').waitFor();
  await text.getByText('max_requests: 8').waitFor({ timeout: 15_000 });
  await page.getByRole('link', { name: 'providers.yaml', exact: true }).click();
  const provider = page.getByRole('list', { name: 'The text of providers.yaml' });
  // The key is a variable, and stays one.
  await provider.getByText(/api_key: "?\$\{\w+\}/).waitFor();
  t.ok((await provider.textContent())?.includes(upstream.url));
  await go('/rate-limits?covers=/a');
  await page.getByRole('link', { name: /^limits\.yaml:\d+$/ }).click();
  const marked = text.locator('[aria-current=true]');
  await marked.getByText('period: day').waitFor();
  t.equal(await page.evaluate('window.probed'), undefined);
  t.same(complaints(), []);
});

await test('the cache says what it has saved, and forgets what it is told to', async (t) => {
  await proxy.applyConfig({ 'cache.yaml': { cache: { enabled: true } } });
  await waitFor('the control plane to follow', async () => {
    const { settings } = (await (await fleet.admin('/admin/cache')).json()) as { settings: { enabled: boolean } };
    return settings.enabled;
  });
  const { page, dialog, complaints, barriers } = await open(t, '/cache');
  const body = { model: `fake/${small}`, messages: [{ role: 'user', content: 'What is cached?' }] };
  const ask = async (): Promise<string | null> => {
    const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body });
    await response.body?.cancel();
    return response.headers.get('x-gateway-cache');
  };
  await ask();
  await waitFor('the answer to be kept', async () => (await ask()) === 'hit');
  await page.getByText(/[1-9] of \d+ requests/).waitFor();
  await page.getByRole('row', { name: /chat\/completions/ }).waitFor();
  t.same(await barriers(), []);
  await page.getByRole('button', { name: 'Forget answers' }).click();
  await dialog.getByRole('button', { name: 'Forget answers' }).click();
  await dialog.getByText('Say which user path.').waitFor();
  await dialog.getByLabel('Which answers').selectOption('All of them');
  await dialog.getByRole('button', { name: 'Forget answers' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  t.equal(await ask(), 'miss');
  t.same(complaints(), []);
});

await test('a guardrail is written, tried, in force, and deleted', async (t) => {
  const { page, dialog, complaints, barriers } = await open(t, '/guardrails');
  await page.getByText('There are no guardrails').waitFor();
  await page.getByRole('button', { name: 'New guardrail' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('no-names');
  await dialog.getByLabel('Kind').selectOption('Patterns');
  await dialog.getByRole('button', { name: 'Store guardrail' }).click();
  await dialog.getByText('Patterns: this is needed.').waitFor();
  await dialog.getByLabel('Patterns', { exact: true }).fill('EMP-[0-9]{6}\n(?=Bluebird)');
  await dialog.getByRole('button', { name: 'Store guardrail' }).click();
  const wrong = dialog.getByRole('textbox', { name: 'Patterns', description: /lookahead/ });
  await wrong.waitFor();
  t.equal(await page.evaluate('document.activeElement.name'), 'regex.patterns', 'a mistake is said at its field');
  await dialog.getByLabel('Kind').selectOption('Words');
  await dialog.getByLabel('Words or phrases').fill('Bluebird');
  await dialog.getByRole('button', { name: 'Store guardrail' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  const row = page.getByRole('row', { name: /no-names/ });
  await row.getByText('block: Bluebird').waitFor();
  const text = '<img src=x onerror="window.probed=1"> Bluebird';
  await page.getByLabel('Text').fill(text);
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('It would be refused').waitFor();
  await page.getByText('no-names (keyword)').waitFor();
  t.same(await barriers(), []);
  const body = { model: 'chat', messages: [{ role: 'user', content: text }] };
  const refused = await proxy.fetch('/v1/chat/completions', { method: 'POST', body });
  t.match([refused.status, await refused.json()], [400, { error: { code: 'guardrail_blocked' } }]);
  await row.getByText('1 block').waitFor();
  await chooseAction(row, 'Delete');
  await dialog.getByRole('button', { name: 'Delete guardrail' }).click();
  await page.getByText('There are no guardrails').waitFor();
  t.equal(await page.evaluate('window.probed'), undefined);
  t.same(complaints(), []);
});

/** What is written into the form of each kind, by label, and what is stored of it beside the defaults. */
const guardrailForms: readonly (readonly [
  kind: string,
  name: string,
  texts: Record<string, string>,
  stored: object,
])[] = [
  ['Words', 'keywords', { 'Words or phrases': 'Redwood' }, { words: ['Redwood'], action: 'block', whole_words: true }],
  ['Patterns', 'regex', { Patterns: 'a,b\nc' }, { patterns: ['a,b', 'c'], window: 256 }],
  ['Personal data', 'pii', { Replacement: '' }, { kinds: ['email', 'card', 'iban', 'key'], replacement: '' }],
  ['System prompt', 'system_prompt', { Words: 'Be kind.' }, { mode: 'prepend', text: 'Be kind.' }],
  ['Limits of a request', 'limits', { 'Tools, at most': '0' }, { max_tools: 0, when_above: 'cap' }],
  ['Judging model', 'llm', { Model: 'chat', 'Its task': 'Judge.' }, { model: 'chat', fail: 'closed' }],
  ['Webhook', 'webhook', { Address: 'https://guard.test/', 'Questions at once': '7' }, { max_concurrent: 7 }],
  ['Form of the answer', 'schema', { 'JSON Schema of answers': '{"type":"array"}' }, { schema: { type: 'array' } }],
];

await test('every kind of guardrail has a form, which says what is stored when it is opened again', async (t) => {
  const { page, dialog, complaints, barriers, turn } = await open(t, '/guardrails');
  for (const [kind, name, texts] of guardrailForms) {
    await page.getByRole('button', { name: 'New guardrail' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByLabel('Kind').selectOption(kind);
    // A guardrail that is enforced holds for the other tests, too.
    await dialog.getByLabel('Mode', { exact: true }).selectOption('Shadow: only count its verdicts');
    for (const [label, text] of Object.entries(texts)) await dialog.getByLabel(label, { exact: true }).fill(text);
    if (name === 'pii') await dialog.getByLabel('Telephone numbers').uncheck();
    t.same(await barriers(), [], kind);
    await dialog.getByRole('button', { name: 'Store guardrail' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  const listing = async (): Promise<Record<string, object>> => {
    const body = (await (await fleet.admin('/admin/guardrails')).json()) as { guardrails: Record<string, object>[] };
    return Object.fromEntries(body.guardrails.map((each) => [each['name'], each['settings'] ?? {}]));
  };
  const stored = await listing();
  t.match(stored, Object.fromEntries(guardrailForms.map(([, name, , settings]) => [name, settings])));
  await turn('dark');
  for (const [, name, texts] of guardrailForms) {
    await chooseAction(page, 'Edit', name);
    if (name === 'webhook') await dialog.getByLabel('Address', { exact: true }).fill(texts['Address'] ?? '');
    if (name === 'pii') t.same(await barriers(), [], 'dark');
    await dialog.getByRole('button', { name: 'Store guardrail' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  t.same(await listing(), stored, 'an edit that changes nothing stores the same');
  t.same(complaints(), []);
});
