// The system treats the process badly: no file descriptors left, or stopped for two seconds in the middle of its work.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { t as suite, type Test, test } from 'tap';
import { chatCall, firstEvent, lastEvent } from '../support/chat-call.ts';
import type { RuleRow } from '../support/consumer.ts';
import { countsOf, limits, roomy, slots } from '../support/counters.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, startGateway } from '../support/gateway.ts';
import { openRaw, type RawConnection, type RawResponse, rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
suite.setTimeout(240_000);
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

const alias = (source: string) => ({ 'aliases.yaml': { aliases: [{ source, target: 'fake/fake-small' }] } });
const gateway = await startGateway(suite, { upstream, config: limits(roomy, slots), files: alias('old') });

function callOf(model: string, stream = false): string {
  return chatCall({ model, stream, messages: [] });
}

const get = (target: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${masterKey}\r\n\r\n`;

/** Sends one more request on an open connection; its answer. */
async function exchange(connection: RawConnection, bytes: string): Promise<RawResponse> {
  const before = connection.exchange().responses.length;
  await connection.send(bytes);
  return connection.waitFor(({ responses }) => responses[before]?.complete && responses[before]);
}

/** Leaves the process room for so many more descriptors; those it has stay, whatever their numbers. */
function leaveDescriptors({ process }: Gateway, room: number): void {
  const taken = new Set(readdirSync(`/proc/${process.pid}/fd`).map(Number));
  let limit = 0;
  for (let free = 0; free < room; limit += 1) if (!taken.has(limit)) free += 1;
  limitDescriptors(process.pid, limit);
}

/** The soft limit of another process: the lowest number that no new descriptor may have. */
function limitDescriptors(pid: number, limit: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`], { stdio: 'pipe' });
}

/** Seconds of processor time that the process has used. */
function processorSeconds({ process }: Gateway): number {
  const [user = 0, system = 0] = readFileSync(`/proc/${process.pid}/stat`, 'utf8').split(' ').slice(13, 15).map(Number);
  return (user + system) / 100;
}

await test('no file descriptors left: connected clients are served, and new ones again when there are some', async (t) => {
  const { pid } = gateway.process;
  const caller = await openRaw(gateway.port, { t });
  t.equal((await exchange(caller, callOf('fake-small'))).status, 200, 'which leaves a connection to the provider');
  const looker = await openRaw(gateway.port, { t });
  const reasons = async () => (await exchange(looker, get('/health/ready'))).json() as { status: string };
  t.same(await reasons(), { status: 'ready', reasons: [] });

  leaveDescriptors(gateway, 10);
  t.teardown(() => gateway.process.running && limitDescriptors(pid, 1_024));
  const usedBefore = processorSeconds(gateway);
  const startedMs = performance.now();
  const crowd: RawConnection[] = [];
  const turnedAway = () => crowd.filter((connection) => connection.exchange().closedByServer).length;
  /** Newcomers come until five are turned away, whatever has become free meanwhile. */
  const crowdIn = async (): Promise<void> => {
    for (const before = turnedAway(); turnedAway() < before + 5; ) {
      if (crowd.length > 300) throw new Error('no connection is refused');
      const newcomer = await openRaw(gateway.port, { t });
      crowd.push(newcomer);
      await newcomer.send(get('/health'));
      await newcomer.waitFor(({ closedByServer, responses }) => closedByServer || responses[0]?.complete);
    }
  };
  await crowdIn();
  t.ok(crowd.length - turnedAway() >= 5, 'until then they are let in');
  const statuses: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    statuses.push((await exchange(caller, callOf('fake-small'))).status);
    statuses.push((await exchange(looker, get('/health'))).status);
  }
  t.same(new Set(statuses), new Set([200]), 'those that are connected are served');

  // Two calls at once need a second connection to the provider.
  const gate = createGate();
  t.teardown(() => gate.release());
  const asked = upstream.ledger.length;
  await upstream.behave([{ kind: 'hold', gate }]);
  const held = exchange(caller, callOf('fake-small'));
  await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
  await crowdIn();
  const refused = await exchange(looker, callOf('fake-small'));
  t.equal(refused.status, 502);
  t.match(refused.json(), { error: { type: 'provider_error', message: String } });
  gate.release();
  t.equal((await held).status, 200);

  await crowdIn();
  gateway.writeConfig(alias('new'));
  await waitFor('the config to be out of reach', async () => (await reasons()).status === 'degraded');
  t.same(await reasons(), { status: 'degraded', reasons: ['config_rejected'] });
  t.equal((await exchange(looker, callOf('old'))).status, 200, 'the config in force stays');
  t.equal((await exchange(looker, callOf('new'))).status, 404);
  const share = (processorSeconds(gateway) - usedBefore) / ((performance.now() - startedMs) / 1000);
  t.comment(`${turnedAway()} of ${crowd.length} turned away; ${(100 * share).toFixed(0)} % of a processor meanwhile`);
  t.ok(share < 0.7, 'it does not go round in circles');

  limitDescriptors(pid, 1_024);
  const liftedMs = performance.now();
  await waitFor('all to be well', async () => (await reasons()).status === 'ready');
  t.comment(`all well ${(performance.now() - liftedMs).toFixed(0)} ms after the limit was lifted`);
  t.equal((await exchange(looker, callOf('new'))).status, 200);
  t.equal((await exchange(looker, callOf('old'))).status, 404);
  await gateway.applyConfig(alias('newer'));
  t.same((await rawRequest(gateway.port, callOf('newer'))).responses[0]?.status, 200, 'and newcomers are let in');
  t.match(await countsOf(gateway), { requests: 1 + 20 + 2 + 3, inFlight: 0 });
  const toldOfJournal = () => gateway.process.logs().findLast(({ msg }) => String(msg).includes('the journal'))?.msg;
  await waitFor('the journal to be written, and what was told of it to be taken back', async () => {
    const isWritten = (await gateway.metric('gateway_journal_waiting_bytes')) === 0;
    return (
      isWritten && [undefined, 'the journal of records works again'].includes(toldOfJournal() as string | undefined)
    );
  });
  t.ok(gateway.process.running);
  t.notMatch(gateway.process.stdout.join('\n'), /unexpected failure|"level":"fatal"/);
});

