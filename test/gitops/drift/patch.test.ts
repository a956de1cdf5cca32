// The patch that puts what operators have set into the files: real git applies it, and the files then say what held before.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Test, test } from 'tap';
import { patchOf } from '../../../gitops/drift/patch/patch.ts';
import { readDirectory } from '../../../gitops/read/read.ts';
import {
  alias,
  budget,
  filesOf,
  guardrail,
  issued,
  problemsOf,
  rule,
  type Stored,
  standOf,
} from '../../control-plane/drift-stand.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

const providers =
  'providers:\n  demo: { type: openai, base_url: "https://demo.test/v1", api_key: "k", models: [small, big] }\n';

/** Applies the patch of all overrides with git, and holds what the files say then against what held. Gives the patch and the texts. */
async function applied(t: Test, git: Readonly<Record<string, string>>, sets: readonly Stored[]) {
  const files = filesOf({ 'providers.yaml': providers, ...git });
  const stand = standOf(files, sets);
  const patch = patchOf(files, stand.overrides(), { mayShow: () => true });
  const folder = temporaryDirectory(t, 'patch');
  for (const { name, bytes } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  execFileSync('git', ['init', '-q'], { cwd: folder });
  if (patch.text !== '') execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: folder, input: patch.text });
  const reading = await readDirectory(folder, '');
  const after = reading.files.map((file) => ({ ...file, path: file.name }));
  t.same(problemsOf(after), [], patch.text);
  t.same(
    Object.fromEntries(after.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])),
    Object.fromEntries(patch.files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])),
    'git makes what was foreseen',
  );
  if (patch.leftOut.length === 0) t.same(standOf(after, []).inForce(), stand.inForce(), patch.text);
  return { ...patch, read: (name: string) => readFileSync(join(folder, name), 'utf8') };
}

const limits = `# Who may ask how often.
rate_limits:
  user_paths:
    # Team A is the shop.
    - path: /Team-a # the shop
      limits:
        - period: minute # agreed with Ann
          max_requests: 60

        # Tokens are dear.
        - { period: hour, max_tokens: 9000 }
    - path: "/it's"
      limits: [{ period: minute, max_requests: 1 }]   # flow

  providers:
    - name: demo
      limits:
        - period: concurrent
          max_requests: 5
          mode: enforce
# The end.
`;

