// /admin/budgets over a real socket and a real store: what operators may write, and what the listing says was spent.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Test, test } from 'tap';
import { type BudgetParts, budgetsOfState, tidyBudgets } from '../../control-plane/admin/budgets/parts.ts';
import { budgetResource, budgetSettingsResource } from '../../control-plane/admin/budgets/resource.ts';
import { questionsOf } from '../../control-plane/budgets/standing.ts';
import type { BudgetFigures } from '../../control-plane/budgets/watch.ts';
import { managedRoutes } from '../../control-plane/managed/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { placeOfBudget } from '../../domain/budgets/budget.ts';
import { anchorsInForce } from '../../domain/budgets/budget-settings.ts';
import { budgetSettings } from '../../domain/documents/kinds.ts';
import { readKind } from '../../domain/documents/managed-kind.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import { openStateStore } from '../../store/state/open.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { declaredParts, memoryOfSpend } from '../support/budget-parts.ts';
import { sampleKey } from '../support/managed-state.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const start = Date.UTC(2026, 2, 14, 12);
const daily = (amount: number, mode: 'enforce' | 'shadow' = 'enforce') => ({ period: 'daily' as const, amount, mode });
const declared = declaredParts({
  user_paths: [
    { path: '/team', per_child: false, limits: [daily(10), { period: 'monthly', amount: 100, mode: 'hard' }] },
    { path: '/customers', per_child: true, limits: [daily(2)] },
  ],
  labels: [{ label: 'batch', limits: [daily(5, 'shadow')] }],
});

function validator(name: string): (body: unknown) => string {
  const file = join(import.meta.dirname, `../../schemas/admin/${name}.schema.json`);
  const isMoment = (text: string): boolean => parseMoment(text) !== undefined && text.endsWith('Z');
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': isMoment } });
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')));
  return (body) => (validate(body) ? '' : ajv.errorsText(validate.errors));
}

const listingProblems = validator('budgets');
const settingsProblems = validator('budget-settings');
const errorProblems = validator('admin-error');

const asMaster = { authorization: 'Bearer master' };

interface Answer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
  readonly items: readonly { readonly [name: string]: unknown }[];
}

