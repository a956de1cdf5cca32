// /admin/virtual-models over HTTP on a real store: what is listed, what a write changes, and what it refuses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { virtualModelResource } from '../../control-plane/admin/virtual-models/resource.ts';
import { managedRoutes } from '../../control-plane/managed/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import type { Alias } from '../../schemas/types.ts';
import { openStateStore } from '../../store/state/open.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { componentProblems } from '../support/api-description.ts';
import { sampleKey } from '../support/managed-state.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const start = Date.UTC(2026, 5, 1);
const schemaOf = (room: string, name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../schemas/${room}/${name}.schema.json`), 'utf8'));

const declared = (source: string, target: string, more: Partial<Alias> = {}): Alias => {
  return {
    source,
    targets: [{ model: target, weight: 1 }],
    strategy: 'round_robin',
    enabled: true,
    hedge: false,
    ...more,
  };
};

interface Row {
  readonly [name: string]: unknown;
}
interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly body: Row;
  readonly rows: readonly Row[];
  of(source: string): Row | undefined;
}

/** A control plane with these routes alone; `world` may change while it runs. */
async function startPlane(t: Test) {
  const world = {
    aliases: [declared('chat', 'p/m'), declared('off', 'p/m', { enabled: false })],
    models: ['m', 'n'],
    isDown: false,
    nowMs: start,
  };
  const store = openStateStore({ directory: temporaryDirectory(t), pollMs: 20 });
  let last = await store.read();
  const written: Row[] = [];
  const keys = [
    sampleKey('sk-gw-scoped', { id: 'scoped', userPath: '/team', role: 'admin' }),
    sampleKey('sk-gw-whole', { id: 'whole', userPath: undefined, role: 'admin' }),
  ];
  const app = createServer({
    logger: { error: () => undefined, info: (line: object) => void written.push(line as Row) },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentialsOf(digestOf('master'), keys),
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      nowMs: () => world.nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  await app.register(managedRoutes(virtualModelResource), {
    parts: {
      store: {
        async read() {
          if (world.isDown) throw new StoreUnavailable('timeout', 'no answer');
          last = await store.read();
          return last;
        },
        commit: (commit) => store.commit(commit),
        inForce: () => last,
      },
      configAliases: () => ({
        aliases: world.aliases,
        places: new Map(world.aliases.map(({ source }, index) => [source, `aliases.yaml:${index + 2}`])),
        models: modelNames({ providers: { p: { models: world.models }, q: { models: ['m'] } } }),
      }),
      nowMs: () => world.nowMs,
    },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await store.close();
  });
  async function ask(method: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${address}/admin/virtual-models`, {
      method,
      headers: {
        authorization: 'Bearer master',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Row;
    t.same(
      componentProblems(response.ok ? 'VirtualModels' : 'AdminError', answer),
      [],
      `${method}: ${JSON.stringify(answer)}`,
    );
    const rows = (answer['virtual_models'] ?? []) as Row[];
    const of = (source: string): Row | undefined => rows.findLast((row) => row['source'] === source);
    return { status: response.status, etag: response.headers.get('etag') ?? '', body: answer, rows, of };
  }
  const problem = async (body: unknown): Promise<string> => {
    const { status, body: answer } = await ask('PUT', body);
    return `${status} ${String(answer['param'])}: ${String(answer['message'])}`;
  };
  return { world, written, ask, problem };
}

await test('an operator sets an alias, replaces a declared one, and takes it back', async (t) => {
  const { world, written, ask } = await startPlane(t);
  const before = await ask('GET');
  t.match(before.rows, [
    { source: 'chat', target: 'p/m', managed_by: 'config', declared_at: 'aliases.yaml:2', enforced: true },
    { source: 'off', enabled: false },
  ]);

  const set = await ask('PUT', { source: 'Chat', target_model: 'p/n', user_paths: ['team//a/', '/team/a'] });
  t.equal(set.status, 200);
  t.equal(set.rows.length, 2);
  t.match(set.of('Chat'), {
    targets: [{ model: 'p/n', weight: 1 }],
    user_paths: ['/team/a'],
    managed_by: 'manual',
    overrides_config: true,
    declared_at: 'aliases.yaml:2',
    enforced: true,
    created_at: '2026-06-01T00:00:00.000Z',
    updated_by: 'master_key',
  });
  t.match(written.at(-1), {
    about: 'chat',
    before: { managed_by: 'config', source: 'chat', target: 'p/m' },
    after: { managed_by: 'manual', source: 'Chat', target: 'p/n' },
  });

  world.nowMs += 1000;
  const whole = { authorization: 'Bearer sk-gw-whole' };
  const again = await ask('PUT', { source: 'chat', targets: [{ model: 'q/m', weight: 3 }, { model: 'm' }] }, whole);
  t.match(again.of('chat'), {
    targets: [{ weight: 3 }, { weight: 1 }],
    created_at: '2026-06-01T00:00:00.000Z',
    updated_at: '2026-06-01T00:00:01.000Z',
    updated_by: 'whole',
  });
  t.notOk('user_paths' in (again.of('chat') ?? {}), 'a PUT replaces all');

  const gone = await ask('DELETE', { source: 'CHAT' });
  t.match(gone.of('chat'), { target: 'p/m', managed_by: 'config' });
  t.match((await ask('DELETE', { source: 'chat' })).body, {
    status_code: 409,
    code: 'virtual_model_config_owned',
    message: /aliases\.yaml:2/,
  });
  t.match((await ask('DELETE', { source: 'nothing' })).body, { status_code: 404, code: 'virtual_model_not_found' });
});

await test('enabled stays as it was when it is not given', async (t) => {
  const { ask } = await startPlane(t);
  t.match((await ask('PUT', { source: 'off', target: 'p/n' })).of('off'), { enabled: false });
  t.match((await ask('PUT', { source: 'off', target: 'p/n', enabled: true })).of('off'), { enabled: true });
  t.match((await ask('PUT', { source: 'off', target: 'p/m' })).of('off'), { enabled: true });
  t.match((await ask('PUT', { source: 'new', target: 'p/m' })).of('new'), { enabled: true });
});

await test('an unusable alias is refused, and the member is named', async (t) => {
  const { ask, problem } = await startPlane(t);
  const cases: [body: object, said: RegExp][] = [
    [{ target: 'p/m' }, /^400 source: .*is missing/],
    [{ source: 'a' }, /^400 targets: .*is missing; give target, or targets/],
    [{ source: 'a', target: 'p/m', target_model: 'p/m' }, /^400 target_model: .*does not go with target/],
    [{ source: 'a', target: 'p/m', targets: [{ model: 'p/m' }] }, /^400 targets: .*does not go with target/],
    [{ source: 'a', target: 'p/m', region: 'eu' }, /^400 region: .*unknown/],
    [{ source: 'a', target: 'p/m', strategy: 'random' }, /^400 strategy: .*must be one of round_robin/],
    [{ source: 'a', targets: [] }, /^400 targets:/],
    [{ source: 'a', targets: [{ model: 'p/m', weight: 0 }] }, /^400 targets\[0\]\.weight:/],
    [{ source: 'a', target: 'p/mm' }, /^400 target: .*does not list the model "mm"; perhaps "m" was meant/],
    [{ source: 'a', target_model: 'x/m' }, /^400 target_model: .*there is no provider "x"/],
    [{ source: 'a', targets: [{ model: 'p/m' }, { model: 'chatt' }] }, /^400 targets\[1\]\.model: .*"chat" was meant/],
    [{ source: 'a', target: 'a' }, /^400 target: .*leads to itself/],
    [{ source: 'p/m', target: 'chat' }, /^400 target: .*"p\/m" → "chat" → "p\/m"/],
    [{ source: 'a*', target: 'p/m' }, /^400 source: .*stands for no family/],
    [{ source: 'a/*', target: 'p/m' }, /^400 target: .*must be a family/],
    [{ source: 'a', target: 'p/*' }, /^400 target: .*must be one model/],
    [{ source: 'a', target: 'p/m', hedge: true }, /^400 hedge: .*needs two targets/],
    [{ source: 'a', target: 'p/m', rescue: 'continue' }, /^400 rescue: .*needs two targets/],
    [{ source: 'a', target: 'm', rescue: 'retry' }, /^400 rescue: /],
    [
      { source: 'a', target: 'p/m', mirror: { target: 'p/mm', share: 1 } },
      /^400 mirror\.target: .*not list the model "mm"/,
    ],
    [
      { source: 'a', target: 'p/m', mirror: { target: 'chat', share: 1 } },
      /^400 mirror\.target: .*found the alias "chat"/,
    ],
    [{ source: 'a', target: 'p/m', mirror: { target: 'm', share: 2 } }, /^400 mirror\.share:/],
    [{ source: 'a', target: 'p/m', mirror: { target: 'm' } }, /^400 mirror\.share:/],
    [{ source: 'a', target: 'p/m', user_paths: ['/a', '/b:c'] }, /^400 user_paths: .*in entry \[1\] has a colon/],
    [{ source: 'a', target: 'p/m', when: 'toknes > 1' }, /^400 when: .*at character 1 .*did you mean "tokens"/],
    [
      { source: 'a', targets: [{ model: 'p/m' }, { model: 'p/n', when: 'stream && path.matches("a")' }] },
      /^400 targets\[1\]\.when: .*at character 11 .*matches is not supported/,
    ],
    [{ source: 'a', targets: [{ model: 'p/m', when: 'hour > 23' }] }, /^400 targets\[0\]\.when: .*false for every/],
    [{ source: 'a', targets: [{ model: 'p/m', tier: 0 }] }, /^400 targets\[0\]\.tier:/],
    [{ source: 'a', target: 'p/m', retry: { attempts: 11 } }, /^400 retry\.attempts:/],
    [{ source: 'a', target: 'p/m', retry: { deadline: '9999h' } }, /^400 retry\.deadline: .*out of range/],
    [{ source: 'a', target: 'p/m', description: 'x'.repeat(1001) }, /^400 description:/],
    [
      {
        source: 'a',
        target: 'p/m',
        user_paths: Array.from({ length: 20 }, (_, index) => `/${index}${'x'.repeat(1000)}`),
      },
      /^400 targets: .*a virtual model may take 16384/,
    ],
  ];
  for (const [body, said] of cases) t.match(await problem(body), said, JSON.stringify(body).slice(0, 80));
  t.equal((await ask('GET')).rows.length, 2, 'nothing was stored');
  t.equal((await ask('PUT', { source: 'eu/*', target: 'p/*', strategy: 'failover' })).status, 200);
  const two = await ask('PUT', { source: 'two', target: 'm', hedge: true, rescue: 'continue' });
  t.equal(two.status, 200, 'a bare id has two providers');
  t.match(two.of('two'), { hedge: true, rescue: 'continue' });
  const targets = [
    { model: 'p/m', weight: 1, when: 'tokens < 8000' },
    { model: 'p/n', weight: 1, tier: 2 },
  ];
  const whole = { source: 'three', strategy: 'least_busy', targets, when: '"gold" in labels' };
  t.match((await ask('PUT', whole)).of('three'), whole, 'conditions and tiers are kept as they are written');
});

await test('an alias that others lead to is not deleted; after a change of the config it is listed with its problem', async (t) => {
  const { world, ask } = await startPlane(t);
  await ask('PUT', { source: 'inner', target: 'p/n' });
  await ask('PUT', { source: 'outer', targets: [{ model: 'inner' }, { model: 'p/m' }] });
  t.match((await ask('DELETE', { source: 'inner' })).body, {
    status_code: 409,
    code: 'virtual_model_in_use',
    message: /"outer"/,
  });
  world.models = ['m'];
  const listed = await ask('GET');
  t.match(listed.of('inner'), { enforced: false, unenforced_reason: /does not list the model "n"/ });
  t.match(listed.of('outer'), { enforced: true, unenforced_reason: /there is no alias "inner"/ });
  t.equal((await ask('DELETE', { source: 'inner' })).status, 200, 'it is of no use any more');
  t.equal((await ask('DELETE', { source: 'outer' })).status, 200);
});

await test('what stood in for a declared alias is deleted, although its model went', async (t) => {
  const { world, ask } = await startPlane(t);
  await ask('PUT', { source: 'chat', target: 'p/n' });
  world.models = ['m'];
  t.equal((await ask('DELETE', { source: 'chat' })).status, 200);
  t.match((await ask('GET')).of('chat'), { managed_by: 'config', enforced: true });
});

await test('an entity tag guards a write, a scoped key has no access, and a listing works without the store', async (t) => {
  const { world, ask } = await startPlane(t);
  const { etag } = await ask('GET');
  const body = { source: 'a', target: 'p/m' };
  t.equal((await ask('PUT', body, { 'if-match': etag })).status, 200);
  t.match((await ask('PUT', body, { 'if-match': etag })).body, { code: 'precondition_failed' });
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const { body: answer } = await ask(method, method === 'GET' ? undefined : body, {
      authorization: 'Bearer sk-gw-scoped',
    });
    t.match(answer, { code: 'admin_scope_denied' }, method);
  }
  world.isDown = true;
  const stale = await ask('GET');
  t.match(stale.body, { stale: true });
  t.match(stale.of('a'), { managed_by: 'manual' });
  t.match((await ask('PUT', body)).body, { status_code: 503, code: 'store_unavailable' });
});

