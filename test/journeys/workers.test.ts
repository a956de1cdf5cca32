// Several workers behind one port, as real processes: to a client, an operator and a supervisor they are one proxy.
import { t as suite, type Test, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey, readMetric, startGateway } from '../support/gateway.ts';
import { Agent, fetch, type Response } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';
import { isAlive, workersOf } from '../support/worker-processes.ts';

const upstream = await startFakeUpstream({ t: suite });
const config = {
  server: { access_log: 'all', shutdown_grace: '5s' },
  cache: { enabled: true },
};
const env = { GATEWAY_WORKERS: '2', GATEWAY_INSTANCE: undefined };
const fleet = await startFleet(suite, { store: 'sqlite', proxies: 1, upstream, config, env });
const [gateway] = fleet.proxies as [Gateway];

/** One connection, which leads to one worker. */
interface Door {
  readonly instance: string;
  ask(
    path: string,
    init?: { readonly body?: object; readonly headers?: Record<string, string>; method?: string },
  ): Promise<Response>;
}

async function openDoor(t: Test | typeof suite, { url }: Gateway): Promise<Door> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  t.teardown(() => dispatcher.destroy());
  const ask: Door['ask'] = (path, { body, headers, method } = {}) =>
    fetch(url + path, {
      dispatcher,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
  const { instance } = (await (await ask('/admin/explain?model=fake-small')).json()) as { instance: string };
  return { instance, ask };
}

/** A door of each of the two workers. */
async function openDoors(t: Test | typeof suite, to: Gateway = gateway): Promise<readonly [Door, Door]> {
  const doors = new Map<string, Door>();
  await waitFor('a door to each worker', async () => {
    const door = await openDoor(t, to);
    doors.set(door.instance, door);
    return doors.size === 2;
  });
  return [...doors.values()].sort((a, b) => (a.instance < b.instance ? -1 : 1)) as [Door, Door];
}

const chat = (content: string, more: object = {}) => ({
  body: { model: 'fake-small', messages: [{ role: 'user', content }], ...more },
});

await gateway.process.waitForLine('all workers serve');

await test('both workers serve one port, write one log, and are two replicas for an operator', async (t) => {
  const [one, two] = await openDoors(t);
  t.equal(two.instance, `${one.instance}@2`);
  for (const door of [one, two]) t.equal((await door.ask('/v1/chat/completions', chat('log'))).status, 200);
  const logged = await waitFor('both access lines', () => {
    const lines = gateway.process.requests().filter((line) => line['endpoint'] === '/v1/chat/completions');
    return lines.length >= 2 ? lines : undefined;
  });
  t.same(new Set(logged.map(({ instance }) => instance)), new Set([one.instance, two.instance]));
  const status = await waitFor('both to be heard of', async () => {
    const said = (await (await one.ask('/admin/status')).json()) as { converged: boolean; proxies: object[] };
    return said.proxies.length === 2 && said.converged ? said : undefined;
  });
  t.match(status, {
    proxies: [one, two].map(({ instance }) => ({
      instance,
      live: true,
      instance_shared: false,
      environment_matches: true,
    })),
  });
});

await test('every door shows the metrics and the readiness of both workers', async (t) => {
  const [one, two] = await openDoors(t);
  const requestsAt = async (door: Door): Promise<number | undefined> =>
    readMetric(await (await door.ask('/metrics')).text(), 'gateway_requests_total');
  const before = (await requestsAt(one)) ?? 0;
  await (await one.ask('/v1/chat/completions', chat('one'))).text();
  for (const content of ['two', 'three']) await (await two.ask('/v1/chat/completions', chat(content))).text();
  for (const door of [one, two]) t.equal(await requestsAt(door), before + 3, door.instance);
  const text = await (await two.ask('/metrics')).text();
  t.equal(readMetric(text, 'gateway_workers', { state: 'serving' }), 2);
  t.equal(readMetric(text, 'gateway_workers_left_out'), 0);
  t.equal(readMetric(text, 'gateway_ready'), 1);
  t.same(await (await one.ask('/health/ready')).json(), { status: 'ready', reasons: [] });
});

await test('what one worker has kept is found at the other one at once', async (t) => {
  const [one, two] = await openDoors(t);
  const input = { model: 'fake-small', input: 'Hello', store: true };
  for (const [maker, reader] of [
    [one, two],
    [two, one],
  ] as const) {
    const made = (await (await maker.ask('/v1/responses', { body: input })).json()) as { id: string };
    t.equal((await reader.ask(`/v1/responses/${made.id}`)).status, 200, 'the response');
    const next = { ...input, previous_response_id: made.id };
    t.equal((await reader.ask('/v1/responses', { body: next })).status, 200, 'a response that goes on from it');
    const explained = await maker.ask('/v1/chat/completions', {
      ...chat('why'),
      headers: { 'x-gateway-explain': '1' },
    });
    await explained.text();
    t.equal((await reader.ask(`/admin/explain/${explained.headers.get('x-gateway-explain-id')}`)).status, 200);
  }
});

await test('a write through one worker is enforced by the other one when it is answered', async (t) => {
  const [one, two] = await openDoors(t);
  const rule = { user_path: '/once', period: 'minute', max_requests: 1 };
  const written = await one.ask('/admin/rate-limits', { method: 'PUT', body: rule });
  t.equal(written.headers.get('x-gateway-enforced'), 'true');
  const once = { ...chat('once'), headers: { 'x-gateway-user-path': '/once' } };
  t.equal((await two.ask('/v1/chat/completions', once)).headers.get('x-ratelimit-limit-requests'), '1');
});

await test('an answer in the memory of one worker goes with the purge that the other one is asked for', async (t) => {
  const [one, two] = await openDoors(t);
  const cached = async (door: Door): Promise<string | null> => {
    const response = await door.ask('/v1/chat/completions', chat('cached', { temperature: 0 }));
    await response.text();
    return response.headers.get('x-gateway-cache');
  };
  await cached(one);
  t.equal(await waitFor('the answer to be kept', async () => (await cached(one)) === 'hit'), true);
  t.equal((await two.ask('/admin/cache?scope=gateway', { method: 'DELETE' })).status, 200);
  t.equal(await cached(one), 'miss');
});

await test('a killed worker takes its own requests with it and nothing else, and is there again', async (t) => {
  const [one, two] = await openDoors(t);
  const before = readMetric(await gateway.metrics(), 'gateway_requests_total') ?? 0;
  const gate = createGate();
  await upstream.behave(() => ({ kind: 'hold', gate }));
  const lost = two.ask('/v1/chat/completions', chat('lost')).then(
    () => 'answered',
    () => 'cut',
  );
  const kept = one.ask('/v1/chat/completions', chat('kept'));
  const asked = upstream.ledger.length;
  await upstream.waitFor((ledger) => ledger.length >= asked + 2);
  const killed = workersOf(gateway.process.pid).get(2) ?? 0;
  process.kill(killed, 'SIGKILL');
  t.equal(await lost, 'cut');
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await openDoor(t, gateway)).instance));
  t.same(new Set(statuses), new Set([one.instance]), 'the port serves on');
  t.match(await (await gateway.fetch('/health/ready')).json(), { status: 'degraded', reasons: ['worker_missing'] });
  gate.release();
  t.equal((await kept).status, 200);
  await upstream.behave({ kind: 'openai' });
  await openDoors(t);
  t.not(workersOf(gateway.process.pid).get(2), killed);
  const text = await gateway.metrics();
  t.ok((readMetric(text, 'gateway_requests_total') ?? 0) >= before + 1, 'its counts have stayed');
  t.equal(readMetric(text, 'gateway_worker_restarts_total'), 1);
});

