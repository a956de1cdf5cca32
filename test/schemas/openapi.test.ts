// The API description: complete, equal to the tables of errors, and equal to the served routes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type Test, test } from 'tap';
import { errors as adminErrors } from '../../control-plane/errors.ts';
import { modelEndpoints } from '../../proxy/endpoints/model-endpoints.ts';
import { errors as proxyErrors } from '../../proxy/error-table.ts';
import { describeApi, operations, refusalsOf } from '../../schemas/openapi/document.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { pathCases } from './path-cases.ts';
import { masterKey, startAdmin } from './served-admin.ts';

type Tree = { readonly [name: string]: Tree };

const text = JSON.stringify(describeApi());
const document = JSON.parse(text) as Tree;
const components = document['components'] ?? {};

/** Judges by the document; lenient, because examples and answers are judged here, not the schemas themselves. */
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ ...document, $id: 'openapi.json' });
const validators = new Map<string, ValidateFunction>();

/** Compiles each schema once: most bodies refer to the same few. */
function validatorOf(schema: object): ValidateFunction {
  const written = JSON.stringify(schema);
  const validate = validators.get(written) ?? ajv.compile(schema);
  validators.set(written, validate);
  return validate;
}

const componentValidator = (name: string): ValidateFunction =>
  validatorOf({ $ref: `openapi.json#/components/schemas/${name}` });

/** What a reference such as `#/components/schemas/Usage` leads to. */
function resolve(reference: string): unknown {
  const [root, ...parts] = reference.split('/');
  if (root !== '#') return undefined;
  return parts.reduce<Tree | undefined>((node, part) => node?.[part.replace(/~1/g, '/').replace(/~0/g, '~')], document);
}

function referencesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : referencesIn(value),
  );
}

function* described(): Generator<{ name: string; path: string; method: string; operation: Tree }> {
  for (const [path, methods] of Object.entries(document['paths'] ?? {})) {
    for (const [method, operation] of Object.entries(methods)) {
      yield { name: `${method.toUpperCase()} ${path}`, path, method: method.toUpperCase(), operation };
    }
  }
}

await test('it is an OpenAPI 3.1 document of version 1.0', async (t) => {
  t.match(document, { openapi: '3.1.0', info: { version: '1.0', title: String }, components: { schemas: Object } });
  t.equal([...described()].length, operations.length);
  const ids = [...described()].map(({ operation }) => operation['operationId']);
  t.equal(new Set(ids).size, ids.length, 'every operation has a unique id');
});

await test('every reference leads somewhere, and every component is used', async (t) => {
  const references = referencesIn(document);
  t.ok(references.length > 100);
  t.strictSame(
    references.filter((reference) => resolve(reference) === undefined),
    [],
  );
  t.equal(resolve('#/components/schemas/Nothing'), undefined);
  const used = new Set(references);
  for (const kind of ['schemas', 'parameters', 'headers']) {
    const unused = Object.keys(components[kind] ?? {}).filter((name) => !used.has(`#/components/${kind}/${name}`));
    t.strictSame(unused, [], kind);
  }
});

await test('every schema of the two APIs is a component', async (t) => {
  const room = join(import.meta.dirname, '../../schemas');
  const files = ['admin', 'model-api'].flatMap((folder) => readdirSync(join(room, folder)));
  const names = files.map((file) =>
    file.replace('.schema.json', '').replace(/(^|-)([a-z])/g, (_, __, letter) => letter.toUpperCase()),
  );
  t.strictSame(
    names.filter((name) => components['schemas']?.[name] === undefined),
    [],
  );
});

await test('every component schema compiles', async (t) => {
  const strict = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, validateFormats: false });
  strict.addVocabulary(Object.keys(document));
  strict.addSchema({ ...document, $id: 'openapi.json' });
  for (const name of Object.keys(components['schemas'] ?? {}))
    t.doesNotThrow(() => strict.compile({ $ref: `openapi.json#/components/schemas/${name}` }), name);
  const validate = strict.compile({ $ref: 'openapi.json#/components/schemas/AuthKeyList' });
  t.ok(validate([]));
  t.notOk(validate([{ id: 'x' }]), 'references are followed');
  t.throws(() => strict.compile({ $ref: 'openapi.json#/components/schemas/Nothing' }));
});

/** Every title in a schema, its inner schemas included. */
function titlesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const inner = Object.values(node).flatMap(titlesIn);
  return 'title' in node && typeof node.title === 'string' ? [node.title, ...inner] : inner;
}

await test('no two schemas have one title, so generated types have names of their own', async (t) => {
  const titles = titlesIn(components['schemas']).map((title) => title.toLowerCase().replace(/[^a-z]/g, ''));
  t.ok(titles.length >= 24);
  t.strictSame(
    titles.filter((title, index) => titles.indexOf(title) !== index),
    [],
  );
});

