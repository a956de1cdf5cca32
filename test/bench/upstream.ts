// The provider of the benchmark: raw sockets and prebuilt bytes, so that it costs far less than what is measured.
import { createServer, type Socket } from 'node:net';
import { beginStream, cutStream, openStreams, streamCounts } from './upstream-streams.ts';
import { INSTANT_EVENTS, jsonAnswer, QUARTERS_EVENTS, streamWrites } from './workload.ts';

const json = jsonAnswer();
const instant = [false, true].map((usage) => streamWrites(INSTANT_EVENTS, usage));
const burst = instant.map((writes) => [Buffer.concat(writes)]);
const quarters = [false, true].map((usage) => inFour(streamWrites(QUARTERS_EVENTS, usage)));
let requests = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer | undefined;
  socket.on('error', () => socket.destroy());
  socket.on('close', () => cutStream(socket));
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

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', address: `http://127.0.0.1:${port}` })}\n`);
});
process.on('SIGTERM', () => process.exit(0));

function answer(socket: Socket, head: string, body: string): void {
  if (head.startsWith('GET /stats ')) {
    const text = JSON.stringify({ requests, ...streamCounts, streamsOpen: openStreams() });
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    return;
  }
  if (/\ntransfer-encoding:/i.test(head)) {
    process.stderr.write('the bench upstream reads bodies with a content-length only; this one came chunked\n');
    socket.destroy();
    return;
  }
  requests += 1;
  // The model stands at the beginning of a body, the flags of a stream at its end.
  const start = body.slice(0, 64);
  const end = body.slice(-128);
  if (!end.includes('"stream":true')) {
    socket.write(json);
    return;
  }
  const usage = end.includes('"include_usage":true');
  streamCounts.streamsStarted += 1;
  if (start.includes('paced-model')) beginStream(socket, 'paced', usage);
  else if (start.includes('held-model')) beginStream(socket, 'held', usage);
  else {
    const kind = start.includes('burst-model') ? burst : start.includes('quarters-model') ? quarters : instant;
    for (const bytes of kind[usage ? 1 : 0] ?? []) socket.write(bytes);
    streamCounts.streamsFinished += 1;
  }
}

// Four writes of the provider, as when several events are ready at once.
function inFour(writes: Buffer[]): Buffer[] {
  const share = Math.ceil(writes.length / 4);
  return [0, 1, 2, 3].map((quarter) => Buffer.concat(writes.slice(quarter * share, (quarter + 1) * share)));
}
