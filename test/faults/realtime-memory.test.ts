// What messages of realtime sessions take of memory: bounded for each consumer, whichever end sends, and for a time only.
import { deepEqual } from 'node:assert/strict';
import { t as suite, test } from 'tap';
import { complaintsOf } from '../support/complaints.ts';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { readMetric, startGateway, untilIdle } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { type ClientSession, openSession, refusedSession } from '../support/realtime-client.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
/** Of the budget for bodies, and what one consumer may take of it. */
const budgetBytes = 16 * mebibyte;
const shareBytes = budgetBytes / 2;
const longestBytes = 4 * mebibyte;
const sessions = 12;

const upstream = await startFakeRealtime(suite);
const providers = {
  fake: { type: 'openai', base_url: upstream.url, models: ['gpt-realtime'], dialects: ['realtime'] },
};
const server = {
  body_limit: '4MiB',
  body_budget: '16MiB',
  realtime: { frame_limit: '4MiB', max_sessions: sessions },
};
const gateway = await startGateway(suite, { config: { server, providers } });
const hasty = await startGateway(suite, {
  config: {
    server: { ...server, realtime: { ...server.realtime, message_timeout: '200ms', max_sessions: 2 } },
    providers,
  },
});
const path = (userPath: string) => ({ headers: { 'x-gateway-user-path': userPath } });

suite.afterEach(async () => {
  for (const each of [gateway, hasty]) {
    await untilIdle(each);
    deepEqual([complaintsOf(each.process), await each.metric('gateway_request_body_bytes')], [[], 0]);
  }
});

/** The beginning of a frame with a message of nearly the longest length: all but its last byte. */
function begun(isMasked: boolean, length = longestBytes - 1): Buffer {
  const head = Buffer.alloc(isMasked ? 14 : 10);
  head.writeUInt16BE(isMasked ? 0x82ff : 0x827f);
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, Buffer.alloc(length - 1)]);
}
/** The same in frames of a kibibyte, none of them the last one. */
function pieces(): Buffer {
  const piece = (first: number): Buffer =>
    Buffer.concat([Buffer.from([first, 0xfe, 0x04, 0x00]), Buffer.alloc(4 + 1_024)]);
  return Buffer.concat([piece(0x02), ...Array.from({ length: longestBytes / 1_024 - 2 }, () => piece(0x00))]);
}
const cases: Readonly<Record<string, (session: ClientSession) => void>> = {
  'clients that do not complete a message': ({ connection }) => {
    connection?.write(begun(true));
  },
  'clients that send a message in pieces without an end': ({ connection }) => {
    connection?.write(pieces());
  },
  'a provider that does not complete a message': () => {
    upstream.asked.at(-1)?.socket.write(begun(false));
  },
  'clients that do not read': ({ socket }) => {
    socket.pause();
    upstream.sessions.at(-1)?.send(Buffer.alloc(longestBytes - 1));
  },
};

for (const [name, send] of Object.entries(cases)) {
  await test(`${name} take no more than one consumer may take`, async (t) => {
    const before = residentBytes(gateway.process);
    const open: ClientSession[] = [];
    const ended: number[] = [];
    for (let index = 0; index < sessions; index += 1) {
      const session = await openSession(gateway, path('/greedy'));
      session.socket.on('error', () => undefined);
      open.push(session);
      void session.closed.then(({ code }) => ended.push(code));
      send(session);
    }
    await waitFor('a session to be refused', async () => {
      const refused = await gateway.metric('gateway_realtime_sessions_ended_total', { reason: 'overloaded' });
      const held = (await gateway.metric('gateway_request_body_bytes')) ?? 0;
      t.ok(held <= shareBytes, `${held} bytes are held`);
      return (refused ?? 0) > 0 && held > longestBytes / 2;
    });
    const other = await openSession(gateway, path('/modest'));
    const said = Buffer.alloc(longestBytes - 1, 0x61);
    other.socket.send(said);
    await waitFor('the echo', () => other.said.some((text) => text === `binary ${said.length}`));
    const grown = residentBytes(gateway.process) - before;
    t.ok(grown < 6 * budgetBytes, `${(grown / mebibyte).toFixed(1)} MiB more`);
    other.socket.close();
    for (const { socket } of open) socket.terminate();
    for (const end of upstream.sessions.splice(0)) end.terminate();
    t.same(
      ended.filter((code) => code !== 1013 && code !== 1006),
      [],
    );
  });
}

await test('a message that is not complete in time ends its session', async (t) => {
  const idle = await openSession(hasty, path('/idle'));
  const late = await openSession(hasty, path('/late'));
  late.connection?.write(begun(true, 100));
  t.match(await late.closed, { code: 1008, reason: /server\.realtime\.message_timeout/ });
  const unheard = await openSession(hasty, path('/late'));
  upstream.asked.at(-1)?.socket.write(begun(false, 100));
  t.match(await unheard.closed, { code: 1011, reason: 'The provider did not complete a message in time.' });
  t.equal(idle.socket.readyState, 1, 'a session without a message stays');
  idle.socket.close();
  await waitFor('both to be counted', async () => {
    const metrics = await hasty.metrics();
    return readMetric(metrics, 'gateway_realtime_sessions_ended_total', { reason: 'message_timeout' }) === 2;
  });
});

await test('a key, and a user path, has so many sessions at a time; the next one is 429', async (t) => {
  const open = [await openSession(hasty, path('/team/a')), await openSession(hasty, path('/TEAM/a'))];
  const refused = await refusedSession(hasty, path('/team/a'));
  t.match(refused, {
    status: 429,
    headers: { 'retry-after': '1' },
    error: { code: 'too_many_sessions', type: 'rate_limit_error', message: /user path \/team\/a has 2 .*max_sessions/ },
  });
  const other = await openSession(hasty, path('/team/b'));
  other.socket.close();
  open[0]?.socket.close();
  const next = await waitFor('the place', () => openSession(hasty, path('/team/a')).catch(() => undefined));
  for (const { socket } of [...open, next]) socket.close();
});
