// A configuration spread over files: entries merge, and every mistake is named in the file where it is.
import { test } from 'tap';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { bare, entitled, file, lines } from './load-fixtures.ts';

await test('nothing is said about providers that may be in a broken file', async (t) => {
  const using = file(
    'a.yaml',
    'aliases: [{ source: a, target: b/m }]\nrate_limits: { models: [{ model: m, limits: [{ period: day, max_requests: 1 }] }] }\n',
  );
  const given = file('b.yaml', 'providers: { a: { type: openai, models: [n] } }\n');
  for (const broken of ['providers: [', 'providers: { b: { type: opneai, models: [m] } }\n']) {
    const { problems, warnings } = loadFiles([using, given, file('c.yaml', broken)], bare);
    t.match({ problems: problems.map(({ file: name }) => name), warnings }, { problems: ['c.yaml'], warnings: [] });
  }
});

await test('a variable that is not set is named in the file that has it', async (t) => {
  const rule = (model: string): string => `{ model: ${model}, limits: [{ period: day, max_requests: 1 }] }`;
  const { problems, warnings } = loadFiles(
    [
      file('a.yaml', `rate_limits: { models: [${rule('m')}] }\nproviders: { a: { type: vllm, models: [m] } }\n`),
      file('b/b.yaml', `rate_limits: { models: [${rule('phantom')}, ${rule('chat')}] }\n`),
      file(
        'c.yaml',
        `aliases: [{ source: chat, target: a/m }]\nproviders: { c: { type: openai, api_key: "\${NONE}", models: [n] } }\n`,
      ),
    ],
    { ...entitled, variables: 'warning' },
  );
  t.same(problems, []);
  t.same(lines(warnings), [
    'b/b.yaml:1:34  rate_limits.models[0].model  no provider lists the model "phantom", so the rule matches nothing',
    'b/b.yaml:1:98  rate_limits.models[1].model  "chat" is an alias, so the rule matches nothing; limit the models it leads to',
    `c.yaml:2:42  providers.c.api_key  the environment variable NONE is not set; set it, or give a default: \${NONE:-…}`,
  ]);
});
