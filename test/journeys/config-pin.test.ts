// The pin of the configuration, with the commands of docs/pin.md: three proxies keep to a revision until the end, whatever their directory holds, one of them through kill -9.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const canary = 'a-comment-of-the-pinned-files';
const config = (most: number): string =>
  `# ${canary}\nrate_limits:\n  scope: replica\n  user_paths:\n    - { path: /team, limits: [{ period: day, max_requests: ${most} }] }\n`;
const fleet = await startFleet(suite, {
  store: 'redis',
  proxies: 3,
  config: config(1),
  env: { NIGHT_KEY: 'a-key-of-the-night' },
});
const proxies = fleet.proxies as readonly [Gateway, Gateway, Gateway];
const [first, , third] = proxies;

interface Pinned {
  readonly config_revision: string;
  readonly pin: { readonly revision: string } | null;
  readonly waiting_revision: string | null;
  readonly waiting_problems: readonly string[];
  readonly unusable: readonly { readonly where: string; readonly problem: string }[];
  readonly proxies: { readonly live: number; readonly in_force: number };
}

async function ask(method: 'GET' | 'PUT' | 'DELETE', body?: object) {
  const response = await fleet.admin('/admin/config/pin', { method, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return { status: response.status, text, said: JSON.parse(text) as Pinned & { readonly code?: string } };
}

async function ready(proxy: Gateway): Promise<readonly string[]> {
  const response = await proxy.fetch('/health/ready');
  return ((await response.json()) as { reasons?: string[] }).reasons ?? [];
}

/** The cap that a proxy enforces. */
async function cap(proxy: Gateway): Promise<number | undefined> {
  return (await usageOf(proxy, '/team')).find(({ subject }) => subject === '/team')?.max_requests;
}

const onAll = (what: string, holds: (proxy: Gateway) => Promise<boolean>, deadlineMs?: number): Promise<unknown> =>
  waitFor(what, async () => (await Promise.all(proxies.map(holds))).every(Boolean), deadlineMs);

/** The cap is in force everywhere; the revision that has it, also in the control plane. */
async function settled(most: number): Promise<string> {
  await onAll(`${most} to be in force`, async (proxy) => (await cap(proxy)) === most);
  const metrics = await first.metrics();
  return waitFor('the control plane to follow', async () => {
    const { config_revision: revision } = (await ask('GET')).said;
    return metrics.includes(`gateway_config_info{revision="${revision}"`) && revision;
  });
}

const write = (text: string): void => first.writeConfig({ 'gateway.yaml': text });
/** `model-gateway` with these arguments; its code and what it prints. */
async function command(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const whole = ['deploy/cli/launch.ts', ...args, '--url', fleet.controlPlane.address];
  const env = { ...process.env, GATEWAY_MASTER_KEY: masterKey };
  return new Promise((resolve) => {
    execFile(process.execPath, whole, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

const reason = 'the new limits refuse everybody';

await test('all proxies keep to the pinned revision, through a kill and a push', async (t) => {
  const { said: before } = await ask('GET');
  const revision = before.config_revision;
  t.same([before.pin, before.waiting_revision], [null, null]);
  t.match(await ask('PUT', { revision, reason }), { status: 400, said: { param: 'expires_in' } });
  t.match(await ask('PUT', { revision, reason, expires_in: '31d' }), { status: 400, said: { param: 'expires_in' } });
  t.match(await ask('PUT', { revision: 'ffffffffffff', reason, expires_in: '2h' }), {
    status: 404,
    said: { code: 'config_revision_not_found' },
  });
  t.match(await ask('DELETE'), { status: 404, said: { code: 'config_pin_not_found' } });

  const put = await ask('PUT', { revision, reason, expires_in: '2h' });
  t.match(put, { status: 200, said: { pin: { revision, reason, updated_by: 'master_key' } } });
  await onAll(
    'all proxies to say that it is pinned',
    async (proxy) => (await ready(proxy)).includes('config_pinned'),
    5_000,
  );

  await third.process.kill();
  write(config(2));
  await waitFor('the push to wait', async () => (await ask('GET')).said.waiting_revision !== null);
  await third.process.restart();
  t.ok((await ready(third)).includes('config_pinned'), 'a proxy that is started again comes up pinned');
  await onAll('all to be live', async () => (await ask('GET')).said.proxies.in_force === 3);
  t.same(await Promise.all(proxies.map(cap)), [1, 1, 1]);
  await fleet.restartControlPlane();
  const { said, text } = await ask('GET');
  t.match(said, { pin: { revision }, config_revision: revision });
  const status = await (await fleet.admin('/admin/status')).text();
  t.match(JSON.parse(status), { config_pin: { revision, reason }, degraded: [{ reason: 'config_pinned' }] });
  const metrics = await first.metrics();
  t.match(metrics, /gateway_config_pinned\{state="in_force"\} 1/);
  t.match(metrics, /gateway_config_pin_end_timestamp_seconds\{revision="[0-9a-f]{12}"\} \d/);
  for (const each of [text, status, put.text, metrics, first.process.stdout.join(), fleet.controlPlane.stdout.join()])
    t.notOk(each.includes(canary) || each.includes('"files"'), 'the files are shown nowhere');
});

await test('it ends by itself, and what has waited is in force everywhere', async (t) => {
  const { pin } = (await ask('GET')).said;
  const expires_at = new Date(Date.now() + 2_000).toISOString();
  t.equal((await ask('PUT', { revision: pin?.revision, reason, expires_at })).status, 200);
  await onAll('the pin to end', async (proxy) => (await ready(proxy)).length === 0);
  await onAll('what has waited to be in force', async (proxy) => (await cap(proxy)) === 2);
  await waitFor('the document to go', async () => (await ask('GET')).said.pin === null);
  const ends = first.process.stdout.filter((line) => line.includes('config pin has ended'));
  t.equal(ends.length, 1);
  t.match(JSON.parse(ends[0] ?? '{}'), { reason, updated_by: 'master_key', config_revision: pin?.revision });
});

await test('with a broken directory at the end the pinned revision stays', async (t) => {
  const { config_revision: revision } = (await ask('GET')).said;
  t.match(await command('pin', 'ffffffffffff', '--reason', reason, '--for', '2h'), {
    code: 1,
    text: /No files of a revision/,
  });
  t.match(await command('pin', revision, '--for', '2h'), { code: 2, text: /^usage: model-gateway pin/ });
  const pinned = await command('pin', revision, '--reason', reason, '--for', '2h');
  t.match(pinned, { code: 0, text: `revision ${revision} is pinned until` });
  t.match(pinned, { text: 'in force on 3 of 3 live proxies\nnothing waits' });
  write('rate_limits: [\n');
  await waitFor('the mistake to be told', async () => (await ask('GET')).said.waiting_problems.length > 0);
  t.match(await command('pin'), { code: 0, text: /waits in the directory, and cannot be used:\n.*gateway.yaml:2/ });
  t.match(await command('unpin'), { code: 0, text: /^nothing is pinned/ });
  t.match(await command('unpin'), { code: 1, text: /404: No revision of the configuration is pinned/ });
  await onAll('the mistake to be told', async (proxy) => (await ready(proxy)).includes('config_last_good'));
  t.same(await Promise.all(proxies.map(cap)), [2, 2, 2]);
  write(config(3));
  await onAll('the directory to count again', async (proxy) => (await cap(proxy)) === 3);
});

await test('the fleet is rolled back to the previous revision with one command', async (t) => {
  const { config_revision: before } = (await ask('GET')).said;
  write(config(4));
  await onAll('the change to be in force', async (proxy) => (await cap(proxy)) === 4);
  await waitFor('its revision to be kept', async () => {
    const listed = await (await fleet.admin('/admin/config/revisions')).text();
    return listed.includes((await ask('GET')).said.config_revision);
  });
  for (const _ of ['first', 'again']) {
    const pinned = await command('pin', 'previous', '--reason', reason, '--for', '2h');
    t.match(pinned, { code: 0, text: `revision ${before} is pinned until` });
    t.match(pinned, { text: /in force on 3 of 3 live proxies\nrevision [0-9a-f]{12} waits in the directory/ });
    t.same(await Promise.all(proxies.map(cap)), [3, 3, 3]);
  }
  t.match(await command('unpin'), { code: 0 });
  await onAll('the directory to count again', async (proxy) => (await cap(proxy)) === 4);
});

await test('of two pins at once one wins, on every proxy', async (t) => {
  const current = await settled(4);
  const asked = ['previous', current].map((revision) => ask('PUT', { revision, reason, expires_in: '2h' }));
  for (const { status } of await Promise.all(asked)) t.ok([200, 409].includes(status));
  const { pin } = (await ask('GET')).said;
  const wanted = pin?.revision === current ? 4 : 3;
  await onAll('all to be pinned', async (proxy) => (await ready(proxy)).includes('config_pinned'));
  await onAll('all to have it', async (proxy) => (await cap(proxy)) === wanted);
  await waitFor('all to say so', async () => (await ask('GET')).said.proxies.in_force === 3);
  t.match((await ask('GET')).said, { pin, config_revision: pin?.revision });
  t.equal((await ask('DELETE')).status, 200);
  await onAll('the directory to count again', async (proxy) => (await cap(proxy)) === 4);
});

await test('a configuration that is too large is not pinned, and nothing changes', async (t) => {
  const lines =
    randomBytes(1_200_000)
      .toString('base64')
      .match(/.{1,100}/g) ?? [];
  write(`${config(5)}# ${lines.join('\n# ')}\n`);
  const revision = await settled(5);
  const refused = await ask('PUT', { revision, reason, expires_in: '2h' });
  t.match(refused, { status: 413, said: { code: 'config_too_large_to_pin' } });
  t.match((await ask('GET')).said, { pin: null, config_revision: revision });
});

await test('a proxy that cannot use the pin keeps what it had, says why, and starts with it without the store', async (t) => {
  const withKey = `${config(6)}providers: { night: { type: openai, api_key: "\${NIGHT_KEY}" } }\n`;
  write(withKey);
  const revision = await settled(6);
  write(config(7));
  await settled(7);
  await third.restart({ NIGHT_KEY: undefined });
  await ask('PUT', { revision, reason, expires_in: '2h' });
  await waitFor('it to be told', async () => (await ready(third)).includes('config_pin_unusable'));
  await waitFor('the others to have it', async () => (await ask('GET')).said.proxies.in_force === 2);
  t.same(await Promise.all(proxies.map(cap)), [6, 6, 7]);
  const [unusable] = await waitFor('its heartbeat', async () => {
    const { said } = await ask('GET');
    return said.unusable.length > 0 && said.unusable;
  });
  t.match(unusable, { where: 'proxy-3', problem: /NIGHT_KEY/ });
  t.equal(await third.metric('gateway_config_pinned', { state: 'unusable' }), 1);
  const lines = third.process.stdout.filter((line) => line.includes(revision) && /NIGHT_KEY/.test(line));
  t.equal(lines.length, 1, 'one line of the log');
  await fleet.redis?.stop();
  await third.restart();
  t.equal(await cap(third), 6, 'without the store, from its copy');
  t.ok((await ready(third)).includes('config_pinned'));
  await fleet.redis?.restart();
});