await test('an entry that is there is changed in its place, and the rest of the file stays', async (t) => {
  const sets = [
    rule('/team-a', { max_requests: 600 }),
    rule('/TEAM-A', { period_seconds: 3_600, max_requests: 7, max_tokens: null, mode: 'shadow', name: 'night' }),
    rule('/team-a', { period_seconds: 300 }),
    rule("/it's", { max_requests: 2 }),
    rule("/it's", { period_seconds: 86_400 }),
    rule('demo', { scope: 'provider', period_seconds: 0, max_requests: 6 }),
    rule('/new', { reason: '# a\n\ndiff --git a/x b/x\n--- a/x' }),
  ];
  const { read, text, changed } = await applied(t, { 'limits.yaml': limits }, sets);
  t.same(changed, ['limits.yaml', 'manual.yaml']);
  t.equal(
    read('limits.yaml'),
    limits
      .replace('max_requests: 60\n', 'max_requests: 600\n')
      .replace(
        '{ period: hour, max_tokens: 9000 }\n',
        '{ period: hour, max_requests: 7, name: night, mode: shadow }\n        # set by ann on 2026-05-21T08:00:00.000Z\n        # launch day\n        - period_seconds: 300\n          max_requests: 5\n',
      )
      .replace(
        '[{ period: minute, max_requests: 1 }]',
        '[{ period: minute, max_requests: 2 }, { period: day, max_requests: 5 }]',
      )
      .replace('max_requests: 5\n          mode: enforce', 'max_requests: 6\n          mode: enforce'),
  );
  t.match(text, /^# rate limit user_path \/team-a minute: set by ann on .*; stands in front of limits.yaml:7\n/m);
});

await test('other ways to write a file: CRLF, no last line end, flow style, names with quotes, a subject in one of three files', async (t) => {
  const crlf = limits.replaceAll('\n', '\r\n');
  const { read } = await applied(t, { 'a b/"é\\.yaml': crlf }, [
    rule('/team-a', { max_requests: 600 }),
    rule('/team-a', { period_seconds: 7 }),
  ]);
  t.notMatch(read('a b/"é\\.yaml').replaceAll('\r\n', ''), /\n/);

  const open =
    'rate_limits:\n  user_paths:\n    - path: /a\n      limits:\n        - period: minute\n          max_requests: 1';
  await applied(t, { 'a.yaml': open }, [rule('/a')]);
  await applied(t, { 'a.yaml': open }, [rule('/a', { period_seconds: 9 }), rule('/a', { max_tokens: 8 })]);
  await applied(t, { 'a.yaml': `${open}\n` }, [rule('/a', { per_child: true })]);

  const flow = '{"rate_limits": {"user_paths": [{"path": "/a", "limits": [{"period": "minute", "max_requests": 1}]}]}}';
  await applied(t, { 'a.yaml': flow }, [rule('/a'), rule('/a', { period_seconds: 9 }), rule('/b')]);

  const of = (path: string, cap: number): string =>
    `rate_limits:\n  user_paths:\n    - path: ${path}\n      limits: [{ period: minute, max_requests: ${cap} }]\n`;
  const three = { '1.yaml': of('/a', 1), '2.yaml': of('/b', 2), '3.yaml': of('/c', 3) };
  const { changed } = await applied(t, three, [rule('/b', { period_seconds: 3_600 }), rule('/C')]);
  t.same(changed, ['2.yaml', '3.yaml']);
  const taken = await applied(t, { ...three, 'manual.yaml': '{}\n' }, [rule('/d')]);
  t.same(taken.changed, ['manual-2.yaml']);
});

await test('a template beside a plain limit, and in its place', async (t) => {
  const one =
    'rate_limits:\n  user_paths:\n    - path: /a\n      per_child: true\n      limits:\n        - { period: minute, max_requests: 1 }\n';
  await applied(t, { 'a.yaml': one }, [rule('/a')]);
  await applied(t, { 'a.yaml': one }, [rule('/a', { period_seconds: 9 })]);
  const two = `${one}        # the day\n        - period: day\n          max_requests: 9\n    - path: /b\n      limits: [{ period: minute, max_requests: 1 }]\n`;
  await applied(t, { 'a.yaml': two }, [rule('/a'), rule('/b', { per_child: true })]);
});

await test('budgets and their windows, virtual models, guardrails and keys', async (t) => {
  const others = `budgets:
  settings: { daily_reset_hour: 5 } # the morning
  labels:
    - label: "<<"
      limits:
        - period: daily
          amount: 5 # dollars
aliases:
  # The quick one.
  - source: Fast
    target: demo/small # for now
    description: quick
  - { source: slow, targets: [{ model: demo/big }] }
guardrails:
  - name: words
    keywords:
      words: [a]
      action: block
  - name: prompt
    system_prompt:
      text: |
        Be kind.
        Be short.
`;
  const sets = [
    budget('label', '<<', { amount_nano_dollars: 7e9 }),
    budget('label', '<<', { period_seconds: 604_800 }),
    budget('user_path', '/x'),
    { kind: 'budget_settings', id: 'settings', body: { daily_reset_hour: 6, monthly_reset_day: 15 } },
    alias('fast', {
      source: 'Fast',
      targets: [{ model: 'demo/big', weight: 1 }],
      strategy: 'failover',
      user_paths: ['/a'],
    }),
    alias('slow', {
      targets: [
        { model: 'demo/big', weight: 2 },
        { model: 'demo/small', weight: 1 },
      ],
    }),
    alias('third'),
    guardrail('words', {
      keywords: { words: ['a', '- b', `\${C}`], whole_words: true, replacement: '', action: 'block' },
    }),
    guardrail('prompt', { system_prompt: { text: 'Be brief.\n\n# Always: yes\n', position: 'before' } }),
    issued('ann'),
  ];
  const { read, text } = await applied(t, { 'all.yaml': others }, sets);
  t.match(
    read('all.yaml'),
    '  - source: Fast\n    target: demo/big # for now\n    strategy: failover\n    user_paths:\n      - /a\n  - { source: slow',
  );
  t.match(read('all.yaml'), '# The quick one.');
  t.notMatch(text, /secret-/);
});

await test('what has a name in the file, or stands for it, is left to a person; the others are taken', async (t) => {
  const named = `rate_limits:
  user_paths:
    - path: /a
      limits: &usual
        - { period: minute, max_requests: 1 }
    - path: /b
      limits: *usual
    - &c
      path: /c
      limits:
        - { period: minute, max_requests: 1 }
    - path: /d
      limits:
        - &minute { period: minute, max_requests: 1 }
        - { period: hour, max_requests: 1 }
`;
  const sets = [
    rule('/a'),
    rule('/a', { period_seconds: 9 }),
    rule('/b'),
    rule('/c'),
    rule('/d'),
    rule('/d', { period_seconds: 3_600 }),
  ];
  const { leftOut, taken, read } = await applied(t, { 'a.yaml': named }, sets);
  t.same(
    taken.map(({ name }) => name),
    ['user_path /d hour'],
  );
  t.match(leftOut[0], { why: /^change a.yaml(:\d+)? by hand: a part of it has a name \(&usual\)/ });
  t.match(read('a.yaml'), '- { period: hour, max_requests: 5 }\n');
});

await test('a line that may not be shown is in no patch', async (t) => {
  const files = filesOf({ 'providers.yaml': providers, 'limits.yaml': limits });
  const lines = limits.split('\n').map((line) => !line.includes('#'));
  const mayShow = (_: string, line: number): boolean => lines[line] ?? true;
  const sets = [
    rule('/team-a', { max_requests: 600 }),
    rule("/it's", { max_requests: 2 }),
    rule('demo', { scope: 'provider', period_seconds: 0, max_requests: 6 }),
    rule('demo', { scope: 'provider' }),
  ];
  const { text, leftOut, taken } = patchOf(files, standOf(files, sets).overrides(), { mayShow });
  t.notMatch(text.replaceAll(/^# .*\n/gm, '').replaceAll(/^\+.*\n/gm, ''), /#/);
  t.same(
    leftOut.map(({ override, why }) => [override.name, why.replace(/ may .*/, '')]),
    [["user_path /it's minute", 'line 13 of limits.yaml']],
  );
  t.equal(taken.length, 3);
  const folder = temporaryDirectory(t, 'patch');
  for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes);
  execFileSync('git', ['init', '-q'], { cwd: folder });
  execFileSync('git', ['apply', '-'], { cwd: folder, input: text });
  t.match(readFileSync(join(folder, 'limits.yaml'), 'utf8'), /max_requests: 600\n/);
});

await test('five thousand overrides of one file are one patch', async (t) => {
  const many = Array.from(
    { length: 2_500 },
    (_, index) => `    - path: /n/${index}\n      limits:\n        - { period: minute, max_requests: 1 }\n`,
  );
  const sets = Array.from({ length: 5_000 }, (_, index) => rule(`/n/${index}`));
  const { taken } = await applied(t, { 'many.yaml': `rate_limits:\n  user_paths:\n${many.join('')}` }, sets);
  t.equal(taken.length, 5_000);
});
