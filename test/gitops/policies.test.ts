// Policies of a directory: the typical ones of docs/policies.md and those of the example, each with an entry that keeps to it and one that breaks it;
// where breaches and mistakes are said to be; and files that must do no harm.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'tap';
import { parse } from 'yaml';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const page = readFileSync(join(top, 'docs/policies.md'), 'utf8');
const [first = '', typical = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml]) => yaml);
const example = readFileSync(join(top, 'examples/gitops-repo/config/policies/platform.cel.yaml'), 'utf8');
const today = '2026-12-01';

interface Said {
  readonly ok: boolean;
  readonly policies: number;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}
interface Problem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly policy?: string;
}

/** What check says of these files, by their paths. */
async function check(t: Teardown, files: Readonly<Record<string, string>>, environment = {}): Promise<Said> {
  const folder = temporaryDirectory(t, 'policies');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { output } = await checkConfig([folder, '--format', 'json'], environment, today);
  return JSON.parse(output.replaceAll(`${folder}/`, '')) as Said;
}

const provider = (name: string, more = ''): string =>
  `providers:\n  ${name}: { type: vllm, base_url: "https://${name}/v1", models: [{ id: m, pricing: { input_per_mtok: 1 } }]${more} }\n`;
const rule = (path: string, more = ''): string =>
  `rate_limits:\n  user_paths:\n    - path: ${path}\n      limits: [{ period: day, max_tokens: 1000${more} }]\n`;
const budget = (path: string, amount: number): string =>
  `    - { path: ${path}, limits: [{ period: monthly, amount: ${amount} }] }\n`;
const key = (more: string): string => `keys:\n  - { name: k, hash: "sha256:${'0'.repeat(64)}"${more} }\n`;
const ofProvider = `rate_limits:\n  providers:\n    - { name: p, limits: [{ period: minute, max_requests: 1 }] }\n`;
const alias = (targets: string): string =>
  `${provider('p')}  q: { type: vllm, base_url: "https://q/v1", models: [m, n] }\naliases:\n  - { source: a, targets: [${targets}] }\n`;

/** By policy: a configuration that keeps to it, one that breaks it, and where that is found. */
const cases: Readonly<Record<string, readonly [keeps: string, breaks: string, at: string, file?: string]>> = {
  'every-team-has-a-budget': [
    `${rule('/b')}budgets:\n  user_paths:\n${budget('/B', 1)}`,
    `${rule('/b')}budgets:\n  user_paths:\n${budget('/c', 1)}`,
    '3:7',
  ],
  'no-provider-without-a-rule': [provider('p') + ofProvider, provider('p'), '2:3'],
  'tokens-of-public-paths-are-capped': [
    `${rule('/public')}    - { path: /public/app, limits: [{ period: minute, max_requests: 1 }] }\n`,
    rule('/public/app').replace('max_tokens: 1000', 'max_tokens: 2000000'),
    '3:7',
  ],
  'no-alias-to-one-provider': [alias('{ model: m }'), alias('{ model: q/m }, { model: q/n }'), '5:5'],
  'keys-end-within-90-days': [key(', expires_at: "2027-02-01T00:00:00Z"'), key(''), '2:5'],
  'no-plain-http': [provider('p'), provider('p').replace('https:', 'http:'), '2:3'],
  'shadow-rules-are-named': [
    rule('/a', ', mode: shadow, name: until-2027-06'),
    rule('/a', ', mode: shadow, name: try'),
    '3:7',
  ],
  'the-platform-declares-providers': [provider('p'), provider('p'), '2:3', 'teams/a/a.yaml'],
  'teams-stay-below-the-budget-of-all': [
    `budgets:\n  user_paths:\n${budget('/', 9)}${budget('/a', 4)}${budget('/b', 5)}`,
    `budgets:\n  user_paths:\n${budget('/a', 5)}${budget('/b', 5)}${budget('/', 9)}`,
    '5:7',
  ],
  'every-model-has-a-price': [provider('p'), provider('p').replace(/, pricing: .*? }/, ''), '2:55'],
  'guardrails-are-enforced': [
    'guardrails:\n  - { name: g, mode: shadow, user_paths: [/lab/x], keywords: { words: [x], action: block } }\n',
    'guardrails:\n  - { name: g, mode: shadow, user_paths: [/lab, /a], keywords: { words: [x], action: block } }\n',
    '2:5',
  ],
  'records-without-words': ['audit:\n  retention: 30d\n', 'audit:\n  retention: 31d\n  bodies: false\n', '3:11'],
  'a-directory-has-its-teams-paths': [rule('/squad-a'), rule('/a'), '3:7', 'teams/a/a.yaml'],
  'every-provider-has-a-rule': [provider('p') + ofProvider, provider('p'), '2:3'],
  'every-team-has-a-limit': [
    `${rule('/b')}    - { path: /b/c, limits: [{ period: hour, max_tokens: 1 }] }\n`,
    rule('/b/c'),
    '3:7',
  ],
  'teams-keep-to-their-paths': [rule('/squad-a/app'), rule('/squad-b/app'), '3:7', 'teams/a/a.yaml'],
  'keys-have-a-path': [key(', user_path: /a'), key(''), '2:5'],
};

