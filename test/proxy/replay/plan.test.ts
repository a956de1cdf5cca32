// A plan: what becomes of recorded requests after a change, one row for each kind of change; its forms, its conditions, and what is wrong with its input.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import type { TrafficLine } from '../../../domain/records/traffic.ts';
import { base, directoryOf, fileOf, impactOf, openFolder, perMinute, provider, run, traffic } from './planned.ts';

const folder = openFolder(suite);

await test('rules refuse, and a loosened one admits again', async (t) => {
  const { refusals } = await impactOf(perMinute({ max_requests: 20 }), traffic(30));
  t.match(refusals, { before: 0, after: 10, user_paths: [{ user_path: '/team/ann', before: 0, after: 10 }] });
  t.same(refusals.added, [
    {
      by: 'rule user_path /team minute',
      requests: 10,
      first_at: '2026-03-02T09:00:20.000Z',
      samples: ['req_20', 'req_21', 'req_22'],
      within: '/team/ann',
      user_paths: [{ user_path: '/team/ann', requests: 10 }],
    },
  ]);
  const recorded = traffic(30, ({ calls: _calls, ...line }, index) =>
    index < 20
      ? {}
      : ({ ...line, calls: undefined, tokens: undefined, status: 429, error: 'rate_limit_exceeded' } as never),
  );
  const loosened = await impactOf(perMinute({ max_requests: 25 }), recorded, {
    before: perMinute({ max_requests: 20 }),
  });
  t.match(loosened, {
    traffic: { agreement: 1 },
    refusals: { before: 10, after: 5, added: [], removed: [{ requests: 5 }] },
  });
});

await test('slots are held for as long as requests lasted', async (t) => {
  const slots = {
    rate_limits: { user_paths: [{ path: '/team', limits: [{ period: 'concurrent', max_requests: 2 }] }] },
  };
  t.equal(
    (
      await impactOf(
        slots,
        traffic(30, () => ({ ms: 1_900 })),
      )
    ).refusals.after,
    0,
  );
  t.equal(
    (
      await impactOf(
        slots,
        traffic(30, () => ({ ms: 2_900 })),
      )
    ).refusals.after,
    10,
  );
});

await test('budgets are spent by what answers cost, and a dearer price spends them sooner', async (t) => {
  const budget = { budgets: { user_paths: [{ path: '/team', limits: [{ period: 'daily', amount: 0.0195 }] }] } };
  const { refusals } = await impactOf(budget, traffic(30));
  t.match(refusals, { after: 10, added: [{ by: 'budget user_path /team daily' }] });
  const dearer = { ...budget, providers: { main: provider(2), spare: provider(2) } };
  t.equal((await impactOf(dearer, traffic(30))).refusals.after, 20);
});

await test('an alias that leads elsewhere moves requests, at the price there', async (t) => {
  const failover = {
    aliases: [{ source: 'chat', strategy: 'failover', targets: [{ model: 'main/m' }, { model: 'spare/m' }] }],
  };
  const limited = {
    ...failover,
    rate_limits: { providers: [{ name: 'main', limits: [{ period: 'minute', max_requests: 20 }] }] },
  };
  t.same((await impactOf(failover, traffic(30))).moved, []);
  const { moved, cost, refusals } = await impactOf(limited, traffic(30), { before: failover });
  t.match(moved, [{ model: 'chat', from: 'main/m', to: 'spare/m', requests: 10, share: 1 / 3 }]);
  t.match(cost, { before: 0.03, after: 0.04 });
  t.equal(refusals.after, 0);
});

await test('shares of a strategy are compared, not the turns of single requests', async (t) => {
  const shares = (weight: number) => ({
    aliases: [
      {
        source: 'chat',
        targets: [
          { model: 'main/m', weight },
          { model: 'spare/m', weight: 1 },
        ],
      },
    ],
  });
  const recorded = traffic(400, (_, index) =>
    index % 2 === 0 ? {} : { calls: [{ provider: 'spare', model: 'm', ms: 90, ok: true }] },
  );
  const { moved } = await impactOf(shares(3), recorded, { before: shares(1) });
  t.match(moved, [{ from: 'spare/m', to: 'main/m', requests: 100 }]);
  t.equal(moved.length, 1);
});

await test('a model, a key and a right that are gone refuse', async (t) => {
  const key = (more: object) => ({ keys: [{ name: 'ci', hash: 'a'.repeat(64), user_path: '/team/ci', ...more }] });
  const byKey = traffic(3, () => ({ key: 'config:ci', user_path: '/team/ci' }));
  const rows: [change: object, lines: readonly TrafficLine[], by: string][] = [
    [{ aliases: [] }, traffic(3), 'model chat'],
    [{ keys: [] }, byKey, 'key config:ci'],
    [key({ allowed_models: ['spare/m'] }), byKey, 'model chat'],
    [{ aliases: [{ source: 'chat', target: 'main/m', user_paths: ['/other'] }] }, traffic(3), 'model chat'],
  ];
  for (const [change, lines, by] of rows)
    t.match(
      (await impactOf(change, lines, { before: key({}) })).refusals,
      { before: 0, after: 3, added: [{ by, requests: 3 }] },
      by,
    );
});

