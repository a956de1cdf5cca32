// `import`: configurations of other gateways become one of ours; what has no counterpart is named, and no secret of theirs comes along.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { t as suite, test } from 'tap';
import { parse } from 'yaml';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { importConfig } from '../../gitops/cli/import.ts';
import { isFull } from '../support/extent.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { bare, file, lines, pathsOf, withValue } from './load-fixtures.ts';

const fixtures = join(import.meta.dirname, '../fixtures/import');
const scratch = temporaryDirectory(suite, 'import');
// Other files of tests run in this process after it.
suite.teardown(() => process.chdir(join(import.meta.dirname, '../..')));
process.chdir(scratch);

/** Imports a text as a file of this name. */
async function imported(name: string, text: string | Uint8Array, ...options: string[]) {
  writeFileSync(join(scratch, name), text);
  return importConfig([name.endsWith('.json') ? 'portkey' : 'litellm', name, ...options], {});
}

/** The problems of a YAML text as a gateway would report them; variables may be unset. */
const problemsOf = (yaml: string): string[] =>
  lines(loadFiles([file('a.yaml', yaml)], { ...bare, environment: {}, variables: 'warning' }).problems);

const cases = readdirSync(fixtures).map((name) => {
  const source = readdirSync(join(fixtures, name)).find((entry) => entry.startsWith('config.')) ?? '';
  const keys = join(fixtures, name, 'keys.json');
  const ofKeys = existsSync(keys) ? ['--keys', keys] : [];
  const options = source.endsWith('.json') ? ['--name', 'chat'] : ofKeys;
  return { name, source, options, text: readFileSync(join(fixtures, name, source), 'utf8') };
});

/** A deployment with these parameters, in a file of one. */
const deployment = (params: object, more: object = {}): string =>
  JSON.stringify({ model_list: [{ model_name: 'm', litellm_params: { model: 'openai/m', ...params } }], ...more });

await test('configurations of ten shapes become ours, which load', async (t) => {
  t.equal(cases.length, 10);
  for (const { name, source, options, text } of cases) {
    const { output, code } = await imported(source, text, ...options);
    t.equal(`${output}\n`, readFileSync(join(fixtures, name, 'expected.yaml'), 'utf8'), name);
    t.same({ code, problems: problemsOf(output) }, { code: 0, problems: [] }, name);
    const told = await imported(source, text, '--out', name, ...options);
    t.notMatch(output + told.output, /canary/i, `${name}: no secret of the source`);
  }
});

await test('with --out a file is written and a report printed; no file is overwritten without --force', async (t) => {
  const text = deployment({ api_key: 'sk-written-out-000', temperature: 1 }, { router_settings: { timeout: 5 } });
  const first = await imported('a.yaml', text, '--out', 'made/here');
  const written = readFileSync('made/here/litellm.yaml', 'utf8');
  t.match(first, {
    code: 0,
    output:
      /Taken over \(1\)\n[\s\S]*Without a counterpart \(1\)\n {2}a.yaml:1 [\s\S]*OPENAI_API_KEY: the secret that is written out at a.yaml:1/,
  });
  t.match(first.output, 'Written to made/here/litellm.yaml. Next: model-gateway check made/here');
  t.same(await imported('a.yaml', deployment({}), '--out', 'made/here'), {
    output: 'made/here/litellm.yaml exists; --force overwrites it',
    code: 1,
  });
  t.equal(readFileSync('made/here/litellm.yaml', 'utf8'), written);
  t.equal((await imported('a.yaml', deployment({ model: 'openai/other' }), '--out', 'made/here', '--force')).code, 0);
  t.match(readFileSync('made/here/litellm.yaml', 'utf8'), '- other');
});

await test('keys of the environment become providers by reference', async (t) => {
  const environment = {
    OPENAI_API_KEY: 'canary-1',
    ANTHROPIC_API_KEY: 'canary-2',
    GROQ_API_KEY: '',
    AWS_ACCESS_KEY_ID: 'canary-3',
    AWS_SECRET_ACCESS_KEY: 'canary-4',
    AWS_REGION: 'eu-west-1',
    AZURE_OPENAI_API_KEY: 'canary-5',
    AZURE_OPENAI_ENDPOINT: 'https://canary.openai.azure.com',
    OPENAI_API_VERSION: '2024-10-21',
    OLLAMA_API_BASE: 'http://canary:11434',
  };
  const { output, code } = await importConfig(['env'], environment);
  t.same({ code, problems: problemsOf(output) }, { code: 0, problems: [] });
  t.notMatch(output, /canary/);
  const { providers } = parse(output) as { providers: Record<string, unknown> };
  t.same(Object.keys(providers), ['openai', 'anthropic', 'azure', 'bedrock', 'ollama']);
  const keys = `\${AWS_ACCESS_KEY_ID}:\${AWS_SECRET_ACCESS_KEY}`;
  t.match(providers['bedrock'], { api_key: keys, base_url: `https://bedrock-runtime.\${AWS_REGION}.amazonaws.com` });
  t.match(providers['azure'], { base_url: `\${AZURE_OPENAI_ENDPOINT}?api-version=\${OPENAI_API_VERSION}` });
  t.match(await importConfig(['env'], {}), { code: 1, output: /^the environment {2}has no key of a provider/ });
});

