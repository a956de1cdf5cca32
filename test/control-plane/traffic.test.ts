// GET /admin/traffic: lines for replays, of the subtree of the operator, a share of them, and what is refused.
import { t as suite, test } from 'tap';
import type { AroundParts } from '../../control-plane/admin/traffic/around.ts';
import { compileBudgets } from '../../domain/budgets/budget.ts';
import { mergeBudgets } from '../../domain/budgets/merge-budgets.ts';
import { authKeyBody } from '../../domain/keys/auth-key.ts';
import { readTrafficLine, type TrafficLine } from '../../domain/records/traffic.ts';
import { readTrafficHead } from '../../domain/replays/traffic-head.ts';
import { sampleKey } from '../support/managed-state.ts';
import { asTeam, dayMs, record, start, startRecordsPlane } from './records-plane.ts';

const plane = await startRecordsPlane(suite);
const { data, ...bare } = record({ started_ms: start - 2_000, user_path: '/team/app', status_code: 429 });
const refused = {
  ...bare,
  attempts: [],
  counts_as: 'calls' as const,
  data: { ...data, error_code: 'rate_limit_exceeded', rule: 'minute' },
};
await plane.add([
  record({ started_ms: start - 1_000, user_path: '/other', labels: ['web'] }),
  refused,
  record({ started_ms: start - dayMs - 1 }),
  record({ started_ms: start - 500, asked_by: 'gateway' }),
]);

async function linesOf(query: string, headers?: Record<string, string>): Promise<TrafficLine[]> {
  const { text, status } = await plane.ask(`/traffic${query}`, headers);
  if (status !== 200) throw new Error(text);
  const [head, ...lines] = text
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
  const read = [readTrafficHead(head), ...lines.map(readTrafficLine)];
  const wrong = read.find((each) => typeof each === 'string');
  if (wrong !== undefined) throw new Error(wrong);
  return lines as TrafficLine[];
}

await test('the requests of clients of the last day, in the order in which they began, without addresses and bodies', async (t) => {
  const lines = await linesOf('');
  t.match(lines, [
    { user_path: '/team/app', status: 429, error: 'rate_limit_exceeded', rule: 'minute', at: start - 2_000 },
    { user_path: '/other', status: 200, labels: ['web'], calls: [{ ok: true }] },
  ]);
  t.equal(lines.length, 2);
  t.notMatch(JSON.stringify(lines), /client_ip|127\.0\.0\.1|body/);
});

await test('an operator of a user path gets what lies in it', async (t) => {
  t.match(await linesOf('', asTeam), [{ user_path: '/team/app' }]);
});

await test('what stands around is told where it is asked for, and no secret of it', async (t) => {
  const said = { created_at: '2026-03-01T00:00:00Z', updated_at: '2026-03-01T00:00:00Z', updated_by: 'ann' };
  const caps = { scope: 'user_path', per_child: false, period_seconds: 60, mode: 'enforce', max_requests: 5, ...said };
  const key = sampleKey('issued', { id: 'k1', allowedModels: ['chat'] });
  const documents = [
    { kind: 'auth_key', id: 'k1', body: authKeyBody(key) },
    { kind: 'rate_limit', id: 'user_path 60 /a', body: { ...caps, subject: '/a', reason: 'night' } },
    { kind: 'rate_limit', id: 'user_path 60 /b', body: { ...caps, subject: '/b', expires_at: '2026-03-02T00:00:00Z' } },
  ];
  const declared = {
    user_paths: [],
    labels: [{ label: 'web', limits: [{ amount: 5, period: 'daily', mode: 'enforce' }] }],
  } as const;
  const [budget] = mergeBudgets({
    config: compileBudgets(declared as never),
    manual: [],
    resets: [],
    nowMs: start,
    prerequisites: { enabled: true, hasTemplates: true, usageEnabled: true },
  });
  if (budget === undefined) throw new Error('no budget was compiled');
  const window = { startMs: start - 2 * dayMs, endMs: start };
  const question = { scope: 'label', subject: 'web', perChild: false, fromMs: window.startMs } as const;
  Object.assign(plane.around, {
    documents: async () => documents,
    rules: () => [{ periodSeconds: 3_600 }],
    budgetsAt: () => [{ budget, window, question }],
  } satisfies Partial<AroundParts>);
  await plane.add([
    record({ started_ms: start - dayMs / 2 - 1_000, user_path: '/before', labels: ['web'] }),
    record({ started_ms: start - dayMs / 2 - 7_200_000, labels: ['web'] }),
  ]);
  const from = new Date(start - dayMs / 2).toISOString();
  const { text } = await plane.ask(`/traffic?from=${from}&around=true`);
  const [first = '', second = ''] = text.split('\n');
  const head = readTrafficHead(JSON.parse(first));
  t.match(head, {
    warm_from: new Date(start - dayMs / 2 - 3_600_000).toISOString(),
    live: { documents: [{ id: 'user_path 60 /a', body: { reason: 'night' } }], keys: { k1: ['chat'] } },
    spent: [{ scope: 'label', subject: 'web', window_ms: window.startMs, spent: [['web', 350_000]] }],
  });
  t.match(JSON.parse(second), { user_path: '/before' }, 'requests before fill the windows');
  t.notMatch(first, new RegExp(`${key.digest}|user_path 60 /b`));
  const scoped = await plane.ask(`/traffic?from=${from}&around=true`, asTeam);
  t.notMatch(scoped.text.split('\n')[0], /live|spent|warm_from/);
});

await test('a share is the same at every export', async (t) => {
  const many = Array.from({ length: 200 }, (_, index) =>
    record({ started_ms: start - 3 * dayMs, request_id: `req_${index}` }),
  );
  await plane.add(many);
  const from = new Date(start - 3 * dayMs).toISOString();
  const query = `?from=${from}&to=${new Date(start - 2 * dayMs).toISOString()}`;
  const [half, again, all] = [
    await linesOf(`${query}&share=0.5`),
    await linesOf(`${query}&share=0.5`),
    await linesOf(query),
  ];
  t.equal(all.length, 200);
  t.ok(half.length > 70 && half.length < 130, `${half.length} of 200`);
  t.same(half, again);
});

await test('what is no time and no share is refused', async (t) => {
  for (const query of [
    'from=yesterday',
    'from=2026-03-15T12:00:00Z&to=2026-03-14T12:00:00Z',
    'share=0',
    'share=2',
    'since=7d',
  ])
    t.match(await plane.ask(`/traffic?${query}`), { status: 400, body: { code: 'invalid_query' } }, query);
});

await test('exports that clients leave make room for others', async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const leaving = new AbortController();
    const headers = { authorization: 'Bearer master' };
    const asked = { headers, signal: leaving.signal };
    const open = [1, 2, 3].map(() => fetch(`${plane.address}/admin/traffic?from=2026-01-01T00:00:00Z`, asked));
    await Promise.all(open);
    leaving.abort();
  }
  t.match(await plane.ask('/traffic'), { status: 200 });
});