await test('a body says what a file may say', async (t) => {
  const rules = (node: unknown): unknown =>
    JSON.parse(
      JSON.stringify(node, (word, value: unknown) =>
        ['title', 'description', 'examples', 'x-assembled', 'x-unit'].includes(word) ? undefined : value,
      ),
    );
  const inFile = schemaOf('config', 'aliases').$defs;
  const inBody = schemaOf('admin', 'virtual-model-write').properties;
  for (const member of ['strategy', 'user_paths'])
    t.same(rules(inBody[member]), rules(inFile.alias.properties[member]), member);
  const { deadline: _, ...retry } = inFile.alias.properties.retry.properties;
  const { deadline: __, ...sent } = inBody.retry.properties;
  t.same(rules(sent), rules(retry));
  const hedgeOf = ({ properties: { percentile }, ...hedge }: typeof inBody.hedge): unknown => ({
    ...hedge,
    percentile,
  });
  t.same(rules(hedgeOf(inBody.hedge)), rules(hedgeOf(inFile.alias.properties.hedge)));
  t.same(rules(inBody.source), rules(inFile.model_name));
  t.same(rules(inBody.targets.items.properties.weight), rules(inFile.alias_target.properties.weight));
  const members = [...Object.keys(inFile.alias.properties), 'target_model'].sort();
  t.same(Object.keys(inBody).sort(), members);
});
