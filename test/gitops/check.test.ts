// The check-config command: reports the problems that the gateway would report, in three formats.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';

const repository = join(import.meta.dirname, '../..');
const fixture = (name: string): string => join('test/fixtures/config', name);

process.chdir(repository);

await test('a good directory is exit 0, a bad one 1, a wrong command 2', async (t) => {
  for (const name of readdirSync(fixture('good'))) {
    const { code, output } = await checkConfig([fixture(`good/${name}`)], {
      GATEWAY_ENTITLEMENTS: 'a, quota_templates',
    });
    t.equal(code, 0, `${name}: ${output}`);
  }
  t.equal((await checkConfig([fixture('bad/rule-per-child-without-entitlement')], {})).code, 1);
  t.equal((await checkConfig([fixture('missing')], {})).code, 1);
  for (const args of [[], ['a', 'b'], ['a', '--format', 'xml'], ['a', '--nope']]) {
    const { code, output } = await checkConfig(args, {});
    t.match({ code, output }, { code: 2, output: /usage: model-gateway check/ }, args.join(' '));
  }
});

await test('a model that its provider has ended, or ends within 30 days, is a warning at its line', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-ended-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const lines = [
    'providers:',
    '  own:',
    '    type: vllm',
    '    models:',
    '      - { id: gone, deprecation_date: 2031-01-01 }',
    '      - { id: soon, deprecation_date: 2031-03-02 }',
    '      - { id: later, deprecation_date: 2031-03-04 }',
    '  openai: { type: openai, api_key: k }',
    'aliases:',
    '  - { source: old, target: openai/gpt-4-turbo }',
  ];
  writeFileSync(join(directory, 'a.yaml'), lines.join('\n'));
  const { code, output } = await checkConfig([directory, '--format', 'json'], {}, '2031-01-31');
  const { warnings } = JSON.parse(output) as { warnings: { line: number; message: string }[] };
  t.equal(code, 0);
  t.match(
    warnings
      .filter(({ message }) => message.includes('another model'))
      .map(({ line, message }) => `${line} ${message}`),
    [
      /^5 no longer answers for "gone" since 2031-01-01, as its deprecation_date says/,
      /^6 answers for "soon" only until 2031-03-02/,
      /^10 no longer answers for "gpt-4-turbo" since 2026-10-23, as the catalogue of 2026-11-23 says/,
    ],
  );
});

await test('a wrong command says what is wrong with it, in one sentence', async (t) => {
  const rows: [args: string[], sentence: string][] = [
    [[], 'no directory is named'],
    [['a', 'b'], 'only one directory is checked at a time; "b" is too many'],
    [['a', '--stric'], 'the option --stric is unknown; did you mean "--strict"?'],
    [['a', '-x'], 'the option -x is unknown'],
    [['a', '--format'], '--format needs a value: text, json, github or markdown; with --test also junit'],
    [
      ['a', '--format', 'jsn'],
      'the format "jsn" is unknown; did you mean "json"?; known are text, json, github, markdown',
    ],
    [['--diff', '--strict', 'a'], '--diff needs a value: a directory, or a branch, tag or commit of git'],
    [['a', '--strict=no'], '--strict takes no value'],
  ];
  for (const [args, sentence] of rows) {
    const { code, output } = await checkConfig(args, {});
    t.same([code, output.split('\n')[0]], [2, sentence], args.join(' '));
  }
  t.match(await checkConfig(['-h'], {}), { code: 0, output: /exit code: 0/ });
});

await test('the paths of annotations begin at the top of the repository, wherever the command was called', async (t) => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-check-')));
  t.teardown(() => {
    process.chdir(repository);
    rmSync(top, { recursive: true });
  });
  cpSync(fixture('bad/cap-zero'), join(top, 'repo/config'), { recursive: true });
  mkdirSync(join(top, 'repo/.git'));
  mkdirSync(join(top, 'repo/scripts'));
  process.chdir(join(top, 'repo/scripts'));
  const fileOf = async (given: string, environment: Record<string, string> = {}): Promise<string | undefined> =>
    /^::error file=([^,]*)/.exec((await checkConfig([given, '--format', 'github'], environment)).output)?.[1];
  for (const given of ['../config', join(top, 'repo/config')]) t.equal(await fileOf(given), 'config/a.yaml', given);
  t.equal(await fileOf('../config', { GITHUB_WORKSPACE: top }), 'repo/config/a.yaml');
  t.equal(await fileOf('../config', { GITHUB_WORKSPACE: join(top, 'elsewhere') }), 'config/a.yaml');
  t.match(
    (await checkConfig(['../config'], {})).output,
    /^\.\.\/config\/a\.yaml:5/,
    'in text they begin at the caller',
  );
});

