// Files of tests: mistakes in them, bounds, and the forms of results.
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { parse } from 'yaml';
import { checkConfig } from '../../../gitops/cli/check-directory.ts';
import { checked } from './fixture.ts';

const one = (name: string, rest: string): string => `tests:\n  - name: ${name}\n    ${rest}\n`;
const good = 'given: { model: chat }\n    expect: { admitted: true }';

await test('a mistake in a file of tests fails check, with its line and a suggestion', async (t) => {
  const cases: readonly (readonly [text: string, line: string])[] = [
    [
      one('a', 'given: { modle: chat }\n    expect: { admitted: true }'),
      '3:14  tests[0].given.modle  unknown key "modle"; did you mean "model"?',
    ],
    [
      one('a', 'given: { model: chat }\n    expect: {}'),
      '4:13  tests[0].expect  What must become of it: at least one of admitted,',
    ],
    [one('a', 'given: { model: chat }'), '2:5  tests[0]  the key "expect" is missing'],
    [one('a', 'given: { model: chat, time: yesterday }\n    expect: { admitted: true }'), 'tests[0].given.time  '],
    [
      one('a', 'given: { model: chat, used_before: [{ over: 30s }] }\n    expect: { admitted: true }'),
      'says nothing that was used: name requests, tokens, in_flight or spent',
    ],
    [one('a', 'given: { model: chat }\n    expect: { price: 1 }'), '4:22  tests[0].expect.price  needs given.tokens'],
    [
      one('a', 'given: { model: chat }\n    expect: { admitted: true, refused: { by: x } }'),
      'contradicts admitted: true',
    ],
    [
      `${one('a', good)}  - name: a\n    ${good}\n`,
      '5:11  tests[1].name  is the name of a test before it; give each its own',
    ],
    ['tests: []\n', 'tests  '],
    ['- 1\n', '1:1  must be a mapping'],
    [`tests: ${'['.repeat(200)}${']'.repeat(200)}\n`, 'is nested too deeply'],
    [
      `x: &a [1,2,3,4,5,6,7,8,9,10]\ny: &b [${'*a,'.repeat(200)}]\nz: &c [${'*b,'.repeat(200)}]\ntests: [*c]\n`,
      'repeat more than 100000 values',
    ],
  ];
  for (const [text, line] of cases) {
    const { output, code } = await checked(t, text);
    t.match(output, line, text.slice(0, 80));
    t.equal(code, 1);
  }
});

await test('files of tests are bounded', async (t) => {
  const large = await checked(t, Buffer.alloc(8 * 1_048_576 + 1, '#'));
  t.match(large, { code: 1, output: 'DIR/teams/a.test.yaml  is larger than 8 MiB, the limit for one file' });
  const many = `tests:\n${Array.from({ length: 3_000 }, (_, index) => `  - { name: n${index}, given: { model: chat }, expect: { targets: [x/y] } }\n`).join('')}`;
  const { output, code } = await checked(t, many);
  t.match(output, /3000 of 3000 tests failed$/);
  t.equal(code, 1);
  t.equal(
    output.split('\n').filter((line) => line.includes('nothing stands in its way')).length,
    100,
    'some are explained',
  );
});

await test('JUnit has a case for each test, whatever its name holds', async (t) => {
  const name = String.raw`"<a> & \"b\" ]]> \u0007 \u2028 line\nbreak"`;
  const { output, code } = await checked(
    t,
    `${one(name, 'given: { model: chat }\n    expect: { alias: other }')}  - name: fine\n    ${good}\n`,
    '--format',
    'junit',
  );
  t.equal(code, 1);
  t.match(output, '<testsuites name="model-gateway check" tests="2" failures="1" errors="0" time="1.000">');
  t.match(output, '<testsuite name="DIR/teams/a.test.yaml" tests="2" failures="1" errors="0" skipped="0" time="0">');
  t.match(
    output,
    'name="&lt;a&gt; &amp; &quot;b&quot; ]]&gt; \ufffd \u2028 line&#10;break" file="DIR/teams/a.test.yaml" line="2"',
  );
  t.match(
    output,
    '<failure message="tests[0].expect.alias: expected the alias other; came the alias chat" type="expectation">',
  );
  t.match(
    output,
    '<testcase classname="DIR/teams/a.test.yaml" name="fine" file="DIR/teams/a.test.yaml" line="5" time="0"/>',
  );
  t.notMatch(output, /[^\P{Cc}\n]/u);
  const broken = await checked(t, 'tests: 1\n', '--format=junit');
  t.match(broken, {
    code: 1,
    output: /tests="1" failures="1".*\n<testsuite name="check".*\n.*type="configuration">DIR\/teams\/a.test.yaml:1:8/,
  });
});

await test('JSON and annotations have each failure at its line', async (t) => {
  const text = one('"two\\nlines"', 'given: { model: chat }\n    expect: { alias: other }');
  const json = JSON.parse((await checked(t, text, '--format', 'json')).output) as object;
  t.match(json, {
    ok: true,
    tests: {
      total: 1,
      count_failed: 1,
      failed: [
        {
          file: 'DIR/teams/a.test.yaml',
          line: 2,
          name: 'two\nlines',
          failures: [
            { path: 'tests[0].expect.alias', line: 4, column: 22, expected: 'the alias other', came: 'the alias chat' },
          ],
          explanation: { outcome: 'It would be sent to main/m; when that fails, to spare/m.' },
        },
      ],
    },
  });
  const github = (await checked(t, text, '--format', 'github')).output;
  t.match(
    github,
    /\n::error file=DIR\/teams\/a.test.yaml,line=4,col=22::two%0Alines: tests\[0\].expect.alias {2}expected the alias other; came the alias chat%0A%0AIt would be sent/,
  );
});

await test('check alone reads files of tests, and says who runs them', async (t) => {
  t.match(await checkConfig(['DIR', '--test'], {}), {
    code: 2,
    output: 'tests are run by: model-gateway check DIR --test',
  });
});

await test('the page of the documentation has tests as the example has them', (t) => {
  const page = readFileSync('docs/config-tests.md', 'utf8');
  const [, text = ''] = /```yaml\n(# config.*?)```/s.exec(page) ?? [];
  const { tests: shown } = parse(text) as { tests: { name: string; given: object; expect: object }[] };
  const file = 'examples/gitops-repo/config/teams/a/limits.test.yaml';
  const { tests } = parse(readFileSync(file, 'utf8')) as { tests: typeof shown };
  for (const { name, given, expect } of shown) {
    const same = tests.find((each) => each.name === name);
    t.match(same?.given, given);
    t.match(same?.expect, expect);
  }
  t.equal(shown.length, 2);
  t.end();
});
