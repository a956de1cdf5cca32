// A plan with what stands around the traffic: what operators have set, what budgets had spent, and the requests that fill windows before it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { hasherOf, renamedLine } from '../../../domain/records/hash-names.ts';
import { hashedHead } from '../../../domain/replays/live-settings.ts';
import { type LiveSettings, readTrafficHead } from '../../../domain/replays/traffic-head.ts';
import { openRecordStore } from '../../../store/records/open-records.ts';
import { openStateStore } from '../../../store/state/open.ts';
import { base, directoryOf, fileOf, impactOf, openFolder, perMinute, run, startMs, traffic } from './planned.ts';

const folder = openFolder(suite);

const said = {
  created_at: '2026-03-01T00:00:00Z',
  updated_at: '2026-03-01T00:00:00Z',
  updated_by: 'ann',
};
const rule = (caps: object, subject = '/team') => ({
  kind: 'rate_limit',
  id: `user_path 60 ${subject}`,
  body: { scope: 'user_path', subject, per_child: false, period_seconds: 60, mode: 'enforce', ...said, ...caps },
});
const alias = (target: string) => ({
  kind: 'virtual_model',
  id: 'chat',
  body: { alias: { source: 'chat', targets: [{ model: target }] }, ...said },
});
const live = (...documents: object[]) => ({ live: { at: '2026-03-02T10:00:00Z', documents, keys: {} } });

await test('what operators have set is in force in both configurations', async (t) => {
  const tight = await impactOf({}, traffic(30), { head: live(rule({ max_requests: 20 })) });
  t.match(tight.refusals, { before: 10, after: 10, added: [] });
  const moved = await impactOf({ aliases: [{ source: 'chat', target: 'spare/m' }] }, traffic(3), {
    head: live(alias('main/m')),
  });
  t.same(moved.moved, [], 'the alias of the operator stands in front of the changed one');
  const budget = {
    kind: 'budget',
    id: 'user_path 86400 /team',
    body: {
      scope: 'user_path',
      subject: '/team',
      per_child: false,
      period_seconds: 86_400,
      mode: 'enforce',
      ...said,
      amount_nano_dollars: 20_000_000,
    },
  };
  t.match((await impactOf({}, traffic(30), { head: live(budget) })).refusals, { before: 10, after: 10 });
});

await test('a drained target is asked by neither configuration', async (t) => {
  const both = {
    aliases: [{ source: 'chat', strategy: 'failover', targets: [{ model: 'main/m' }, { model: 'spare/m' }] }],
  };
  const drain = {
    kind: 'target_drain',
    id: 'main',
    body: { provider: 'main', reason: 'slow', expires_at: '2036-01-01T00:00:00Z', ...said },
  };
  t.match(await impactOf(both, traffic(3), { before: both, head: live(drain) }), {
    moved: [],
    cost: { before: 0.006, after: 0.006 },
  });
});

await test('an issued key that may not ask for every model is refused one that an alias no longer leads to', async (t) => {
  const byKey = traffic(3, () => ({ key: 'k1' }));
  const head = { live: { at: '2026-03-02T10:00:00Z', documents: [], keys: { k1: ['main/m'] } } };
  const to = (target: string) => ({ aliases: [{ source: 'chat', target }] });
  t.match((await impactOf(to('spare/m'), byKey, { before: to('main/m'), head })).refusals, { before: 0, after: 3 });
});

await test('a change behind an override is told, and what the plan was given', async (t) => {
  const [after, before] = [
    directoryOf({ ...base, ...perMinute({ max_requests: 20 }) }),
    directoryOf({ ...base, ...perMinute({ max_requests: 25 }) }),
  ];
  const override = rule({ max_requests: 30, reason: 'a launch', expires_at: '2036-01-01T00:00:00Z' });
  const file = fileOf(traffic(40), live(override, rule({ max_requests: 'x' }, '/broken')));
  const planned = (...more: string[]) => run(after, '--against', before, '--traffic', file, ...more);
  const { output } = await planned();
  t.match(
    output,
    /^your change of rule user_path \/team minute has no effect until 2036-01-01T00:00:00Z: set by ann, because: a launch$/m,
  );
  t.match(output, /^with 1 rule of operators, as they were at 2026-03-02 10:00:00 UTC; the recording may be older$/m);
  t.match(output, /^ {2}what it would do if it could be read: the stored rule "user_path 60 \/broken"/m);
  t.match(output, /\(10 are\)/);
  t.match(await planned('--without-overrides'), {
    output: /\+5 refusals \(15 → 20\)[\s\S]*as --without-overrides says/,
  });
  t.match(await planned('--format', 'markdown'), { output: /^- your change of rule/m });
});