await test('text is one line for each mistake, then the result', async (t) => {
  const bad = await checkConfig([fixture('bad/alias-to-unknown-provider')], { OPENAI_API_KEY: 'k' });
  t.same(bad.output.split('\n'), [
    `${fixture('bad/alias-to-unknown-provider/b.yaml')}:3:13  aliases[0].target  there is no provider "opneai"; did you mean "openai"?`,
    `${fixture('bad/alias-to-unknown-provider/b.yaml')}:5:13  aliases[1].target  there is no provider "anthropic"; known: openai`,
    `${fixture('bad/alias-to-unknown-provider')}: 2 to correct in 2 files`,
  ]);
  const good = await checkConfig([fixture('good/empty')], {});
  t.match(good.output, /: ok, 1 file, revision [0-9a-f]{12}$/);
});

await test('a variable that is not set is a warning', async (t) => {
  const { code, output } = await checkConfig([fixture('good/minimal')], {});
  t.equal(code, 0);
  t.match(
    output,
    /^warning: .*a\.yaml:5:14 {2}|^warning: .*config\.yaml:5:14 {2}providers\.openai\.api_key {2}the environment variable OPENAI_API_KEY is not set/,
  );
});

await test('json is the result as data', async (t) => {
  const { output } = await checkConfig([fixture('bad/cap-zero'), '--format', 'json'], {});
  t.match(JSON.parse(output), {
    ok: false,
    files: 1,
    revision: /^[0-9a-f]{12}$/,
    problems: [
      {
        file: fixture('bad/cap-zero/a.yaml'),
        line: 5,
        column: 43,
        path: 'rate_limits.user_paths[0].limits[0].max_requests',
        message: /at least 1/,
      },
    ],
    warnings: [],
  });
});

await test('the rules are listed by the ids that metrics use, when asked for', async (t) => {
  const directory = 'examples/team-limits/config';
  const { output, code } = await checkConfig([directory, '--rules'], {});
  t.equal(code, 0);
  t.match(
    output,
    /^[a-z2-7]{8} {2}user_path {2}\/team-a +3 requests, 20000 tokens per minute, named team A per minute$/m,
  );
  t.match(output, /^[a-z2-7]{8} {2}provider +primary +20 requests in flight$/m);
  t.match(output, /^[a-z2-7]{8} {2}user_path +\/team-b\/batch +20 requests per 300s, shadow$/m);
  t.notMatch((await checkConfig([directory], {})).output, /in flight/);
  const template = ['examples/per-child/config', '--rules', '--format', 'json'];
  const { rules } = JSON.parse((await checkConfig(template, { GATEWAY_ENTITLEMENTS: 'quota_templates' })).output);
  t.match(rules, [
    { per_child: true, period_label: 'concurrent', period_seconds: 0, max_requests: 4 },
    { id: /^[a-z2-7]{8}$/, scope: 'user_path', subject: '/customers', mode: 'enforce', words: /for each child$/ },
    { period_label: 'hour', max_requests: 10_000, per_child: false, words: '10000 requests per hour' },
  ]);
  t.match(await checkConfig([fixture('bad/cap-zero'), '--rules'], {}), { code: 1 });
});

