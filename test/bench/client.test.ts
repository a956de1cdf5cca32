// The load client: what it sends, what it counts, and what it makes of servers that are slow, refuse, or go away.
import { createServer, type Server, type Socket } from 'node:net';
import tap, { type Test } from 'tap';
import { type LoadClient, startClient } from './load.ts';
import { MASTER_KEY } from './processes.ts';
import { jsonAnswer, requestBody } from './workload.ts';

const answer = jsonAnswer();
const json = { workload: 'json', connections: 4, seconds: 20 } as const;

void tap.test('a closed loop sends the same request on each connection, and keeps the connections', async (t) => {
  const client = clientFor(t);
  const seen = new Set<string>();
  const { url, sockets } = await serve(t, (socket, request) => {
    seen.add(request);
    socket.write(answer);
  });
  for (const requests of [4, 100]) {
    const result = await client.run({ ...json, url, requests });
    t.match(result, { requests, failures: 0, events: 0, meanBytes: answer.length });
    t.ok(result.p50Ms > 0 && result.p50Ms <= result.p99Ms && result.p99Ms <= result.p999Ms);
  }
  t.equal(sockets.size, 4);
  const [request = ''] = seen;
  t.equal(seen.size, 1);
  t.ok(request.startsWith('POST /v1/chat/completions HTTP/1.1\r\n') && request.endsWith(requestBody('json')));
  t.ok(request.includes(`authorization: Bearer ${MASTER_KEY}\r\n`));
});

void tap.test('a slice ends with its time', async (t) => {
  const client = clientFor(t);
  const { url } = await serve(t, (socket) => socket.write(answer));
  const result = await client.run({ ...json, url, seconds: 0.1 });
  t.ok(result.requests > 4 && result.seconds >= 0.1, JSON.stringify(result));
});

void tap.test('statuses other than 2xx, wrong counts of events and lost connections are failures', async (t) => {
  const client = clientFor(t);
  const refusing = await serve(t, (socket) => socket.write('HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n'));
  t.match(await client.run({ ...json, url: refusing.url, requests: 20 }), { requests: 20, failures: 20 });
  const eventless = await serve(t, (socket) => socket.write(answer));
  const sse = { ...json, workload: 'sse', url: eventless.url, requests: 5 } as const;
  t.match(await client.run(sse), { requests: 5, failures: 5 });
  let count = 0;
  const fickle = await serve(t, (socket) => {
    count += 1;
    if (count % 10 === 0) socket.destroy();
    else socket.write(answer);
  });
  t.match(await client.run({ ...json, url: fickle.url, requests: 50 }), { requests: 45, failures: 5 });
});

void tap.test('connections the server closed in the meantime are no failures', async (t) => {
  const client = clientFor(t);
  const { url, sockets } = await serve(t, (socket) => socket.write(answer));
  await client.run({ ...json, url, requests: 8 });
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.match(await client.run({ ...json, url, requests: 8 }), { requests: 8, failures: 0 });
});

void tap.test('an open loop does not wait for answers: what waits counts as waiting', async (t) => {
  const client = clientFor(t);
  const slow = await serve(t, (socket) => void setTimeout(() => socket.write(answer), 100));
  // 200 requests a second for 0.5 s on at most 5 connections of 100 ms each: 50 a second are answered.
  const bounded = { ...json, url: slow.url, connections: 1, mostConnections: 5, seconds: 0.5, rate: 200 };
  const result = await client.run(bounded);
  t.match(result, { requests: 100, failures: 0 });
  t.equal(slow.sockets.size, 5);
  t.ok(result.p50Ms > 500 && result.p99Ms > 1000, JSON.stringify(result));
  const free = await serve(t, (socket) => void setTimeout(() => socket.write(answer), 100));
  const unbounded = await client.run({ ...bounded, url: free.url, mostConnections: 100 });
  t.match(unbounded, { requests: 100, failures: 0 });
  t.ok(free.sockets.size > 5, 'connections are opened as they are needed');
});

void tap.test('who listens nowhere is an error, and the client works on', async (t) => {
  const client = clientFor(t);
  const { url, server } = await serve(t, (socket) => socket.write(answer));
  await new Promise((resolve) => server.close(resolve));
  await t.rejects(client.run({ ...json, url, requests: 1 }), /ECONNREFUSED/);
  t.match(await client.hold(url, 2), { open: 0, problem: /ECONNREFUSED/ });
});

function clientFor(t: Test): LoadClient {
  const client = startClient();
  t.teardown(client.stop);
  return client;
}

// Answers each complete request of the client, which sends one at a time and none in pieces.
async function serve(
  t: Test,
  respond: (socket: Socket, request: string) => void,
): Promise<{ url: string; server: Server; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => respond(socket, chunk.toString('latin1')));
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, server, sockets };
}