await test('a stuck worker holds nobody up, and what it has counted is still shown', async (t) => {
  const [one] = await openDoors(t);
  const before = readMetric(await gateway.metrics(), 'gateway_requests_total');
  const stuck = workersOf(gateway.process.pid).get(2) ?? 0;
  process.kill(stuck, 'SIGSTOP');
  try {
    const text = await (await one.ask('/metrics')).text();
    t.equal(readMetric(text, 'gateway_workers_left_out'), 1);
    t.equal(readMetric(text, 'gateway_requests_total'), before);
    t.equal((await one.ask('/v1/responses/resp_unknown')).status, 404);
    const isMissing = async (): Promise<boolean> => {
      const { reasons } = (await (await one.ask('/health/ready')).json()) as { reasons: readonly string[] };
      return reasons.includes('worker_missing');
    };
    t.ok(await waitFor('it to be missed', isMissing));
  } finally {
    process.kill(stuck, 'SIGCONT');
  }
  await waitFor('it to be there again', async () => (await gateway.metric('gateway_workers_left_out')) === 0);
});

await test('SIGHUP lets both workers look at the configuration at once', async (t) => {
  const failures = async (): Promise<number> =>
    (await gateway.metric('gateway_config_reload_total', { result: 'failure' })) ?? 0;
  const before = await failures();
  gateway.writeConfig({ 'bad.yaml': 'providers: 7\n' });
  const writtenAtMs = performance.now();
  gateway.process.signal('SIGHUP');
  await waitFor('both to have rejected it', async () => (await failures()) === before + 2);
  t.ok(performance.now() - writtenAtMs < 650, 'before the patience with half a save could have ended');
  gateway.writeConfig({ 'bad.yaml': null });
  gateway.process.signal('SIGHUP');
  const isGood = async (): Promise<boolean> => (await gateway.metric('gateway_config_last_reload_successful')) === 1;
  t.ok(await waitFor('both to be well again', isGood));
});

