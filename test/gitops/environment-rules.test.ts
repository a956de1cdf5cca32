// Rate limits from environment variables override those of the files, and outlast every edit of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { loadOffThread } from '../../gitops/assemble/load-off-thread.ts';
import { checkRateLimits } from '../../gitops/check/check-rate-limits.ts';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { ConfigRejected } from '../../gitops/follow/config-rejected.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import { followConfig } from '../../gitops/follow/follow.ts';
import type { FollowOptions } from '../../gitops/follow/follow-options.ts';
import { type Problem, problemOfFile } from '../../gitops/read/problem.ts';
import { readEnvironment } from '../../proxy/environment.ts';
import type { Limit, RateLimits } from '../../schemas/types.ts';
import { waitFor } from '../support/wait-for.ts';
import { enforced, file, limitsOf, lines, load, minuteOf5, paid, unpaid, type Variables } from './environment-cases.ts';

await test('the switch is true, false, 1 or 0', async (t) => {
  const enabled = (value: string): unknown => limitsOf({ RATE_LIMITS_ENABLED: value })?.enabled;
  for (const on of ['true', 'TRUE', 'True', '1']) t.equal(enabled(on), true, on);
  for (const off of ['false', 'FALSE', '0']) t.equal(enabled(off), false, off);
  for (const variable of ['RATE_LIMITS_ENABLED', 'USAGE_ENABLED']) {
    for (const odd of ['yes', 'no', 'on', 'off', 'enabled', '2', ' true', '\t', 'null']) {
      t.strictSame(
        load({ [variable]: odd }).problems,
        [{ ...problemOfFile(variable, 'must be true or false'), fatal: true }],
        `${variable}=${JSON.stringify(odd)}`,
      );
    }
  }
});

await test('the switch beats the files, in both directions', async (t) => {
  const yaml = (enabled: boolean): string => `rate_limits:\n  enabled: ${enabled}\n`;
  const table: [variable: string | undefined, file: string, enabled: boolean, warning: RegExp[]][] = [
    [undefined, '{}', true, []],
    [undefined, yaml(false), false, []],
    [undefined, yaml(true), true, []],
    ['true', '{}', true, []],
    ['false', '{}', false, []],
    ['true', yaml(true), true, []],
    ['false', yaml(false), false, []],
    [
      'true',
      yaml(false),
      true,
      [/^a\.yaml:2:12 {2}rate_limits\.enabled {2}is overruled by the environment variable RATE_LIMITS_ENABLED$/],
    ],
    ['false', yaml(true), false, [/^a\.yaml:2:12 .*overruled/]],
    ['false', 'rate_limits: {}\n', false, []],
  ];
  for (const [variable, text, enabled, warning] of table) {
    const { config, warnings } = load({ RATE_LIMITS_ENABLED: variable }, text);
    const claim = `${variable ?? 'unset'} over ${JSON.stringify(text)}`;
    t.equal(config?.rate_limits.enabled, enabled, claim);
    t.match(lines(warnings), warning, claim);
    t.equal(warnings.length, warning.length, claim);
  }
  t.match(
    lines(load({ SET_RATE_LIMIT_: 'rpm=5' }, yaml(false)).warnings),
    [/^a\.yaml:2:12 .* is false, so the rules of SET_RATE_LIMIT_ and its like are not enforced either/],
    'limits of variables that the files switch off are worth a warning',
  );
});

await test('a mistake stays one while rate limits are off', async (t) => {
  t.match(load({ RATE_LIMITS_ENABLED: 'false', SET_RATE_LIMIT_TEAM: 'rpm=x' }).problems, [{ fatal: true }]);
});

const files = `providers:
  openai: { type: vllm, models: [m] }
  My_Provider: { type: vllm, models: [m] }
rate_limits:
  user_paths:
    - { path: team//app/, limits: [{ period: minute, max_requests: 1 }, { period: day, max_requests: 2 }] }
    - { path: /team, limits: [{ period: minute, max_requests: 3 }] }
    - { path: /team/app, limits: [{ period: hour, max_requests: 4 }] }
    - { path: /Team/App, limits: [{ period: concurrent, max_requests: 5 }] }
  providers:
    - { name: OpenAI, limits: [{ period: minute, max_requests: 6 }] }
    - { name: my_provider, limits: [{ period: minute, max_requests: 7 }] }
  models:
    - { model: m, limits: [{ period: minute, max_requests: 8 }] }
`;

