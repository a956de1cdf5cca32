// What an operator may not reach, for every managed kind: other user paths, models beyond its own, budgets of labels. Refused writes change nothing.
import { t as suite, test } from 'tap';
import { startReachPlane } from './reach-plane.ts';

const plane = await startReachPlane(suite);

type Row = readonly [by: string, method: string, path: string, body: object | undefined, expected: string];
const denied = (param = '') => `403 admin_scope_denied ${param}`.trimEnd();

/** Asks each row in order; `200` is what is allowed. */
async function check(t: { equal: (one: unknown, other: unknown, message: string) => unknown }, rows: readonly Row[]) {
  for (const [by, method, path, body, expected] of rows) {
    const before = await plane.revision();
    const { status, code, param } = await plane.ask(by, method, path, body);
    const said = `${by}: ${method} ${path} ${JSON.stringify(body)}`;
    t.equal(`${status} ${code} ${param}`.trimEnd(), expected, said);
    if (status >= 400) t.equal(await plane.revision(), before, `${said} changes nothing`);
  }
}

const alias = (source: string, ...targets: string[]) => ({ source, targets: targets.map((model) => ({ model })) });

await test('an alias leads no further than the models of the operator, before and after', async (t) => {
  const put = (body: object, expected: string, by = 'some'): Row => [by, 'PUT', 'virtual-models', body, expected];
  const drop = (source: string, expected: string, by = 'some'): Row => [
    by,
    'DELETE',
    'virtual-models',
    { source },
    expected,
  ];
  await check(t, [
    put({ source: 'openai/ok', target: 'openai/gpt-4o' }, denied('source')),
    put({ source: 'mine', target: 'openai/gpt-4o' }, denied('source')),
    put({ source: 'mine', target: 'gpt-4o' }, denied('source')),
    put(alias('mine', 'openai/ok', 'openai/gpt-4o'), denied('source')),
    put({ source: 'mine', target: 'big' }, denied('source')),
    put({ source: 'openai/gpt-4o', target: 'openai/ok' }, denied('source')),
    put({ source: 'gpt-4o', target: 'openai/ok' }, denied('source')),
    put({ source: 'big', target: 'openai/ok' }, denied('source')),
    put({ source: 'BIG', target: 'openai/ok' }, denied('source')),
    put({ source: 'big', target: 'openai/ok', enabled: false }, denied('source')),
    put({ source: 'eu/*', target: 'openai/*' }, denied('source')),
    put({ source: 'openai/*', target: 'local/*' }, denied('source')),
    put({ source: 'eu/*', target: 'openai/*' }, denied('source'), 'openai'),
    put({ source: 'mine', target: 'openai/ok' }, '200'),
    put(alias('mine', 'openai/small', 'chat'), '200'),
    put({ source: 'chat', target: 'openai/small' }, '200'),
    drop('chat', '200'),
    // A chain that another operator has led elsewhere is no longer its own.
    put({ source: 'link', target: 'openai/gpt-4o' }, '200', 'whole'),
    put({ source: 'mine', target: 'link' }, denied('source')),
    put({ source: 'mine', target: 'link' }, '200', 'whole'),
    put({ source: 'mine', target: 'openai/ok' }, denied('source')),
    drop('mine', denied('source')),
    put({ source: 'big', target: 'openai/ok' }, '200', 'whole'),
    // What would be in force again leads further.
    drop('big', denied('source')),
    put({ source: 'mine', target: 'openai/ok' }, denied(), 'team'),
    drop('mine', denied(), 'team'),
  ]);
});

await test('a guardrail is about no more than the models of the operator, and asks no other one', async (t) => {
  const words = { keywords: { words: ['x'], action: 'block' } };
  const judge = (model: string) => ({ llm: { model, prompt: 'p', action: 'judge' } });
  const put = (body: object, expected: string, by = 'some'): Row => [by, 'PUT', 'guardrails', body, expected];
  const drop = (name: string, expected: string, by = 'some'): Row => [by, 'DELETE', 'guardrails', { name }, expected];
  await check(t, [
    put({ name: 'a', ...words }, denied('models')),
    put({ name: 'a', ...words, models: ['openai/ok', 'openai/gpt-4o'] }, denied('models')),
    put({ name: 'a', ...words, models: ['gpt-4o'] }, denied('models')),
    put({ name: 'a', ...words, models: ['openai/alias'] }, denied('models'), 'openai'),
    put({ name: 'a', ...judge('openai/gpt-4o'), models: ['openai/ok'] }, denied('llm.model')),
    put({ name: 'a', ...judge('openai/small'), models: ['openai/ok', 'CHAT'] }, '200'),
    drop('a', '200'),
    put({ name: 'declared', ...words, models: ['openai/ok'] }, denied('models')),
    put({ name: 'b', ...words }, '200', 'whole'),
    put({ name: 'b', ...words, models: ['openai/ok'] }, denied('models')),
    drop('b', denied('models')),
    put({ name: 'declared', ...words, models: ['openai/ok'] }, '200', 'whole'),
    // What would be in force again is about every model.
    drop('declared', denied('models')),
    put({ name: 'c', ...words, models: ['openai/ok'], user_paths: ['/team'] }, denied(), 'team'),
  ]);
});