await test('what failed when it was recorded fails again, and answers of the cache cost nothing while it is on', async (t) => {
  const failed = traffic(3, () => ({
    status: 502,
    tokens: undefined as never,
    calls: [{ provider: 'main', model: 'm', ms: 9, ok: false }],
  }));
  t.match(await impactOf({}, failed), { refusals: { before: 0, after: 0 }, moved: [], traffic: { agreement: 1 } });
  const cached = traffic(3, () => ({ cached: 'exact' as const, calls: undefined as never, cost: 0 }));
  const on = { cache: { enabled: true } };
  t.match(await impactOf(on, cached, { before: on }), { uncached: 0, cost: { after: 0 } });
  t.match(await impactOf({}, cached, { before: on }), { uncached: 3, cost: { before: 0, after: 0.003 } });
});

await test('a request with a key that is none stays refused, and is no refusal of a change', async (t) => {
  const strangers = traffic(3, () => ({
    status: 401,
    error: 'invalid_api_key',
    calls: undefined as never,
    tokens: undefined as never,
  }));
  t.match(await impactOf({}, strangers), {
    refusals: { before: 0, after: 0 },
    cost: { after: 0 },
    traffic: { agreement: 1 },
  });
});

await test('a sample counts as all that it stands for', async (t) => {
  const { traffic: all, refusals } = await impactOf(
    perMinute({ max_requests: 20 }),
    traffic(10, () => ({ n: 2 })),
    { head: { share: 0.5 } },
  );
  t.match({ all, refusals }, { all: { requests: 40, share: 0.5 }, refusals: { after: 20 } });
});

await test('its forms, and the conditions that fail a pipeline', async (t) => {
  const [after, before] = [directoryOf({ ...base, ...perMinute({ max_requests: 20 }) }), directoryOf(base)];
  const hostile = traffic(30, () => ({ user_path: '/team/[x](http://evil) @all <img src=x>|\u0007' }));
  const planned = (...more: string[]) => run(after, '--against', before, '--traffic', fileOf(hostile), ...more);
  t.match(await planned(), {
    code: 0,
    output: /^\+10 refusals \(0 → 10\)\n {2}\+10 by rule user_path \/team minute, all in \/team\//m,
  });
  const { output } = await planned('--format', 'markdown');
  t.notMatch(output, /(?<!\\)(?:\[x|<img)|@all/, 'no name becomes a link, a picture or a mention');
  t.match(await planned('--format', 'github'), { code: 0, output: /^::warning title=Refusals::\+10 refusals/m });
  const rows: [condition: string, code: number, said: RegExp][] = [
    ['refusals > 9', 1, /^failed: refusals > 9 \(it is 10\)$/m],
    ['refusals > 10, refusals >= 34%', 0, /not known:/],
    ['refusals >= 33%', 1, /\(it is 33\.33%\)/],
    ['cost > 0', 0, /\$0\.01 less/],
    ['cots > 0', 2, /"cots" is unknown; did you mean "cost"\?/],
    ['refusals < 3', 2, /is no condition: write a name/],
  ];
  for (const [condition, code, said] of rows)
    t.match(await planned('--fail-on', condition), { code, output: said }, condition);
});

await test('names that were hashed are shown where a configuration names them', async (t) => {
  const { hasherOf, renamedLine } = await import('../../../domain/records/hash-names.ts');
  const salt = join(folder, 'salt');
  writeFileSync(salt, 'a-salt-that-nobody-guesses\n');
  const hash = hasherOf('a-salt-that-nobody-guesses');
  const lines = traffic(30).map((line) => renamedLine(line, hash));
  t.notMatch(JSON.stringify(lines), /team|ann/);
  const [after, before] = [directoryOf({ ...base, ...perMinute({ max_requests: 20 }) }), directoryOf(base)];
  const { output } = await run(
    after,
    '--against',
    before,
    '--traffic',
    fileOf(lines, { hashed: true }),
    '--salt-file',
    salt,
  );
  t.match(output, /\+10 by rule user_path \/team minute, all in \/team\/h[0-9a-f]{12},/);
});

await test('a packed file is read; what is wrong says where', async (t) => {
  const directory = directoryOf(base);
  const given = (file: string) => run(directory, '--against', directory, '--traffic', file);
  const packed = join(folder, 'packed.ndjson.gz');
  const head = '{"traffic":1,"from":"2026-03-02T00:00:00Z","to":"2026-03-03T00:00:00Z","share":1,"hashed":false}';
  writeFileSync(packed, gzipSync(`${head}\n${JSON.stringify(traffic(1)[0])}\n`));
  t.match(await given(packed), { code: 0, output: /^1 request from/m });
  const raw = (name: string, bytes: string | Uint8Array): string => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const rows: [file: string, said: RegExp][] = [
    [join(folder, 'none'), /none does not exist: name a file of traffic/],
    [raw('empty', ''), /empty:1 is not the head of a file of traffic/],
    [raw('cut', `${head}\n{"id":`), /cut:2 has no "id"/],
    [
      raw('typed', `${head}\n\n${JSON.stringify({ ...traffic(1)[0], tokens: { input: '9' } })}`),
      /typed:3 has wrong "tokens"/,
    ],
    [raw('broken.gz', gzipSync(head).subarray(0, 20)), /broken\.gz:1 cannot be read/],
  ];
  for (const [file, said] of rows) t.match(await given(file), { code: 1, output: said });
  t.match(await run(directory, '--against', 'nowhere'), {
    code: 2,
    output: /^--against: "nowhere" /,
  });
  t.match(await run(directoryOf({ ...base, aliasses: [] }), '--against', directory), {
    code: 1,
    output: /gateway\.yaml:\d+:\d+ .*aliases/,
  });
  t.match(await run(), { code: 2, output: /^no directory is named\nusage: model-gateway plan/ });
});