await test('so are the budgets', async (t) => {
  const directory = 'examples/chargeback/config';
  const { output, code } = await checkConfig([directory, '--rules'], {});
  t.equal(code, 0);
  t.match(output, /^[a-z2-7]{8} {2}user_path {2}\/unit-a +20 US dollars monthly$/m);
  t.match(output, /^[a-z2-7]{8} {2}user_path {2}\/unit-b +0\.5 US dollars daily, shadow$/m);
  t.match(output, /^[a-z2-7]{8} {2}label +batch +10 US dollars weekly, hard$/m);
  t.notMatch((await checkConfig([directory], {})).output, /US dollars/);
  const { budgets } = JSON.parse((await checkConfig([directory, '--rules', '--format', 'json'], {})).output);
  t.match(budgets[0], { scope: 'user_path', period_label: 'monthly', amount: 20, per_child: false, mode: 'enforce' });
  t.equal(budgets.length, 4);
});

await test('github prints annotations that cannot be forged', async (t) => {
  const { output, code } = await checkConfig([fixture('bad/cap-zero'), '--format', 'github'], {});
  t.equal(code, 1);
  t.match(
    output,
    `::error file=${fixture('bad/cap-zero/a.yaml')},line=5,col=43::rate_limits.user_paths[0].limits[0].max_requests  must be at least 1`,
  );
  t.match(
    (await checkConfig(['no,such:dir%\n::error::x', '--format', 'github'], {})).output,
    /^::error file=no%2Csuch%3Adir%25%0A%3A%3Aerror%3A%3Ax::the configuration/,
  );
  t.match(
    (await checkConfig([fixture('good/minimal'), '--format', 'github'], {})).output,
    /^::warning file=.*,line=5,col=14::/,
  );
});

await test('paths are relative to where the command was called, in every format', async (t) => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-check-')));
  t.teardown(() => {
    process.chdir(repository);
    rmSync(top, { recursive: true });
  });
  cpSync(fixture('bad/cap-zero'), join(top, 'deep/config'), { recursive: true });
  const fileOf = async (given: string, environment: Record<string, string> = {}): Promise<unknown> =>
    JSON.parse((await checkConfig([given, '--format', 'json'], environment)).output).problems[0].file;
  t.equal(await fileOf(join(top, 'deep/config')), join(top, 'deep/config/a.yaml'), 'an absolute path elsewhere');
  const called = { npm_lifecycle_event: 'check-config', INIT_CWD: top };
  t.equal(await fileOf('deep/config', called), 'deep/config/a.yaml', 'npm says where it was called');
  process.chdir(top);
  for (const given of [
    'deep/config',
    join(top, 'deep/config'),
    `${join(top, 'deep')}/./config/`,
    './deep/../deep/config',
  ]) {
    t.equal(await fileOf(given), 'deep/config/a.yaml', given);
    const { output } = await checkConfig([given, '--format', 'github'], {});
    t.match(output, /^::error file=deep\/config\/a\.yaml,line=5,col=43::/, given);
  }
  process.chdir(join(top, 'deep/config'));
  t.equal(await fileOf('.'), 'a.yaml');
  t.equal(await fileOf('../config'), 'a.yaml');
  process.chdir(repository);
  const variable = await checkConfig([fixture('good/empty'), '--format', 'github'], { SET_RATE_LIMIT_A: 'rpm=x' });
  t.match(variable.output, '::error file=SET_RATE_LIMIT_A,', 'a variable is no path');
});

await test('with --strict a warning fails, unless it is about a variable of this machine', async (t) => {
  const phantom = await checkConfig([fixture('good/rule-for-a-provider-to-come'), '--strict'], { OPENAI_API_KEY: 'k' });
  t.match(phantom, { code: 1, output: /^warning: .*so the rule matches nothing[\s\S]*--strict counts warnings$/ });
  const loose = await checkConfig([fixture('good/rule-for-a-provider-to-come')], { OPENAI_API_KEY: 'k' });
  t.match(loose, { code: 0 });
  const unset = await checkConfig([fixture('good/minimal'), '--strict'], {});
  t.match(unset, { code: 0, output: /^note: .*OPENAI_API_KEY is not set/ });
  t.match(
    (await checkConfig([fixture('good/minimal'), '--strict', '--format', 'github'], {})).output,
    /^::notice file=/,
  );
  const args = [fixture('good/rule-for-a-provider-to-come'), '--strict', '--format'];
  t.match((await checkConfig([...args, 'github'], {})).output, /^::error file=.*so the rule matches nothing/m);
  t.match(JSON.parse((await checkConfig([...args, 'json'], {})).output), { ok: false, strict: true, problems: [] });
});