await test('cached answers are reset within the user path and the models of the operator', async (t) => {
  const row = (by: string, query: string, expected: string): Row => [
    by,
    'DELETE',
    `cache?${query}`,
    undefined,
    expected,
  ];
  await check(t, [
    row('some', 'scope=gateway', denied()),
    row('some', 'user_path=/', denied()),
    row('some', 'model=openai/gpt-4o', denied('model')),
    row('some', 'model=big', denied('model')),
    row('some', 'model=gpt-4o', denied('model')),
    row('some', 'model=OpenAI/ok', '200'),
    row('some', 'user_path=/team', '200'),
    row('openai', 'model=openai/alias', denied('model')),
    row('team', 'scope=gateway', denied()),
    row('team', 'model=openai/ok', denied()),
    row('team', 'user_path=/', denied()),
    row('team', 'user_path=/team-alpha', denied()),
    row('team', 'user_path=/team/app', '200'),
    row('whole', 'scope=gateway', '200'),
  ]);
});

await test('a rate limit is within the user path and the models of the operator, and loosens none of others', async (t) => {
  const put = (by: string, body: object, expected: string): Row => [by, 'PUT', 'rate-limits', body, expected];
  const model = (subject: string) => ({ scope: 'model', subject, period: 'minute', max_requests: 1_000 });
  const provider = (subject: string) => ({ ...model(subject), scope: 'provider' });
  const path = (user_path: string, max_requests = 1_000) => ({ user_path, period: 'minute', max_requests });
  const named = (user_path: string) => ({ user_path, period: 'minute' });
  await check(t, [
    put('some', model('openai/gpt-4o'), denied('subject')),
    put('some', model('gpt-4o'), denied('subject')),
    put('some', provider('openai'), denied('subject')),
    put('some', model('OPENAI/ok'), '200'),
    put('openai', provider('openai'), '200'),
    put('openai', provider('local'), denied('subject')),
    put('whole', model('openai/gpt-4o'), '200'),
    [
      'some',
      'DELETE',
      'rate-limits',
      { scope: 'model', subject: 'openai/gpt-4o', period: 'minute' },
      denied('subject'),
    ],
    [
      'some',
      'POST',
      'rate-limits/reset-one',
      { scope: 'model', subject: 'openai/gpt-4o', period: 'minute' },
      denied('subject'),
    ],
    ['some', 'POST', 'rate-limits/reset', { confirmation: 'reset' }, denied()],
    put('team', model('openai/ok'), denied()),
    put('team', path('/other'), denied()),
    put('team', path('/'), denied()),
    put('team', path('/team'), denied('max_requests')),
    put('team', { ...path('/team', 5), mode: 'shadow' }, denied('mode')),
    put('team', path('/team', 4), '200'),
    ['team', 'DELETE', 'rate-limits', named('/team'), denied()],
    ['team', 'POST', 'rate-limits/reset-one', named('/team'), denied()],
    ['team', 'POST', 'rate-limits/reset', { confirmation: 'reset' }, denied()],
    put('team', path('/team/app'), '200'),
    ['team', 'POST', 'rate-limits/reset-one', named('/team/app'), '200'],
    put('whole', path('/other'), '200'),
    ['team', 'DELETE', 'rate-limits', named('/other'), '404 rate_limit_not_found'],
    ['team', 'POST', 'rate-limits/reset-one', named('/other'), '404 rate_limit_not_found'],
  ]);
});

await test('a budget is within the user path of the operator, and loosens none of others', async (t) => {
  const label = { scope: 'label', subject: 'paid', period: 'daily' };
  const path = (user_path: string) => ({ user_path, period: 'daily' });
  const put = (by: string, body: object, expected: string): Row => [by, 'PUT', 'budgets', body, expected];
  await check(t, [
    put('team', { ...label, amount: 1 }, denied()),
    put('team', { ...path('/other'), amount: 1 }, denied()),
    put('team', { ...path('/team'), amount: 6 }, denied('amount')),
    put('team', { ...path('/team'), amount: 5, mode: 'shadow' }, denied('mode')),
    put('team', { ...path('/team'), amount: 4 }, '200'),
    ['team', 'POST', 'budgets/reset-one', path('/team'), denied()],
    ['team', 'POST', 'budgets/reset-one', label, '404 budget_not_found'],
    ['team', 'DELETE', 'budgets', label, '404 budget_not_found'],
    ['team', 'POST', 'budgets/reset', { confirmation: 'reset' }, denied()],
    ['team', 'PUT', 'budgets/settings', { daily_reset_hour: 1 }, denied()],
    put('team', { ...path('/team/app'), amount: 100 }, '200'),
    put('whole', { ...label, subject: 'blue', amount: 100 }, '200'),
  ]);
});

