// DELETE /admin/cache over HTTP on a real store: what it resets, who may, and what is refused.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Test, test } from 'tap';
import { resetCache } from '../../control-plane/admin/cache/changes.ts';
import { cacheListing } from '../../control-plane/admin/cache/listing.ts';
import { cache } from '../../control-plane/admin/cache/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { cacheResets, mostCacheResets, pathResetId } from '../../domain/cache/cache-reset.ts';
import { managedCacheResets } from '../../domain/documents/kinds.ts';
import { readKind } from '../../domain/documents/managed-kind.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { nothingKnown } from '../../domain/rules/known-models.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import schema from '../../schemas/admin/cache.schema.json' with { type: 'json' };
import type { CacheFacts } from '../../store/state/heartbeat-counts.ts';
import { openStateStore } from '../../store/state/open.ts';
import { sampleHeartbeat, sampleKey } from '../support/managed-state.ts';
import { temporaryDirectory } from '../support/teardown.ts';

async function startPlane(t: Test) {
  const store = openStateStore({ directory: temporaryDirectory(t), pollMs: 20 });
  const written: object[] = [];
  const audited: { readonly status: number; readonly change: object | undefined }[] = [];
  const keys = [sampleKey('sk-gw-scoped', { id: 'scoped', userPath: '/team', role: 'admin' })];
  const app = createServer({
    logger: { error: () => undefined, info: (line: object) => void written.push(line) },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentialsOf(digestOf('master'), keys),
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      nowMs: () => 0,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
    writes: ({ status, change }) => void audited.push({ status, change }),
  });
  const fleet = { refresh: async () => undefined, proxies: () => [] };
  const settings = () => defaultConfig().cache;
  await app.register(cache, {
    parts: { store, settings, storeEngine: 'sqlite', known: () => nothingKnown, fleet, nowMs: () => 0 },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await store.close();
  });
  const ask = async (query: string, key = 'master') => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${address}/admin/cache?${query}`, { method: 'DELETE', headers });
    return {
      status: response.status,
      revision: response.headers.get('x-gateway-state-revision'),
      body: await response.json(),
    };
  };
  const epochs = async () => readKind(managedCacheResets, (await store.read()).documents).values;
  return { ask, epochs, written, audited };
}

await test('a reset raises the epoch of what it is for, and of all answers it forgets the others', async (t) => {
  const { ask, epochs, written, audited } = await startPlane(t);
  t.match(await ask('user_path=team//app/'), { status: 200, revision: '1', body: { status: 'ok' } });
  await ask('user_path=/team/app');
  await ask('model=Fast');
  t.same(await epochs(), [
    { id: 'model fast', epoch: 1 },
    { id: 'user_path /team/app', epoch: 2 },
  ]);
  await ask('scope=gateway');
  t.same(await epochs(), [{ id: '', epoch: 1 }]);
  t.match(written[0], { about: 'cached answers of the user path /team/app', outcome: 'done', operator: 'master_key' });
  t.match(audited.at(-1), { status: 200, change: { about: 'every cached answer' } });
});

await test('an operator of a user path resets within it only', async (t) => {
  const { ask, epochs } = await startPlane(t);
  t.match(await ask('user_path=/team/app', 'sk-gw-scoped'), { status: 200 });
  for (const query of ['user_path=/', 'user_path=/team-alpha', 'model=fast', 'scope=gateway'])
    t.match(await ask(query, 'sk-gw-scoped'), { status: 403, body: { code: 'admin_scope_denied' } }, query);
  t.equal((await epochs()).length, 1);
  t.match(await ask('scope=gateway', 'wrong'), { status: 401 });
});

await test('anything but one of the three parameters is refused, and nothing is reset', async (t) => {
  const { ask, epochs } = await startPlane(t);
  for (const [query, param] of [
    ['', 'scope'],
    ['scope=all', 'scope'],
    ['scope=gateway&model=m', 'model'],
    ['user_path=/a&model=m', 'model'],
    ['user_path=/a/../b', 'user_path'],
    ['model=', 'model'],
    [`model=${'m'.repeat(1_025)}`, 'model'],
    ['model=a&model=b', 'model'],
    ['key=k', 'key'],
  ] as const)
    t.match(
      await ask(query),
      { status: 400, body: { code: 'invalid_query', param, type: 'invalid_request_error' } },
      query,
    );
  t.same(await epochs(), []);
});

await test('one reset more than can be remembered is one of all', (t) => {
  const many = Array.from({ length: mostCacheResets }, (_, index) => ({ id: pathResetId(`/p${index}`), epoch: 1 }));
  const known = resetCache(many, pathResetId('/p0'));
  t.same(known, [{ kind: 'cache_reset', id: 'user_path /p0', body: { epoch: 2 } }]);
  const changes = resetCache(many, pathResetId('/new'));
  t.equal(changes.filter(({ body }) => body === undefined).length, mostCacheResets);
  t.same(changes.at(-1), { kind: 'cache_reset', id: '', body: { epoch: 1 } });
  t.end();
});

await test('the mark of a request changes with the resets that are for it, and with no other', (t) => {
  const none = cacheResets([]).markOf('/team/app', ['fast', 'p/m', 'm']);
  const markAfter = (id: string) => cacheResets([{ id, epoch: 1 }]).markOf('/team/app', ['fast', 'p/m', 'm']);
  for (const id of ['', 'user_path /', 'user_path /team', 'user_path /team/app', 'model fast', 'model p/m', 'model m'])
    t.not(markAfter(id), none, id);
  for (const id of ['user_path /team-alpha', 'user_path /team/app/x', 'user_path /team/ap', 'model p', 'model p/n'])
    t.equal(markAfter(id), none, id);
  t.end();
});

await test('the cache is shown with what all live proxies say of it', async (t) => {
  const facts = (hits: number, entries: number): CacheFacts => ({
    entries,
    bytes: entries * 100,
    evicted: 1,
    dropped: 2,
    requests: [['chat', hits, 3, 0]],
    saved_tokens: 10 * hits,
    saved_nano_dollars: 5e8 * hits,
  });
  const proxy = (instance: string, said: CacheFacts | undefined, isLive = true) => ({
    instance,
    isLive,
    body: sampleHeartbeat(said === undefined ? {} : { cache: said }),
  });
  const proxies = [
    proxy('a', facts(1, 4)),
    proxy('b', { ...facts(2, 5), requests: [...facts(2, 5).requests, ['embeddings', 1, 0, 7]] }),
    proxy('gone', facts(100, 100), false),
    proxy('older', undefined),
  ];
  const settings = defaultConfig().cache;
  const said = cacheListing({ settings, storeEngine: 'sqlite', proxies, nowMs: 0 });
  t.match(said, {
    settings: { enabled: false, engine: 'memory' },
    entries: 9,
    bytes: 900,
    evicted: 2,
    dropped: 4,
    hits: 4,
    misses: 6,
    bypasses: 7,
    saved_tokens: 30,
    saved_cost: 1.5,
    endpoints: [
      { endpoint: 'chat', hits: 3, misses: 6, bypasses: 0 },
      { endpoint: 'embeddings', hits: 1, misses: 0, bypasses: 7 },
    ],
    proxies: [
      { instance: 'a', hits: 1 },
      { instance: 'b', hits: 3, bypasses: 7 },
    ],
  });
  const validate = new Ajv2020({ strict: false, formats: { 'date-time': true } }).compile(schema);
  t.ok(validate(said), JSON.stringify(validate.errors));
  const shared = cacheListing({ settings, storeEngine: 'redis', proxies, nowMs: 0 });
  t.match(shared, { settings: { engine: 'redis' }, entries: 5, bytes: 500, hits: 4 }, 'in Redis all hold the same');
});
