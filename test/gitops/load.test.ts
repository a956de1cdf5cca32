// Every mistake in a configuration gives its sentence; the cases are folders under fixtures/config.
import * as fc from 'fast-check';
import { test } from 'tap';
import { stringify } from 'yaml';
import { type Loaded, loadFiles } from '../../gitops/assemble/load.ts';
import type { LoadContext } from '../../gitops/assemble/load-context.ts';
import { load, loadOffThread, reloadBytes } from '../../gitops/assemble/load-off-thread.ts';
import { expand } from '../../gitops/read/expand.ts';
import { valueAt } from '../../schemas/validation/value-at.ts';
import { extent, isFull, runs } from '../support/extent.ts';
import { filledTexts, malformedTexts, nestedTexts, unreadableFiles, wrongValues } from './load-cases.ts';
import {
  around,
  bare,
  canary,
  casesOf,
  entitled,
  environment,
  file,
  lines,
  one,
  pathsOf,
  problemLines,
  provider,
  readCase,
  withValue,
} from './load-fixtures.ts';

/** Every place of a configuration; in a short run, of the elements of a list only the first. */
const placesOf = (config: unknown): (string | number)[][] =>
  pathsOf(config).filter((path) => isFull || path.every((key) => typeof key === 'string' || key === 0));

const badCases = await Promise.all(
  casesOf('bad').map(async (name) => {
    const { files, problems: unreadable, expected } = await readCase('bad', name);
    return { name, unreadable, ...loadFiles(files, bare), expected: expected('expected.txt') };
  }),
);

await test('a bad directory gives exactly its message', async (t) => {
  t.ok(badCases.length >= 60, `${badCases.length} cases`);
  const given = badCases.map(({ name, unreadable, problems, config }) => {
    return { name, unreadable, said: problemLines(problems), isLoaded: config !== undefined };
  });
  const wanted = badCases.map(({ name, expected }) => ({ name, unreadable: [], said: expected, isLoaded: false }));
  t.same(given, wanted);
});

await test('a good directory gives exactly its configuration', async (t) => {
  for (const name of casesOf('good')) {
    const { files, expected } = await readCase('good', name);
    // Places have a test of their own.
    const { config: { places: _, ...config } = {}, problems, warnings } = loadFiles(files, entitled);
    t.same(
      { problems: lines(problems), config, warnings: problemLines(warnings) },
      { problems: [], config: JSON.parse(expected('config.json')), warnings: expected('warnings.txt') },
      name,
    );
  }
});

await test('no message holds the value of a variable, a key or a header', async (t) => {
  const secrets = [canary, 'hunter2', 'evil', 'pa$', '$secret', '123456', 'aGVsbG8', 'Bearer abc'];
  const told = badCases.flatMap(({ name, problems, warnings }) => {
    const text = problemLines([...problems, ...warnings]);
    return secrets.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`);
  });
  t.same(told, []);
  const literal = one(
    `providers:\n  a:\n    type: openai\n    api_key: 0${'7'.repeat(9)}\n    models: [m]\n    headers: { X-Key: 0x77, X-Other: [77] }\n`,
  );
  t.notMatch(lines(literal.problems).join('\n'), /77/, 'not even when it is a number');
});

await test('a variable is filled in where it is sent upstream and nowhere else', async (t) => {
  const hidden = 'canary-value';
  const { expected } = await readCase('good', 'every-key');
  const config = JSON.parse(expected('config.json'));
  const all = placesOf(config).filter((path) => typeof valueAt(config, path) === 'string');
  const texts = all.filter((path) => path.at(-1) !== 'client_secret');
  const misjudged: string[] = [];
  const filled = texts.filter((path) => {
    const yaml = stringify(withValue(around(config, path), path, `https://a/\${S}`));
    const [full, kept] = (['error', 'keep'] as const).map((variables) => {
      return one(yaml, { ...entitled, environment: { ...environment, S: hidden }, variables });
    });
    const place = path.join('.');
    const said = lines(full?.problems ?? []).join('; ');
    if (said !== lines(kept?.problems ?? []).join('; ')) misjudged.push(`${place}: the planes differ: ${said}`);
    if (full?.config !== undefined) return true;
    const [problem, ...echoes] = full?.problems ?? [];
    const isRefused = problem?.message.startsWith('holds a variable, but variables are filled in only in api_key');
    if (isRefused !== true || echoes.length > 0) misjudged.push(`${place}: ${said}`);
    if (JSON.stringify(full).includes(hidden)) misjudged.push(`${place} shows the value`);
    return false;
  });
  t.same(misjudged, []);
  const places = filled.map((path) => path.slice(2).join('.'));
  t.equal(places.length, 6);
  t.match(places, [/url$/, /secret$/, /Authorization$/, 'base_url', 'api_key', 'headers.OpenAI-Organization']);
});

