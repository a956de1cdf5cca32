// Backups are put back as deploy/README.md says it, with its own commands: keys, rules, records and stored responses are there again.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, readMetric } from '../support/gateway.ts';
import { startPostgres } from '../support/postgres.ts';
import { needProgram } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(200_000);

const top = join(import.meta.dirname, '../..');
const section = /^### Restore a backup\n(.*?)^### /ms.exec(readFileSync(join(top, 'deploy/README.md'), 'utf8'))?.[1];
const commands = [...(section ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const [copyFiles, intoEmpty, recordsAlone, postgres] = commands as [string, string, string, string];
const [dump, restore] = postgres.trim().split('\n') as [string, string];

/** Runs commands of the page beside the data directory of a fleet. */
function run(script: string, { home }: Fleet, env: Record<string, string> = {}): void {
  const path = [dirname(needProgram('pg_dump', 'postgresql')), process.env['PATH']].join(delimiter);
  execFileSync('bash', ['-euc', script], { cwd: home, env: { ...process.env, PATH: path, ...env }, stdio: 'pipe' });
}

const upstream = await startFakeUpstream({ t: suite });
const pricing = { input_per_mtok: 1, output_per_mtok: 2 };
const models = upstream.models.map((id) => ({ id, pricing }));
const config = { providers: { fake: { type: 'openai', base_url: upstream.url, models } } };

async function start(t: Test, options: { store: 'sqlite' | 'redis'; env?: Record<string, string> }) {
  const fleet = await startFleet(t, { ...options, proxies: 1, config });
  symlinkSync(join(top, 'node_modules'), join(fleet.home, 'node_modules'));
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

await test('the three databases of one machine are copied while it runs, and bring an empty one back', async (t) => {
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
  t.same([await request(), await request(), kept.status, await isKept()], [200, 200, 200, 200]);
  const before = await usageOf(fleet, 3);
  t.ok(before.total_cost > 0);
  run(copyFiles, fleet);

  t.equal(await request(), 200);
  await usageOf(fleet, 4);
  t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
  await Promise.all([fleet.controlPlane.kill(), proxy.process.kill()]);
  rmSync(join(fleet.home, 'data'), { recursive: true });
  run(intoEmpty, fleet);
  await fleet.restartControlPlane();
  await proxy.restart();
  t.same(await usageOf(fleet, 3), before, 'usage and costs are those of the copy');
  t.same([await request(), await isKept()], [200, 200], 'so are keys and stored responses');
  const { rate_limits: rules } = (await (await fleet.admin('/admin/rate-limits')).json()) as { rate_limits: object[] };
  t.match(
    rules.find((rule) => 'subject' in rule && rule.subject === '/limited'),
    { max_requests: 7, source: 'manual' },
  );

  // One request has come since. The next one waits in the journal while its records are put back.
  await usageOf(fleet, 4);
  await fleet.controlPlane.stop();
  t.equal(await request(), 200);
  run(recordsAlone, fleet);
  await fleet.restartControlPlane();
  await usageOf(fleet, 4);
});

await test('records in PostgreSQL are copied and put back while the control plane runs', async (t) => {
  const server = await startPostgres(t);
  const env = { DATABASE_URL: await server.database() };
  const { fleet, proxy } = await start(t, { store: 'redis', env });
  const request = async () => t.equal((await ask(proxy, '/team')).status, 200);
  await request();
  const before = await usageOf(fleet, 1);
  mkdirSync(join(fleet.home, 'backup'));
  run(dump, fleet, env);
  await request();
  await usageOf(fleet, 2);
  run(restore, fleet, env);
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