await test('notes about keys of this machine do not bury warnings', async (t) => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-check-')));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const names = Array.from({ length: 300 }, (_, index) => `p${index}`);
  const providers = names.map(
    (name) => `  ${name}: { type: openai, api_key: "\${NOBODY_SETS_${name}}", models: [m] }\n`,
  );
  const rule = 'rate_limits: { models: [{ model: phantom, limits: [{ period: minute, max_requests: 1 }] }] }\n';
  writeFileSync(join(directory, 'a.yaml'), `providers:\n${providers.join('')}${rule}`);
  const { output, code } = await checkConfig([directory, '--strict'], {});
  t.equal(code, 1);
  const [first = '', ...rest] = output.split('\n');
  t.match(first, /^warning: .*a\.yaml:302:\d+ .*so the rule matches nothing/);
  t.equal(rest.filter((line) => line.startsWith('note: ')).length, 6);
  t.match(rest.at(-2), /^note: and \d+ more about variables and keys of this machine; --format json has them all$/);
});

await test('help says how it is used, what the formats are and what the exit code means', async (t) => {
  for (const args of [['--help'], ['-h'], ['DIR', '--help']]) {
    const { output, code } = await checkConfig(args, {});
    t.equal(code, 0);
    t.match(output, /^usage: model-gateway check DIR/);
    for (const word of [
      '--format text',
      '--format json',
      '--format github',
      '--rules',
      '--strict',
      '--diff',
      'exit code: 0 ',
    ]) {
      t.match(output, word);
    }
  }
});

await test('the command itself exits as it says', async (t) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const run = (...args: string[]): { status: number | null; stdout: string } =>
    spawnSync(process.execPath, ['gitops/cli/check.ts', ...args], {
      cwd: repository,
      encoding: 'utf8',
      env: { PATH, NODE_COMPILE_CACHE },
    });
  t.match(run(fixture('good/empty')), { status: 0, stdout: /ok, 1 file/ });
  t.match(run(fixture('bad/document-list')), { status: 1, stdout: /must be a mapping/ });
  t.match(run(), { status: 2, stdout: /usage/ });
});

await test('--token says what a token would get and by which claims, without its signature', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-token-'));
  t.teardown(() => rmSync(home, { recursive: true }));
  const file = join(home, 'sample.jwt');
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    iss: 'http://127.0.0.1:8263',
    aud: 'model-gateway',
    sub: 'ann',
    email: 'ann@x.org',
    groups: ['llm-admins'],
  };
  const checkToken = async (more: object, ...args: string[]) => {
    const token = `${part({ alg: 'ES256' })}.${part({ ...claims, exp: 1_900_000_000, ...more })}.x`;
    writeFileSync(file, `Bearer ${token}\n`);
    const checked = await checkConfig(['examples/identity/config', '--token', file, ...args], {});
    t.notOk(checked.output.includes(token.slice(30)));
    return checked;
  };
  const { output, code } = await checkToken({});
  t.equal(code, 0);
  t.match(output, /^token: company:ann would get, if its signature is right .* until 2030-03-17T17:46:40\.000Z:$/m);
  t.match(output, /^ {2}user_path +\/llm-admins\/ann@x\.org +identities\.company\.user_path, by groups\[0\], email$/m);
  t.match(output, /^ {2}dashboard +admin at \/ +identities\.company\.rights\[0\]\.dashboard, by groups$/m);
  t.match(JSON.parse((await checkToken({}, '--format', 'json')).output), { token: { caller: 'company:ann' } });
  for (const [more, why] of [
    [{ email: '' }, /refused: the claim email is empty/],
    [{ aud: 'x' }, /refused: it was issued for somebody else/],
    [{ iss: 'x' }, /refused: no identity of the configuration has its issuer/],
    [{ exp: undefined }, /refused: it has no end/],
  ] as const)
    t.match(await checkToken(more), { code: 1, output: why });
  t.match(await checkConfig(['examples/identity/config', '--token', join(home, 'none')], {}), { code: 2 });
});
