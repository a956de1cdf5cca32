// Redis does not let the gateway in: a wrong password, missing rights, an unknown authority. It says what is wrong, and never a secret.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { extent } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { startLoad, underLoad } from '../support/load.ts';
import { askAdmin, dayRule, delaysUntil, reasonsOf } from '../support/operator.ts';
import type { RunningProcess } from '../support/process.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
// Two servers at once: most of it is waiting.
suite.jobs = 2;
const upstream = await startFakeUpstream({ t: suite });
const canary = 'canary-of-a-password';
const roomy = [{ period: 'minute', max_requests: 1_000_000_000 }];

let caps = 0;

interface Planes {
  readonly fleet: Fleet;
  readonly proxy: Gateway;
}

/** One proxy and a control plane; both start, whatever Redis thinks of them. */
async function start(t: Teardown, server: RedisServer, url: string): Promise<Planes> {
  const config = { rate_limits: { user_paths: [{ path: '/', limits: roomy }] } };
  const fleet = await startFleet(t, {
    store: 'redis',
    redis: server,
    upstream,
    proxies: 1,
    config,
    env: { REDIS_URL: url },
  });
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('no proxy');
  return { fleet, proxy };
}

const withUser = ({ url }: RedisServer, user: string, password: string): string =>
  url.replace('://', `://${user}:${password}@`);

/** Nothing for a directory, and for a file that was renamed a moment ago. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EISDIR', 'ENOENT'].includes(code)) throw error;
    return '';
  }
}

/** Everything that can be read: lines, metrics, answers, files. */
async function everythingSaid({ fleet, proxy }: Planes): Promise<string> {
  const answers = await Promise.all([
    proxy.metrics(),
    proxy.fetch('/health/ready').then((response) => response.text()),
    ...['/metrics', '/health/ready', '/admin/status', '/admin/rate-limits'].map(async (path) =>
      (await fleet.admin(path)).text(),
    ),
  ]);
  const data = join(fleet.home, 'data');
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).map((name) => contentOf(join(data, name)));
  const lines = [proxy.process, fleet.controlPlane].flatMap(({ stdout, stderr }) => [...stdout, ...stderr]);
  return [...answers, ...files, ...lines].join('\n');
}

interface ShutOut {
  /** Whether only writing is refused. */
  readonly isReadable?: boolean;
  /** After how many lines of the proxy and of the control plane it began; absent: at their start, so that nothing of the store is known. */
  readonly from?: readonly number[];
}

/** How many lines say that, after the first ones. */
const linesWith = (what: RegExp, { stdout }: Pick<RunningProcess, 'stdout'>, from = 0): number =>
  stdout.slice(from).filter((line) => what.test(line)).length;

/** What holds while the store lets no client in; `what` must be in the log of each process that could not do its work. */
async function checkShutOut(
  t: Test,
  planes: Planes,
  what: RegExp,
  { isReadable = false, from }: ShutOut = {},
): Promise<void> {
  const { fleet, proxy } = planes;
  const writers = [proxy.process, ...(isReadable ? [] : [fleet.controlPlane])];
  await waitFor('the proxy to say so', async () => (await reasonsOf(proxy)).includes('state_store_unavailable'));
  for (const method of ['PUT', 'GET']) {
    const asked = method === 'PUT' ? dayRule('/refused', 1) : undefined;
    const { status, code, retryAfter, isStale, tookMs } = await askAdmin(proxy, method, asked);
    const isListed = method === 'GET' && from !== undefined;
    t.same([status, code, retryAfter], isListed ? [200, undefined, null] : [503, 'store_unavailable', '1']);
    t.equal(isStale, isListed && !isReadable);
    t.ok(tookMs < 4_000, `refused after ${tookMs.toFixed(0)} ms`);
  }
  for (const [index, writer] of writers.entries()) {
    await waitFor('a line that says why', () => linesWith(what, writer, from?.[index]) > 0);
    t.ok(linesWith(what, writer, from?.[index]) <= 4, 'it is said, not shouted');
  }
  const said = await everythingSaid(planes);
  t.match(said, what);
  t.notOk(said.includes(canary), 'the password is nowhere');
}

/** The store is as good as any. */
async function checkLetIn(t: Test, planes: Planes): Promise<void> {
  caps += 1;
  const cap = caps;
  const { status } = await askAdmin(planes.proxy, 'PUT', dayRule('/allowed', cap));
  t.equal(status, 200);
  await delaysUntil(planes.fleet.proxies, 'the rule to be in force', async (proxy) =>
    (await usageOf(proxy, '/allowed')).some((rule) => rule.subject === '/allowed' && rule.max_requests === cap),
  );
  t.notOk((await everythingSaid(planes)).includes(canary), 'the password is nowhere');
}

