// Secrets that come through every door stand nowhere: not in the files, Redis and PostgreSQL, not in what the admin API says, the logs, the metrics.
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { openStream } from '../control-plane/event-stream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { journaled } from '../support/journal.ts';
import type { AdminDoor } from '../support/operator.ts';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { bytesOfRedis, filesBelow, rowsOfPostgres } from '../support/stored-bytes.ts';
import { waitFor } from '../support/wait-for.ts';
import { canary, found, marker, own, sendAll, startCanaries } from './canaries.ts';

const { upstream, config } = await startCanaries(suite);
const authorization = `Bearer ${own.GATEWAY_MASTER_KEY}`;

interface Stand {
  readonly fleet: Fleet;
  readonly admin: AdminDoor;
}

function standOf(fleet: Fleet): Stand & { readonly gateway: Fleet['proxies'][number] } {
  const [gateway] = fleet.proxies;
  if (gateway === undefined) throw new Error('there is no proxy');
  const admin: AdminDoor = (path, init = {}) =>
    gateway.fetch(path, { ...init, headers: { authorization, ...init.headers } });
  return { fleet, admin, gateway };
}

/** Writes of an operator with secrets in them. Gives the secret of a key that was issued and used. */
async function write({ admin }: Stand): Promise<string> {
  const issued = await admin('/admin/auth-keys', { method: 'POST', body: { name: 'Ann', user_path: '/ann' } });
  const { value } = (await issued.json()) as { value: string };
  const body = { model: 'small', messages: [{ role: 'user', content: `I am ${value}` }] };
  const asKey = { authorization: `Bearer ${value}`, 'user-agent': value };
  await (await admin('/v1/chat/completions', { method: 'POST', body, headers: asKey })).text();
  const headers = {
    'user-agent': `curl (${canary()}; ${own.GATEWAY_MASTER_KEY})`,
    'x-note': canary(),
    'x-request-id': canary(),
  };
  const rule = { user_path: '/ann', period: 'minute', max_requests: 9 };
  const odd = [
    { path: `/admin/auth-keys/${value}`, method: 'DELETE' },
    { path: `/admin/auth-keys/${own.GATEWAY_MASTER_KEY}`, method: 'DELETE' },
    { path: `/admin/auth-keys/${canary()}/deactivate?api_key=${canary()}`, method: 'POST' },
    { path: '/admin/rate-limits', method: 'PUT', body: { ...rule, reason: `its key ${canary()} is out` } },
    { path: '/admin/rate-limits', method: 'PUT', body: { ...rule, period: canary() } },
    { path: '/admin/rate-limits', method: 'PUT', body: { ...rule, [canary()]: 1 } },
    { path: '/admin/rate-limits', method: 'PUT', body: `{"user_path": ${canary()}` },
    {
      path: '/admin/budgets',
      method: 'PUT',
      body: { user_path: '/ann', period: 'daily', amount: 9, reason: `for ${canary()}` },
    },
    { path: '/admin/virtual-models', method: 'PUT', body: { source: 'odd', target: `fake/${canary()}` } },
    { path: '/admin/auth-keys', method: 'POST', body: { name: `of ${canary()}`, description: canary() } },
    { path: `/admin/${canary()}`, method: 'POST', body: {} },
  ];
  for (const { path, ...init } of odd) await (await admin(path, { ...init, headers })).text();
  return value;
}

/** All that the admin API says, by path. */
async function said({ fleet, admin }: Stand): Promise<Map<string, string>> {
  const read = async (path: string): Promise<string> => (await admin(path)).text();
  const records =
    'audit/log?limit=100 audit/sessions?limit=100 audit/stats usage/log?limit=100 usage/sessions usage/models';
  const state = 'config status rate-limits budgets auth-keys virtual-models explain?model=small';
  const all = new Map<string, string>();
  for (const path of `${records} ${state}`.split(' ')) all.set(path, await read(`/admin/${path}`));
  const { entries } = JSON.parse(all.get('audit/log?limit=100') ?? '') as { entries: { id: string }[] };
  for (const { id } of entries) {
    for (const view of ['detail', 'conversation']) {
      const path = `audit/${view}?log_id=${id}`;
      all.set(path, await read(`/admin/${path}`));
    }
  }
  const live = await openStream(suite, `${fleet.controlPlane.address}/admin/live?cursor=0`, { authorization });
  all.set('live', JSON.stringify(await live.got('entry', entries.length)));
  live.close();
  return all;
}

/** What the processes print, and their metrics. */
async function printed({ fleet, admin }: Stand): Promise<Map<string, string>> {
  const [proxy] = fleet.proxies;
  const lines = [fleet.controlPlane, proxy?.process].flatMap((each) => [
    ...(each?.stdout ?? []),
    ...(each?.stderr ?? []),
  ]);
  const metrics = await Promise.all([proxy?.metrics(), fleet.admin('/metrics').then((answer) => answer.text())]);
  const models = await admin('/v1/models');
  return new Map([
    ['log', lines.join('\n')],
    ['metrics', metrics.join('\n')],
    ['models', await models.text()],
  ]);
}

