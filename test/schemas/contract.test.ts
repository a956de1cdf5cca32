// The shared definitions: units, user paths, selectors, rules, and types that match the schemas.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { test } from 'tap';
import { namedPeriods, periodLabel, periodSeconds } from '../../domain/rules/period.ts';
import { declaredRules, ruleKey } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import { foldCase, parseSelector } from '../../domain/selector.ts';
import { directChild, isWithin, normaliseUserPath } from '../../domain/user-path.ts';
import { errorTypes, printable } from '../../schemas/error-type.ts';
import { durationMs, sizeBytes } from '../../schemas/formats/units.ts';
import { generateTypes } from '../../schemas/generate/generate-types.ts';
import { generateValidators } from '../../schemas/generate/generate-validators.ts';

const schemas = join(import.meta.dirname, '../../schemas');

await test('the committed types are what the schemas generate', async (t) => {
  t.equal(await generateTypes(), readFileSync(join(schemas, 'types.ts'), 'utf8'), 'run `npm run generate`');
});

await test('the committed validators are what the schemas generate', async (t) => {
  const folder = join(schemas, 'validation/generated');
  const written = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
  t.same(Object.fromEntries(written), await generateValidators(), 'run `npm run generate`');
});

await test('what is generated is folded in reviews, and the formatter leaves it alone', async (t) => {
  const top = join(schemas, '..');
  const attributes = readFileSync(join(top, '.gitattributes'), 'utf8');
  const marked = [...attributes.matchAll(/^(\S+) linguist-generated/gm)].map(([, path = '']) =>
    path.replace('/**', ''),
  );
  t.strictSame(marked, ['schemas/types.ts', 'schemas/REFERENCE.md', 'schemas/validation/generated']);
  const { files } = JSON.parse(readFileSync(join(top, 'biome.json'), 'utf8'));
  t.strictSame(
    marked.filter((path) => !files.includes.includes(`!${path}`)),
    [],
  );
});

await test('every schema and every property has a title, a description and examples', async (t) => {
  for (const name of readdirSync(join(schemas, 'config')).filter((file) => file.endsWith('.schema.json'))) {
    const schema = JSON.parse(readFileSync(join(schemas, 'config', name), 'utf8'));
    t.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema', name);
    t.equal(new Ajv2020({ strict: false }).validateSchema(schema), true, `${name} is a schema`);
    const missing: string[] = [];
    inspect(schema, name);
    t.same(missing, [], name);

    function inspect(node: Record<string, unknown>, at: string): void {
      if (node['type'] === 'object' && node['properties'] !== undefined && node['additionalProperties'] !== false)
        missing.push(`${at} open`);
      for (const group of ['properties', '$defs']) {
        for (const [key, child] of Object.entries((node[group] ?? {}) as Record<string, Record<string, unknown>>)) {
          const words = child['$ref'] === undefined ? ['title', 'description', 'examples'] : [];
          for (const word of words) if (child[word] === undefined) missing.push(`${at}.${key} ${word}`);
          inspect(child, `${at}.${key}`);
        }
      }
    }
  }
});

await test('an error is of one of six types, whichever plane answers', (t) => {
  t.same([...errorTypes].sort(), [
    'authentication_error',
    'invalid_request_error',
    'not_found_error',
    'permission_error',
    'provider_error',
    'rate_limit_error',
  ]);
  t.end();
});

await test('text of a request within a message forges no line and has an end', (t) => {
  t.equal(printable('a\r\nb\u202e\u2028\u0085c'), 'a??b???c');
  t.equal(printable('caf\u00e9 \u{1f600}'), 'caf\u00e9 \u{1f600}');
  t.equal(printable('x'.repeat(200)), 'x'.repeat(200));
  t.equal(printable('x'.repeat(201)), `${'x'.repeat(200)}…`);
  t.end();
});

await test('durations are milliseconds', async (t) => {
  for (const [text, value] of [
    ['300ms', 300],
    ['10s', 10_000],
    ['60m', 3_600_000],
    ['1h', 3_600_000],
    ['0s', 0],
  ] as const) {
    t.equal(durationMs(text), value, text);
  }
  for (const text of ['', '10', '10 s', '-1s', '1.5s', '10S', 's', '1d', '10s\n', '0x10s'])
    t.throws(() => durationMs(text), RangeError, text);
});

await test('sizes are bytes', async (t) => {
  for (const [text, value] of [
    ['512B', 512],
    ['1KiB', 1_024],
    ['32MiB', 33_554_432],
    ['1GiB', 1_073_741_824],
  ] as const) {
    t.equal(sizeBytes(text), value, text);
  }
  for (const text of ['', '32', '32MB', '32mib', '1.5MiB', '-1B', '1TiB'])
    t.throws(() => sizeBytes(text), RangeError, text);
});

