// Rollout of revisions over a fleet of three proxies: a bad one never reaches more than one of them. The tests share the fleet, in their order.
import { t as suite, test } from 'tap';
import { rollout as command } from '../../deploy/cli/rollout.ts';
import { isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { masterKey } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

interface Shown {
  readonly phase: string;
  readonly revision: string;
  readonly former_revision: string;
  readonly first: readonly string[];
  readonly reason: string | null;
  readonly figures: { readonly requests: number; readonly errors: number };
  readonly proxies: readonly { readonly instance: string; readonly live: boolean; readonly config_revision: string }[];
}

const upstream = await startFakeUpstream({ t: suite });
await upstream.behave((entry) =>
  entry.body.includes('fake-large') ? { kind: 'error', status: 500 } : { kind: 'openai' },
);

/** A configuration whose alias leads to a model; `number` makes it a revision of its own. */
const config = (model: string, number: number, seconds = 1, more = {}) => ({
  aliases: [{ source: 'chat', target: `fake/${model}` }],
  rollout: { proxies: 1, for: `${seconds}s`, abort_if: { error_share: '20%', min_requests: 10 } },
  rate_limits: { user_paths: [{ path: '/number', limits: [{ period: 'day', max_requests: number }] }] },
  ...more,
});

const fleet = await startFleet(suite, { store: 'redis', proxies: 3, upstream, config: config('fake-small', 1) });
process.env['GATEWAY_MASTER_KEY'] = masterKey;
type Proxy = (typeof fleet.proxies)[number];

const push = (...given: Parameters<typeof config>): void =>
  fleet.proxies[0]?.writeConfig({ 'gateway.yaml': config(...given) });
const end = (body: object): ReturnType<typeof fleet.admin> =>
  fleet.admin('/admin/config/rollout', { method: 'PUT', body });
/** `model-gateway rollout`. */
const rollout = (args: readonly string[]): ReturnType<typeof command> =>
  command([...args, '--url', fleet.controlPlane.address]);
const shown = async (): Promise<Shown> => (await (await fleet.admin('/admin/config/rollout')).json()) as Shown;
/** The rollout in this phase, of another revision than `former`. */
const phase = (wanted: string, former?: string): Promise<Shown> =>
  waitFor(`the rollout to be ${wanted}`, async () => {
    const now = await shown();
    return now.phase === wanted && now.revision !== former && now;
  });
const threeLive = (): Promise<boolean> =>
  waitFor('three proxies to be live', async () => (await shown()).proxies.filter(({ live }) => live).length === 3);
/** All live proxies have it. */
const everywhere = (revision: string): Promise<boolean> =>
  waitFor('the revision to be in force everywhere', async () => {
    const { proxies } = await shown();
    return proxies.filter(({ live }) => live).every((each) => each.config_revision === revision);
  });
/** The proxy that goes first, and another one. */
function apart({ first: [name] }: Shown): [first: Proxy, others: Proxy[]] {
  const isFirst = ({ process }: Proxy): boolean => process.stdout.some((line) => line.includes(`"instance":"${name}"`));
  const first = fleet.proxies.find(isFirst);
  if (first === undefined) throw new Error(`there is no ${name}`);
  return [first, fleet.proxies.filter((each) => each !== first)];
}
/** Whether a proxy has ever put a revision in force, by its log. */
const had = ({ process }: Proxy, revision: string): boolean =>
  process.stdout.some((line) => line.includes(revision) && /"msg":"(config applied|listening)/.test(line));
const ask = async (proxy: Proxy | undefined, times: number): Promise<number[]> => {
  const statuses: number[] = [];
  const body = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  for (let count = 0; count < times; count += 1)
    statuses.push((await proxy?.fetch('/v1/chat/completions', { method: 'POST', body }))?.status ?? 0);
  return [...new Set(statuses)];
};

await test('a good revision goes to one proxy first, and everywhere when its time is over', async (t) => {
  await threeLive();
  push('fake-small', 2, 60);
  const canary = await phase('canary');
  t.equal(canary.first.length, 1);
  const { revision } = await phase('finished');
  t.equal(revision, canary.revision);
  await everywhere(revision);
});

await test('a revision that makes errors is aborted, and only one proxy ever had it', async (t) => {
  const { revision: good } = await shown();
  push('fake-large', 3, 60);
  const canary = await phase('canary');
  const { revision: bad } = canary;
  const [first, others] = apart(canary);
  await waitFor('the first proxy to have it', () => had(first, bad));
  t.strictSame([await ask(first, 12), await ask(others[0], 2)], [[500], [200]]);
  const aborted = await phase('aborted');
  t.match(aborted, {
    revision: bad,
    former_revision: good,
    reason: /^error_share was 100 % of 1. requests, the limit is 20 %$/,
  });
  t.match(await rollout([]), { code: 1, output: /aborted since .*, error_share was 100 %/ });
  await everywhere(good);
  t.strictSame(await ask(first, 2), [200], 'the first proxy is back');
  t.strictSame(
    others.map((proxy) => had(proxy, bad)),
    [false, false],
  );
  t.match(await (await fleet.admin('/metrics')).text(), 'gateway_config_rollout_phase{phase="aborted"} 1');
  const ready = (await (await first.fetch('/health/ready')).json()) as object;
  t.match(ready, { status: 'degraded', reasons: ['config_waiting'] });
});

await test('a restart of everything changes nothing of an abort, and an operator finishes it', async (t) => {
  const { revision: bad, former_revision: good } = await shown();
  await fleet.restartControlPlane();
  await Promise.all(fleet.proxies.slice(0, 2).map((proxy) => proxy.restart()));
  await threeLive();
  t.match(await shown(), { phase: 'aborted', revision: bad });
  await everywhere(good);
  t.equal((await end({ phase: 'aborted', reason: 'again' })).status, 409);
  const finished = await end({ phase: 'finished', reason: 'a test' });
  t.match(await finished.json(), { phase: 'finished', by: 'master_key', reason: 'a test' });
  await everywhere(bad);
});

await test('a first proxy that is killed aborts it, and has the former revision when it comes back', async (t) => {
  const { revision: before } = await shown();
  push('fake-small', 4, 60);
  const canary = await phase('canary');
  const [first] = apart(canary);
  await waitFor('the first proxy to have it', () => had(first, canary.revision));
  await first.process.kill();
  t.match(await phase('aborted'), { revision: canary.revision, reason: /has sent no heartbeat/ });
  await first.restart();
  await threeLive();
  await everywhere(before);
});

await test('a pin in the midst wins on every proxy, and the rollout begins anew when it ends', async (t) => {
  const { former_revision: former } = await shown();
  push('fake-small', 17, 60);
  const canary = await phase('canary', former);
  const [first] = apart(canary);
  await waitFor('the first proxy to have it', () => had(first, canary.revision));
  const pin = { revision: former, reason: 'a quiet night', expires_in: '1h' };
  t.equal((await fleet.admin('/admin/config/pin', { method: 'PUT', body: pin })).status, 200);
  await everywhere(former);
  t.match(await phase('withdrawn'), { revision: canary.revision, reason: 'a revision is pinned' });
  t.equal((await end({ phase: 'finished', reason: 'no' })).status, 409, 'the pin ends first');
  t.equal((await fleet.admin('/admin/config/pin', { method: 'DELETE' })).status, 200);
  t.match(await phase('canary'), { revision: canary.revision, former_revision: former, first: canary.first });
  t.match(await rollout(['finish']), { code: 0 });
  await everywhere(canary.revision);
});

await test('a newer revision replaces it, and goes on through a restart of the control plane', async (t) => {
  const { revision: former } = await shown();
  push('fake-small', 5, 1);
  // The rollout of the configuration in force counts: a minute.
  const canary = await phase('canary', former);
  await fleet.restartControlPlane();
  await threeLive();
  t.match(await shown(), { phase: 'canary', revision: canary.revision, first: canary.first });
  t.match(await rollout(['finish']), { code: 0, output: /finished/ });
  await everywhere(canary.revision);
});

await test('a flapping directory ends with its last revision', { skip: !isFull }, async (t) => {
  let before = '';
  for (let number = 6; number < 16; number += 1) {
    push('fake-small', number, 1);
    const now = await waitFor('it to be seen', async () => {
      const { phase: of, revision } = await shown();
      return ['canary', 'finished'].includes(of) && revision !== before && revision;
    });
    before = now;
  }
  await phase('finished');
  await everywhere(before);
  t.match(
    await (await fleet.proxies[1]?.fetch('/v1/usage', { headers: { 'x-gateway-user-path': '/number' } }))?.text(),
    '15',
  );
});
