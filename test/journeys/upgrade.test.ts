// What each release has left in its stores is read by the present gateway, records that waited included; what a newer one wrote is left alone.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { t as suite, type Test, test } from 'tap';
import { findAll, type ReleaseFacts } from '../fixtures/releases/facts.ts';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(200_000);

/** Audit entries and stored responses of a fixture are gone when it is older. Milliseconds. */
const keptMs = 360 * 86_400_000;
const releases = globSync(join(import.meta.dirname, '../fixtures/releases/*/facts.json')).map((path) => dirname(path));
const unpacked = (path: string): Buffer => gunzipSync(readFileSync(path));
const upstream = await startFakeUpstream({ t: suite });
const postgres = await startPostgres(suite);

/** What a release has left, in stores of this test. `data`: its data directory. */
const stores = {
  async sqlite(t: Test, release: string) {
    const data = unpackData(t, release, 'sqlite');
    return { data, options: { store: 'sqlite', env: { GATEWAY_DATA: data } } } as const;
  },
  async redis(t: Test, release: string) {
    const data = unpackData(t, release, 'redis');
    writeFileSync(join(data, 'redis.rdb'), unpacked(join(release, 'redis.rdb.gz')));
    const redis = await startRedis(t, { args: ['--dir', data, '--dbfilename', 'redis.rdb'] });
    const url = await postgres.database();
    await postgres.query(url, unpacked(join(release, 'records.sql.gz')).toString());
    return { redis, url, options: { store: 'redis', redis, env: { GATEWAY_DATA: data, DATABASE_URL: url } } } as const;
  },
};

function unpackData(t: Test, release: string, store: string): string {
  const home = temporaryDirectory(t, 'gateway-release');
  execFileSync('tar', ['-xzf', join(release, `${store}-data.tar.gz`), '-C', home]);
  return join(home, 'data');
}

async function start(
  t: Test,
  release: string,
  { env, ...options }: Awaited<ReturnType<(typeof stores)['sqlite' | 'redis']>>['options'],
) {
  const config = readFileSync(join(release, 'gateway.yaml'), 'utf8');
  return startFleet(t, { ...options, proxies: 1, config, env: { ...env, PROVIDER_URL: upstream.url } });
}

const factsOf = (release: string, store: 'sqlite' | 'redis'): ReleaseFacts =>
  (JSON.parse(readFileSync(join(release, 'facts.json'), 'utf8')) as Record<string, ReleaseFacts>)[
    store
  ] as ReleaseFacts;

for (const release of releases) {
  for (const store of ['sqlite', 'redis'] as const)
    await test(`what ${basename(release)} has left is there, ${store}`, async (t) => {
      const { key, response, days, found } = factsOf(release, store);
      const fleet = await start(t, release, (await stores[store](t, release)).options);
      const proxy = fleet.proxies[0] as Gateway;
      const isFresh = Date.now() - Date.parse(/\d{4}-\d\d-\d\d/.exec(days)?.[0] ?? '') < keptMs;
      const expected = isFresh ? found : { ...found, audited: 0 };
      await waitFor('what has waited in the journal, and counters', async () => {
        const { usage, rules } = await findAll(fleet, days);
        return JSON.stringify([usage, rules]) === JSON.stringify([expected.usage, expected.rules]);
      }).catch(() => undefined);
      t.match(await findAll(fleet, days), expected);

      const withKey = { headers: { authorization: `Bearer ${key}` } };
      t.equal((await ask(proxy, undefined, { model: 'chat' }, withKey)).status, 200, 'the key and the alias');
      const refused = { model: 'chat', messages: [{ role: 'user', content: 'Redwood' }] };
      t.equal((await ask(proxy, undefined, refused, withKey)).status, 400, 'the guardrail');
      t.equal((await proxy.fetch(response, withKey)).status, isFresh ? 200 : 404, 'the stored response');
      await waitFor('the next record', async () => {
        const answer = await fleet.admin('/admin/usage/summary?days=3650');
        return ((await answer.json()) as { total_requests: number }).total_requests > found.usage.total_requests;
      });
    });
}

const release = releases.at(-1) ?? '';

/** What a plane that is degraded says of the reason. */
async function causesOf(fleet: Fleet): Promise<Readonly<Record<string, string>>> {
  const status = (await (await fleet.admin('/admin/status')).json()) as {
    degraded: { reason: string; cause?: string }[];
  };
  return Object.fromEntries(status.degraded.map(({ reason, cause = '' }) => [reason, cause]));
}

/** Waits for both stores to be refused. */
const refusals = (fleet: Fleet): Promise<Readonly<Record<string, string>>> =>
  waitFor('both stores to be refused', async () => {
    const causes = await causesOf(fleet);
    return causes['state_store_unavailable'] && causes['record_store_unavailable'] && causes;
  });

await test('files of a newer version are left alone, and both planes say what to run', async (t) => {
  const { data, options } = await stores.sqlite(t, release);
  const raise = (name: string, sql: string): void => {
    const database = new DatabaseSync(join(data, `${name}.sqlite`));
    database.exec(`${sql}; PRAGMA journal_mode = DELETE`);
    database.close();
  };
  raise('state', 'PRAGMA user_version = 99');
  raise('records', 'UPDATE record_version SET version = 99');
  raise('kept', 'PRAGMA user_version = 99');
  const bytesOf = () => ['state', 'records', 'kept'].map((name) => readFileSync(join(data, `${name}.sqlite`), 'hex'));
  const before = bytesOf();
  const fleet = await start(t, release, options);
  t.match(await refusals(fleet), {
    state_store_unavailable: /state\.sqlite was written by a newer version of the gateway; run that version/,
    record_store_unavailable: /records\.sqlite was written by a newer version of the gateway; run that version/,
  });
  const [proxy] = fleet.proxies;
  const { key, response } = factsOf(release, 'sqlite');
  const asked = await proxy?.fetch(response, { headers: { authorization: `Bearer ${key}` } });
  t.equal(asked?.status, 503, 'stored responses are not read');
  t.match(await proxy?.process.waitForLine('newer version'), /run that version, or another GATEWAY_DATA/);
  t.ok(JSON.stringify(bytesOf()) === JSON.stringify(before), 'the files are as they were');
});

await test('Redis and PostgreSQL of a newer version are left alone, and said to be', async (t) => {
  const { redis, url, options } = await stores.redis(t, release);
  await redis.client().hset('{gateway}:state', 'version', '99');
  await postgres.query(url, 'UPDATE gateway_records.record_version SET version = 99');
  const fleet = await start(t, release, options);
  t.match(await refusals(fleet), {
    state_store_unavailable: /newer version of the gateway; run that version, or another Redis database/,
    record_store_unavailable: /newer version of the gateway; run that version, or use another database/,
  });
  const [{ n } = {}] = await postgres.query(url, 'SELECT count(*) AS n FROM gateway_records.usage');
  t.equal(Number(n), 4, 'what waits in Redis stays there');
});