void test('a certificate of an unknown authority: models are served, the log says so, and knowing the authority is enough', async (t) => {
  const server = await startRedis(t, { tls: true, password: canary });
  const shutOut = await start(t, server, withUser(server, '', canary));
  const { fleet, proxy } = shutOut;
  const load = startLoad(t, [proxy]);
  await checkShutOut(t, shutOut, /was not opened; check user, password, rights and certificate.*certificate/i);
  const { answered, failures } = await load.end();
  t.same(failures, {});
  t.ok(answered > 0);
  const authority = join(fleet.home, 'authority.pem');
  writeFileSync(authority, server.authority ?? '');
  const env = { NODE_EXTRA_CA_CERTS: authority };
  await fleet.controlPlane.restart({ ...env, GATEWAY_ADMIN_PORT: new URL(fleet.controlPlane.address).port });
  await proxy.restart(env);
  await fleet.recovered();
  await checkLetIn(t, shutOut);
});

/** Most tests are about its user, who at first may do everything with the keys of the gateway. */
const redis = await startRedis(suite, { users: [`user gateway on >${canary} ~{gateway}:* &* +@all`] });
const client = redis.client();
const usual = await start(suite, redis, withUser(redis, 'gateway', canary));
await usual.fleet.recovered();

await test('a wrong password: models are served, the log says what to check, and the right one is enough', async (t) => {
  const refused = /was not opened; check user, password, rights.*WRONGPASS/;
  const { fleet, proxy } = usual;
  await underLoad(t, fleet, async () => {
    const planes = [proxy.process, fleet.controlPlane];
    const from = planes.map(({ stdout }) => stdout.length);
    const startedMs = performance.now();
    await client.call('ACL', 'SETUSER', 'gateway', 'resetpass', '>another-password');
    await client.call('CLIENT', 'KILL', 'USER', 'gateway');
    await checkShutOut(t, usual, refused, { from });
    // Both connections of a plane are tried three times within a second.
    await waitFor('many tries', () => performance.now() > startedMs + extent(5_000, 1_200));
    for (const [index, plane] of planes.entries()) {
      t.ok(linesWith(refused, plane, from[index]) <= 4, 'it is not said with every try');
    }
    await client.call('ACL', 'SETUSER', 'gateway', 'resetpass', `>${canary}`);
  });
  await checkLetIn(t, usual);
});

/** What the user may not do, the words that take it away, those that give it back, and whether reading works without it. */
const allGaps: [what: string, taken: string[], given: string[], isReadable: boolean][] = [
  ['touch its keys', ['resetkeys', '~other:*'], ['resetkeys', '~{gateway}:*'], false],
  ['run scripts', ['-@scripting'], ['+@scripting'], true],
  ['do anything', ['-@all'], ['+@all'], false],
];
const gaps = allGaps.slice(0, extent(3, 2));

await test('a user who may not do everything: models are served, the log says what to check, and the right is enough', async (t) => {
  const { fleet, proxy } = usual;
  for (const [what, taken, given, isReadable] of gaps) {
    t.comment(`may not ${what}`);
    await underLoad(t, fleet, async () => {
      const from = [proxy.process, fleet.controlPlane].map(({ stdout }) => stdout.length);
      await client.call('ACL', 'SETUSER', 'gateway', ...taken);
      await checkShutOut(t, usual, /was not opened; check user, password, rights.*NOPERM/i, { isReadable, from });
      await client.call('ACL', 'SETUSER', 'gateway', ...given);
    });
    await checkLetIn(t, usual);
  }
});

await test('the right to notifications is taken away while they listen: no process ends, changes are found by polling', async (t) => {
  await underLoad(t, usual.fleet, async () => {
    // Redis ends the connections of those who listen to what they no longer may.
    await client.call('ACL', 'SETUSER', 'gateway', 'resetchannels');
    await waitFor('a refusal', async () =>
      JSON.stringify(await client.call('ACL', 'LOG')).includes('{gateway}:changed'),
    );
    await checkLetIn(t, usual);
  });
  t.ok(usual.proxy.process.running && usual.fleet.controlPlane.running);
});

await test('a user without the right to notifications: a proxy starts, everything works, changes are found by looking', async (t) => {
  await client.call('ACL', 'SETUSER', 'gateway', 'resetchannels');
  await usual.proxy.restart();
  await underLoad(t, usual.fleet, () => checkLetIn(t, usual));
});