await test("the gateway's own variables are read by no file, in any case, place or form", async (t) => {
  const hidden = 'canary-master-key';
  const names = 'Gateway_MASTER_KEY REDIS_URL redis_url REDIS_SENTINEL_PASSWORD DATABASE_URL PGPASSWORD'.split(' ');
  const values = Object.fromEntries(names.map((name) => [name, hidden]));
  const misread: unknown[] = [];
  for (const text of names.flatMap((name) => [`a\${${name}}`, `\${B:-x}\${${name}:-}`, `$${name}`])) {
    for (const root of [{ providers: { p: { api_key: text } } }, { providers: { p: { headers: { a: text } } } }]) {
      for (const variables of ['error', 'warning', 'keep'] as const) {
        const expanded = expand(root, values, variables);
        const message = expanded.errors[0]?.message ?? '';
        const isRefused =
          expanded.errors.length === 1 && /^refers to .*, which belongs to the gateway itself/.test(message);
        if (!isRefused || JSON.stringify(expanded).includes(hidden)) misread.push({ text, root, variables, expanded });
      }
    }
  }
  t.same(misread, []);
});

await test('no message about an address holds the value of a variable', async (t) => {
  const hidden = 'sk-canary-value-123';
  const context: LoadContext = { ...entitled, environment: { ...environment, URL: `${hidden}://x` } };
  const address = one(provider.replace('models:', `base_url: "\${URL}"\n    models:`), context);
  t.match(lines(address.problems), [/must begin with http:\/\/ or https:\/\//]);
  t.notOk(lines(address.problems).join('').includes(hidden));
});

await test('a dollar sign without braces is a mistake where variables are filled in, and its text is not repeated', async (t) => {
  const at = (key: string): Loaded => one(provider.replace(`\${OPENAI_API_KEY}`, () => `'${key}'`));
  t.match(at('$OPENAI_API_KEY').problems, [{ message: /write \$\{OPENAI_API_KEY\} for a variable/ }]);
  t.match(at('Bearer-$OPENAI_API_KEY').problems, [{ message: /write \$\{OPENAI_API_KEY\}/ }], 'a variable that is set');
  t.match(at('$NOT_SET').problems, [{ message: /write \$\{NOT_SET\}/ }], 'nothing else, in upper case');
  for (const password of ['pa$$$word_x', 'pa$word_x', '$word_x', 'a$WORD_X', '$_word_x']) {
    const { problems } = at(password);
    t.match(problems, [{ message: /write \$\{NAME\} for a variable, and \$\$ for a dollar sign/ }], password);
    t.notMatch(lines(problems).join(''), /word_x/i, password);
  }
  for (const literal of ['5$', '$5', 'a$$b', '$-', '$$OPENAI_API_KEY']) t.same(at(literal).problems, [], literal);
});

await test('a key in two files is reported first, before problems of other files', async (t) => {
  const wrong = file('a.yaml', 'aliases: [{ source: a, target: b/m }, { source: c, target: b/n }]\ncolour: red\n');
  const { problems } = loadFiles([wrong, file('b.yaml', 'server: {}\n'), file('c.yaml', 'server: {}\n')], bare);
  t.match(lines(problems), [
    /^c\.yaml:1:1 {2}server {2}the key "server" is already in b\.yaml:1:1; it may be in one file only/,
    /^a\.yaml:1:32 /,
    /^a\.yaml:1:60 /,
    /^a\.yaml:2:1 /,
  ]);
});

await test('a broken file hides no mistake in the others', async (t) => {
  const { problems } = loadFiles(
    [
      file('a.yaml', 'server: {body_limit: 1}\n'),
      file('b.yaml', 'aliases: [{source: a, target: a}]\n'),
      file('c.yaml', '['),
    ],
    bare,
  );
  t.same(
    problems.map(({ file: name }) => name),
    ['a.yaml', 'b.yaml', 'c.yaml'],
  );
});

await test('a broken providers file raises no echo in the aliases', async (t) => {
  const aliases = file(
    'b.yaml',
    'aliases: [{source: a, target: openai/x}]\nrate_limits: {providers: [{name: openai, limits: [{period: day, max_tokens: 1}]}]}\n',
  );
  for (const broken of ['providers: [', 'providers: {openai: {}}\n']) {
    const { problems, warnings } = loadFiles([file('a.yaml', broken), aliases], bare);
    t.same(
      problems.map(({ file: name }) => name),
      ['a.yaml'],
      broken,
    );
    t.same(warnings, [], broken);
  }
});

await test('a template without its entitlement is fatal even among other mistakes', async (t) => {
  const { problems } = one(
    'rate_limits:\n  user_paths: [{path: /a, per_child: true, limits: [{period: moon}]}]\n',
    bare,
  );
  t.same(
    problems.filter(({ fatal }) => fatal).map(({ path }) => path),
    ['rate_limits.user_paths[0].per_child'],
  );
  t.equal(problems.length, 3);
  t.same(
    one('rate_limits:\n  user_paths: [{path: /a, per_child: false, limits: [{period: day, max_tokens: 1}]}]\n', bare)
      .problems,
    [],
  );
});

await test('a byte order mark and Windows line ends change nothing', async (t) => {
  t.same(one(`\ufeff${provider}`.replaceAll('\n', '\r\n')), one(provider));
  t.match(one(`\ufeff${provider}    colour: red\r\n`.replaceAll('\n', '\r\n')).problems, [{ line: 6, column: 5 }]);
});

await test('text that is not UTF-8 is refused with its line', async (t) => {
  for (const [name, bytes, message] of unreadableFiles) t.match(lines(one(bytes).problems), [message], name);
});

await test('values that are nested too deeply are refused, and the process goes on', async (t) => {
  for (const [name, text] of Object.entries(nestedTexts(extent(7_000, 2_000))))
    t.match(lines(one(text).problems), [/nested too deeply/], name);
  const { problems } = await load(
    [file('a.yaml', nestedTexts(extent(100_000, 8_000))['flow lists'] ?? '')],
    bare,
    reloadBytes,
  );
  t.match(lines(problems), [/nested too deeply/], 'in a thread');
});

await test('a bomb is refused before it goes off', async (t) => {
  for (const name of ['yaml-bomb-of-five-levels', 'yaml-bomb-of-nine-levels']) {
    const { files } = await readCase('bad', name);
    const before = process.memoryUsage().heapUsed;
    const start = process.cpuUsage();
    loadFiles(files, bare);
    t.ok(process.cpuUsage(start).user < 500_000, `${name}: little work`);
    t.ok(process.memoryUsage().heapUsed - before < 64 * 1_048_576, `${name}: little memory`);
  }
});

await test('a file that needs more memory than its thread has is one mistake, and the process lives', async (t) => {
  const { problems, config } = await loadOffThread([file('a.yaml', '- a\n'.repeat(50_000))], bare, 10);
  t.same(lines(problems), ['a.yaml  needs more than 10 MiB of memory to be loaded']);
  t.equal(config, undefined);
});

await test('a chain of aliases cannot outgrow the stack', async (t) => {
  const links = Array.from({ length: 5_000 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}]\n`);
  t.match(lines(one(`a0: &a0 [x]\n${links.join('')}`).problems)[0], /repeat more than|unknown key/);
});

await test('the list of problems has an end', async (t) => {
  const { problems } = one(`aliases:\n${'  - {}\n'.repeat(extent(5_000, 1_000))}`);
  t.ok(problems.length <= 202);
  t.match(problems.at(-1)?.message, /^and [0-9]+ more$/);
});

await test('what is left out of the list is counted', async (t) => {
  const { problems } = one(Array.from({ length: 1_600 }, (_, index) => `k${index}: 1\n`).join(''));
  t.equal(problems.length, 201);
  t.equal(problems.at(-1)?.message, 'and 1400 more');
  t.match(problems[0], { line: 1, message: /unknown key "k0"/ });
});

await test('mistakes without number cost no more than their text', async (t) => {
  const unknown = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('');
  const fewKeys = extent(4_000, 1_000);
  one(unknown(fewKeys));
  const spent = (text: string): number => {
    const before = process.cpuUsage();
    one(text);
    return process.cpuUsage(before).user / 1_000;
  };
  const [few, many] = [Math.min(...[1, 2].map(() => spent(unknown(fewKeys)))), spent(unknown(8 * fewKeys))];
  t.ok(many < 30 * few, `eight times the mistakes: ${Math.round(few)} ms, then ${Math.round(many)} ms`);
});

await test('thousands of mistakes are found in bounded time', async (t) => {
  const mistakes = extent(10_000, 1_500);
  const names = Array.from({ length: mistakes }, (_, index) => index);
  const models = `providers:\n  openai:\n    type: openai\n    models: [${names.map((index) => `model-number-${index}`).join(', ')}]\n`;
  const start = process.cpuUsage();
  const { problems } = await load(
    [
      file(
        'a.yaml',
        `${models}aliases:\n${names.map((index) => `  - { source: a${index}, target: openai/modell-number-${index} }\n`).join('')}`,
      ),
    ],
    bare,
    0,
  );
  t.ok(problems.length >= 100);
  t.ok(process.cpuUsage(start).user < 2_000 * mistakes, 'at most 2 ms of work for each');
});

await test('variables', async (t) => {
  const path = ['providers', 'p', 'api_key'];
  const fill = (text: string, variables: LoadContext['variables'] = 'error') => {
    const root = { providers: { p: { api_key: text } } };
    const expanded = expand(root, { A: 'a', EMPTY: '', DOLLAR: `\${A} $$` }, variables);
    return { ...expanded, text: valueAt(expanded.value, path) };
  };
  const written = Object.keys(filledTexts);
  t.same(Object.fromEntries(written.map((text) => [text, fill(text).text])), filledTexts, 'each is filled in once');
  t.same(
    written.map((text) => fill(text, 'keep').text),
    written,
    'each is kept as written',
  );
  const accepted = malformedTexts.filter((text) =>
    (['error', 'keep'] as const).some((variables) => {
      const [error] = fill(text, variables).errors;
      return error === undefined || !/malformed/.test(error.message) || error.path.join() !== path.join();
    }),
  );
  t.same(accepted, [], 'a malformed variable is refused at its place by both planes');
  t.match(fill(`\${toString}`).unset, [{ message: /toString is not set/ }], 'members of objects are not variables');
  const each = fill(`\${B} \${B} \${C}`).unset.map(({ message }) => message);
  t.match(each, [/B is not set/, /C is not set/], 'each is named once');
  t.match(fill(`\${B}`, 'warning'), { errors: [], unset: [{ message: /B is not set/ }], text: `\${B}` });
  t.same(fill(`\${B}`, 'keep').unset, []);
});

await test('what depends on an unset variable is not judged by its form', async (t) => {
  const text = `providers:\n  openai:\n    type: openai\n    base_url: "\${URL}"\n    api_key: \${KEY}\n    models: [a]\n    headers: { X-A: "\${H}" }\n`;
  const checked = one(text, { ...entitled, variables: 'warning' });
  t.same(checked.problems, []);
  t.equal(checked.warnings.length, 3);
  const kept = one(text, { ...entitled, variables: 'keep' });
  t.match(kept, {
    problems: [],
    warnings: [],
    config: { providers: { openai: { api_key: `\${KEY}`, base_url: `\${URL}` } } },
  });
  t.equal(one(text).problems.length, 3, 'a proxy cannot run with it');
});

await test('the control plane keeps a provider whose key it does not know', async (t) => {
  const text = `providers: {openai: {type: openai, api_key: "\${NOPE:-}", models: [m]}}\n`;
  t.match(one(text, { ...bare, variables: 'keep' }), { warnings: [], config: { providers: { openai: {} } } });
  t.match(one(text), { warnings: [{ message: /left out/ }], config: { providers: {} } });
});

await test('a thread gives what the main thread gives', async (t) => {
  for (const [kind, name] of [
    ['good', 'every-key'],
    ['bad', 'several-mistakes-at-once'],
  ] as const) {
    const { files } = await readCase(kind, name);
    t.same(await loadOffThread(files, bare), JSON.parse(JSON.stringify(loadFiles(files, bare))), name);
  }
});

/** Of the wrong values of all fields, a short run tries each eighth. */
const every = extent(1, 8);

await test('every field survives every wrong value', async (t) => {
  const { expected } = await readCase('good', 'every-key');
  const config = JSON.parse(expected('config.json'));
  let count = 0;
  let turn = 0;
  for (const path of placesOf(config)) {
    for (const value of wrongValues) {
      turn += 1;
      if (turn % every !== 0) continue;
      const { config: loaded, problems } = one(stringify(withValue(around(config, path), path, value)));
      if ((loaded === undefined) === (problems.length === 0)) t.fail(`${path.join('.')} = ${JSON.stringify(value)}`);
      if (problems.some(({ line, message }) => line < 1 || message.includes('undefined')))
        t.fail(`${path.join('.')}: ${lines(problems).join('; ')}`);
      count += 1;
    }
  }
  t.ok(count > extent(1_000, 120), `${count} variants`);
});

await test('damaged files are rejected or loaded and never throw', async () => {
  const { files } = await readCase('good', 'every-key');
  fc.assert(
    fc.property(
      fc.nat(3),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      fc.nat(),
      (which, edits, cut) => {
        const bytes = Buffer.from(files[which]?.bytes ?? []);
        for (const [at, byte] of edits) bytes[at % bytes.length] = byte;
        const { config, problems } = one(cut % 4 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes);
        return (config === undefined) === problems.length > 0;
      },
    ),
    runs(1_500),
  );
});

await test('names that other objects have are names like any other', async (t) => {
  const { config } = one(
    `${provider}  constructor: {type: openai, models: [toString]}\n  valueOf: {type: openai, models: [m]}\naliases: [{source: hasOwnProperty, target: constructor/toString}]\n`,
  );
  t.same(Object.keys(config?.providers ?? {}), ['openai', 'constructor', 'valueOf']);
  t.match(lines(one('aliases: [{source: a, target: toString/x}]\n').problems), [/there is no provider "toString"/]);
});

await test('a message stays on its line whatever a file holds', async (t) => {
  const { problems } = one('aliases:\n  - {source: "a\\nb\\u001b[31m\\u202e", target: "x\\ny"}\n"ke\\ny": 1\n');
  for (const line of lines(problems))
    for (const character of ['\n', '\u001b', '\u202e']) t.notOk(line.includes(character));
  t.ok(problems.length >= 2);
});