await test('windows are filled by the requests before, and budgets by what was spent', async (t) => {
  const warm = { warm_from: '2026-03-02T09:00:00Z', from: '2026-03-02T09:00:20Z' };
  const { refusals, traffic: told } = await impactOf(perMinute({ max_requests: 20 }), traffic(30), { head: warm });
  t.match(told, { requests: 10 }, 'those before are not counted');
  t.match(refusals, { before: 0, after: 10 });
  const budget = (amount: number) => ({
    budgets: { user_paths: [{ path: '/team', limits: [{ period: 'daily', amount }] }] },
  });
  const day = { scope: 'user_path', subject: '/team', per_child: false, period_seconds: 86_400 };
  const windowMs = Date.parse('2026-03-02T00:00:00Z');
  const spent = [{ ...day, window_ms: windowMs, spent: [['/team', 15_000_000]] }];
  const half = await impactOf(budget(0.0295), traffic(30), { head: { spent } });
  t.match(half.refusals, { after: 15 });
  t.match(
    (await impactOf(budget(0.0295), traffic(30), { head: { spent: [{ ...spent[0], window_ms: 0 }] } })).refusals,
    {
      after: 0,
    },
  );
});

await test('with hashes nothing of a name, an author or a reason is left, and the rule still holds', async (t) => {
  const salt = 'a-salt-that-nobody-guesses';
  writeFileSync(join(folder, 'salted'), salt);
  const hash = hasherOf(salt);
  const head = readTrafficHead({
    traffic: 1,
    from: '2026-03-02T00:00:00Z',
    to: '2026-03-03T00:00:00Z',
    share: 1,
    hashed: false,
    ...live(rule({ max_requests: 20, reason: 'for ann', name: 'team rule' }), {
      ...alias('main/m'),
      body: {
        alias: { source: 'chat', targets: [{ model: 'main/m', when: 'user_path == "/team"' }, { model: 'spare/m' }] },
        ...said,
      },
    }),
    spent: [
      { scope: 'label', subject: 'team', per_child: false, period_seconds: 60, window_ms: 0, spent: [['team', 1]] },
    ],
  });
  if (typeof head === 'string') throw new Error(head);
  const hashed = hashedHead(head, hash);
  t.notMatch(JSON.stringify(hashed), /team|ann/);
  t.match(hashed.live, { left_out: 1 } satisfies Partial<LiveSettings>);
  const file = fileOf(
    traffic(30).map((line) => renamedLine(line, hash)),
    { ...hashed, from: new Date(startMs).toISOString() },
  );
  const directory = directoryOf({ ...base, ...perMinute({ max_tokens: 1e9 }) });
  const { output } = await run(
    directory,
    '--against',
    directory,
    '--traffic',
    file,
    '--salt-file',
    join(folder, 'salted'),
  );
  t.match(output, /\(10 are\)[\s\S]*1 setting of operators: the file has hashes/);
});

await test('a file that lies is refused with its line, or harmless', async (t) => {
  const directory = directoryOf({ ...base, ...perMinute({ max_requests: 20, max_tokens: 1e12 }) });
  const given = (file: string) => run(directory, '--against', directory, '--traffic', file);
  const [first, second] = traffic(2);
  const huge = { ...first, ms: 1e300, tokens: { input: 1e300, output: 1e300 }, cost: 1e300, n: 1e9 };
  const rows: [lines: readonly unknown[], head: object, said: RegExp][] = [
    [[{ ...first, at: -1 }], {}, /:2 has no "at"/],
    [[second, first], {}, /:3 began before the request above it/],
    [[first, { id: 'x'.repeat(2 ** 20) }], {}, /:3 is longer than 1 MiB/],
    [[huge], {}, /:2 has no "ms"/],
    [[{ ...first, n: 1e9 }], {}, /stands for more than 50000000 requests/],
    [[], { live: { at: 'now' } }, /:1 has no valid "live.at"/],
    [
      [],
      { live: { at: '2026-03-02T10:00:00Z', documents: [{ kind: 'rate_limit' }] } },
      /:1 has wrong "live.documents"/,
    ],
    [[], { spent: [{ scope: 'all' }] }, /:1 has a wrong "spent"/],
    [[], { warm_from: '2027-01-01T00:00:00Z' }, /:1 has a wrong "warm_from"/],
  ];
  for (const [lines, head, message] of rows) t.match(await given(fileOf(lines, head)), { code: 1, output: message });
  const odd = { ...first, extra: { deep: [1] }, __proto__: null, labels: ['x'], session: '' };
  t.match(await given(fileOf([odd])), { code: 0, output: /^1 request from/m });
});

await test('the state store of a data directory says what operators have set', async (t) => {
  const data = join(folder, 'data');
  mkdirSync(data);
  const store = openStateStore({ directory: data });
  const [{ kind, id, body }] = [rule({ max_requests: 20 })];
  await store.commit({ storeId: null, expected: new Map(), changes: [{ kind, id, body }] });
  await store.close();
  const directory = directoryOf(base);
  const planned = () => run(directory, '--against', directory, '--traffic', data);
  t.match(await planned(), { code: 1, output: /has no records of a control plane: name its GATEWAY_DATA$/ });
  const records = openRecordStore({ directory: data });
  await records.usageTotals({ span: { fromMs: 0, toMs: 1 }, cacheMode: 'all' });
  await records.close();
  const { output } = await planned();
  t.match(output, /^with 1 rule of operators/m);
});
