// GET /admin/audit/*: each filter, threads, one entry, conversations, statistics, time zones, scoped operators, and what is refused.

import { writeFileSync } from 'node:fs';
import { t as suite, type Test, test } from 'tap';
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import { recordFilePath } from '../../store/records/sqlite/record-file.ts';
import { watchTime } from '../support/slowdown.ts';
import { asTeam, dayMs, record, start, startRecordsPlane } from './records-plane.ts';

const plane = await startRecordsPlane(suite);
const { ask } = plane;
const session = 'scoped-0123456789abcdef0123456789abcdef';

const kept = {
  plain: record({ user_path: '/' }),
  asked: record({
    session_id: session,
    started_ms: start - 3_600_000,
    data: { request_body: { messages: [{ role: 'user', content: 'Hello!' }] }, request_headers: { accept: '*/*' } },
  }),
  answered: record({ session_id: session, started_ms: start - 1_800_000, stream: true }),
  refused: record({
    user_path: '/team/app',
    status_code: 429,
    error_type: 'rate_limit_error',
    attempts: [],
    started_ms: start - 60_000,
    data: { error_message: '100% of <script>[(a+)+$]</script> used', error_code: 'rate_limit_exceeded' },
  }),
  embedded: record({
    user_path: '/team-alpha',
    path: '/v1/embeddings',
    requested_model: 'mistral-embed',
    provider: 'openai_compatible',
    provider_name: 'mistral',
    method: 'PUT',
    asked_by: 'gateway',
    started_ms: start - 2 * dayMs,
  }),
  old: record({ session_id: session, started_ms: start - 40 * dayMs }),
};
await plane.add(Object.values(kept));
const nameOf = new Map(Object.entries(kept).map(([name, { id }]) => [id, name]));

/** The names of the entries, in the order of the answer. */
const names = (entries: unknown) => (entries as AuditEntry[]).map(({ id }) => nameOf.get(id));
const log = async (query: string, headers?: Record<string, string>) => {
  const { status, body, text } = await ask(`/audit/log?${query}`, headers);
  if (status !== 200) throw new Error(text);
  return names(body['entries']);
};
const ofTheMonth = ['plain', 'refused', 'answered', 'asked', 'embedded'];

await test('each filter, alone', async (t) => {
  const rows: [query: string, entries: string[]][] = [
    ['', ofTheMonth],
    ['days=1', ['plain', 'refused', 'answered', 'asked']],
    ['minutes=15', ['plain', 'refused']],
    ['days=41', [...ofTheMonth, 'old']],
    ['start_date=2026-03-14', ['plain', 'refused', 'answered', 'asked']],
    ['start_date=2026-03-13&end_date=2026-03-13', ['embedded']],
    ['end_date=2026-03-13', ['embedded']],
    ['end_date=2026-02-10', ['old']],
    ['start_date=2026-03-14&end_date=2030-01-01', ['plain', 'refused', 'answered', 'asked']],
    ['days=1&start_date=2026-03-13', ofTheMonth],
    ['requested_model=EMBED', ['embedded']],
    ['model=embed', ['embedded']],
    ['provider=mistr', ['embedded']],
    ['provider=_compatible', ['embedded']],
    ['method=put', ['embedded']],
    ['path=embeddings', ['embedded']],
    ['user_path=/team', ['refused', 'answered', 'asked']],
    ['user_path=team//app/', ['refused']],
    ['user_path=/', ofTheMonth],
    ['error_type=rate_limit', ['refused']],
    ['status_code=429', ['refused']],
    ['stream=true', ['answered']],
    ['asked_by=client', ['plain', 'refused', 'answered', 'asked']],
    ['asked_by=gateway', ['embedded']],
    ['stream=false&days=1', ['plain', 'refused', 'asked']],
    [`session_id=${session}`, ['answered', 'asked', 'old']],
    [`session_id=${session}&days=30`, ['answered', 'asked']],
    [`search=${kept.plain.request_id}`, ['plain']],
    ['search=V1/EMBED', ['embedded']],
    [`search=${encodeURIComponent('100% of <script>')}`, ['refused']],
    ['provider=&search=&start_date=&status_code=&stream=&days=', ofTheMonth],
    ['user_path=/team&status_code=200&stream=true', ['answered']],
    ['limit=2', ofTheMonth.slice(0, 2)],
    ['limit=2&offset=2', ofTheMonth.slice(2, 4)],
    ['offset=100', []],
  ];
  for (const [query, entries] of rows) t.same(await log(query), entries, query);
});