/** How many requests of models are in the audit log. */
async function countOf({ admin }: Stand): Promise<number> {
  const answer = await admin('/admin/audit/log?limit=1');
  return ((await answer.json()) as { total: number }).total;
}

/** `issued`: a secret without the word. */
function search(t: Test, where: string, places: ReadonlyMap<string, string>, issued?: string): void {
  const leaks = [...places].flatMap(([place, text]) => {
    const further = issued !== undefined && text.includes(issued) ? ['the issued key'] : [];
    return [...found(text), ...further].map((leak) => `${place}: ${leak}`);
  });
  t.ok(places.size > 0);
  t.same(leaks, [], `no secret is in ${where}`);
}

function holdsMarkers(t: Test, places: ReadonlyMap<string, string>, where: string): void {
  const all = [...places.values()].join('\n');
  for (const door of ['chat/completions', 'messages', 'audio/transcriptions', 'files', 'batches', 'anything'])
    t.ok(all.includes(marker(door)), `${where} holds what came through ${door}`);
}

await test('with files', async (t) => {
  const stand = standOf(await startFleet(t, { store: 'sqlite', proxies: 1, config, env: own }));
  const { fleet, gateway } = stand;
  const data = join(fleet.home, 'data');
  // Until the control plane takes it, all lies in the journal.
  await fleet.controlPlane.stop();
  const sent = await sendAll(gateway, upstream);
  await waitFor('all records', () => journaled({ dataDir: data }).length >= sent);
  const opened = await waitFor('the session', () =>
    journaled({ dataDir: data }).find(({ path }) => path === '/v1/realtime'),
  );
  const journal = filesBelow(data);
  search(t, 'the journal', journal);
  holdsMarkers(t, journal, 'the journal');
  t.match(opened.data, { request_headers: { upgrade: 'websocket' }, response_headers: { 'x-request-id': /^req_/ } });
  t.equal(opened.data?.request_body, undefined, 'no frame is recorded');
  const stored = journaled({ dataDir: data }).find(
    ({ path, status_code }) => path === '/v1/files' && status_code === 200,
  );
  t.match(stored?.attempts?.[0]?.usage, { cost: { total: 0 } }, 'a file costs nothing');
  await fleet.restartControlPlane();
  await waitFor('all entries', async () => (await countOf(stand)) >= sent);
  const issued = await write(stand);
  await waitFor('the writes, too', async () => (await countOf(stand)) >= sent + 11);
  const files = filesBelow(data);
  t.ok(files.has('records.sqlite') && files.has('state.sqlite'));
  holdsMarkers(t, files, 'the file');
  search(t, 'the files', files, issued);
  search(t, 'what is said', await said(stand), issued);
  search(t, 'what is printed', await printed(stand), issued);
});

await test('with logins of clients to the provider', async (t) => {
  const brought = await startCanaries(t, 'client');
  const stand = standOf(await startFleet(t, { store: 'sqlite', proxies: 1, config: brought.config, env: own }));
  const { fleet, gateway } = stand;
  const sent = await sendAll(gateway, brought.upstream, 'client');
  const came = brought.upstream.ledger.filter((entry) => found(entry.header('authorization') ?? '').length > 0);
  t.ok(came.length > 20, 'the provider got it');
  await waitFor('all entries', async () => (await countOf(stand)) >= sent);
  const files = filesBelow(join(fleet.home, 'data'));
  holdsMarkers(t, files, 'the file');
  search(t, 'the files', files);
  search(t, 'what is said', await said(stand));
  search(t, 'what is printed', await printed(stand));
});

await test('with Redis and PostgreSQL', async (t) => {
  const redisPassword = canary();
  const [redis, postgres] = await Promise.all([
    startRedis(t, { appendOnly: true, password: redisPassword }),
    startPostgres(t),
  ]);
  const database = await postgres.database();
  const env = {
    ...own,
    REDIS_URL: redis.url.replace('//', `//:${redisPassword}@`),
    DATABASE_URL: database.replace('gateway@', `gateway:${canary()}@`),
  };
  const stand = standOf(await startFleet(t, { store: 'redis', redis, proxies: 1, config, env }));
  const { fleet, gateway } = stand;
  const sent = await sendAll(gateway, upstream);
  const issued = await write(stand);
  await waitFor('all entries', async () => (await countOf(stand)) >= sent + 11);
  const rows = await rowsOfPostgres(postgres, database);
  const keys = await bytesOfRedis(redis);
  holdsMarkers(t, rows, 'PostgreSQL');
  holdsMarkers(t, keys, 'the journal in Redis');
  search(t, 'PostgreSQL', rows, issued);
  search(t, 'Redis', keys, issued);
  search(t, 'the files', filesBelow(join(fleet.home, 'data')), issued);
  search(t, 'what is said', await said(stand), issued);
  search(t, 'what is printed', await printed(stand), issued);
});