/** Where `keeps` stands when the policy is about files. */
const homes: Readonly<Record<string, string>> = {
  'the-platform-declares-providers': 'platform/a.yaml',
  'a-directory-has-its-teams-paths': 'teams/a/a.yaml',
  'teams-keep-to-their-paths': 'teams/a/a.yaml',
};

for (const text of [first, typical, example]) {
  const { policies } = parse(text) as { policies: { name: string; except?: readonly object[] }[] };
  for (const { except, ...policy } of policies) {
    if (policy.name === 'records-without-words' && text === example) continue;
    await test(`the policy ${policy.name} is kept to, and broken`, async (t) => {
      const [keeps, breaks, at, file = 'a.yaml'] = cases[policy.name] ?? [];
      t.ok(keeps, 'it has a case');
      t.ok(except === undefined || except.length > 0);
      const cel = JSON.stringify({ policies: [policy] });
      const kept = await check(t, { [homes[policy.name] ?? 'a.yaml']: keeps ?? '', 'p.cel.yaml': cel });
      t.equal(kept.policies, 1);
      t.strictSame(kept.problems, []);
      t.strictSame(
        kept.warnings.filter((warning) => warning.file.includes('cel') || warning.policy !== undefined),
        [],
        'it is asked of something',
      );
      const { problems, warnings } = await check(t, { [file]: breaks ?? '', 'p.cel.yaml': cel });
      const found = [...problems, ...warnings].filter((each) => each.policy === policy.name);
      t.strictSame(
        found.map((each) => `${each.file}:${each.line}:${each.column}`),
        [`${file}:${at}`],
      );
      t.match(found[0]?.message, new RegExp(`\\(policy ${policy.name}, p\\.cel\\.yaml:1:14\\)$`));
    });
  }
}

const base = `$\{BASE}`;
const policy = (more: string): string =>
  `policies:\n  - name: x\n    for: provider\n    message: "{{provider.name}} is wrong"\n${more}`;

await test('a breach ends with 1, or only with --strict, and the differences are said all the same', async (t) => {
  const folder = temporaryDirectory(t, 'severity');
  writeFileSync(join(folder, 'a.yaml'), provider('p'));
  const run = async (severity: string, ...options: string[]): Promise<[number, string]> => {
    writeFileSync(join(folder, 'p.cel.yaml'), policy(`    expect: 'false'\n    severity: ${severity}\n`));
    const { code, output } = await checkConfig([folder, ...options], {}, today);
    return [code, output.replaceAll(`${folder}/`, '')];
  };
  const said = 'a.yaml:2:3  providers.p  p is wrong (policy x, p.cel.yaml:2:5)';
  const [code, output] = await run('error', '--diff', folder);
  t.equal(code, 1);
  t.ok(output.startsWith(`${said}\ncompared with`), output);
  t.match(output, /nothing changed\n.*: 1 to correct in 1 file$/);
  t.match(await run('warning'), [0, `warning: ${said}`]);
  t.match(await run('warning', '--strict'), [1, said]);
});

