// The provider of the benchmark: raw sockets and prebuilt bytes, so that it costs far less than what is measured.
import { createServer, type Socket } from 'node:net';
import { INSTANT_EVENTS, jsonAnswer, PACED_EVENTS, PACED_INTERVAL_MS, streamWrites } from './workload.ts';

interface PacedStream {
  socket: Socket;
  writes: Buffer[];
  next: number;
  dueMs: number;
}

const json = jsonAnswer();
const instant = [false, true].map((usage) => streamWrites(INSTANT_EVENTS, usage));
const burst = instant.map((writes) => Buffer.concat(writes));
const paced = [false, true].map((usage) => streamWrites(PACED_EVENTS, usage));
const pacedStreams = new Map<Socket, PacedStream>();
const counts = { requests: 0, streamsStarted: 0, streamsFinished: 0, streamsCut: 0 };
let ticker: NodeJS.Timeout | undefined;

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer | undefined;
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    if (pacedStreams.delete(socket)) counts.streamsCut += 1;
  });
  socket.on('data', (chunk: Buffer) => {
    let buffer = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    rest = undefined;
    while (buffer.length > 0) {
      const headEnd = buffer.indexOf('\r\n\r\n');
      if (headEnd < 0) break;
      const head = buffer.toString('latin1', 0, headEnd);
      const end = headEnd + 4 + Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (buffer.length < end) break;
      answer(socket, head, buffer.toString('latin1', headEnd + 4, end));
      buffer = buffer.subarray(end);
    }
    if (buffer.length > 0) rest = buffer;
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', address: `http://127.0.0.1:${port}` })}\n`);
});
process.on('SIGTERM', () => process.exit(0));

function answer(socket: Socket, head: string, body: string): void {
  if (head.startsWith('GET /stats ')) {
    const text = JSON.stringify({ ...counts, streamsOpen: pacedStreams.size });
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    return;
  }
  if (/\ntransfer-encoding:/i.test(head)) {
    process.stderr.write('the bench upstream reads bodies with a content-length only; this one came chunked\n');
    socket.destroy();
    return;
  }
  counts.requests += 1;
  if (!body.includes('"stream":true')) {
    socket.write(json);
    return;
  }
  const usage = body.includes('"include_usage":true') ? 1 : 0;
  counts.streamsStarted += 1;
  if (body.includes('paced-model')) {
    pacedStreams.set(socket, { socket, writes: paced[usage] ?? [], next: 0, dueMs: performance.now() });
    ticker ??= setInterval(tick, 1);
    return;
  }
  if (body.includes('burst-model')) socket.write(burst[usage] ?? '');
  else for (const bytes of instant[usage] ?? []) socket.write(bytes);
  counts.streamsFinished += 1;
}

// One ticker for all paced streams: each stream keeps its own due time, so arrivals stay spread as the requests were.
function tick(): void {
  const nowMs = performance.now();
  for (const [socket, stream] of pacedStreams) {
    while (stream.dueMs <= nowMs && stream.next < stream.writes.length) {
      socket.write(stream.writes[stream.next] ?? '');
      stream.next += 1;
      stream.dueMs += PACED_INTERVAL_MS;
    }
    if (stream.next === stream.writes.length) {
      pacedStreams.delete(socket);
      counts.streamsFinished += 1;
    }
  }
  if (pacedStreams.size === 0) {
    clearInterval(ticker);
    ticker = undefined;
  }
}