/** Where schemas name a list and not what it holds: generators of clients leave out the bodies of such. */
function untypedLists(node: unknown, where = ''): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const inner = Object.entries(node).flatMap(([key, value]) => untypedLists(value, `${where}/${key}`));
  return 'type' in node && [node.type].flat().includes('array') && !('items' in node) ? [where, ...inner] : inner;
}

await test('every list says what it holds', async (t) => {
  t.strictSame(untypedLists(components['schemas']), []);
  t.strictSame(untypedLists({ a: { type: ['array', 'null'] }, b: { type: 'array', items: {} } }), ['/a']);
});

await test('a text that the reader refuses for its control characters is refused by the schema too', async (t) => {
  const limit = { limit_key: { period: 'minute' }, max_requests: 1 };
  const cases: [schema: string, body: (said: string) => object][] = [
    ['AuthKeyWrite', (said) => ({ name: said })],
    ['AuthKeyWrite', (said) => ({ name: 'Ann', user_path: said })],
    ['AuthKeyWrite', (said) => ({ name: 'Ann', labels: [said] })],
    ['AuthKeyLabels', (said) => ({ labels: [said] })],
    ['AuthKeyAllowedModels', (said) => ({ allowed_models: [said] })],
    ['RateLimitWrite', (said) => ({ user_path: said, ...limit })],
    ['RateLimitWrite', (said) => ({ scope: 'model', subject: said, ...limit })],
    ['RateLimitDelete', (said) => ({ user_path: said, limit_key: { period: 'minute' } })],
    ['RateLimitResetOne', (said) => ({ scope: 'model', subject: said, period: 'minute' })],
  ];
  const verdicts = cases.map(([schema, body]) => {
    const validate = componentValidator(schema);
    return [schema, validate(body('a b')), validate(body('a\u0001b')), validate(body('a\nb'))];
  });
  t.strictSame(
    verdicts,
    cases.map(([schema]) => [schema, true, false, false]),
  );
});

/** Every media type of a request or an answer, and where it stands. */
function* bodies(): Generator<{ where: string; media: Tree }> {
  for (const { name, operation } of described()) {
    const answers = Object.entries(operation['responses'] ?? {});
    const places = [['body', operation['requestBody'] ?? {}] as const, ...answers];
    for (const [place, { content = {} }] of places as [string, Tree][]) {
      for (const [type, media] of Object.entries(content)) yield { where: `${name} ${place} ${type}`, media };
    }
  }
}

await test('every body has an example that its schema accepts', async (t) => {
  const problems = [...bodies()].flatMap(({ where, media: { schema = {}, example } }) => {
    const reference = schema['$ref'] as unknown;
    const validate = validatorOf(typeof reference === 'string' ? { $ref: `openapi.json${reference}` } : schema);
    return validate(example) ? [] : [`${where}: ${ajv.errorsText(validate.errors)}`];
  });
  t.ok([...bodies()].length > 100);
  t.strictSame([...new Set(problems)], []);
  t.strictSame(
    Object.values(components['parameters'] ?? {}).filter((parameter) => parameter['example'] === undefined),
    [],
  );
});

await test('every operation says what it answers, without a key too', async (t) => {
  for (const { name, path, operation } of described()) {
    const answers = Object.keys(operation['responses'] ?? {});
    t.ok(answers.some((answer) => /^(2|101|303)/.test(answer)) && answers.includes('default'), name);
    const { security } = operation as { readonly security?: readonly object[] };
    t.ok(security?.length === 0 || (security !== undefined && answers.includes('401')), name);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const named = referencesIn(operation['parameters']).map(
      (reference) => resolve(reference) as Record<string, string>,
    );
    t.strictSame(
      named.filter((parameter) => parameter['in'] === 'path').map((parameter) => parameter['name']),
      inPath,
      `${name}: parameters of the path`,
    );
  }
});

await test('the headers of model answers describe limits', async (t) => {
  const chat = document['paths']?.['/v1/chat/completions']?.['post']?.['responses'] ?? {};
  const limits = ['limit', 'remaining', 'reset'].flatMap((what) =>
    ['requests', 'tokens'].map((dimension) => `x-ratelimit-${what}-${dimension}`),
  );
  for (const status of ['200', '429']) {
    const named = chat[status]?.['headers'] ?? {};
    t.strictSame(
      limits.filter((name) => named[name] === undefined),
      [],
      status,
    );
  }
  t.ok(chat['429']?.['headers']?.['Retry-After']);
});

await test('every error code exists and is answered with the status it stands under', async (t) => {
  const known = (table: Readonly<Record<string, { status: number }>>, code: string) => table[code]?.status;
  const wrong: string[] = [];
  for (const operation of operations) {
    for (const [status, codes] of Object.entries(refusalsOf(operation))) {
      for (const code of codes) {
        const ofProxy = ['control_plane_unavailable', 'explanation_not_found'];
        const isAdmin = operation.access !== 'client' && !ofProxy.includes(code);
        const answered = known(isAdmin ? adminErrors : proxyErrors, code);
        if (answered !== Number(status)) wrong.push(`${operation.id}: ${code} is ${answered}, not ${status}`);
      }
    }
  }
  t.strictSame(wrong, []);
});