await test('a label with a budget is given and taken away by who has the right over the budget', async (t) => {
  const draft = (labels: string[]) => ({ name: 'k', user_path: '/team/new', labels });
  const one = 'auth-keys/paid';
  await check(t, [
    ['team', 'POST', 'auth-keys', draft(['paid']), denied('labels')],
    ['team', 'POST', 'auth-keys', draft(['free']), '201'],
    ['team', 'PUT', `${one}/labels`, { labels: ['blue'] }, denied('labels')],
    ['team', 'PATCH', one, { labels: [] }, denied('labels')],
    // The budget of "blue" was set by an operator.
    ['team', 'PATCH', one, { labels: ['paid'] }, denied('labels')],
    ['team', 'PATCH', one, { labels: ['paid', 'blue', 'free'], name: 'renamed' }, '200'],
    ['team', 'POST', `${one}/rotate`, { overlap: '1h' }, '201'],
    ['some', 'PATCH', one, { labels: ['free'], name: 'renamed' }, '200'],
    ['team', 'PATCH', 'auth-keys/other', { labels: ['x'] }, '404 auth_key_not_found'],
  ]);
});

await test('a key grants an alias that is called like a model to who has that very entry', async (t) => {
  const draft = (entry: string) => ({ name: 'k', allowed_models: [entry] });
  await check(t, [
    ['openai', 'POST', 'auth-keys', draft('openai/gpt-4o'), '201'],
    ['openai', 'POST', 'auth-keys', draft('openai/alias'), denied('allowed_models')],
    ['openai', 'POST', 'auth-keys', draft('openai/*'), '201'],
    ['some', 'POST', 'auth-keys', draft('chat'), '201'],
    ['some', 'POST', 'auth-keys', draft('big'), denied('allowed_models')],
  ]);
});

await test('a target is taken out and given back by who may use all of it; a model may have slashes', async (t) => {
  const why = { reason: 'maintenance', expires_in: '2h' };
  const post = (by: string, path: string, expected: string, body: object = why): Row => [
    by,
    'POST',
    `targets/${path}/drain`,
    body,
    expected,
  ];
  const end = (by: string, path: string, expected: string): Row => [
    by,
    'DELETE',
    `targets/${path}/drain`,
    undefined,
    expected,
  ];
  await check(t, [
    post('team', 'openai', denied()),
    post('some', 'openai', denied()),
    post('some', 'openai/gpt-4o', denied()),
    post('some', 'openai/ok', '200'),
    post('openai', 'local/tiny', denied()),
    post('openai', 'openai', '200'),
    end('some', 'openai', denied()),
    post('whole', 'OpenAI/GPT-4o', '200'),
    post('whole', 'nobody', '404 target_not_found'),
    post('whole', 'openai/gpt-4', '404 target_not_found'),
    post('whole', 'local', '400 invalid_member expires_in', { reason: 'x' }),
    post('whole', 'local', '400 invalid_member reason', { expires_in: '1h' }),
    post('whole', 'local', '400 invalid_member reason', { reason: '  ', expires_in: '1h' }),
    post('whole', 'local', '400 invalid_member expires_in', { ...why, expires_at: '2030-01-01T00:00:00Z' }),
    post('whole', 'local', '400 invalid_member expires_at', { reason: 'x', expires_at: '2020-01-01T00:00:00Z' }),
    ['whole', 'POST', 'targets/local', why, '404 route_not_found'],
    ['whole', 'PUT', 'targets/local/drain', why, '405 method_not_allowed'],
    post('whole', 'local/meta%2Fllama/3', '200'),
    post('whole', 'local/META/llama/3', '200'),
  ]);
  const listed = JSON.parse((await plane.ask('whole', 'GET', 'targets')).text) as { drains: { model?: string }[] };
  const names = listed.drains.map(({ model = '' }) => model);
  t.same(names, ['meta/llama/3', '', 'gpt-4o', 'ok'], 'as the configuration spells them, each once');
  await check(t, [
    end('whole', 'local', '404 target_drain_not_found'),
    end('openai', 'openai', '200'),
    end('whole', 'openai/gpt-4o', '200'),
    end('whole', 'openai/gpt-4o', '404 target_drain_not_found'),
  ]);
});

await test('a scoped operator reads nothing of other user paths, of models and of labels', async (t) => {
  const reads = ['rate-limits', 'budgets', 'auth-keys', 'audit/log', 'audit/sessions', 'audit/stats', 'usage/summary'];
  reads.push('usage/models', 'usage/user-paths', 'usage/keys', 'usage/labels', 'usage/log', 'usage/sessions');
  const span = '?days=3';
  for (const path of reads) {
    const query = /audit|usage/.test(path) ? span : '';
    const { status, text } = await plane.ask('team', 'GET', `${path}${query}`);
    t.equal(status, 200, path);
    for (const foreign of ['/other', '"scope":"model"', '"scope":"provider"', '"scope":"label"'])
      t.notOk(text.includes(foreign), `${path} without ${foreign}`);
  }
  t.ok((await plane.ask('team', 'GET', `audit/log${span}`)).text.includes('/team/app'));
  t.equal((await plane.ask('team', 'GET', 'rate-limits?scope=model')).text.includes('gpt-4o'), false);
  for (const path of ['virtual-models', 'guardrails', 'cache'])
    t.equal((await plane.ask('team', 'GET', path)).status, 403, path);
});