await test('a variable replaces everything the files say about its subject, and the log says so', async (t) => {
  const { config, warnings } = load(
    { SET_RATE_LIMIT_TEAM__APP: 'tpm=9', SET_PROVIDER_RATE_LIMIT_OPENAI: 'rpm=10' },
    files,
  );
  const caps = [...(config?.rate_limits.user_paths ?? []), ...(config?.rate_limits.providers ?? [])];
  t.strictSame(
    config?.rate_limits.user_paths.map(({ path }) => path),
    ['/team', '/team/app'],
    'all its entries, in any case; its own stands last',
  );
  t.strictSame(
    config?.rate_limits.providers.map(({ name }) => name),
    ['my_provider', 'openai'],
    'providers fold case',
  );
  t.strictSame(
    caps.flatMap(({ limits }) => limits.map(({ max_requests, max_tokens }) => max_requests ?? max_tokens)),
    [3, 9, 7, 10],
    'all periods',
  );
  t.equal(config?.rate_limits.models.length, 1, 'models are left alone');
  t.strictSame(lines(warnings), [
    'a.yaml:6:15  rate_limits.user_paths[0].path  is replaced, with all its limits, by the environment variable SET_RATE_LIMIT_TEAM__APP',
    'a.yaml:8:15  rate_limits.user_paths[2].path  is replaced, with all its limits, by the environment variable SET_RATE_LIMIT_TEAM__APP',
    'a.yaml:9:15  rate_limits.user_paths[3].path  "/Team" is spelled "/team" in a.yaml:6:15; letter case does not count, so both are one path',
    'a.yaml:9:15  rate_limits.user_paths[3].path  is replaced, with all its limits, by the environment variable SET_RATE_LIMIT_TEAM__APP',
    'a.yaml:11:15  rate_limits.providers[0].name  is replaced, with all its limits, by the environment variable SET_PROVIDER_RATE_LIMIT_OPENAI',
  ]);
});

await test('the files are judged as if there were no variables', async (t) => {
  const twice =
    'rate_limits:\n  user_paths:\n    - path: /a\n      limits: [{ period: day, max_tokens: 1 }, { period: day, max_tokens: 2 }]\n';
  t.match(lines(load({ SET_RATE_LIMIT_A: 'rpm=5' }, twice).problems), [/already declared/]);
  t.strictSame(load({}, twice).problems, load({ SET_RATE_LIMIT_A: 'rpm=5' }, twice).problems);
});

await test('the order of the environment does not matter', async (t) => {
  const forwards = { SET_RATE_LIMIT_A: 'rpm=1', SET_RATE_LIMIT_B: 'rpm=2', SET_PROVIDER_RATE_LIMIT_C: 'rpm=3' };
  const backwards = Object.fromEntries(Object.entries(forwards).toReversed());
  t.equal(JSON.stringify(load(forwards)), JSON.stringify(load(backwards)));
});

await test('one variable may hold templates and plain limits', async (t) => {
  const value = `[{"period":"day","max_tokens":9},{${minuteOf5},"per_child":true},{"period":"concurrent","max_requests":2,"per_child":true}]`;
  t.match(limitsOf({ SET_RATE_LIMIT_: value })?.user_paths, [
    { path: '/', per_child: false, limits: [{ period: 'day' }] },
    { path: '/', per_child: true, limits: [{ period: 'minute' }, { period: 'concurrent' }] },
  ]);
});

