// The raw client reports the bytes and the end of a connection; each server here does one thing.
import { createServer, type Socket } from 'node:net';
import { type Test, test } from 'tap';
import { listen } from './ports.ts';
import { createGate, fin, openRaw, parseResponses, pause, rawRequest, rst } from './raw-http.ts';
import { waitFor } from './wait-for.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A server that hands each connection over; gives its port and what it received. */
async function serve(t: Test, onConnection: (socket: Socket) => void) {
  const seen = { bytes: '', reads: 0, ended: false, errors: [] as string[] };
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on('data', (bytes: Buffer) => {
      seen.bytes += bytes.toString('latin1');
      seen.reads += 1;
    });
    socket.on('end', () => {
      seen.ended = true;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => seen.errors.push(error.code ?? error.name));
    onConnection(socket);
  });
  const port = await listen(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port, seen };
}

await test('responses are told apart', async (t) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
  const chunked =
    'HTTP/1.0 429 Slow\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\nx-a:  2\r\n\r\n2;e=1\r\n{"\r\n4\r\na":1\r\n1\r\n}\r\n0\r\nT: 1\r\n\r\n';
  const { responses, rest } = parseResponses(Buffer.from(`${early}${chunked}${ok}HTTP/1.1 204 No\r\n\r\nleft`), false);
  t.match(responses, [
    { status: 103, complete: true, body: { length: 0 } },
    { status: 429, version: '1.0', reason: 'Slow', complete: true },
    { status: 200, complete: true },
    { status: 204, complete: true },
  ]);
  t.same(responses[1]?.headers, [
    ['Transfer-Encoding', 'chunked'],
    ['X-A', '1'],
    ['x-a', '2'],
  ]);
  t.same(responses[1]?.json(), { a: 1 });
  t.equal(responses[1]?.header('x-A'), '1');
  t.equal(rest.toString(), 'left');
});

await test('an unfinished response is incomplete at every cut', (t) => {
  const whole = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  for (let cut = 0; cut < whole.length; cut += 1) {
    const { responses } = parseResponses(Buffer.from(whole.slice(0, cut)), true);
    t.ok(responses.length === 0 || responses[0]?.complete === false, `${cut}`);
  }
  const open = Buffer.from('HTTP/1.1 200 OK\r\n\r\nuntil the end');
  t.equal(parseResponses(open, false).responses[0]?.complete, false);
  t.equal(parseResponses(open, true).responses[0]?.complete, true);
  t.equal(
    parseResponses(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'), false, true).responses[0]?.complete,
    true,
  );
  t.end();
});

await test('it tells a close, a reset and a server that stays', async (t) => {
  const closing = await serve(t, (socket) => socket.end(ok.replace('\r\n', '\r\nConnection: close\r\n')));
  t.match(await rawRequest(closing.port, 'x'), {
    closedByServer: true,
    closedHow: 'fin',
    responses: [{ status: 200 }],
  });
  const resetting = await serve(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
  t.match(await rawRequest(resetting.port, 'x'), { closedByServer: true, closedHow: 'rst', responses: [] });
  const staying = await serve(t, (socket) => socket.write(ok));
  t.match(await rawRequest(staying.port, 'x'), {
    closedByServer: false,
    closedHow: undefined,
    responses: [{ status: 200 }],
  });
  t.match(await rawRequest(staying.port, 'x', { until: 'close', deadlineMs: 50 }), { closedByServer: false });
});

await test('it sends at the pace of its steps', async (t) => {
  const { port, seen } = await serve(t, () => {});
  const gate = createGate();
  const connection = await openRaw(port, { t });
  const sent = connection.send('a', pause(5), 'b', gate, Buffer.from([0xff]), fin);
  await waitFor('the first bytes', () => seen.bytes === 'ab' && gate.waiting === 1);
  t.equal(seen.reads, 2, 'two writes');
  gate.release();
  await sent;
  await waitFor('the half-close', () => seen.ended);
  t.equal(seen.bytes, 'ab\u00ff');
});

await test('it still reads after a half-close', async (t) => {
  const { port } = await serve(t, (socket) => socket.on('end', () => socket.end(ok)));
  t.match(await rawRequest(port, ['x', fin]), { responses: [{ status: 200, complete: true }], closedHow: 'fin' });
});

await test('a reset by the client is not reported as one of the server', async (t) => {
  const { port, seen } = await serve(t, () => {});
  t.match(await rawRequest(port, ['x', rst]), { closedByServer: false, closedHow: undefined, responses: [] });
  await waitFor('the reset to arrive', () => seen.errors[0] === 'ECONNRESET');
});

await test('pipelined requests get their responses in one exchange', async (t) => {
  const { port } = await serve(t, (socket) => socket.on('data', (bytes) => socket.write(ok.repeat(bytes.length))));
  const { responses } = await rawRequest(port, '123', { until: 3 });
  t.equal(responses.length, 3);
});