await test('a wrong command is exit 2 and one sentence', async (t) => {
  const rows: [args: string[], sentence: string][] = [
    [[], 'no source is named: litellm, portkey, env'],
    [['litelm', 'a'], 'the source "litelm" is unknown; did you mean "litellm"?; known are litellm, portkey, env'],
    [['litellm'], 'no file is named: litellm needs the one to read'],
    [['portkey', 'a', 'b'], '"b" is too many'],
    [['env', 'a'], '"a" is too many'],
    [['litellm', 'a', '--out'], '--out needs a value: a directory'],
    [['litellm', 'a', '--forc'], 'the option --forc is unknown; did you mean "--force"?'],
    [['litellm', 'a', '--name', 'x'], '--name is for portkey'],
    [['portkey', 'a', '--keys', 'x'], '--keys is for litellm'],
  ];
  for (const [args, sentence] of rows) {
    const { code, output } = await importConfig(args, {});
    t.same([code, output.split('\n')[0]], [2, sentence], args.join(' '));
  }
  t.match(await importConfig(['--help'], {}), { code: 0, output: /usage: model-gateway import litellm\|portkey\|env/ });
});

await test('a file that cannot be used is exit 1, with the places of what is wrong and without its values', async (t) => {
  const rows: [name: string, text: string, line: string | RegExp][] = [
    ['a.yaml', 'model_list: 5', 'a.yaml:1:13  model_list  must be a list, found a number'],
    [
      'a.yaml',
      'model_list:\n  - model_name: a\n    litellm_params:\n      model: [canary]\n      rpm: canary\n',
      /^a.yaml:4:14 {2}model_list\[0\].litellm_params.model {2}must be text, found a list/,
    ],
    ['a.yaml', 'model_list:\n  - model_name: a\n', 'a.yaml:2:5  model_list[0]  must have litellm_params'],
    ['a.yaml', 'models: []', /^a.yaml:1:1 {2}has no model_list/],
    ['a.yaml', 'model_list: []\nmodel_list: []', /^a.yaml:2:1 {2}model_list {2}the key "model_list" is given twice/],
    ['a.yaml', 'model_list: *canary', /^a.yaml:1:13 {2}/],
    ['a.yaml', 'model_list: [ "sk-canary\n', /^a.yaml:/],
    ['a.yaml', 'a: b\n  - "sk-canary"\n', /^a.yaml:/],
    ['a.yaml', 'api_key: 0xCA4A27\n', /must be a plain decimal number such as 10; if text/],
    ['a.yaml', 'model_list: !!python/object:os.system [ls]', /tags \(! and !!\) are not supported/],
    ['a.yaml', 'a\0b', /holds a NUL byte/],
    ['a.json', '{"strategy": {"mode": "fallback"}, "targets": {}}', /^a.json:1:47 {2}targets {2}must be a list/],
    ['a.json', '{"a": 1', /^a.json:1/],
    ['a.json', '{}', /^a.json:1:1 {2}has no strategy with targets/],
    ['a.json', '[{"provider": "openai"}]', /must be a mapping/],
    ['a.yaml', deployment({ api_base: 'ftp://canary' }), /api_base {2}is no address that begins with http/],
    ['a.yaml', deployment({ aws_region_name: 'a/../canary', model: 'bedrock/x' }), /must be a name of letters, digits/],
  ];
  for (const [name, text, line] of rows) {
    const { output, code } = await imported(name, text);
    t.equal(code, 1, text);
    t.match(output, line, text);
    t.notMatch(output, /sk-canary|CA4A27|ls\]/, text);
  }
  t.match(await importConfig(['litellm', 'nothing.yaml'], {}), { code: 1, output: 'nothing.yaml  does not exist' });
  const keys = await imported('a.yaml', deployment({}), '--keys', 'a.yaml');
  t.match(keys, { code: 1, output: /^a.yaml:1:1 {2}has no list "keys"/ });
  t.match(await importConfig(['litellm', '.'], {}), { code: 1, output: /is a directory/ });
});