await test('a template without its entitlement stops the start', async (t) => {
  const says =
    /^SET_RATE_LIMIT_A:1:50 {2}\[0\]\.per_child {2}needs the entitlement quota_templates \(GATEWAY_ENTITLEMENTS\); it never falls back/;
  const { problems, config } = load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":true}]` }, '{}', unpaid);
  t.match(
    { config, lines: lines(problems), problems },
    { config: undefined, lines: [says], problems: [{ fatal: true }] },
  );
  t.match(
    lines(load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":true},{"period":"moon"}]` }, '{}', unpaid).problems),
    [says, /needs max_requests/, /must be one of/],
    'other mistakes do not hide it',
  );
  t.strictSame(load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":false}]` }, '{}', unpaid).problems, []);
});

await test('limits of a provider are never per child, and may say so', async (t) => {
  const given = (perChild: string) => load({ SET_PROVIDER_RATE_LIMIT_A: `[{${minuteOf5},"per_child":${perChild}}]` });
  t.match(lines(given('true').problems), [
    'SET_PROVIDER_RATE_LIMIT_A:1:50  [0].per_child  cannot be true here: limits of a provider have no children',
  ]);
  t.strictSame(given('false').problems, []);
  t.strictSame(given('false').config?.rate_limits.providers, [
    { name: 'a', limits: enforced([{ period: 'minute', max_requests: 5 }]) },
  ]);
  t.match(lines(given('"x"').problems), [
    /^SET_PROVIDER_RATE_LIMIT_A:1:50 {2}\[0\]\.per_child {2}must be true or false/,
  ]);
});

await test('a provider that is not there is a warning with a hint', async (t) => {
  const known = files.replace('/Team/App', '/other');
  const warning = (variable: string): string[] => lines(load({ [variable]: 'rpm=5' }, known).warnings);
  t.strictSame(warning('SET_PROVIDER_RATE_LIMIT_OPNEAI'), [
    'SET_PROVIDER_RATE_LIMIT_OPNEAI  there is no provider "opneai", so its limits match nothing; did you mean "openai"?',
  ]);
  t.strictSame(warning('SET_PROVIDER_RATE_LIMIT_MY_PROVIDER'), [
    'SET_PROVIDER_RATE_LIMIT_MY_PROVIDER  there is no provider "my-provider", so its limits match nothing; underscores become hyphens, so limit "My_Provider" in the YAML files',
  ]);
  t.strictSame(
    load({ SET_PROVIDER_RATE_LIMIT_OPENAI: 'rpm=5' }, 'providers: {openai: {}}\n').warnings,
    [],
    'nothing is said about providers that cannot be read',
  );
});

await test('token caps without token counting are one warning', async (t) => {
  const says = ['USAGE_ENABLED  is false, so no token is counted and no max_tokens is enforced'];
  const yaml = `providers: {p: {type: vllm, models: [m]}}\nrate_limits: {models: [{model: m, limits: [{period: day, max_tokens: 1}]}]}\n`;
  const warnings = (environment: Variables, text?: string): string[] => lines(load(environment, text).warnings);
  t.strictSame(
    warnings({ USAGE_ENABLED: 'false', SET_RATE_LIMIT_A: 'rpm=1,tpm=1,tph=1', SET_RATE_LIMIT_B: 'tpd=1' }),
    says,
  );
  t.strictSame(warnings({ USAGE_ENABLED: '0' }, yaml), says);
  t.strictSame(warnings({ USAGE_ENABLED: '0', SET_RATE_LIMIT_A: 'rpm=1' }), [], 'request caps need no tokens');
  t.strictSame(warnings({ USAGE_ENABLED: '0', RATE_LIMITS_ENABLED: '0' }, yaml), [], 'nothing is enforced anyway');
  t.strictSame(warnings({ USAGE_ENABLED: '1' }, yaml), []);
  t.strictSame(warnings({}, yaml), []);
});

await test('a hundred thousand limits are the most a directory may hold', async (t) => {
  const limits = (count: number): Limit[] =>
    Array.from({ length: count }, (_, index) => ({ period_seconds: index + 1, max_requests: 1, mode: 'enforce' }));
  const paths = Array.from({ length: 999 }, (_, index) => ({
    path: `/${index}`,
    per_child: false,
    limits: limits(100),
  }));
  const problem = (_path: unknown, message: string): Problem => problemOfFile('a.yaml', message);
  const none = { place: () => '', declaredAt: () => '', written: () => undefined, quoted: () => '""' };
  const nowhere = { file: () => '', fileName: () => '', isDeclared: () => false };
  const sources = { ...none, ...nowhere, problem, secretParts: () => undefined, isUnknown: () => false };
  const check = (count: number): string[] =>
    lines(
      checkRateLimits(
        {
          enabled: true,
          max_children: 100_000,
          reserve_tokens: 'p90',
          on_store_loss: 'share',
          lease_wait: '250ms',
          user_paths: [...paths, { path: '/last', per_child: false, limits: limits(count - 99_900) }],
          providers: [],
          models: [],
        },
        {
          providers: {},
          usage: { retention: '90d', list_prices: true, prices: {} },
          aliases: [],
          areComplete: false,
          areAliasesComplete: false,
        },
        sources,
      ).problems,
    );
  t.strictSame(check(100_000), []);
  t.strictSame(check(100_001), ['a.yaml  has 100001 limits; at most 100000 are supported']);
});

await test('a thread gives what the main thread gives', async (t) => {
  for (const environment of [{ SET_RATE_LIMIT_TEAM: 'rpm=5' }, { SET_RATE_LIMIT_TEAM: 'rpm=x', USAGE_ENABLED: 'x' }]) {
    const context = { environment, variables: 'error', entitlements: paid } as const;
    t.strictSame(await loadOffThread([file(files)], context), loadFiles([file(files)], context));
  }
});

await test('check-config reads the variables of its environment', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'a.yaml'), files);
  t.match(await checkConfig([directory], { SET_RATE_LIMIT_TEAM: 'rpm=5' }), {
    code: 0,
    output: /warning: .*a\.yaml:7:15 .*is replaced/,
  });
  t.match(await checkConfig([directory], { SET_RATE_LIMIT_TEAM: 'rpm=secret' }), {
    code: 1,
    output: /^SET_RATE_LIMIT_TEAM:1:5 {2}needs a whole number/,
  });
  t.match(await checkConfig([directory, '--format', 'github'], { RATE_LIMITS_ENABLED: 'yes' }), {
    code: 1,
    output: '::error file=RATE_LIMITS_ENABLED::must be true or false',
  });
});

