// Secrets of the gateway typed into the wrong place: refused at every write and in every address, never said again, never recorded.
import { t as suite, test } from 'tap';
import { knownSecrets } from '../../control-plane/known-secrets.ts';
import { secretInBody } from '../../control-plane/refuse-secrets.ts';
import { newSecret } from '../../domain/keys/secret.ts';
import { rootSecret, startReachPlane } from './reach-plane.ts';

const plane = await startReachPlane(suite);
const managed = newSecret();
const typed = `see ${rootSecret}!`;
const rule = { user_path: '/team', period: 'minute', max_requests: 1 };
const budget = { user_path: '/team', period: 'daily', amount: 1 };
const alias = { source: 'mine', target: 'openai/ok' };
const guardrail = { name: 'a', keywords: { words: ['x'], action: 'block' } };

const writes: readonly (readonly [method: string, path: string, body: object, param: string])[] = [
  ['PUT', 'rate-limits', { ...rule, reason: typed }, 'reason'],
  ['PUT', 'rate-limits', { ...rule, name: rootSecret }, 'name'],
  ['PUT', 'rate-limits', { scope: 'model', subject: typed, period: 'minute', max_requests: 1 }, 'subject'],
  ['PUT', 'rate-limits', { ...rule, user_path: `/a/${rootSecret}` }, 'user_path'],
  ['DELETE', 'rate-limits', { ...rule, user_path: `/a/${rootSecret}` }, 'user_path'],
  ['POST', 'rate-limits/reset-one', { user_path: typed, period: 'minute' }, 'user_path'],
  ['POST', 'rate-limits/reset', { confirmation: typed }, 'confirmation'],
  ['PUT', 'budgets', { ...budget, reason: managed }, 'reason'],
  ['PUT', 'budgets', { scope: 'label', subject: typed, period: 'daily', amount: 1 }, 'subject'],
  ['PUT', 'budgets/settings', { [typed]: 1 }, ''],
  ['POST', 'auth-keys', { name: typed }, 'name'],
  ['POST', 'auth-keys', { name: `key ${managed}` }, 'name'],
  ['POST', 'auth-keys', { name: 'a', description: typed }, 'description'],
  ['POST', 'auth-keys', { name: 'a', labels: ['b', typed] }, 'labels[1]'],
  ['POST', 'auth-keys', { name: 'a', allowed_models: [rootSecret] }, 'allowed_models[0]'],
  ['PATCH', 'auth-keys/paid', { name: typed }, 'name'],
  ['PUT', 'auth-keys/paid/labels', { labels: [managed] }, 'labels[0]'],
  ['POST', 'auth-keys/paid/rotate', { overlap: typed }, 'overlap'],
  ['PUT', 'virtual-models', { ...alias, source: typed }, 'source'],
  ['PUT', 'virtual-models', { ...alias, description: typed }, 'description'],
  [
    'PUT',
    'virtual-models',
    { source: 'mine', targets: [{ model: 'openai/ok' }, { model: typed }] },
    'targets[1].model',
  ],
  ['PUT', 'guardrails', { ...guardrail, keywords: { words: ['x', typed], action: 'block' } }, 'keywords.words[1]'],
  ['PUT', 'guardrails', { name: 'a', llm: { model: 'openai/ok', prompt: typed, action: 'judge' } }, 'llm.prompt'],
  ['DELETE', 'guardrails', { name: typed }, 'name'],
  ['PUT', 'rate-limits', { ...rule, further: { deep: [{ [rootSecret]: 1 }] } }, ''],
];

await test('every write with a secret in a text is refused before anything else is said of it', async (t) => {
  const before = await plane.revision();
  for (const [method, path, body, param] of writes) {
    const said = `${method} ${path} ${Object.keys(body).join()} ${param}`;
    const { status, code, param: named, text } = await plane.ask('master', method, path, body);
    t.same([status, code, named], [400, 'secret_in_request', param], said);
    t.notOk(text.includes(rootSecret) || text.includes(managed), `${said}: the answer does not hold it`);
  }
  t.equal(await plane.revision(), before);
});

await test('so is an address with one, as it is or encoded', async (t) => {
  const encoded = rootSecret.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  const addresses: [method: string, path: string][] = [
    ['DELETE', `cache?model=${encoded}`],
    ['DELETE', `cache?user_path=/a/${encodeURIComponent(rootSecret)}`],
    ['DELETE', `auth-keys/${managed}`],
    ['POST', `auth-keys/${encoded}/deactivate`],
    ['GET', `auth-keys/${managed}`],
    ['GET', `nothing/${encoded}`],
  ];
  for (const [method, path] of addresses) {
    const { status, code, text } = await plane.ask('master', method, path);
    t.same([status, code], [400, 'secret_in_request'], `${method} ${path}`);
    t.notOk(text.includes(rootSecret) || text.includes(managed) || text.includes(encoded));
  }
  const stranger = await plane.ask('nobody', 'GET', `nothing/${encoded}`);
  t.equal(stranger.status, 401, 'who has no key does not learn what is a secret');
});

await test('no record of a write holds one', async (t) => {
  const recorded = JSON.stringify(plane.audited);
  t.ok(plane.audited.length >= writes.length);
  for (const form of [rootSecret, managed, encodeURIComponent(rootSecret), '%63%6f%72%72'])
    t.notOk(recorded.includes(form), form);
});

await test('words that are no secret are stored', async (t) => {
  t.equal(
    (await plane.ask('master', 'PUT', 'rate-limits', { ...rule, reason: 'sk-gw- is how keys begin' })).status,
    200,
  );
  t.equal(secretInBody({ a: 'short', b: ['short'] }, ['short', '']), undefined, 'a short secret may be a word');
});

await test('a body as deep and wide as one may be is looked through at once', async (t) => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`) as object;
  t.equal(secretInBody(deep, [rootSecret]), undefined);
  const wide = Array.from({ length: 100_000 }, () => 'abcdef');
  const many = Array.from({ length: 200 }, (_, index) => `${rootSecret}${index}`);
  t.equal(secretInBody(wide, many), undefined);
  t.equal(secretInBody([...wide, typed], [rootSecret])?.param, '[100000]');
});

await test('what the control plane knows: master keys, passwords of stores, secrets of sign-ins, keys that the configuration holds', async (t) => {
  const environment = {
    masterKey: 'first',
    previousMasterKey: 'before',
    redisUrl: { url: 'redis-sentinel://user:p%40ss@one:26379,two/main', sentinelPassword: 'watching' },
    databaseUrl: 'postgresql://host/name',
    variables: { OIDC_SECRET: 'of the client' },
  };
  const signIn = { client_id: 'g', client_secret: '\u0024{OIDC_SECRET}', public_url: 'https://g.example' };
  const identities = { company: { sign_in: { ...signIn, scopes: [], user_info: false, lasts: '8h' } }, plain: {} };
  const providers = { a: { api_key: 'literal' }, b: { api_keys: ['\u0024{KEY}', 'second'] }, c: {} };
  const known = knownSecrets({ environment, managed: { masterKey: 'renewed' }, config: { providers, identities } });
  const stores = ['p@ss', 'watching'];
  t.same(known.filter(Boolean), ['renewed', 'first', 'before', ...stores, 'of the client', 'literal', 'second']);
});