await test('a search takes its text literally, and is fast (Q09)', async (t) => {
  const words = [
    '%%%%',
    '*',
    '.*',
    '(a+)+$',
    "'; --",
    '[',
    '_',
    '\\',
    'x'.repeat(10_000),
    '%',
    '<script>',
    '\0',
    '\ud800',
  ];
  for (const word of words) {
    const tookMs = watchTime();
    const found = await log(`search=${encodeURIComponent(word.toWellFormed())}`);
    const isInMessage = kept.refused.data?.error_message?.includes(word) === true || word === '_';
    t.same(found, word === '_' ? ofTheMonth : isInMessage ? ['refused'] : [], word.slice(0, 20));
    t.ok(tookMs() < 1_000, word.slice(0, 20));
  }
});

/** Bad queries of the listings (reliability, group Q), and the parameter that is named. */
const refused: [query: string, param: string][] = [
  ...['0', '-1', '101', 'abc', '1.5', '1e3', '', '10;drop', '+5', ' 5', '0x10'].map((limit): [string, string] => [
    `limit=${encodeURIComponent(limit)}`,
    'limit',
  ]),
  ['limit=1&limit=2', 'limit'],
  ...['-1', '9007199254740992', '1e21', ''].map((offset): [string, string] => [`offset=${offset}`, 'offset']),
  ...['0', '-1', '4000', '3651', '1.5', 'x'].map((days): [string, string] => [`days=${days}`, 'days']),
  ...['2026-02-30', '2026-13-01', '2026-1-1', '20260101', '2026-01-01T00:00:00Z', '0000-01-01', '2026-00-10'].map(
    (date): [string, string] => [`start_date=${date}`, 'start_date'],
  ),
  ['end_date=2026-02-29', 'end_date'],
  ['start_date=2026-03-02&end_date=2026-03-01', 'start_date'],
  ['start_date=2026-03-16', 'start_date'],
  ['start_date=1990-01-01', 'start_date'],
  ...['99', '600', 'abc', '2e2'].map((code): [string, string] => [`status_code=${code}`, 'status_code']),
  ...['TRUE', '1', 'yes'].map((stream): [string, string] => [`stream=${stream}`, 'stream']),
  ['user_path=/a/../b', 'user_path'],
  ['user_path=/a:b', 'user_path'],
  ['model=a&requested_model=b', 'model'],
  ['colour=red', 'colour'],
  ['search=a&search=b', 'search'],
];

await test('a bad query is refused, and its parameter is named (Q01 to Q14)', async (t) => {
  for (const path of ['/audit/sessions', '/audit/log']) {
    for (const [query, param] of refused) {
      const { status, body } = await ask(`${path}?${query}`);
      t.match({ status, ...body }, { status: 400, code: 'invalid_query', param }, `${path}?${query.slice(0, 60)}`);
    }
  }
  for (const zone of ['Mars/Phobos', '+01:00', 'Europe', 'x'.repeat(1_000)]) {
    const { status, body } = await ask('/audit/log', { 'x-gateway-timezone': zone });
    t.match({ status, ...body }, { status: 400, code: 'invalid_header', param: 'X-Gateway-Timezone' }, zone);
  }
});

await test('other methods are not allowed (Q15)', async (t) => {
  for (const path of ['/audit/sessions', '/audit/log', '/audit/detail', '/usage/summary', '/live']) {
    for (const method of ['HEAD', 'POST', 'DELETE'])
      t.equal((await ask(path, {}, method)).status, 405, `${method} ${path}`);
  }
});

await test('a thread is one row: its newest entry that matches, and how many it has in all', async (t) => {
  const sessions = async (query: string) => {
    const { body } = await ask(`/audit/sessions?${query}`);
    const rows = body['sessions'] as { request_count: number; latest: AuditEntry }[];
    return {
      total: body['total'],
      rows: rows.map(({ request_count, latest }) => [nameOf.get(latest.id), request_count]),
    };
  };
  const all = [
    ['plain', 1],
    ['refused', 1],
    ['answered', 3],
    ['embedded', 1],
  ];
  t.same(await sessions(''), { total: 4, rows: all });
  t.same(await sessions('stream=false'), {
    total: 4,
    rows: [
      ['plain', 1],
      ['refused', 1],
      ['asked', 3],
      ['embedded', 1],
    ],
  });
  t.same(await sessions('limit=1&offset=2'), { total: 4, rows: [all[2]] });
  t.same(await sessions('offset=50'), { total: 4, rows: [] });
  t.match(await ask('/audit/sessions'), { body: { limit: 25, offset: 0 } });
});