await test('the described admin operations are those that are served, with their access', async (t) => {
  const { routes } = await startAdmin(t);
  const admin = operations.filter(({ access }) => access !== 'client');
  const rows = admin.map(({ method, path, access }) => ({
    // Models may have slashes, so one route stands for both paths of a drain.
    name: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1').replace(/targets\/.*\/drain$/, 'targets/*')}`,
    access: access as unknown,
  }));
  const once = rows.filter(({ name }, index) => rows.findIndex((each) => each.name === name) === index);
  const sorted = (list: { name: string; access: unknown }[]) => list.sort((a, b) => (a.name < b.name ? -1 : 1));
  t.strictSame(sorted(once), sorted(routes));
});

await test('operators get the whole description', async (t) => {
  const { address } = await startAdmin(t);
  const ask = (headers: Record<string, string>) => fetch(`${address}/admin/openapi.json`, { headers });
  const answer = await ask({ authorization: `Bearer ${masterKey}` });
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), /^application\/json/);
  t.equal(await answer.text(), text);
  const refused = await ask({});
  t.equal(refused.status, 401);
  await refused.body?.cancel();
});

/** A plane as its own process, on the quickstart. */
function startPlane(t: Test, entry: string) {
  const env = {
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_MASTER_KEY: masterKey,
    GATEWAY_CONFIG: 'examples/quickstart/config',
    GATEWAY_DATA: temporaryDirectory(t),
  };
  return startProcess({ t, entry, env });
}

await test('the control plane as it is started serves every described admin path', async (t) => {
  const { address } = await startPlane(t, 'control-plane/main.ts');
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${address}${path}`, { method, headers });
    await response.body?.cancel();
    return response;
  };
  const key = { authorization: `Bearer ${masterKey}` };
  t.equal((await ask('OPTIONS', '/admin/nothing', key)).status, 404, 'what is not served can be told');
  const wrong: string[] = [];
  for (const { name, path, method, operation } of described()) {
    if (!path.startsWith('/admin')) continue;
    // A public write reads the body, and there is none. A public read leads to the page, or is one.
    const isPublic = Object.keys(operation['security'] ?? {}).length === 0;
    const expected = isPublic ? (method === 'GET' ? 200 : 400) : 401;
    const own = path.replace(/\{\w+\}/g, 'x');
    const allowed = (await ask('OPTIONS', own, key)).headers.get('allow');
    if (!allowed?.includes(method)) wrong.push(`${name}: allowed is ${allowed}`);
    const { status } = await ask(method, own);
    if (status !== expected) wrong.push(`${name}: ${status} without a key`);
  }
  t.strictSame(wrong, []);
});

await test('the proxy serves every described model path, and answers in the described shapes', async (t) => {
  const { address } = await startPlane(t, 'proxy/main.ts');
  const asked: [path: string, body: string | undefined, status: number, schema: string][] = [
    ['/v1/models', undefined, 200, 'ModelList'],
    ['/v1/models/demo/demo-small', undefined, 200, 'Model'],
    ['/v1/models/no/such', undefined, 404, 'ModelError'],
    ['/v1/usage', undefined, 200, 'Usage'],
    ['/v1/chat/completions', '{"model":7}', 400, 'ModelError'],
    ['/v1/responses', '{"model":"none"}', 404, 'ModelError'],
    ['/v1/responses/resp_1', undefined, 404, 'ModelError'],
    ['/v1/responses/resp_1/cancel', '', 404, 'ModelError'],
    ['/v1/responses/resp_1/input_items', undefined, 404, 'ModelError'],
    ['/v1/messages', '{"model":"none"}', 404, 'ModelError'],
    ['/v1/messages/count_tokens', '{"model":"none"}', 404, 'ModelError'],
    ...pathCases,
  ];
  for (const [path, body, status, schema] of asked) {
    const response = await fetch(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    const answer: unknown = await response.json();
    t.equal(response.status, status, path);
    t.notMatch(answer, { error: { code: 'route_not_found' } }, path);
    const validate = componentValidator(schema);
    t.ok(validate(answer), `${path}: ${ajv.errorsText(validate.errors)}`);
  }
  const served = operations.filter(({ path }) => path.startsWith('/v1'));
  const paths = served.map(({ path }) => path);
  const covered = new Set(asked.map(([path]) => path.replace(/(?<=models\/).*|(?<=responses\/)[^/]+/, '{id}')));
  const open = served.filter(({ path, isOpaque }) => isOpaque !== true && !covered.has(path)).map(({ path }) => path);
  t.same([open, [...covered].filter((path) => !paths.includes(path))], [[], []]);
  t.ok(modelEndpoints.every(({ path }) => paths.includes(path)));
});
