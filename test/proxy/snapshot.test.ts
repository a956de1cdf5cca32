// From config to snapshot: which name leads where, what is listed, and that nothing in it can change.
import { test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { atOnce } from '../../proxy/pacing/slices.ts';
import { compile, withDocuments } from '../../proxy/snapshot/compile.ts';
import { createCurrent } from '../../proxy/snapshot/current.ts';
import type { Snapshot } from '../../proxy/snapshot/snapshot.ts';
import { type SampleConfig, sampleConfig } from './sample-config.ts';

const nobody = credentialsOf(undefined, []);
const compiled = (sample: SampleConfig): Snapshot => compile(sampleConfig(sample), 'abc123', nobody);

/** Where a name leads, as `provider/model` (with `*weight` in an alias). */
function routeOf(snapshot: Snapshot, name: string): string[] | undefined {
  const route = snapshot.routes.get(name);
  return route?.targets.map(({ upstream, model }, index) => `${upstream.name}/${model}*${route.weights[index]}`);
}

await test('a model is found by its qualified name and by its bare id', async (t) => {
  const snapshot = compiled({ providers: { b: { models: ['x', 'meta/llama'] }, a: { models: ['x', 'y'] } } });
  t.same(routeOf(snapshot, 'a/x'), ['a/x*1']);
  t.same(routeOf(snapshot, 'b/x'), ['b/x*1']);
  t.same(routeOf(snapshot, 'x'), ['b/x*1', 'a/x*0'], 'a bare id is every provider’s that lists it, as declared');
  t.equal(snapshot.routes.get('x')?.strategy, 'failover');
  t.same(routeOf(snapshot, 'y'), ['a/y*1']);
  t.same(routeOf(snapshot, 'b/meta/llama'), ['b/meta/llama*1']);
  t.same(routeOf(snapshot, 'meta/llama'), ['b/meta/llama*1']);
  for (const unknown of ['', 'a', 'a/', '/x', 'a/z', 'X', 'A/x', 'b/y', '__proto__', 'toString']) {
    t.equal(routeOf(snapshot, unknown), undefined, unknown);
  }
});

await test('an order that an object does not keep is kept, and a provider that is left out still owns its name', async (t) => {
  const config = sampleConfig({ providers: { b: { models: ['x', 'gone/x'] }, 7: { models: ['x'] } } });
  const snapshot = compile({ ...config, providerNames: ['b', 'Gone', '7'] }, '', nobody);
  t.same(routeOf(snapshot, 'x'), ['b/x*1', '7/x*0']);
  t.equal(routeOf(snapshot, 'gone/x'), undefined);
  t.same(routeOf(snapshot, 'b/gone/x'), ['b/gone/x*1']);
});

await test('a qualified name wins over a bare id that looks like one, also where it leads nowhere', async (t) => {
  for (const [first, second] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const snapshot = compiled({ providers: { [first]: { models: [`${second}/x`] }, [second]: { models: ['x'] } } });
    t.same(routeOf(snapshot, `${second}/x`), [`${second}/x*1`]);
    t.same(routeOf(snapshot, `${first}/${second}/x`), [`${first}/${second}/x*1`]);
    const other = compiled({ providers: { [first]: { models: [`${second}/y`] }, [second]: { models: ['x'] } } });
    t.equal(routeOf(other, `${second}/y`), undefined);
  }
});

await test('an alias wins over models of its name, in requests and as a target', async (t) => {
  const snapshot = compiled({
    providers: { p: { models: ['m', 'n', 'chat'] }, q: { models: ['m'] } },
    aliases: [
      { source: 'chat', targets: [{ model: 'q/m', weight: 3 }, { model: 'p/n' }] },
      { source: 'p/m', targets: [{ model: 'q/m' }] },
      { source: 'second', targets: [{ model: 'p/m', weight: 2 }, { model: 'p/chat' }] },
    ],
  });
  t.same(routeOf(snapshot, 'chat'), ['q/m*3', 'p/n*1'], 'in declared order');
  t.same(routeOf(snapshot, 'p/m'), ['q/m*1']);
  t.same(routeOf(snapshot, 'second'), ['q/m*2', 'p/chat*1'], 'the alias p/m, not the model');
  t.same(routeOf(snapshot, 'p/chat'), ['p/chat*1'], 'the model stays reachable by its full name');
});

await test('the list has every qualified model and every alias once, sorted by id', async (t) => {
  const snapshot = compiled({
    providers: { p: { models: ['m', 'B', 'a'] }, P: { models: ['z'] }, o: { models: ['m'] } },
    aliases: [
      { source: 'p/a', targets: [{ model: 'o/m' }, { model: 'p/m' }] },
      { source: 'fast', targets: [{ model: 'p/m' }] },
    ],
  });
  const models = atOnce(snapshot.routes.entries());
  t.same(
    models.map(({ id, owned_by }) => `${id} ${owned_by}`),
    ['P/z P', 'fast p', 'o/m o', 'p/B p', 'p/a o', 'p/m p'],
  );
  for (const model of models) t.match(model, { object: 'model', created: 0 });
});

await test('a provider becomes an upstream with numbers and bytes', async (t) => {
  const snapshot = compiled({
    providers: {
      p: {
        base_url: 'https://api.test:8443/openai/v1/?api-version=2024-10-21&sig=in-the-query',
        forward_headers: ['X-Title'],
        api_key: 'provider-key',
        models: ['a"é'],
        headers: { 'X-Org': 'org-secret', 'X-Flag': 'on' },
        stream_usage: false,
        learn_limits: false,
        allow_routing_members: true,
        timeouts: { connect: '5s', first_byte: '10m', stream_idle: '300s', total: '1h', usage_drain: '1s' },
      },
      bare: { base_url: 'http://127.0.0.1' },
    },
  });
  const [upstream, bare] = snapshot.upstreams;
  t.match(upstream, {
    name: 'p',
    origin: 'https://api.test:8443',
    forwarded: ['x-title'],
    learnsLimits: false,
    allowsRoutingMembers: true,
    connectTimeoutMs: 5_000,
    patience: { firstByteMs: 600_000, streamIdleMs: 300_000, totalMs: 3_600_000 },
  });
  const headers = upstream?.credentials.pick(0).headers ?? [];
  t.match(
    headers.join('|'),
    'authorization|Bearer provider-key|content-type|application/json|accept-encoding|identity|X-Org|org-secret|X-Flag|on',
  );
  t.same(upstream?.secrets, ['provider-key', 'in-the-query', 'org-secret'], 'short words are no secrets');
  t.match(bare, { origin: 'http://127.0.0.1', forwarded: undefined, secrets: [] });
  t.equal(bare?.speechesOf('m').chat?.path, '/chat/completions');
  t.notMatch(bare?.credentials.pick(0).headers, ['authorization']);
  const target = snapshot.routes.get('p/a"é')?.targets[0];
  t.equal(target?.modelJson.toString(), '"a\\"é"');
  t.match(target?.speeches.chat, {
    path: '/openai/v1/chat/completions?api-version=2024-10-21&sig=in-the-query',
    takesStreamOptions: false,
    translation: undefined,
  });
});

await test('a key inside a configured header is a secret of its own', async (t) => {
  const snapshot = compiled({ providers: { p: { headers: { 'X-Auth': 'Token canary-1234567890' } } } });
  t.ok(
    snapshot.upstreams[0]?.secrets.includes('canary-1234567890'),
    'a provider may repeat the key without its scheme',
  );
});

await test('the settings of the server become numbers', async (t) => {
  t.match(compiled({}), {
    revision: 'abc123',
    bodyLimitBytes: 33_554_432,
    shutdownGraceMs: 120_000,
    timeouts: { headersMs: 10_000, bodyMs: 300, writeIdleMs: 60_000, keepAliveMs: 75_000 },
    upstreams: [],
  });
});

await test('everything in a snapshot is frozen', async (t) => {
  const snapshot = compiled({
    providers: { p: { api_key: 'provider-key', models: ['m', 'n'] } },
    aliases: [{ source: 'chat', targets: [{ model: 'p/m' }, { model: 'p/n' }] }],
  });
  const open: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (
      typeof value !== 'object' ||
      value === null ||
      ArrayBuffer.isView(value) ||
      /\.(translation|quirks|relayed)$/.test(path)
    )
      return;
    if (value instanceof Map) for (const [key, each] of value) visit(each, `${path}.${String(key)}`);
    else {
      if (!Object.isFrozen(value)) open.push(path);
      for (const [key, each] of Object.entries(value)) visit(each, `${path}.${key}`);
    }
  };
  visit(snapshot, 'snapshot');
  for (const name of snapshot.routes.keys()) visit(snapshot.routes.get(name), name);
  for (const models of snapshot.routes.targets.values())
    for (const [name, { speeches }] of models) visit(speeches, name);
  t.same(open, []);
});

await test('a request keeps the snapshot it got while new ones see the next', async (t) => {
  const current = createCurrent();
  t.throws(() => current.get(), /no config/);
  const first = compiled({});
  const second = compiled({});
  current.swap(first);
  const pinned = current.get();
  current.swap(second);
  t.equal(pinned, first);
  t.equal(current.get(), second);
});

await test('other keys are put beside the same config', async (t) => {
  const before = compiled({ providers: { p: {} } });
  t.equal(before.credentials, nobody);
  const keys = credentialsOf('digest', []);
  const after = withDocuments(before, keys, before.cache.resets);
  t.equal(after.credentials, keys);
  t.equal(after.routes, before.routes, 'nothing is compiled again');
  t.same({ ...after, credentials: nobody }, before);
  t.ok(Object.isFrozen(after));
  t.equal(before.credentials, nobody, 'requests under way keep theirs');
});