await test('pages have no entry twice while entries come in (Q16)', async (t) => {
  const writer = plane.add(Array.from({ length: 50 }, () => record({ user_path: '/busy' })));
  for (let offset = 0; offset < 60; offset += 20) {
    const { body } = await ask(`/audit/log?user_path=/busy&limit=20&offset=${offset}`);
    const ids = (body['entries'] as AuditEntry[]).map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length);
  }
  await writer;
  const { body } = await ask('/audit/log?user_path=/busy&limit=100');
  t.equal(body['total'], 50);
  t.equal((body['entries'] as []).length, 50);
});

await test('a list has no bodies, the entry itself has them, and so has its conversation', async (t) => {
  const { id } = kept.asked;
  const { body } = await ask(`/audit/log?session_id=${session}`);
  const listed = (body['entries'] as AuditEntry[]).find((entry) => entry.id === id);
  t.match(listed, { bodies_omitted: true, conversation_payload: true });
  t.notOk(listed?.data && 'request_body' in listed.data);
  const detail = await ask(`/audit/detail?log_id=${id}`);
  t.match(detail.body, { id, bodies_omitted: false, data: { request_body: { messages: [{ content: 'Hello!' }] } } });
  t.equal(detail.headers.get('cache-control'), 'no-store');
  const whole = await ask(`/audit/conversation?log_id=${id}`);
  t.same(names(whole.body['entries']), ['old', 'asked', 'answered']);
  t.match(whole.body, { anchor_id: id, truncated: false });
  t.match((whole.body['entries'] as AuditEntry[])[1], { data: { request_body: {}, request_headers: {} } });
  const cut = await ask(`/audit/conversation?log_id=${id}&limit=1`);
  t.same(names(cut.body['entries']), ['asked']);
  t.equal(cut.body['truncated'], true);
});

await test('an entry that is not there, and one that is not named', async (t) => {
  for (const path of ['/audit/detail', '/audit/conversation']) {
    t.match(await ask(`${path}?log_id=nothing`), {
      status: 404,
      body: { code: 'audit_entry_not_found', param: 'log_id' },
    });
    for (const query of ['', '?log_id=', '?log_id=a&log_id=b', '?id=a'])
      t.match(await ask(`${path}${query}`), { status: 400, body: { code: 'invalid_query' } }, query);
  }
  for (const limit of ['0', '201', 'x', ''])
    t.equal((await ask(`/audit/conversation?log_id=a&limit=${limit}`)).status, 400, limit);
});

await test('a scoped operator sees its subtree, and nothing else is there', async (t) => {
  t.same(await log('', asTeam), ['refused', 'answered', 'asked']);
  t.same(await log('user_path=/', asTeam), ['refused', 'answered', 'asked'], 'all is all that it may see');
  t.same(await log('user_path=/team/app', asTeam), ['refused']);
  t.same(await log('user_path=/team-alpha', asTeam), []);
  t.match(await ask('/audit/sessions?user_path=/team-alpha', asTeam), {
    status: 200,
    body: { total: 0, sessions: [] },
  });
  t.match(await ask('/audit/stats', asTeam), { body: { summary: { requests: 3 } } });
  t.match(await ask('/audit/stats?user_path=/team-alpha', asTeam), { body: { summary: { requests: 0 } } });
  for (const path of ['/audit/detail', '/audit/conversation']) {
    t.equal((await ask(`${path}?log_id=${kept.answered.id}`, asTeam)).status, 200);
    for (const { id } of [kept.plain, kept.embedded]) {
      const { status, body } = await ask(`${path}?log_id=${id}`, asTeam);
      t.match({ status, ...body }, { status: 404, code: 'audit_entry_not_found' });
    }
    t.equal((await ask(path, { authorization: 'Bearer plain' })).status, 403);
    t.equal((await ask(path, { authorization: 'Bearer wrong' })).status, 401);
  }
});

