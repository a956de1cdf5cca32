// GET /admin/usage/*: sums and rows with each filter, costs, CSV, scoped operators, and what is refused.
import { t as suite, test } from 'tap';
import { asTeam, dayMs, record, start, startRecordsPlane } from './records-plane.ts';

const plane = await startRecordsPlane(suite);
const { ask } = plane;
const session = 'scoped-0123456789abcdef0123456789abcdef';
const tokens = { source: 'reported', input_tokens: 100, output_tokens: 10, total_tokens: 110 } as const;

await plane.add([
  record({
    user_path: '/team/app',
    labels: ['web', '=1+1'],
    session_id: session,
    auth_key_id: 'ann',
    started_ms: start - 60_000,
  }),
  record(
    { user_path: '/team', started_ms: start - dayMs },
    { usage: { ...tokens, cost: null, cached_input_tokens: 40 } },
  ),
  record(
    { user_path: '/team-alpha', started_ms: start - 9 * dayMs, labels: ['web'], asked_by: 'gateway' },
    { usage: { ...tokens, cost: { input: 1, output: 0, total: 1 }, reasoning_tokens: 4 } },
  ),
  record({
    user_path: '/',
    provider: 'openai_compatible',
    provider_name: '-mistral, "eu"',
    requested_model: '@llama\r\n3',
    started_ms: start - 20 * dayMs,
  }),
  record({ cache_type: 'exact', started_ms: start - 2 * 60_000 }),
  record({ started_ms: start - 40 * dayMs }),
]);

const total = async (query: string, headers?: Record<string, string>) => {
  const { body, status, text } = await ask(`/usage/summary?${query}`, headers);
  if (status !== 200) throw new Error(text);
  return body['total_requests'];
};

await test('the sums of a span, with what is unknown', async (t) => {
  const { body } = await ask('/usage/summary');
  t.match(body, {
    start_date: '2026-02-14',
    end_date: '2026-03-15',
    time_zone: 'UTC',
    total_requests: 4,
    total_input_tokens: 400,
    total_output_tokens: 40,
    total_tokens: 440,
    cached_input_tokens: 40,
    uncached_input_tokens: 360,
    reasoning_tokens: 4,
    total_input_cost: 0.000500001,
    total_output_cost: 0.0002,
    total_cost: 0.000700001,
    unpriced_requests: 1,
  });
  t.match((await ask('/usage/summary?user_path=/team&end_date=2026-03-14')).body, {
    total_cost: null,
    total_requests: 1,
  });
});

await test('each filter, alone', async (t) => {
  const rows: [query: string, requests: number][] = [
    ['days=1', 1],
    ['minutes=2', 1],
    ['minutes=1', 0],
    ['minutes=5&cache_mode=all', 2],
    ['days=10', 3],
    ['days=41', 5],
    ['start_date=2026-03-14&end_date=2026-03-14', 1],
    ['user_path=/team', 2],
    ['user_path=/', 4],
    ['cache_mode=uncached', 4],
    ['cache_mode=cached', 1],
    ['cache_mode=all', 5],
    ['model=gpt-4o', 3],
    ['model=openai/gpt-4o', 3],
    ['model=gpt', 0],
    ['provider=openai', 3],
    ['provider=openai_compatible', 1],
    ['provider=open', 0],
    ['label=web', 2],
    [`session_id=${session}`, 1],
    ['asked_by=client', 3],
    ['asked_by=gateway', 1],
  ];
  for (const [query, requests] of rows) t.equal(await total(query), requests, query);
});

