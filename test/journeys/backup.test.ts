// Backups are made under load and put back as docs/backup-and-restore.md says it, with its own commands: what was settled before is there again.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { t as suite, type Test, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey, readMetric } from '../support/gateway.ts';
import { startPostgres } from '../support/postgres.ts';
import { needProgram } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(200_000);

const top = join(import.meta.dirname, '../..');
const page = readFileSync(join(top, 'docs/backup-and-restore.md'), 'utf8');
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const [makeBackup = '', makeNightly = '', restoreBackup = '', recordsAlone = '', ...later] = commands;
const [postgres = '', redis = '', restoreState = ''] = later;
const [makeFolder, dump, restore] = postgres.trim().split('\n') as [string, string, string];

/** Runs commands of the page beside the data directory of a fleet. What they have printed. */
async function run(script: string, { home }: Fleet, env: Record<string, string> = {}): Promise<string> {
  const path = [dirname(needProgram('pg_dump', 'postgresql')), process.env['PATH']].join(delimiter);
  const options = { cwd: home, env: { ...process.env, PATH: path, ...env } };
  return (await promisify(execFile)('bash', ['-euc', script], options)).stdout;
}

const upstream = await startFakeUpstream({ t: suite });
const pricing = { input_per_mtok: 1, output_per_mtok: 2 };
const models = upstream.models.map((id) => ({ id, pricing }));
const config = { providers: { fake: { type: 'openai', base_url: upstream.url, models } } };

async function start(t: Test, options: { store: 'sqlite' | 'redis'; env?: Record<string, string> }) {
  const fleet = await startFleet(t, { ...options, proxies: 1, config });
  for (const name of ['node_modules', 'package.json', 'deploy']) symlinkSync(join(top, name), join(fleet.home, name));
  return { fleet, proxy: fleet.proxies[0] as Gateway };
}

interface Summary {
  readonly total_requests: number;
  readonly total_cost: number;
}

/** What is recorded of usage, once it is of so many requests. */
const usageOf = (fleet: Fleet, requests: number): Promise<Summary> =>
  waitFor(`${requests} recorded requests`, async () => {
    const answer = await fleet.admin('/admin/usage/summary');
    const summary = answer.status === 200 ? ((await answer.json()) as Summary) : undefined;
    return summary?.total_requests === requests && summary;
  });

/** How many requests are recorded, at least so many. */
const recordedOf = (fleet: Fleet, least: number): Promise<Summary> =>
  waitFor(`at least ${least} recorded requests`, async () => {
    const answer = await fleet.admin('/admin/usage/summary');
    const summary = answer.status === 200 ? ((await answer.json()) as Summary) : undefined;
    return summary !== undefined && summary.total_requests >= least && summary;
  });