async function startPlane(t: Test) {
  const at: { nowMs: number; unpriced?: string } = { nowMs: start };
  const records = memoryOfSpend();
  const store = openStateStore({ directory: temporaryDirectory(t), pollMs: 20 });
  const prerequisites = () => ({ enabled: true, hasTemplates: true, usageEnabled: true });
  async function figures(): Promise<BudgetFigures> {
    const state = await store.read();
    const merged = budgetsOfState(state, { config: declared.budgets, nowMs: at.nowMs, prerequisites: prerequisites() });
    const anchors = anchorsInForce(declared.anchors, readKind(budgetSettings, state.documents).values);
    const asked = questionsOf(merged, anchors, at.nowMs);
    const spends = await records.spend(asked.map(({ question }) => question));
    const standings = asked.map((each, index) => ({ ...each, spend: spends[index] ?? new Map<string, number>() }));
    const byPlace = new Map(standings.map((each) => [placeOfBudget(each.budget), each]));
    return { computedAtMs: at.nowMs, of: (budget) => byPlace.get(placeOfBudget(budget)) };
  }
  const parts: BudgetParts = {
    store,
    quotas: () => ({ ...defaultConfig().admin, max_rules_per_scope: 2 }),
    configBudgets: () => ({ ...declared, unpriced: at.unpriced }),
    prerequisites,
    figures,
    nowMs: () => at.nowMs,
  };
  const written: { about?: string }[] = [];
  const credentials = credentialsOf(digestOf('master'), [
    sampleKey('key-team', { id: 'key-team', name: 'key-team', userPath: '/team', role: 'admin' }),
  ]);
  const app = createServer({
    logger: { error: () => undefined, info: (line: object) => void written.push(line) },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentials,
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      nowMs: () => at.nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  for (const each of [managedRoutes(budgetResource), managedRoutes(budgetSettingsResource)])
    void app.register(each, { parts });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await store.close();
  });

  async function ask(method: string, path = '', body?: unknown, headers: object = asMaster): Promise<Answer> {
    const response = await fetch(`${address}/admin/budgets${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer['body'];
    const known = path.startsWith('/settings') ? settingsProblems : listingProblems;
    const problems = response.ok ? (path === '/reset' ? '' : known(answer)) : errorProblems(answer);
    if (problems !== '') t.fail(`${method} ${path} ${response.status}: ${problems}`);
    return { status: response.status, body: answer, items: (answer['budgets'] ?? []) as Answer['items'] };
  }
  const find = (answer: Answer, subject: string, period: string) =>
    answer.items.find((item) => item['subject'] === subject && item['period_label'] === period);
  return { at, records, store, ask, find, written };
}

const team = { user_path: '/team', budget_key: { period: 'daily' } };

await test('the listing says that models have no price, whose cost no budget counts', async (t) => {
  const { at, ask } = await startPlane(t);
  t.notOk('warnings' in (await ask('GET')).body);
  at.unpriced = 'the model a/b has no price';
  t.same((await ask('GET')).body['warnings'], ['The model a/b has no price.']);
});

await test('what was spent is listed, a budget of an operator overrides it, and a reset begins anew', async (t) => {
  const { at, records, ask, find, written } = await startPlane(t);
  records.pay(start - 1_000, 12.5, { userPath: '/team/app', labels: ['batch'] });
  records.pay(start - 86_400_000, 7, { userPath: '/team' });
  const first = await ask('GET');
  t.same(
    first.items.map((item) => `${String(item['scope'])} ${String(item['subject'])} ${String(item['period_label'])}`),
    ['user_path /customers daily', 'user_path /team monthly', 'user_path /team daily', 'label batch daily'],
  );
  t.match(find(first, '/team', 'daily'), {
    source: 'config',
    declared_at: /budgets\.yaml/,
    amount: 10,
    spent: 12.5,
    remaining: -2.5,
    usage_ratio: 1.25,
    has_usage: true,
    exceeded: true,
    period_start: '2026-03-14T00:00:00.000Z',
    period_end: '2026-03-15T00:00:00.000Z',
    period_ratio: 0.5,
  });
  t.match(find(first, '/team', 'monthly'), { spent: 19.5, exceeded: false });
  t.match(find(first, 'batch', 'daily'), { spent: 12.5, mode: 'shadow', exceeded: true });
  t.notOk(find(first, '/customers', 'daily')?.['spent'], 'a template has spent nothing by itself');

  const write = { ...team, amount: 20.25, reason: 'launch', expires_in: '8h' };
  const raised = await ask('PUT', '', write);
  t.equal(raised.status, 200);
  t.match(find(raised, '/team', 'daily'), {
    source: 'manual',
    overrides_config: true,
    amount: 20.25,
    spent: 12.5,
    exceeded: false,
    reason: 'launch',
    expires_at: '2026-03-14T20:00:00.000Z',
    updated_by: 'master_key',
  });
  t.match(written.at(-1), { about: 'budget user_path /team daily', before: { amount: 10 }, after: { amount: 20.25 } });
  at.nowMs += 1_000;
  const reset = await ask('POST', '/reset-one', { user_path: '/team', period: 'daily' });
  t.match(find(reset, '/team', 'daily'), { spent: 0, has_usage: false, last_reset_at: '2026-03-14T12:00:01.000Z' });
  t.match(find(reset, '/team', 'monthly'), { spent: 19.5 });
  const deleted = await ask('DELETE', '', team);
  t.match(find(deleted, '/team', 'daily'), { source: 'config', amount: 10, spent: 0 }, 'the reset stays');
  t.same((await ask('POST', '/reset', { confirmation: 'reset' })).body, { status: 'ok' });
  t.match(find(await ask('GET'), '/team', 'monthly'), { spent: 0 });
});

await test('filters, and what a child of a template has spent', async (t) => {
  const { records, ask } = await startPlane(t);
  records.pay(start, 1.5, { userPath: '/customers/alice/app' });
  const covering = await ask('GET', '?covers=/customers/alice/app/deeper');
  t.match(covering.items, [
    { subject: '/customers', effective_subject: '/customers/alice', spent: 1.5, remaining: 0.5 },
  ]);
  t.same((await ask('GET', '?covers=/customers')).items, []);
  t.equal((await ask('GET', '?covers=/team/x')).items.length, 2);
  t.equal((await ask('GET', '?scope=label&subject=batch')).items.length, 1);
  t.equal((await ask('GET', '?subject=team/')).items.length, 2);
  for (const query of ['?covers=/a/../b', '?scope=model', '?page=1', '?user_path=/a&user_path=/b']) {
    t.match((await ask('GET', query)).body, { code: 'invalid_query', status_code: 400 }, query);
  }
});

await test('windows begin where operators say', async (t) => {
  const { ask, find, written } = await startPlane(t);
  t.match((await ask('GET', '/settings')).body, { monthly_reset_day: 1, weekly_reset_weekday: 1 });
  t.match((await ask('PUT', '/settings', { monthly_reset_day: 15 })).body, {
    monthly_reset_day: 15,
    daily_reset_hour: 0,
  });
  t.match(written.at(-1), { before: { monthly_reset_day: 1 }, after: { monthly_reset_day: 15 } });
  const { body } = await ask('PUT', '/settings', { daily_reset_hour: 13 });
  t.match(body, { monthly_reset_day: 15, daily_reset_hour: 13 }, 'the others stay');
  const listing = await ask('GET');
  t.match(find(listing, '/team', 'monthly'), { period_start: '2026-02-15T00:00:00.000Z' });
  t.match(find(listing, '/team', 'daily'), { period_end: '2026-03-14T13:00:00.000Z' });
  for (const wrong of [
    { daily_reset_hour: 24 },
    { monthly_reset_day: 0 },
    { other: 1 },
    { weekly_reset_weekday: 'Monday' },
  ]) {
    t.match((await ask('PUT', '/settings', wrong)).body, { code: 'invalid_member', param: Object.keys(wrong)[0] });
  }
});

await test('every refusal of a write', async (t) => {
  const { ask } = await startPlane(t);
  const cases: [method: string, path: string, body: object, status: number, code: string, param?: string][] = [
    ['PUT', '', { ...team, amount: 0 }, 400, 'invalid_member', 'amount'],
    ['PUT', '', { ...team, amount: 9_000_001 }, 400, 'invalid_member', 'amount'],
    ['PUT', '', { ...team, amount: '5' }, 400, 'invalid_member', 'amount'],
    ['PUT', '', team, 400, 'invalid_member', 'amount'],
    ['PUT', '', { user_path: '/team', amount: 5 }, 400, 'invalid_member', 'budget_key'],
    ['PUT', '', { ...team, period: 'daily', amount: 5 }, 400, 'invalid_member', 'period'],
    [
      'PUT',
      '',
      { user_path: '/team', budget_key: { period: 'yearly' }, amount: 5 },
      400,
      'invalid_member',
      'budget_key.period',
    ],
    ['PUT', '', { scope: 'label', period: 'daily', amount: 5 }, 400, 'invalid_member', 'subject'],
    ['PUT', '', { scope: 'label', subject: ' x', period: 'daily', amount: 5 }, 400, 'invalid_member', 'subject'],
    [
      'PUT',
      '',
      { scope: 'label', subject: 'x', per_child: true, period: 'daily', amount: 5 },
      400,
      'invalid_member',
      'per_child',
    ],
    ['PUT', '', { scope: 'provider', subject: 'x', period: 'daily', amount: 5 }, 400, 'invalid_member', 'scope'],
    ['PUT', '', { user_path: '/a/../b', period: 'daily', amount: 5 }, 400, 'invalid_member', 'user_path'],
    ['PUT', '', { ...team, amount: 5, expires_at: '2020-01-01T00:00:00Z' }, 400, 'invalid_member', 'expires_at'],
    ['DELETE', '', team, 409, 'budget_config_owned'],
    ['DELETE', '', { user_path: '/other', period: 'daily' }, 404, 'budget_not_found'],
    ['POST', '/reset-one', { user_path: '/other', period: 'daily' }, 404, 'budget_not_found'],
    ['POST', '/reset', { confirmation: 'yes' }, 400, 'reset_not_confirmed'],
  ];
  for (const [method, path, body, status, code, param] of cases) {
    const answer = await ask(method, path, body);
    t.match(
      answer.body,
      { status_code: status, code, ...(param === undefined ? {} : { param }) },
      JSON.stringify(body),
    );
  }
  t.match((await ask('PUT', '', { ...team, amount: 5 }, { ...asMaster, 'if-match': '"77"' })).body, {
    code: 'precondition_failed',
  });
});

await test('an operator of a team sees its own budgets, and may only tighten that of its own path', async (t) => {
  const { ask, find } = await startPlane(t);
  const as = (method: string, path: string, body?: object) =>
    ask(method, path, body, { authorization: 'Bearer key-team' });
  t.same([...new Set((await as('GET', '')).items.map((item) => item['subject']))], ['/team']);
  t.match((await as('PUT', '', { ...team, amount: 11 })).body, { code: 'admin_scope_denied', param: 'amount' });
  t.match((await as('PUT', '', { ...team, amount: 9, mode: 'shadow' })).body, {
    code: 'admin_scope_denied',
    param: 'mode',
  });
  const monthly = { user_path: '/team', period: 'monthly', amount: 90 };
  t.match((await as('PUT', '', monthly)).body, {
    code: 'admin_scope_denied',
    param: 'mode',
    message: /send mode "enforce" for a budget that the configuration declares as "hard"/,
  });
  const hard = await as('PUT', '', { ...monthly, mode: 'hard' });
  t.match(find(hard, '/team', 'monthly'), { mode: 'hard', amount: 90, overrides_config: true });
  t.equal((await as('DELETE', '', { user_path: '/team', period: 'monthly' })).status, 200);
  t.equal((await as('PUT', '', { ...team, amount: 9 })).status, 200);
  t.match((await as('POST', '/reset-one', { user_path: '/team', period: 'daily' })).body, {
    code: 'admin_scope_denied',
  });
  t.match((await as('POST', '/reset', { confirmation: 'reset' })).body, { code: 'admin_scope_denied' });
  t.match((await as('PUT', '/settings', { monthly_reset_day: 2 })).body, { code: 'admin_scope_denied' });
  t.match((await as('PUT', '', { scope: 'label', subject: 'batch', period: 'daily', amount: 1 })).body, {
    code: 'admin_scope_denied',
  });
  t.match((await as('DELETE', '', { scope: 'label', subject: 'batch', period: 'daily' })).body, {
    code: 'budget_not_found',
  });
  t.equal((await as('PUT', '', { user_path: '/team/app', period: 'daily', amount: 900 })).status, 200);
  t.match((await as('PUT', '', { user_path: '/team/b', period: 'daily', amount: 1 })).body, {
    code: 'too_many_budgets',
  });
  t.equal((await as('DELETE', '', team)).status, 200, 'its own tightening it may take back');
  await ask('PUT', '', { ...team, amount: 5 });
  t.match((await as('DELETE', '', team)).body, { code: 'admin_scope_denied' }, 'not that of one with more rights');
});

await test('an expired budget is gone from the store, and the declared one counts', async (t) => {
  const { at, store, ask, find } = await startPlane(t);
  await ask('PUT', '', { ...team, amount: 5, expires_in: '1m' });
  await ask('PUT', '', { user_path: '/new', period: 'daily', amount: 5 });
  await ask('POST', '/reset-one', { user_path: '/new', period: 'daily' });
  t.equal((await ask('DELETE', '', { user_path: '/new', period: 'daily' })).status, 200);
  at.nowMs += 60_000;
  t.match(find(await ask('GET'), '/team', 'daily'), { source: 'config', amount: 10 });
  t.equal(await tidyBudgets(store, declared, at.nowMs), true);
  t.same((await store.read()).documents, [], 'the reset of a deleted budget went with it');
  t.equal(await tidyBudgets(store, declared, at.nowMs), false);
});

await test('while the record store does not answer, budgets are listed without what was spent', async (t) => {
  const { records, ask, find } = await startPlane(t);
  records.failWith(new StoreUnavailable('unreachable', 'gone'));
  const listing = await ask('GET');
  t.equal(listing.body['stale'], true);
  t.match(find(listing, '/team', 'daily'), { amount: 10, enforced: true });
  t.notOk(find(listing, '/team', 'daily')?.['spent']);
  t.equal((await ask('PUT', '', { ...team, amount: 5 })).status, 200, 'a write needs the state store alone');
});
