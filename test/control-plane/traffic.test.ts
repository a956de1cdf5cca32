// GET /admin/traffic: lines for replays, of the subtree of the operator, a share of them, and what is refused.
import { t as suite, test } from 'tap';
import { readTrafficLine, type TrafficLine } from '../../domain/records/traffic.ts';
import { readTrafficHead } from '../../domain/replays/traffic-head.ts';
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