await test('one machine is copied while it serves requests, is killed, and comes back', async (t) => {
  const { fleet, proxy } = await start(t, { store: 'sqlite' });
  const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann', user_path: '/team' } });
  const { id, value } = (await issued.json()) as { id: string; value: string };
  const withKey = { headers: { authorization: `Bearer ${value}` } };
  await fleet.write('PUT', { user_path: '/limited', limit_key: { period: 'day' }, max_requests: 7 });
  await fleet.settle();
  const request = async () => (await ask(proxy, undefined, {}, withKey)).status;
  const kept = await ask(proxy, undefined, { input: 'Hello', messages: undefined }, { ...withKey, door: 'responses' });
  const response = `/v1/responses/${(JSON.parse(kept.text) as { id: string }).id}`;
  const isKept = async () => (await proxy.fetch(response, withKey)).status;
  t.same([kept.status, await isKept()], [200, 200]);

  let settled = 1;
  const over = new AbortController();
  const crowd = [1, 2, 3, 4].map(async () => {
    while (!over.signal.aborted) if ((await request()) === 200) settled += 1;
  });
  // A request is in the journal a moment after its answer.
  const { total_requests: least } = await recordedOf(fleet, 40);
  t.match(await run(makeBackup, fleet), /state\.sqlite {2}\d+ KiB/);
  const most = settled + crowd.length;
  over.abort();
  await Promise.all(crowd);
  t.ok(most > least + crowd.length, 'requests were served meanwhile');
  await t.rejects(run(restoreBackup, fleet), { code: 1, stdout: /the proxy proxy-1 runs on .*stop the proxies/s });

  t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
  await proxy.process.kill();
  await t.rejects(run(restoreBackup, fleet), { code: 1, stdout: /control plane .* has records\.sqlite open/s });
  await fleet.controlPlane.kill();
  rmSync(join(fleet.home, 'data'), { recursive: true });
  const restored = await run(restoreBackup, fleet);
  t.match(restored, /is what it was at \d{4}-\d\d-\d\dT.* \(version /);
  t.notMatch(restored, /what was replaced/);
  await fleet.restartControlPlane();
  const before = await recordedOf(fleet, least);
  t.ok(before.total_requests <= most, `${before.total_requests} of at most ${most}`);
  t.ok(before.total_cost > 0);
  await proxy.restart();
  t.same([await request(), await isKept()], [200, 200], 'keys and stored responses are those of the copy');
  const { rate_limits: rules } = (await (await fleet.admin('/admin/rate-limits')).json()) as { rate_limits: object[] };
  t.match(
    rules.find((rule) => 'subject' in rule && rule.subject === '/limited'),
    { max_requests: 7, source: 'manual' },
  );

  // Over what is there: the change since would come back from memory and from copies of the state, if they were believed.
  await usageOf(fleet, before.total_requests + 1);
  t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
  await waitFor('the revocation', async () => (await request()) === 401);
  await Promise.all([fleet.controlPlane.stop(), proxy.process.stop()]);
  t.match(await run(restoreBackup, fleet), /what was replaced is in .*before-restore-/);
  const [aside = ''] = readdirSync(join(fleet.home, 'data')).filter((name) => name.startsWith('before-restore-'));
  t.ok(existsSync(join(fleet.home, 'data', aside, 'state.sqlite')));
  await fleet.restartControlPlane();
  await recordedOf(fleet, before.total_requests);
  await proxy.restart();
  t.equal(await request(), 200, 'the key of the copy');

  // The next request waits in the journal while its records alone are put back.
  await fleet.controlPlane.stop();
  t.equal(await request(), 200);
  await run(recordsAlone, fleet);
  await fleet.restartControlPlane();
  await recordedOf(fleet, before.total_requests + 1);
  await run(makeNightly, fleet);
  t.match(await run(restoreState, fleet, { GATEWAY_MASTER_KEY: masterKey }), /restored: every process/);
});

await test('records in PostgreSQL are copied and put back while the control plane runs', async (t) => {
  const server = await startPostgres(t);
  const env = { DATABASE_URL: await server.database() };
  const { fleet, proxy } = await start(t, { store: 'redis', env });
  const request = async () => t.equal((await ask(proxy, '/team')).status, 200);
  await request();
  const before = await usageOf(fleet, 1);
  const said = await run(`${makeBackup.trim()} || true`, fleet, { ...env, REDIS_URL: fleet.redis?.url ?? '' });
  t.match(said, /nothing to copy in GATEWAY_DATA\n.*redis-cli -u "\$REDIS_URL" --rdb .*\n.*pg_dump --format=custom/);
  await run(`${makeFolder}; ${dump}`, fleet, env);
  await run(redis, fleet, { REDIS_URL: fleet.redis?.url ?? '' });
  t.ok(existsSync(join(fleet.home, 'backup/redis.rdb')));
  await request();
  await usageOf(fleet, 2);
  await run(restore, fleet, env);
  t.same(await usageOf(fleet, 1), before);
  await request();
  await usageOf(fleet, 2);

  // Without DATABASE_URL records begin in a new file of this machine, although the fleet was in use.
  await fleet.settle();
  const begins = async (change: Record<string, string | undefined>) => {
    const lines = fleet.controlPlane.logs().length;
    await fleet.controlPlane.restart({ ...change, GATEWAY_ADMIN_PORT: new URL(fleet.controlPlane.address).port });
    const { address } = fleet.controlPlane;
    const status = (await (await fleet.admin('/admin/status')).json()) as { degraded: { reason: string }[] };
    return {
      reasons: status.degraded.map(({ reason }) => reason).filter((reason) => reason.startsWith('records')),
      metric: readMetric(await (await fetch(`${address}/metrics`)).text(), 'gateway_record_file_begun_anew'),
      warnings: fleet.controlPlane
        .logs()
        .slice(lines)
        .filter(({ level, msg }) => level === 'warn' && String(msg).includes('set DATABASE_URL')).length,
    };
  };
  t.same(await begins({}), { reasons: [], metric: 0, warnings: 0 });
  t.same(await begins({ DATABASE_URL: undefined }), { reasons: ['records_begun_anew'], metric: 1, warnings: 1 });
  await usageOf(fleet, 0);
  t.same(await begins({}), { reasons: [], metric: 0, warnings: 0 }, 'the file is there now');
});
