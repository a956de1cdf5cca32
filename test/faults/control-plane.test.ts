// The control plane hangs, starts with thousands of rules, or finds a broken configuration: proxies do not notice, operators are told.
import { isDeepStrictEqual } from 'node:util';
import { t as suite, test } from 'tap';
import { type ManualRule, manualRuleBody, manualRuleKind } from '../../domain/rules/manual-rule.ts';
import { ruleKey } from '../../domain/rules/rule.ts';
import { type RuleRow, statusesOf, usageOf } from '../support/consumer.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { roomyConfig, underLoad } from '../support/load.ts';
import { type AdminAnswer, askAdmin, dayRule, listRules, reasonsOf } from '../support/operator.ts';
import { openSealedStore } from '../support/sealed.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const timeoutMs = 300;

/** Straight to the control plane. */
const direct = (fleet: Fleet): Pick<Gateway, 'fetch'> => ({ fetch: (path, init) => fleet.admin(path, init) });

async function start(t: Teardown, store: 'sqlite' | 'redis'): Promise<{ fleet: Fleet; proxy: Gateway }> {
  const env = { GATEWAY_CONTROL_PLANE_TIMEOUT_MS: String(timeoutMs) };
  const fleet = await startFleet(t, { store, upstream, config: roomyConfig(), proxies: 1, env });
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('no proxy');
  await fleet.recovered();
  return { fleet, proxy };
}

/** The first store of the scenarios, on which most tests run. */
const [usualStore = 'sqlite'] = scenarioStores;
const usual = await start(suite, usualStore);
const { fleet, proxy } = usual;

await test('hung for a second: the proxy answers for it in time, and enforces what it knows', async (t) => {
  await fleet.write('PUT', dayRule('/limited', 2));
  await fleet.settle();
  t.teardown(() => fleet.controlPlane.signal('SIGCONT'));
  await underLoad(t, fleet, async () => {
    const startedMs = performance.now();
    fleet.controlPlane.signal('SIGSTOP');
    const answers: AdminAnswer[] = [];
    while (performance.now() < startedMs + 1_000) {
      answers.push(await askAdmin(proxy), await askAdmin(proxy, 'PUT', dayRule('/hung', answers.length + 1)));
    }
    t.same(await statusesOf(proxy, '/limited', 3), [200, 200, 429]);
    fleet.controlPlane.signal('SIGCONT');
    t.comment(`answered after ${answers.map(({ tookMs }) => tookMs.toFixed(0)).join(', ')} ms`);
    // The control plane goes on only now: a request that waited for it would not have been answered.
    t.ok(answers.length >= 2);
    const refusals = answers.map(({ status, code, retryAfter }) => [status, code, retryAfter].join(' '));
    t.same([...new Set(refusals)], ['503 control_plane_unavailable 1']);
  });
  await waitFor('the control plane to answer again', async () => {
    return (await askAdmin(proxy, 'PUT', dayRule('/limited', 3))).status === 200;
  });
});

await test('a broken configuration, while it runs and at its start: the last good rules are listed, and it says so', async (t) => {
  const listed = async () => (await listRules(fleet)).map(({ subject, max_requests: cap }) => `${subject} ${cap}`);
  const ready = async () =>
    (await (await fleet.admin('/health/ready')).json()) as { status: string; reasons: string[] };
  const rejected = async () =>
    ((await (await fleet.admin('/admin/status')).json()) as { last_rejected_config: { problems: string[] } | null })
      .last_rejected_config;
  const before = await listed();
  const limits = (cap: number) => ({
    rate_limits: { user_paths: [{ path: '/', limits: [{ period: 'minute', max_requests: cap }] }] },
  });
  await underLoad(t, fleet, async () => {
    proxy.writeConfig({ 'gateway.yaml': 'rate_limits:\n  user_paths:\n    - path: /\n      limitz: []\n' });
    await waitFor('it to be rejected', async () => (await rejected()) !== null);
    t.match(await rejected(), { problems: [/gateway\.yaml:4.*limitz/] });
    t.same(await ready(), { status: 'degraded', reasons: ['config_rejected'] });
    t.same(await listed(), before);
    t.equal((await askAdmin(direct(fleet), 'PUT', dayRule('/managed', 5))).status, 200, 'managed rules can be changed');

    await fleet.controlPlane.kill();
    await fleet.restartControlPlane();
    t.match(await ready(), { status: 'degraded', reasons: ['config_last_good'] });
    t.match(await rejected(), { problems: [/gateway\.yaml:4.*limitz/] });
    t.same((await listed()).sort(), [...before, '/managed 5'].sort());
    t.ok(fleet.controlPlane.logs().some(({ msg }) => msg === 'serving the last good config'));

    proxy.writeConfig({ 'gateway.yaml': limits(999_999) });
    await waitFor('it to be taken', async () => (await rejected()) === null);
    t.ok((await listed()).includes('/ 999999'));
  });
  t.same(await ready(), { status: 'ready', reasons: [] });
});