await test('days are those of the time zone that is named', async (t: Test) => {
  const late = record({ user_path: '/zone', started_ms: Date.parse('2026-03-10T23:30:00Z') });
  await plane.add([late]);
  const on = async (day: string, zone: string) => {
    const query = `/audit/log?user_path=/zone&start_date=${day}&end_date=${day}`;
    return (await ask(query, { 'x-gateway-timezone': zone })).body['total'];
  };
  t.equal(await on('2026-03-10', 'UTC'), 1);
  t.equal(await on('2026-03-11', 'Europe/Berlin'), 1);
  t.equal(await on('2026-03-10', 'europe/berlin'), 0);
  t.equal(await on('2026-03-10', 'America/Los_Angeles'), 1);
  const today = async (zone: string) =>
    (await ask('/audit/log?user_path=/zone&days=1', { 'x-gateway-timezone': zone })).body['total'];
  plane.at.nowMs = Date.parse('2026-03-11T00:30:00Z');
  t.same([await today('UTC'), await today('America/Los_Angeles')], [0, 1]);
  plane.at.nowMs = start;
});

await test('statistics by hour for three days, by day for more', async (t) => {
  const hourly = await ask('/audit/stats?start_date=2026-03-13&user_path=/team');
  t.match(hourly.body, {
    interval: 'hour',
    summary: { requests: 3, succeeded: 2, client_errors: 1, refused: 1, server_errors: 0, success_rate: 2 / 3 },
    buckets: [
      { start: '2026-03-15T11:00:00.000Z', requests: 3, succeeded: 2, client_errors: 1, refused: 1, server_errors: 0 },
    ],
  });
  const daily = await ask('/audit/stats?start_date=2026-03-01', { 'x-gateway-timezone': 'Asia/Kolkata' });
  t.match(daily.body, {
    interval: 'day',
    start_date: '2026-03-01',
    end_date: '2026-03-15',
    time_zone: 'Asia/Calcutta',
  });
  const buckets = daily.body['buckets'] as { start: string }[];
  t.ok(buckets.every(({ start: begins }) => begins.endsWith('T18:30:00.000Z')));
  const providers = daily.body['providers'] as { provider_name: string }[];
  t.match(providers, [{ provider_name: 'openai', mean_duration_ns: 2e9 }], 'a question of the gateway is no request');
});

await test('statistics by minute, for who may see them', async (t) => {
  const { body } = await ask('/audit/stats?minutes=31&user_path=/team');
  const counts = { requests: 1, succeeded: 1, client_errors: 0, refused: 0, server_errors: 0 };
  const over = { ...counts, succeeded: 0, client_errors: 1, refused: 1 };
  t.match(body, {
    interval: 'minute',
    start: '2026-03-15T11:30:00.000Z',
    end: '2026-03-15T12:01:00.000Z',
    summary: { requests: 2, succeeded: 1, success_rate: 0.5 },
    buckets: [
      { start: '2026-03-15T11:30:00.000Z', ...counts },
      { start: '2026-03-15T11:59:00.000Z', ...over },
    ],
    providers: [{ provider_name: 'openai', requests: 2 }],
    failing: [],
  });
  const { duration_p95_ns: p95 } = body['summary'] as Record<string, number>;
  t.ok(Math.abs((p95 ?? 0) / 2e9 - 1) < 0.045);
  t.match((await ask('/audit/stats?minutes=15', asTeam)).body, { summary: { requests: 1 }, buckets: [over] });
  t.match((await ask('/audit/stats?minutes=31', asTeam)).body, { summary: { requests: 2 } });
});

await test('with the audit log off, lists are empty and bad queries are refused all the same', async (t) => {
  const off = await startRecordsPlane(t, { isRecording: false });
  t.match(await off.ask('/audit/sessions?limit=7'), {
    status: 200,
    body: { sessions: [], total: 0, limit: 7, offset: 0 },
  });
  t.match(await off.ask('/audit/log'), { status: 200, body: { entries: [], total: 0 } });
  t.match(await off.ask('/audit/stats'), { status: 200, body: { buckets: [], summary: { requests: 0 } } });
  t.equal((await off.ask('/audit/log?limit=0')).status, 400);
  t.equal((await off.ask('/audit/detail?log_id=a')).status, 404);
});

await test('a record store that cannot be read is a 503 that names it', async (t) => {
  const broken = await startRecordsPlane(t);
  await broken.engine.close();
  writeFileSync(recordFilePath(broken.directory), 'no database');
  const { status, headers, body } = await broken.ask('/audit/sessions');
  t.match({ status, ...body }, { status: 503, code: 'store_unavailable', message: /^The record store cannot be used/ });
  t.equal(headers.get('retry-after'), '1');
});