await test('hostile files are bounded', async (t) => {
  const laughs = Array.from({ length: 12 }, (_, level) => {
    const inner = level === 0 ? 'lol' : Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ');
    return `a${level}: &a${level} [${inner}]\n`;
  }).join('');
  const merges = `a0: &a0 {k: v}\n${Array.from({ length: 12 }, (_, level) => `a${level + 1}: &a${level + 1}\n  <<: [${Array.from({ length: 9 }, () => `*a${level}`).join(', ')}]\n  k${level}: *a${level}\n`).join('')}`;
  const rows: [text: string, words: RegExp][] = [
    [`model_list: ${'['.repeat(5_000)}`, /nested too deeply/],
    [`${'{a: '.repeat(200)}1${'}'.repeat(200)}`, /nested too deeply/],
    [laughs, /repeat more than 100000 values/],
    [merges, /repeat more than 100000 values/],
    [`model_list: &a [*a]`, /is inside the value it refers to/],
    [`model_list: []\n# ${'x'.repeat(5 * 1_048_576)}`, /is larger than 1 MiB/],
    [`model_list:\n${'  - 5\n'.repeat(3_000)}`, /must be a mapping, found a number/],
  ];
  for (const [text, words] of rows) {
    const { output, code } = await imported('a.yaml', text);
    t.equal(code, 1, text.slice(0, 40));
    t.match(output, words);
    t.ok(output.length < 100_000);
  }
});

await test('names, keys and addresses of the source break nothing', async (t) => {
  const names = ['__proto__', 'constructor', '#not-a-comment', 'yes', '1e3', 'a: b', `$\{OPENAI_API_KEY}`, 'é\u202e'];
  const list = names.flatMap((name) => [
    { model_name: name, litellm_params: { model: `openai/${name}`, input_cost_per_token: 1e-6, rpm: 5 } },
    { model_name: 'pool', litellm_params: { model: `openai/${name}`, api_key: name } },
  ]);
  const more = {
    router_settings: { fallbacks: [{ pool: names }], num_retries: 99, model_group_alias: { other: 'pool' } },
  };
  const { output, code } = await imported('a.yaml', JSON.stringify({ model_list: list, ...more }));
  t.same({ code, problems: problemsOf(output) }, { code: 0, problems: [] });
  const loops = {
    model_list: [
      { model_name: 'gpt-4o', litellm_params: { model: 'openai/gpt-4o', rpm: 5 } },
      { model_name: 'GPT-4o', litellm_params: { model: 'openai/GPT-4o', rpm: 5 } },
      { model_name: 'openai/gpt-4.1', litellm_params: { model: 'openai/gpt-4.1' } },
      { model_name: 'openai/*', litellm_params: { model: 'openai/*' } },
    ],
    router_settings: {
      fallbacks: [{ '*': ['gpt-4o'] }, { 'openai/gpt-5': ['gpt-4o'] }],
      model_group_alias: { 'openai/gpt-4o': 'gpt-4o', 'OpenAI/gpt-4.1': 'openai/gpt-4.1' },
    },
  };
  const { output: straight } = await imported('d.yaml', JSON.stringify(loops));
  t.same(problemsOf(straight), []);
  t.match(straight, 'router_settings.fallbacks[1]["openai/gpt-5"]: is of a name that is no model_name');
  const headers = { Authorization: 'Bearer canary', 'X-Key': 'canary', 'Bad Header': 'canary', Host: 'canary' };
  const secrets = {
    api_base: 'https://canary:canary@example.com/v1?token=canary#canary',
    extra_headers: headers,
    api_key: 'canary',
    canary_unknown: 'canary',
  };
  const { output: clean } = await imported(
    'b.yaml',
    deployment(secrets).replace('canary_unknown', 'sk-canary-unknown'),
  );
  t.notMatch(clean, /canary/);
  t.same(problemsOf(clean), []);
  const named = await imported(
    'c.yaml',
    deployment({ model: 'openai/sk-written-where-a-name-belongs' }),
    '--out',
    'none',
  );
  t.match(named, { code: 1, output: /^c.yaml {2}has what looks like a key in the place of a name/ });
  t.notOk(existsSync('none'));
});