const many = extent(10_000, 500);
const pathOf = (index: number): string => `/many/${index % 100}/${index}`;
const isOneOfMany = ({ subject }: RuleRow): boolean => subject.startsWith('/many/');

/** An unused window begins at the moment of the listing. */
const withoutNow = (rule: RuleRow): object => ({ ...rule, window_start: undefined, window_end: undefined });

/** So many manual rules, as an operator's tool would leave them behind, in one commit. */
async function fillStore({ home, redis }: Fleet): Promise<void> {
  const store = openSealedStore({
    directory: `${home}/data`,
    timeoutMs: 20_000,
    ...(redis === undefined ? {} : { redisUrl: redis.url }),
  });
  const moment = '2026-01-01T00:00:00.000Z';
  const changes = Array.from({ length: many }, (_, index) => {
    const subject = pathOf(index);
    const key = ruleKey('user_path', subject, 86_400);
    const body: ManualRule = {
      key,
      scope: 'user_path',
      subject,
      matchSubject: subject,
      perChild: false,
      periodSeconds: 86_400,
      maxRequests: index + 1,
      mode: 'enforce',
      reason: 'one of many',
      createdAt: moment,
      updatedAt: moment,
      updatedBy: 'master_key',
    };
    return { kind: manualRuleKind, id: key, body: manualRuleBody(body) };
  });
  const { conflict } = await commitAnyhow(store, { expected: new Map(), changes });
  await store.close();
  if (conflict === true) throw new Error('another writer was first');
}

/** Asks until it is taken: on a busy machine reading so many rules may outlast the deadline of the store. */
async function insist(filled: Fleet, method?: string, body?: object): Promise<AdminAnswer & { tries: number }> {
  let tries = 0;
  return waitFor('status 200', async () => {
    tries += 1;
    const answer = await askAdmin(direct(filled), method, body);
    if (answer.status !== 200 && answer.code !== 'store_unavailable')
      throw new Error(`${answer.status} ${answer.code}`);
    return answer.status === 200 && { ...answer, tries };
  });
}

for (const store of scenarioStores) {
  await test(`gone, and started again with ${many} rules in ${store}: the proxy says so and serves; then every rule is as before`, async (t) => {
    const { fleet: filled, proxy: only } = store === usualStore ? usual : await start(t, store);
    await filled.write('PUT', dayRule('/gone', 1));
    await underLoad(t, filled, async () => {
      await fillStore(filled);
      const last = pathOf(many - 1);
      const enforced = async () => (await usageOf(only, last)).some(({ subject }) => subject === last);
      await waitFor('the last rule to be in force', enforced);
      const before = (await insist(filled)).rules.filter(isOneOfMany).map(withoutNow);
      t.equal(before.length, many);
      await filled.controlPlane.kill();
      const { status, code, retryAfter } = await askAdmin(only);
      t.same([status, code, retryAfter], [503, 'control_plane_unavailable', '1']);
      await waitFor('the proxy to say so', async () => (await reasonsOf(only)).includes('control_plane_unavailable'));
      t.same(await statusesOf(only, '/gone', 2), [200, 429]);
      const startedMs = performance.now();
      await filled.restartControlPlane();
      const startMs = performance.now() - startedMs;
      const again = await insist(filled);
      t.comment(`listening after ${startMs.toFixed(0)} ms; the listing took ${again.tookMs.toFixed(0)} ms`);
      const after = again.rules.filter(isOneOfMany).map(withoutNow);
      t.equal(after.length, many);
      // Showing how two lists of so many rules differ takes longer than the test may.
      t.same(after.filter((rule, index) => !isDeepStrictEqual(rule, before[index])).slice(0, 3), [], 'as before');
      const { tookMs, tries, rules } = await insist(filled, 'PUT', dayRule('/one-more', 1));
      t.equal(rules.filter(isOneOfMany).length, many);
      t.ok(rules.some(({ subject }) => subject === '/one-more'));
      t.comment(`a write took ${tookMs.toFixed(0)} ms, the last of ${tries} tries`);
    });
    t.same(await statusesOf(only, '/gone', 1), [429], 'what was counted meanwhile counts');
  });
}
