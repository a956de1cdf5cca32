// /admin/status and the metrics of the control plane: which proxies of a fleet are converged, behind or gone.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { ask, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, readMetric, startGateway } from '../support/gateway.ts';
import { listRules } from '../support/operator.ts';
import { fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
// Both stores at once: most of it is waiting.
suite.jobs = 2;

interface ProxyStatus {
  readonly instance: string;
  readonly live: boolean;
  readonly converged: boolean;
  readonly instance_shared: boolean;
  readonly started_at: string;
  readonly config_revision: string;
  readonly config_source: string;
  readonly state_revision: number;
  readonly state_source: string;
  readonly limiter: string;
  readonly environment: string;
  readonly environment_matches: boolean;
  readonly last_config_error: readonly string[] | null;
}

interface Status {
  readonly converged: boolean;
  readonly lag_seconds: number;
  readonly desired: { readonly config_revision: string; readonly state_revision: number; readonly environment: string };
  readonly proxies: readonly [ProxyStatus, ProxyStatus];
}

/** A heartbeat makes a proxy live for three seconds, comes twice a second, and is looked at as often. */
const [lifeMs, beatMs] = [3_000, 500];

async function statusOf(fleet: Fleet): Promise<Status> {
  return (await (await fleet.admin('/admin/status')).json()) as Status;
}

/** The status, once it is so. */
function until(fleet: Fleet, what: string, isSo: (status: Status) => boolean): Promise<Status> {
  return waitFor(what, async () => {
    const status = await statusOf(fleet);
    return isSo(status) && status;
  });
}

const isWell = ({ converged, proxies }: Status): boolean => converged && proxies.every(({ live }) => live);

/** The metrics of the control plane. */
async function metricsOf({ controlPlane }: Fleet): Promise<{ live: number; behind: number; lag: number }> {
  const text = await (await fetch(`${controlPlane.address}/metrics`)).text();
  const read = (name: string): number => readMetric(text, name) ?? Number.NaN;
  return {
    live: read('gateway_proxies_live'),
    behind: read('gateway_proxies_behind'),
    lag: read('gateway_convergence_lag_seconds'),
  };
}

/** The revisions that a proxy itself claims. */
async function claimed(proxy: Gateway): Promise<object> {
  const text = await proxy.metrics();
  return {
    config_revision: /^gateway_config_info\{[^}]*revision="([^"]*)"/m.exec(text)?.[1],
    state_revision: readMetric(text, 'gateway_state_revision'),
  };
}

/** When the configuration on disk was rejected, in Unix seconds; none while it is in force. */
async function rejectedSince(plane: Pick<Gateway, 'metrics'>): Promise<number[]> {
  const found = (await plane.metrics()).matchAll(
    /^gateway_config_rejected_timestamp_seconds\{revision="[^"]+"\} (\S+)$/gm,
  );
  return [...found].map(([, value]) => Number(value));
}

const limits = (cap: number) => ({
  'gateway.yaml': {
    rate_limits: {
      scope: 'replica',
      user_paths: [{ path: '/declared', limits: [{ period: 'minute', max_requests: cap }] }],
    },
  },
});