// --- stopped and continued

/** Reads when the proxy was alive last as the state store knows it, in Unix milliseconds. */
function heartbeatReader(t: Test, { dataDir }: Gateway): () => number {
  const database = new DatabaseSync(join(dataDir, 'state.sqlite'), { readOnly: true, timeout: 1_000 });
  t.teardown(() => database.close());
  const statement = database.prepare('SELECT at_ms FROM heartbeat');
  return () => Number(statement.get()?.['at_ms']);
}

await test('stopped for two seconds under load and continued: clients notice a pause and nothing else', async (t) => {
  const timeouts = { connect: '1s', first_byte: '1s', stream_idle: '1s' };
  const fake = { type: 'openai', base_url: upstream.url, models: [...upstream.models], timeouts };
  await gateway.applyConfig({ 'providers.yaml': { providers: { fake } } });
  const { requests: before } = await countsOf(gateway);
  const asked = upstream.ledger.length;
  const gate = createGate();
  await upstream.behave([
    { kind: 'sse', chunks: [firstEvent, gate, firstEvent, lastEvent] },
    { kind: 'hold', gate },
  ]);
  const stream = await openRaw(gateway.port, { t });
  await stream.send(callOf('fake-small', true));
  await stream.waitFor(({ responses }) => responses[0]?.text() === firstEvent);
  const held = await openRaw(gateway.port, { t });
  await held.send(callOf('fake-small'));
  await upstream.waitFor((ledger) => ledger[asked + 1]?.bodyComplete);
  const half = await openRaw(gateway.port, { t });
  await half.send(callOf('fake-small').slice(0, -10));

  const end = new AbortController();
  t.teardown(() => end.abort());
  const statuses = new Map<number, number>();
  let used = 0;
  const laneCount = 8;
  const lanes = Array.from({ length: laneCount }, async () => {
    const connection = await openRaw(gateway.port, { t });
    while (!end.signal.aborted) {
      const { status } = await exchange(connection, callOf('fake-small'));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await setTimeout(20);
    }
  });
  const falls: string[] = [];
  const look = (async () => {
    const connection = await openRaw(gateway.port, { t });
    while (!end.signal.aborted) {
      const answer = (await exchange(connection, get('/v1/usage'))).json() as { rate_limits: RuleRow[] };
      const now = answer.rate_limits.find(({ period_seconds: period }) => period === 3_600)?.requests_used ?? -1;
      if (now < used) falls.push(`${used} → ${now}`);
      used = now;
      await setTimeout(20);
    }
  })();
  await waitFor('the load to run', () => (statuses.get(200) ?? 0) > 2 * laneCount);
  const lastBeatMs = heartbeatReader(t, gateway);
  const linesBefore = gateway.process.logs().length;

  gateway.process.signal('SIGSTOP');
  const stoppedMs = performance.now();
  // What the provider and the clients send now waits in the system.
  gate.release();
  await half.send(callOf('fake-small').slice(-10));
  const atStop = statuses.get(200) ?? 0;
  await waitFor('two seconds', () => performance.now() - stoppedMs > 2_000);
  t.ok((statuses.get(200) ?? 0) - atStop <= laneCount, 'it really stands still');
  const beats = [lastBeatMs()];
  t.ok(Date.now() - (beats[0] ?? 0) > 1_400, 'and gives no sign of life');
  gateway.process.signal('SIGCONT');
  const continuedMs = performance.now();
  await waitFor('four signs of life', () => {
    const beatMs = lastBeatMs();
    if (beatMs !== beats.at(-1)) beats.push(beatMs);
    return beats.length > 4;
  });
  const tookMs = performance.now() - continuedMs;
  t.comment(`four signs of life within ${tookMs.toFixed(0)} ms of SIGCONT`);
  t.ok(tookMs > 1_000, 'at their own pace: what was missed is not made up for');

  const whole = (connection: RawConnection) =>
    connection.waitFor(({ responses }) => responses[0]?.complete && responses[0], 5_000);
  t.equal((await whole(stream)).text(), `${firstEvent}${firstEvent}${lastEvent}`, 'the stream goes on to its end');
  t.equal((await whole(held)).status, 200);
  t.equal((await whole(half)).status, 200);
  const resumed = statuses.get(200) ?? 0;
  await waitFor('the load to go on', () => (statuses.get(200) ?? 0) > resumed + 2 * laneCount);
  end.abort();
  await Promise.all([...lanes, look]);
  t.same([...statuses.keys()], [200], 'no request is lost');
  t.same(falls, [], 'no counter goes back');
  t.match(await countsOf(gateway), { requests: before + 3 + (statuses.get(200) ?? 0), inFlight: 0 });
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  // What the proxy had asked the control plane when it was stopped has run out of time; the next answer says so.
  const isOfStop = (line: unknown): boolean => /^the control plane (does not answer|answers)$/.test(String(line));
  const said = gateway.process.logs().slice(linesBefore);
  t.same(
    said.filter(({ msg }) => !isOfStop(msg)),
    [],
    'nothing to report',
  );
  t.ok(said.length === 0 || said.at(-1)?.['msg'] === 'the control plane answers');
  t.match(await (await gateway.fetch('/health/ready')).json(), { status: 'ready', reasons: [] });
});