async function start(
  options: Partial<FollowOptions> & { directory: string },
): Promise<{ events: ConfigEvent[]; limits: RateLimits[]; close: () => Promise<void> }> {
  const events: ConfigEvent[] = [];
  const limits: RateLimits[] = [];
  const follower = await followConfig({
    environment: {},
    variables: 'expand',
    entitlements: unpaid,
    nowMs: () => 0,
    apply: ({ rate_limits }) => void limits.push(rate_limits),
    report: (event) => void events.push(event),
    settings: { debounceMs: 20, recheckMs: 100, patienceMs: 100 },
    ...options,
  });
  return { events, limits, close: () => follower.close() };
}

await test('a process with a bad variable does not start, not even on the last good config', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'a.yaml');
  writeFileSync(path, files);
  const lastGoodFolder = join(folder, 'last-good');
  const good = await start({ directory: folder, lastGoodFolder });
  await good.close();
  for (const text of [files, 'rate_limits: [\n']) {
    writeFileSync(path, text);
    const refusal = await start({
      directory: folder,
      lastGoodFolder,
      environment: { SET_RATE_LIMIT_TEAM: 'rpm=x' },
    }).catch((error: unknown) => error);
    t.ok(
      refusal instanceof ConfigRejected && refusal.message.includes('SET_RATE_LIMIT_TEAM:1:5  needs a whole number'),
      text.slice(0, 12),
    );
  }
});

await test('limits of variables outlast every edit of the files', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'a.yaml');
  writeFileSync(path, files);
  const { events, limits, close } = await start({ directory, environment: { SET_RATE_LIMIT_TEAM: 'rpm=50' } });
  t.teardown(close);
  t.match(events[0], { kind: 'warning', problems: [{ message: /is replaced.*SET_RATE_LIMIT_TEAM/ }] });
  writeFileSync(path, files.replace('max_requests: 3', 'max_requests: 30'));
  await waitFor('the edit', () => limits.length > 1);
  for (const { user_paths } of limits)
    t.match(
      user_paths.find((entry) => entry.path === '/team'),
      { limits: [{ max_requests: 50 }] },
    );
  t.equal(events.filter(({ kind }) => kind === 'warning').length, 1, 'and the warning is one line, not one an edit');
});

await test('the flush interval is a whole number of seconds up to an hour', async (t) => {
  const read = (value: string): unknown => {
    const reading = readEnvironment({ GATEWAY_INSECURE: 'true', RATE_LIMITS_FLUSH_INTERVAL: value });
    return 'environment' in reading ? reading.environment.flushIntervalSeconds : reading.problems;
  };
  for (const [value, seconds] of [
    ['', 1],
    ['0', 0],
    ['1', 1],
    ['60', 60],
    ['3600', 3_600],
  ] as const)
    t.equal(read(value), seconds, `"${value}"`);
  for (const odd of ['-1', 'abc', '0.5', '1e9', '3601', '1s', ' 1', '0x1', '9'.repeat(40)]) {
    t.strictSame(read(odd), ['RATE_LIMITS_FLUSH_INTERVAL must be a whole number from 0 to 3600'], odd);
  }
});