await test('a user path has one spelling', async (t) => {
  const spellings = {
    '': '/',
    '/': '/',
    '///': '/',
    team: '/team',
    '/team/': '/team',
    '//team///app': '/team/app',
    ' /team / app ': '/team/app',
    '/Team': '/Team',
    '/a%2fb': '/a%2fb',
    '/%2e%2e': '/%2e%2e',
    '/caf\u0065\u0301': '/caf\u00e9',
    '/...': '/...',
    '/__proto__': '/__proto__',
  };
  for (const [text, path] of Object.entries(spellings)) t.same(normaliseUserPath(text), { path }, JSON.stringify(text));
});

await test('what cannot name a consumer is refused with a reason', async (t) => {
  const refused = [
    '/a/./b',
    '..',
    '/a/..',
    '/a:b',
    'a\u0000',
    '/a\nb',
    '/a\u200bb',
    '/a\u202eb',
    '/\ufeffa',
    '/a\u2028b',
    '/\ud800',
    '/a'.repeat(65),
    `/${'x'.repeat(1_024)}`,
    `/${'é'.repeat(600)}`,
  ];
  for (const text of refused)
    t.match(normaliseUserPath(text).problem, /^(has|holds|is) /, encodeURIComponent(text.slice(0, 20).toWellFormed()));
  t.same(normaliseUserPath('/a'.repeat(64)), { path: '/a'.repeat(64) }, '64 segments are allowed');
});

await test('normalising twice changes nothing', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('/', 'a', '.', ':', ' ', '\u00e9', 'e', '\u0301', '\u212b', '\u00a0', '%', '\ufb01')),
      (parts) => {
        const text = parts.join('');
        const { path } = normaliseUserPath(text);
        return path === undefined || normaliseUserPath(path).path === path;
      },
    ),
  );
});

await test('a path covers itself and what is below it, not its namesakes', async (t) => {
  t.ok(isWithin('/team', '/team'));
  t.ok(isWithin('/team/app', '/team'));
  t.notOk(isWithin('/team-alpha', '/team'));
  t.notOk(isWithin('/', '/team'));
  t.ok(isWithin('/anything', '/'));
  t.ok(isWithin('/', '/'));
});

await test('the direct child shares its counter with everything below it', async (t) => {
  t.equal(directChild('/customers/a', '/customers'), '/customers/a');
  t.equal(directChild('/customers/a/b/c', '/customers'), '/customers/a');
  t.equal(directChild('/customers', '/customers'), undefined);
  t.equal(directChild('/customersX', '/customers'), undefined);
  t.equal(directChild('/a/b', '/'), '/a');
  t.equal(directChild('/', '/'), undefined);
});

await test('a selector splits at its first slash', async (t) => {
  t.same(parseSelector('openai/gpt-4o'), { provider: 'openai', model: 'gpt-4o' });
  t.same(parseSelector('router/meta/llama'), { provider: 'router', model: 'meta/llama' });
  t.same(parseSelector('gpt-4o'), { model: 'gpt-4o' });
  for (const text of ['', '/gpt', 'openai/', '/']) t.equal(parseSelector(text), undefined, JSON.stringify(text));
  t.equal(foldCase('GPT-4o'), 'gpt-4o');
  t.equal(foldCase('\u212a'), 'k', 'the Kelvin sign folds like the letter it looks like');
});

await test('a named period is nothing but its seconds', async (t) => {
  t.equal(periodSeconds({ period: 'minute' }), periodSeconds({ period_seconds: 60 }));
  t.same(
    Object.entries(namedPeriods).map(([name, seconds]) => [name, periodLabel(seconds)]),
    Object.keys(namedPeriods).map((name) => [name, name]),
  );
  t.equal(periodLabel(300), '300s');
});

await test('a rule is its scope, subject and period', async (t) => {
  const limits = [
    { period: 'minute' as const, max_requests: 1, mode: 'enforce' as const },
    { period_seconds: 300, max_tokens: 1, mode: 'shadow' as const },
  ];
  const rules = declaredRules({
    enabled: true,
    user_paths: [{ path: 'team/', per_child: true, limits }],
    providers: [{ name: 'OpenAI', limits }],
    models: [{ model: 'OpenAI/GPT', limits }],
  });
  t.same(
    rules.map(({ scope, subject, periodSeconds: seconds }) =>
      ruleKey(scope, normaliseSubject(scope, subject).subject ?? '', seconds),
    ),
    [
      'user_path 60 /team',
      'user_path 300 /team',
      'provider 60 openai',
      'provider 300 openai',
      'model 60 openai/gpt',
      'model 300 openai/gpt',
    ],
  );
  t.same(rules[5]?.place, ['models', 0, 'limits', 1]);
  t.same(
    rules.map(({ perChild }) => perChild),
    [true, true, false, false, false, false],
  );
  t.match(normaliseSubject('model', 'a/').problem, /neither/);
  t.match(normaliseSubject('user_path', '/a/..').problem, /segment/);
});
