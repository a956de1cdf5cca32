// A rollout: the old process stops while it serves clients, and no request fails.
import { createConnection, createServer } from 'node:net';
import { t as suite, test } from 'tap';
import { chatCall, firstEvent, lastEvent } from '../support/chat-call.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, startGateway } from '../support/gateway.ts';
import { journaled } from '../support/journal.ts';
import { listen } from '../support/ports.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { watchSlowdown, watchTime } from '../support/slowdown.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const lineHead = ['Host: gateway.test', `Authorization: Bearer ${masterKey}`].join('\r\n');

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

function start(t: Teardown, grace: string, timeouts: object = {}): Promise<Gateway> {
  return startGateway(t, { upstream, config: { server: { shutdown_grace: grace, timeouts } } });
}

/** A call whose request has reached the provider. */
async function openCall(t: Teardown, { port }: Gateway, more = ''): Promise<RawConnection> {
  const before = upstream.ledger.length;
  const connection = await openRaw(port, { t });
  await connection.send(chatCall(`{"model":"fake-small"${more}}`));
  await upstream.waitFor((ledger) => ledger[before]?.bodyComplete);
  return connection;
}

/** A stream whose first event has reached the client. */
async function openStream(t: Teardown, gateway: Gateway): Promise<RawConnection> {
  const connection = await openCall(t, gateway, ',"stream":true');
  await connection.waitFor(({ responses }) => responses[0]?.text() === firstEvent);
  return connection;
}

/** What the requests that are recorded ended with, and who had sent them. */
function endsOf(gateway: Gateway): readonly string[] {
  return journaled(gateway).map(({ status_code, client_ip }) => `${status_code} ${client_ip}`);
}

/** Settles with the error code of a connect, or `connected`. */
function tryConnect(port: number): Promise<string> {
  return new Promise((settle) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy();
      settle('connected');
    });
    socket.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  });
}

await test('SIGTERM: not ready, no new connections, and open requests finish', async (t) => {
  const gateway = await start(t, '10s');
  const gate = createGate();
  const { port, process } = gateway;
  // A connection that is in the middle of a request head stays open, so that readiness can be asked for on it.
  const probe = await openRaw(port, { t });
  await probe.send(`GET /health/ready HTTP/1.1\r\n${lineHead}\r\n\r\n`);
  t.match((await probe.waitFor(({ responses }) => responses[0])).json(), { status: 'ready' });
  await probe.send('GET /health/ready HTTP/1.1\r\n');
  const late = await openRaw(port, { t });
  await late.send('POST /v1/chat/completions HTTP/1.1\r\n');

  await upstream.behave([
    { kind: 'hold', gate },
    { kind: 'sse', chunks: [firstEvent, gate, lastEvent] },
    { kind: 'hold', gate },
  ]);
  const json = await openCall(t, gateway);
  const stream = await openStream(t, gateway);
  const signalledAtMs = performance.now();
  process.signal('SIGTERM');
  await waitFor('the listener to be closed', async () => (await tryConnect(port)) === 'ECONNREFUSED');
  const closedMs = performance.now() - signalledAtMs;
  t.comment(`the listener was closed ${closedMs.toFixed(1)} ms after SIGTERM (target 100)`);
  t.ok(closedMs <= 3_000, 'long before the grace has passed');

  await probe.send(`${lineHead}\r\n\r\n`);
  const draining = await probe.waitFor(({ responses }) => responses[1]?.complete && responses[1]);
  t.equal(draining.status, 503);
  t.match(draining.json(), { status: 'draining' });
  t.equal(draining.header('connection'), 'close');
  await late.send(chatCall('{"model":"fake-small"}').split('\r\n').slice(1).join('\r\n'));
  await upstream.waitFor((ledger) => ledger.length === 3, 10_000);

  t.ok(process.running);
  gate.release();
  const whole = await json.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.equal(whole.status, 200);
  t.equal(whole.header('connection'), 'close', 'and the client is told not to come back on this connection');
  const streamed = await stream.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.equal(streamed.text(), firstEvent + lastEvent);
  const latest = await late.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.equal(latest.status, 200, 'a request that had begun is served, too');
  const tookMs = watchTime();
  t.same(await process.exited, { code: 0, signal: null });
  t.ok(tookMs() < 5_000, 'it does not wait for the grace to pass');
  t.match(process.logs(), [...process.logs().slice(0, -2), { msg: 'draining', signal: 'SIGTERM' }, { msg: 'stopped' }]);
});