await test('a bad query is refused, and its parameter is named', async (t) => {
  const rows: [path: string, query: string, param: string][] = [
    ['summary', 'days=0', 'days'],
    ['summary', 'days=4000', 'days'],
    ['summary', 'start_date=2026-02-30', 'start_date'],
    ['summary', 'start_date=2026-03-02&end_date=2026-03-01', 'start_date'],
    ['summary', 'cache_mode=both', 'cache_mode'],
    ['summary', 'asked_by=me', 'asked_by'],
    ['summary', 'limit=5', 'limit'],
    ['summary', 'format=csv', 'format'],
    ['summary', 'user_path=/a/../b', 'user_path'],
    ['daily', 'interval=secondly', 'interval'],
    ['daily', 'interval=minutely', 'interval'],
    ['daily', 'interval=daily&minutes=5', 'interval'],
    ['summary', 'minutes=361', 'minutes'],
    ['summary', 'minutes=5&days=1', 'minutes'],
    ['daily', 'interval=hourly&days=32', 'interval'],
    ['daily', 'interval=daily&interval=weekly', 'interval'],
    ['models', 'format=xml', 'format'],
    ['models', 'offset=1', 'offset'],
    ['sessions', 'limit=101', 'limit'],
    ['sessions', 'offset=-1', 'offset'],
    ['sessions', 'format=csv', 'format'],
    ['log', 'limit=0', 'limit'],
    ['log', 'limit=', 'limit'],
    ['log', 'offset=9007199254740992', 'offset'],
    ['log', 'search=a&search=b', 'search'],
    ['log', 'status_code=200', 'status_code'],
  ];
  for (const [path, query, param] of rows) {
    const { status, body } = await ask(`/usage/${path}?${query}`);
    t.match({ status, ...body }, { status: 400, code: 'invalid_query', param }, `${path}?${query}`);
  }
  const zone = await ask('/usage/daily', { 'x-gateway-timezone': 'Mars/Phobos' });
  t.match({ status: zone.status, ...zone.body }, { status: 400, code: 'invalid_header', param: 'X-Gateway-Timezone' });
});

await test('rows by time, model, user path, key, label and session', async (t) => {
  const keys = async (path: string, key: string) => {
    const { body } = await ask(`/usage/${path}`);
    const rows = (Array.isArray(body) ? body : body['entries']) as Record<string, unknown>[];
    return rows.map((row) => [row[key], row['requests']]);
  };
  t.same(await keys('daily', 'date'), [
    ['2026-02-23', 1],
    ['2026-03-06', 1],
    ['2026-03-14', 1],
    ['2026-03-15', 1],
  ]);
  t.same(await keys('daily?interval=weekly', 'date'), [
    ['2026-W09', 1],
    ['2026-W10', 1],
    ['2026-W11', 2],
  ]);
  t.same(await keys('daily?interval=monthly', 'date'), [
    ['2026-02', 1],
    ['2026-03', 3],
  ]);
  const hours = await keys('daily?interval=hourly&days=2', 'date');
  t.same(
    hours.map(([date]) => String(date).slice(0, 10)),
    ['2026-03-14', '2026-03-15'],
  );
  t.same(await keys('daily?minutes=15', 'date'), [['2026-03-15T11:59:00.000Z', 1]]);
  t.same(await keys('user-paths?minutes=15', 'user_path'), [['/team/app', 1]]);
  t.same(await keys('daily?interval=yearly&days=3650', 'date'), [['2026', 5]]);
  t.same(await keys('models', 'model'), [
    ['gpt-4o', 3],
    ['@llama\r\n3', 1],
  ]);
  t.same(await keys('user-paths', 'user_path'), [
    ['/', 1],
    ['/team/app', 1],
    ['/team-alpha', 1],
    ['/team', 1],
  ]);
  t.same(await keys('keys', 'auth_key_id'), [['ann', 1]]);
  t.same(await keys('labels', 'label'), [
    ['web', 2],
    ['=1+1', 1],
  ]);
  t.match((await ask('/usage/sessions')).body, {
    entries: [{ session_id: session, user_path: '/team/app', last_activity: '2026-03-15T11:59:01.000Z', requests: 1 }],
    total: 1,
    limit: 50,
    offset: 0,
  });
});

await test('single records, the newest first', async (t) => {
  const { body } = await ask('/usage/log?limit=2');
  t.match(body, { total: 4, limit: 2, offset: 0 });
  t.match(body['entries'], [
    { user_path: '/team/app', total_cost: 0.00035, labels: ['=1+1', 'web'], timestamp: '2026-03-15T11:59:01.000Z' },
    { user_path: '/team', total_cost: null, cached_input_tokens: 40 },
  ]);
  t.match((await ask('/usage/log?offset=99')).body, { total: 4, entries: [] });
  t.match((await ask('/usage/log?search=LLAMA')).body, { total: 1 });
  for (const word of ['%25%25', '*', '(a%2B)%2B$', "';--"])
    t.match((await ask(`/usage/log?search=${word}`)).body, { total: 0 }, word);
});