for (const store of scenarioStores) {
  void test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await startFleet(group, { store, upstream, files: limits(5) });
    const [first, second] = fleet.proxies;
    if (first === undefined || second === undefined) throw new Error('two proxies are needed');

    await group.test('desired and active revisions follow every edit, in git and by operators', async (t) => {
      const before = await until(fleet, 'the fleet to be well', isWell);
      t.match(before.proxies, [{ instance: 'proxy-1' }, { instance: 'proxy-2' }]);
      for (const edit of ['rule', 'config'] as const) {
        const old = (await statusOf(fleet)).desired;
        if (edit === 'rule') {
          await fleet.write('PUT', { user_path: '/team', limit_key: { period: 'hour' }, max_requests: 100 });
        } else await first.applyConfig(limits(6));
        const isNew = ({ desired }: Status): boolean =>
          edit === 'rule'
            ? desired.state_revision > old.state_revision
            : desired.config_revision !== old.config_revision;
        const { desired, proxies } = await until(fleet, 'the edit to arrive', (now) => isNew(now) && isWell(now));
        for (const [index, proxy] of fleet.proxies.entries()) {
          const { config_revision, state_revision } = desired;
          t.match(proxies[index], { config_revision, state_revision, environment_matches: true });
          t.match(proxies[index], { config_source: 'directory', state_source: 'store', limiter: 'enforcing' });
          t.same(await claimed(proxy), { config_revision, state_revision }, 'as the proxy itself says');
        }
      }
      t.same(await metricsOf(fleet), { live: 2, behind: 0, lag: 0 });
    });

    const usedOf = async () => (await listRules(fleet)).find(({ subject }) => subject === '/team')?.requests_used;
    const instances = async () => (await statusOf(fleet)).proxies.map(({ instance, live }) => `${instance} ${live}`);

    await group.test('a proxy that stops in order is removed at once', async (t) => {
      for (const proxy of [first, first, second, second, second]) t.equal((await ask(proxy, '/team')).status, 200);
      await waitFor('the listing', async () => (await usedOf()) === 5);
      await second.process.stop();
      t.same(await instances(), ['proxy-1 true']);
      t.equal(await usedOf(), 2);
    });

    await group.test('a proxy with other rules in its environment shows, for as long as it has them', async (t) => {
      await second.restart({ SET_RATE_LIMIT_TEAM: 'rpm=7' });
      const status = await until(fleet, 'the mismatch', ({ proxies }) => !proxies[1].environment_matches);
      t.match(status.proxies, [
        { environment_matches: true, converged: true, environment: status.desired.environment },
        { environment_matches: false, converged: false, last_config_error: null, live: true },
      ]);
      t.equal(status.converged, false);
      const found = await waitFor('the lag to grow', async () => {
        const metrics = await metricsOf(fleet);
        return metrics.lag > 0.5 && metrics;
      });
      t.match(found, { live: 2, behind: 1 });
      t.ok((await statusOf(fleet)).lag_seconds >= found.lag);
    });

    /** Equal to the directory that the others follow, for as long as neither changes. */
    const own = join(fleet.home, 'config-of-its-own');

    await group.test(
      'a killed proxy takes over from itself at once, and is well again without those rules',
      async (t) => {
        t.equal((await ask(second, '/team')).status, 200);
        const askedMs = Date.now();
        await waitFor('the listing', async () => (await usedOf()) === 6);
        const written = () => second.metric('gateway_counters_written_timestamp_seconds');
        await waitFor('the counters to be written', async () => ((await written()) ?? 0) * 1000 > askedMs);
        cpSync(join(fleet.home, 'config'), own, { recursive: true });
        const before = await statusOf(fleet);

        await second.process.kill();
        const killedMs = performance.now();
        await second.restart({ SET_RATE_LIMIT_TEAM: undefined, GATEWAY_CONFIG: own });
        const isBack = ({ proxies }: Status) => proxies[1].started_at > before.proxies[1].started_at;
        const after = await until(fleet, 'its new life to be heard of', isBack);
        const backMs = performance.now() - killedMs;
        t.comment(`heard of again ${Math.round(backMs)} ms after the kill`);
        t.ok(isWell(after), 'the same content in another directory is the same revision');
        t.same(await instances(), ['proxy-1 true', 'proxy-2 true'], 'and is not listed twice');
        t.equal((await usageOf(second, '/team'))[0]?.requests_used, 4);
        await waitFor('the listing', async () => (await usedOf()) === 6);
        t.same(await metricsOf(fleet), { live: 2, behind: 0, lag: 0 });
      },
    );

    await group.test('a proxy whose own config directory is broken says what is wrong with it', async (t) => {
      writeFileSync(join(own, 'gateway.yaml'), 'rate_limits: { user_pats: [] }\n');
      const broken = await until(fleet, 'the error', ({ proxies }) => proxies[1].last_config_error !== null);
      t.match(broken.proxies[0], { last_config_error: null });
      t.match(broken.proxies[1].last_config_error, [/gateway\.yaml:1:\d+ .*user_pats/]);
      t.match(broken, { converged: false }, 'what was pushed is not in force');
      const [since = Number.NaN] = await rejectedSince(second);
      t.match(broken.proxies[1], {
        converged: true,
        rejected_config: { since: new Date(Math.round(since * 1000)).toISOString() },
      });
      t.same(await rejectedSince(first), []);
      const ready = await (await fleet.admin('/health/ready')).json();
      t.match(ready, { status: 'degraded', reasons: ['config_rejected_by_proxy'] });
      t.match(await (await second.fetch('/health/ready')).json(), { status: 'degraded', reasons: ['config_rejected'] });

      await first.applyConfig(limits(8));
      const isBehind = ({ proxies }: Status) => proxies[0].converged && !proxies[1].converged;
      const behind = await until(fleet, 'the proxy to fall behind', isBehind);
      const { config_revision } = behind.desired;
      t.not(behind.proxies[1].config_revision, config_revision);
      await waitFor('the metric to say so', async () => (await metricsOf(fleet)).behind === 1);

      cpSync(join(fleet.home, 'config'), own, { recursive: true });
      const well = await until(fleet, 'the fleet to be well', isWell);
      t.match(well.proxies, [{ config_revision }, { config_revision, last_config_error: null }]);
    });

    await group.test(
      'a killed proxy is gone after three seconds, and back with its counters when it starts again',
      async (t) => {
        const before = await until(fleet, 'the fleet to be well', isWell);
        await second.process.kill();
        const killedMs = performance.now();
        t.equal(await usedOf(), 6, 'for a moment no process has noticed');
        await waitFor('its counters to leave the listing', async () => (await usedOf()) === 2);
        const goneMs = performance.now() - killedMs;
        t.ok(goneMs > lifeMs - 2 * beatMs && goneMs < lifeMs + 2 * beatMs, `gone after ${Math.round(goneMs)} ms`);
        const gone = await statusOf(fleet);
        t.match(gone.proxies, [{ live: true }, { instance: 'proxy-2', live: false }]);
        t.match(gone, { converged: true }, 'a proxy that is gone is not behind');
        t.match(await metricsOf(fleet), { live: 1, behind: 0 });

        await second.restart();
        t.equal((await usageOf(second, '/team'))[0]?.requests_used, 4, 'it knows what it had counted');
        const back = await until(fleet, 'it to be back', isWell);
        t.ok(back.proxies[1].started_at > before.proxies[1].started_at);
        await waitFor('its counters to be back', async () => (await usedOf()) === 6);
        t.same(await metricsOf(fleet), { live: 2, behind: 0, lag: 0 });
      },
    );

    await group.test('after a rejected push both planes say what was rejected, and since when', async (t) => {
      const { desired } = await until(fleet, 'the fleet to be well', isWell);
      const files = [first.configDir, own].map((folder) => join(folder, 'gateway.yaml'));
      const push = (content: string): void => {
        for (const file of files) writeFileSync(file, content);
      };
      const good = readFileSync(files[0] ?? '', 'utf8');
      push('rate_limits: { user_pats: [] }\n');
      type Rejected = { readonly last_rejected_config: { readonly revision: string; readonly since: string } | null };
      const status = await until(
        fleet,
        'all to reject it',
        (now) =>
          (now as Status & Rejected).last_rejected_config !== null &&
          now.proxies.every(({ last_config_error }) => last_config_error !== null),
      );
      const { revision, since } = (status as Status & Rejected).last_rejected_config ?? { revision: '', since: '' };
      t.not(revision, desired.config_revision);
      t.match(status, {
        converged: false,
        desired: { config_revision: desired.config_revision },
        proxies: [
          { converged: true, rejected_config: { revision } },
          { converged: true, rejected_config: { revision } },
        ],
      });
      const plane = { metrics: async () => (await fetch(`${fleet.controlPlane.address}/metrics`)).text() };
      t.same(await rejectedSince(plane), [Date.parse(since) / 1000]);
      for (const proxy of fleet.proxies) t.equal((await rejectedSince(proxy)).length, 1);
      const { reasons } = (await (await fleet.admin('/health/ready')).json()) as { reasons: string[] };
      t.same(reasons, ['config_rejected']);
      push(good);
      await until(fleet, 'the fleet to be well', isWell);
      t.same(await rejectedSince(plane), []);
    });

    if (store === 'redis') {
      await group.test('two proxies of one name, each on its own disk, are not converged', async (t) => {
        const env = { GATEWAY_INSTANCE: 'proxy-2', GATEWAY_CONFIG: first.configDir, REDIS_URL: fleet.redis?.url };
        const twin = await startGateway(t, { upstream, config: {}, env });
        const found = await until(fleet, 'the name to be known as shared', ({ converged }) => !converged);
        t.match(found.proxies, [{ instance_shared: false }, { instance_shared: true, converged: true, live: true }]);
        const says = (process: typeof fleet.controlPlane, what: string) =>
          waitFor(what, () => process.stdout.some((line) => line.includes(what)));
        await says(fleet.controlPlane, 'several proxies run as instance \\"proxy-2\\"');
        for (const each of [second, twin]) await says(each.process, 'another process runs as instance \\"proxy-2\\"');
        t.notOk(first.process.stdout.some((line) => line.includes('another process')));
      });
    }
  });
}