await test('failed logins at both workers pause their address', async (t) => {
  const [one, two] = await openDoors(t);
  const wrong = { headers: { authorization: 'Bearer sk-wrong-0123456789' } };
  for (let attempt = 0; attempt < 10; attempt += 1)
    for (const door of [one, two]) t.equal((await door.ask('/admin/status', wrong)).status, 401);
  // A worker tells the others behind its answer.
  for (const door of [one, two])
    t.ok(await waitFor('a valid key to be refused, too', async () => (await door.ask('/admin/status')).status === 429));
});

await test('SIGTERM lets open requests of both workers finish, and both end', async (t) => {
  const gate = createGate();
  await upstream.behave(() => ({ kind: 'hold', gate }));
  const asked = upstream.ledger.length;
  const open = Array.from({ length: 4 }, () =>
    gateway.fetch('/v1/chat/completions', { method: 'POST', ...chat('open') }),
  );
  await upstream.waitFor((ledger) => ledger.length >= asked + 4);
  gateway.process.signal('SIGTERM');
  // As a supervisor does, which sends it to all processes of a group.
  for (const pid of workersOf(gateway.process.pid).values()) process.kill(pid, 'SIGTERM');
  await gateway.process.waitForLine('"draining"');
  gate.release();
  t.same(new Set((await Promise.all(open)).map(({ status }) => status)), new Set([200]));
  t.same(await gateway.process.exited, { code: 0, signal: null });
  t.equal(gateway.process.logs().filter(({ msg }) => msg === 'stopped').length, 2);
});

await test('a configuration that cannot be used ends the start, and is told once', async (t) => {
  const { process: starting } = await startGateway(t, {
    config: 'providers: 7\n',
    env: { GATEWAY_WORKERS: '2' },
    ready: 'spawned',
  });
  t.same(await starting.exited, { code: 1, signal: null });
  t.equal(starting.stderr.filter((line) => line.includes('cannot start')).length, 1);
});

await test('a cap holds for both workers together, and both end with a parent that is killed', async (t) => {
  const user_paths = [{ path: '/shared', limits: [{ period: 'hour', max_requests: 4 }] }];
  const capped = { rate_limits: { user_paths } };
  const other = await startGateway(t, { upstream, config: capped, env: { GATEWAY_WORKERS: '2' } });
  await other.process.waitForLine('all workers serve');
  const doors = await openDoors(t, other);
  const statuses: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    for (const door of doors) {
      const asked = { ...chat('shared'), headers: { 'x-gateway-user-path': '/shared' } };
      const response = await door.ask('/v1/chat/completions', asked);
      await response.text();
      statuses.push(response.status);
    }
  }
  t.same(statuses, [200, 200, 200, 200, 429, 429, 429, 429]);
  const workers = [...workersOf(other.process.pid).values()];
  t.equal(workers.length, 2);
  await other.process.kill();
  await waitFor('the workers to end', () => workers.every((pid) => !isAlive(pid)), 3_000);
});