await test('tables are CSV that no spreadsheet takes for a formula', async (t) => {
  const labels = await ask('/usage/labels?format=csv');
  t.equal(labels.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.equal(labels.headers.get('content-disposition'), 'attachment; filename="usage-labels-2026-02-14-2026-03-15.csv"');
  const lines = labels.text.split('\r\n');
  t.equal(lines.length, 4);
  t.match(lines[0], /^label,requests,attempts,input_tokens,.*,total_cost,unpriced_requests$/);
  t.equal(lines[1], 'web,2,2,200,20,220,200,0,0,4,0.000250001,0.0001,0.000350001,0');
  t.match(lines[2], /^'=1\+1,1,/);
  const models = await ask('/usage/models', { accept: 'text/csv' });
  t.match(models.text, /\r\n"'@llama\r\n3",openai_compatible,"'-mistral, ""eu""",1,/);
  const log = await ask('/usage/log?limit=1', { accept: 'text/csv, application/json' });
  t.equal(log.text.split('\r\n').length, 7, 'a table has every row: a line break within one counts twice');
  t.match(log.text, /,reported,100,10,110,40,,,,,,,,,,,client\r\n/, 'what is unknown is empty');
  t.match((await ask('/usage/daily?format=csv&interval=monthly')).text, /\r\n2026-02,1,/);
  t.match((await ask('/usage/user-paths?format=csv')).text, /^user_path,/);
});

await test('JSON is what clients get that do not prefer CSV', async (t) => {
  const isCsv = async (accept: string, query = '') => {
    const { headers } = await ask(`/usage/models${query}`, { accept });
    return headers.get('content-type')?.startsWith('text/csv');
  };
  for (const accept of ['*/*', 'application/json, text/csv;q=0.5', 'text/*', 'text/csv;q=0', 'text/html'])
    t.equal(await isCsv(accept), false, accept);
  for (const accept of ['text/csv', 'TEXT/CSV;q=0.9, */*;q=0.8', 'text/csv;charset=utf-8, application/json'])
    t.equal(await isCsv(accept), true, accept);
  t.equal(await isCsv('text/csv', '?format=json'), false);
});

await test('a long table comes in pages and has every record once', async (t) => {
  const long = await startRecordsPlane(t);
  await long.add(Array.from({ length: 4_100 }, (_, index) => record({ started_ms: start - index })));
  const { text, headers } = await long.ask('/usage/log?format=csv');
  const ids = text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => line.split(',')[0]);
  t.equal(ids.length, 4_100);
  t.equal(new Set(ids).size, 4_100);
  t.equal(headers.get('x-gateway-truncated'), null);
});

await test('a scoped operator sees the usage of its subtree', async (t) => {
  t.equal(await total('', asTeam), 2);
  t.equal(await total('user_path=/', asTeam), 2);
  t.equal(await total('user_path=/team/app', asTeam), 1);
  t.equal(await total('user_path=/team-alpha', asTeam), 0);
  const { body } = await ask('/usage/user-paths', asTeam);
  t.same(
    (body as unknown as { user_path: string }[]).map(({ user_path }) => user_path),
    ['/team/app', '/team'],
  );
  t.match((await ask('/usage/labels?user_path=/team-alpha', asTeam)).text, '[]');
  t.notMatch((await ask('/usage/log?format=csv', asTeam)).text, /team-alpha|mistral/);
  t.equal((await ask('/usage/summary', { authorization: 'Bearer plain' })).status, 403);
});

await test('while usage is not tracked, everything is zero and bad queries are refused all the same', async (t) => {
  const off = await startRecordsPlane(t, { isRecording: false });
  t.match((await off.ask('/usage/summary')).body, { total_requests: 0, total_cost: null });
  for (const path of ['daily', 'models', 'user-paths', 'keys', 'labels'])
    t.equal((await off.ask(`/usage/${path}`)).text, '[]', path);
  t.match((await off.ask('/usage/log')).body, { entries: [], total: 0 });
  t.match((await off.ask('/usage/labels?format=csv')).text, /^label,[^\r]*\r\n$/);
  t.equal((await off.ask('/usage/daily?days=0')).status, 400);
});