await test('idle connections end at once, and requests that never arrive whole at their own timeouts', async (t) => {
  const gateway = await start(t, '10s', { headers: '1s', body: '1s' });
  const halfHead = await openRaw(gateway.port, { t });
  await halfHead.send('POST /v1/chat/completions HTTP/1.1\r\nHost: ');
  const halfBody = await openRaw(gateway.port, { t });
  await halfBody.send(chatCall('{"model":"fake-small"}').slice(0, -3));
  const silent = await openRaw(gateway.port, { t });
  const idle = await openRaw(gateway.port, { t });
  // Its answer comes when the halves have been read, too.
  await idle.send(`GET /health HTTP/1.1\r\n${lineHead}\r\n\r\n`);
  await idle.waitFor(({ responses }) => responses[0]?.complete);
  const stopped = gateway.process.stop(8_000);
  await idle.waitFor(({ closedByServer }) => closedByServer);
  await silent.waitFor(({ closedByServer }) => closedByServer);
  t.ok(gateway.process.running, 'the idle ones do not wait for the others');
  t.same(await stopped, { code: 0, signal: null });
});

await test('an answer that is written but not yet read is not cut', async (t) => {
  const gateway = await start(t, '10s');
  const size = 24 << 20;
  await upstream.behave({ kind: 'json', body: `{"pad":"${'p'.repeat(size)}"}` });
  const connection = await openCall(t, gateway);
  connection.pause();
  const { bytesSent } = upstream.ledger.at(-1) ?? { bytesSent: 0 };
  await waitForStandstill('the provider', () => upstream.ledger.at(-1)?.bytesSent ?? bytesSent);
  gateway.process.signal('SIGTERM');
  await gateway.process.waitForLine('"draining"');
  connection.resume();
  const answer = await connection.waitFor(({ closedByServer, responses }) => closedByServer && responses[0], 5000);
  t.equal(answer.complete, true);
  t.equal(answer.body.length, size + 10);
  t.same(await gateway.process.exited, { code: 0, signal: null });
});

await test('past the grace the rest is cut', async (t) => {
  const gateway = await start(t, '300ms');
  await upstream.behave([{ kind: 'hang' }, { kind: 'sse', chunks: [firstEvent, createGate(), lastEvent] }]);
  const json = await openCall(t, gateway);
  const stream = await openStream(t, gateway);
  const entries = upstream.ledger.slice(-2);
  const signalledAtMs = performance.now();
  const slowdown = watchSlowdown();
  t.same(await gateway.process.stop(8_000), { code: 0, signal: null });
  const tookMs = performance.now() - signalledAtMs;
  t.comment(`exit ${tookMs.toFixed(0)} ms after SIGTERM with a grace of 300 ms`);
  t.ok(tookMs >= 300, 'not before the grace');
  t.ok(tookMs <= 300 + 1_000 * slowdown(), 'at most a second after it');
  const { responses } = await json.waitFor((exchange) => exchange.closedByServer && exchange);
  t.notOk(responses[0]?.status === 200, 'no answer is made up');
  await stream.waitFor(({ closedByServer }) => closedByServer);
  const [cut] = stream.exchange().responses;
  t.notMatch(cut?.text(), /\[DONE\]/);
  t.notOk(cut?.complete && !/"error"/.test(cut.text()), 'the cut stream does not look like a whole one');
  for (const entry of entries) await waitFor('the provider to be let go', () => entry.clientClosedAtMs);
  t.same(endsOf(gateway), ['499 127.0.0.1', '499 127.0.0.1'], 'and recorded');
});

// Others, with a SIGTERM first, are in the tests of counters (test/faults/counters-restarts.test.ts).
await test('a second signal ends it at once (SIGINT, SIGTERM)', async (t) => {
  const gateway = await start(t, '120s');
  await upstream.behave({ kind: 'hang' });
  await openCall(t, gateway);
  gateway.process.signal('SIGINT');
  await gateway.process.waitForLine('"draining"');
  t.ok(gateway.process.running);
  const tookMs = watchTime();
  gateway.process.signal('SIGTERM');
  t.same(await gateway.process.exited, { code: 0, signal: null });
  t.ok(tookMs() < 5_000, 'long before the grace has passed');
  t.same(endsOf(gateway), ['499 127.0.0.1'], 'the request that it cuts is recorded');
});

await test('a port in use ends the start with one clear line', async (t) => {
  const other = createServer();
  const port = await listen(other);
  t.teardown(() => other.close());
  const gateway = await startGateway(t, { upstream, env: { GATEWAY_PORT: String(port) }, ready: 'spawned' });
  t.same(await gateway.process.exited, { code: 1, signal: null });
  t.equal(gateway.process.stderr.length, 1);
  t.match(gateway.process.stderr[0], new RegExp(`port ${port} .* in use; set GATEWAY_PORT`));
  t.notMatch(gateway.process.stdout.join('\n'), /"listening"/);
});