await test('a value of any other type is a problem with a place, or changes what comes out; it never breaks it', async (t) => {
  const odd = [null, [], {}, -1, 1e300, '', 'odd', true, [null], { odd: [] }];
  const broken: string[] = [];
  for (const { name, source, options, text } of cases) {
    const root: unknown = parse(text, { merge: true });
    for (const [index, path] of pathsOf(root).entries()) {
      if (!isFull && index % 9 !== 0) continue;
      const value = odd[index % odd.length];
      const { output, code } = await imported(source, JSON.stringify(withValue(root, path, value)), ...options);
      const isSound = code === 0 ? problemsOf(output).length === 0 : output.startsWith(source);
      if (!isSound) broken.push(`${name} ${path.join('.')} = ${JSON.stringify(value)}: ${output.slice(-300)}`);
    }
  }
  t.same(broken, []);
});

const oneOf = (...values: unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(undefined, ...values);
const names = fc.constantFrom(
  'gpt',
  'GPT',
  'openai/gpt',
  'openai/*',
  'eu/*',
  '*',
  'claude-*',
  'gpt-first',
  'openai',
  'a b',
);
const fallbacks = fc.option(fc.array(fc.dictionary(names, fc.array(names)), { maxLength: 2 }), { nil: undefined });
const anyDeployment = fc.record({
  model_name: names,
  litellm_params: fc.record({
    model: fc.constantFrom(
      'openai/gpt',
      'openai/GPT',
      'openai/*',
      'claude-3',
      'azure/gpt',
      'azure/*',
      'bedrock/a.b',
      'nope/x',
    ),
    api_base: oneOf('http://10.0.0.1:1', 'https://api.openai.com', 'os.environ/BASE'),
    api_key: oneOf('os.environ/REDIS_URL', 'canary-key', 'none'),
    weight: oneOf(0, 0.3, 2, 1e9),
    order: oneOf(1, 2),
    rpm: oneOf(0, 5),
    input_cost_per_token: oneOf(0, 1e-6, 9),
  }),
});
const anyLitellm = fc.record({
  model_list: fc.array(anyDeployment, { minLength: 1, maxLength: 6 }),
  router_settings: fc.record({
    routing_strategy: oneOf('latency-based-routing', 'cost-based-routing', 'least-busy'),
    num_retries: oneOf(0, 50),
    fallbacks,
    context_window_fallbacks: fallbacks,
    default_fallbacks: fc.option(fc.array(names), { nil: undefined }),
    model_group_alias: fc.option(fc.dictionary(names, names), { nil: undefined }),
  }),
});
const { node: anyPortkey } = fc.letrec((tie) => {
  const named = {
    name: oneOf('a', '1'),
    weight: oneOf(0, 0.3, 1),
    retry: oneOf({ attempts: 50, on_status_codes: [429, 9] }),
  };
  const query = fc.constantFrom(
    { 'params.model': 'a/gpt' },
    { 'params.model': { $in: ['chat', 'x'] } },
    { metadata: {} },
  );
  const leaf = fc.record({
    ...named,
    provider: oneOf('openai', '@openai-x', 'azure-openai', 'bedrock', 'nope'),
    virtual_key: oneOf('openai-a', 'a'),
    override_params: oneOf({ model: 'gpt' }, { model: '@openai-x/gpt' }, { model: 'a*' }),
    custom_host: oneOf('http://10.0.0.1:1'),
  });
  const inner = fc.record({
    ...named,
    strategy: fc.record({
      mode: fc.constantFrom('fallback', 'loadbalance', 'single', 'conditional'),
      conditions: fc.array(fc.record({ query, leadsTo: fc.constantFrom('a', '1') }), { maxLength: 2 }),
      default: oneOf('a', '1'),
    }),
    targets: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
  });
  return { node: fc.oneof({ maxDepth: 3 }, leaf, inner) };
});

await test('whatever combination of names, patterns and levels a file has, what comes out loads', async (t) => {
  const isSound = async (name: string, config: unknown): Promise<void> => {
    // An object with a member `then` would pass for a promise.
    const text = JSON.stringify(config).replaceAll('"leadsTo":', '"then":');
    const { output, code } = await imported(name, text);
    t.notMatch(output, /canary/);
    if (code === 0) t.same(problemsOf(output), []);
    else if (!output.startsWith(name)) throw new Error(output);
  };
  const runs = { numRuns: isFull ? 1_000 : 60, ...(isFull ? {} : { seed: 43 }) };
  await fc.assert(
    fc.asyncProperty(anyLitellm, (config) => isSound('a.yaml', config)),
    runs,
  );
  await fc.assert(
    fc.asyncProperty(anyPortkey, (config) => isSound('chat.json', config)),
    runs,
  );
});