await test('a policy that is asked of nothing is a note, and an exception of nothing a warning', async (t) => {
  const exception = '    except: [{ entry: q, reason: r }]\n';
  const cel = policy(`    where: provider.name == "z"\n    expect: 'true'\n${exception}`);
  const { ok, warnings } = await check(t, { 'a.yaml': provider('p'), 'p.cel.yaml': cel });
  t.ok(ok);
  t.match(warnings, [
    { line: 2, column: 5, message: 'is asked of nothing: where holds for no provider', isNote: true },
    { line: 7, column: 23, message: 'there is no provider "q"; did you mean "p"?' },
  ]);
});

await test('an address with a variable that is not set is not judged, and never shown with its value', async (t) => {
  const cel = policy(`    expect: provider.base_url.startsWith("https:")\n`).replace(
    'provider.name',
    'provider.base_url',
  );
  const files = { 'a.yaml': provider('p').replace('https://p', base), 'p.cel.yaml': cel };
  const { ok, warnings } = await check(t, files);
  t.ok(ok);
  const note = warnings.find(({ message }) => message.startsWith('is not asked of "p"'));
  t.match(note, { file: 'p.cel.yaml', environmental: true });
  const { problems } = await check(t, files, { BASE: 'http://hidden.example.org' });
  t.match(problems[0]?.message, /^\$\{BASE\}\/v1 is wrong/);
});

await test('mistakes in files of policies are named at their lines', async (t) => {
  const text = policy("    expext: 'true'\n    severity: fatal\n");
  const twins = `${policy("    expect: 'true'\n")}${policy("    expect: 'true'\n").split('\n').slice(1).join('\n')}`;
  const { ok, problems } = await check(t, { 'a.yaml': provider('p'), 'p.cel.yaml': text, 'twin.cel.yaml': twins });
  t.notOk(ok);
  t.match(
    problems.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`),
    [
      'p.cel.yaml:5:5 unknown key "expext"; did you mean "expect"?',
      'p.cel.yaml:6:15 must be one of error, warning, found the text "fatal"',
      'twin.cel.yaml:6:11 the policy "x" is already in twin.cel.yaml:2:5',
    ],
  );
  const shown = /\n(config\/\S+:6:13.*?)\n/.exec(page)?.[1];
  const wrong = first
    .replace(/^.*\n/, '')
    .replace('user_path.depth == 1', 'user_path.depth > 0')
    .replace('b.user_path ==', 'b.path ==');
  const [problem] = (await check(t, { 'a.yaml': '{}', 'p.cel.yaml': wrong })).problems;
  t.match(shown, problem?.message, 'as the page shows it');
});

await test('files that would take long or much memory are refused', async (t) => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (let level = 0; level < 9; level += 1)
    bomb.push(`${'bcdefghij'[level]}: &${'bcdefghij'[level]} [${Array(9).fill(`*${'abcdefghi'[level]}`).join()}]`);
  const deep = `policies: ${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  const nested = policy(`    expect: '${'['.repeat(900)}'\n`);
  const long = policy(`    expect: '${'true && '.repeat(200)}true'\n`);
  const many = `policies:\n${Array.from({ length: 201 }, (_, index) => policy(`    expect: 'true'\n`).split('\n').slice(1).join('\n').replace('x', `x${index}`)).join('')}`;
  for (const [name, text, said] of [
    ['bomb', bomb.join('\n'), /repeat more than 100000 values/],
    ['deep', deep, /nested too deeply/],
    ['nested', nested, /has a mistake at/],
    ['long', long, /longer than 1000 characters/],
    ['many', many, /has more than 200 entries/],
  ] as const) {
    const { ok, problems } = await check(t, { 'a.yaml': '{}', 'p.cel.yaml': text });
    t.notOk(ok, name);
    t.match(problems[0]?.message, said, name);
  }
});
