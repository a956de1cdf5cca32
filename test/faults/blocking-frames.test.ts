// However many frames a read of a realtime session holds, and however long a message is: no turn of the event loop takes more than 50 ms.
import type { Writable } from 'node:stream';
import { t as suite, test } from 'tap';
import type { WebSocket } from 'ws';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { startGateway } from '../support/gateway.ts';
import { openSession } from '../support/realtime-client.ts';
import { createMeter, type Measured, mostMs, quickestOf } from '../support/turn-meter.ts';

suite.setTimeout(120_000);
const kibibyte = 1_024;
const mebibyte = kibibyte * kibibyte;

const upstream = await startFakeRealtime(suite);
upstream.behave((end) => end.send('{"type":"session.created"}'));
const meter = await createMeter();
const fake = { type: 'openai', base_url: upstream.url, models: ['gpt-realtime'], dialects: ['realtime'] };
const gateway = await startGateway(suite, {
  config: { server: { body_budget: '256MiB' }, providers: { fake } },
  execArgv: meter.execArgv,
  env: meter.env,
});

/** RFC 6455, 5.2. `first`: the octet with FIN and opcode. Clients mask; a mask of zeros changes nothing. */
function frame(first: number, payload: string, isMasked: boolean): Buffer {
  const length = Buffer.byteLength(payload);
  const head = length < 126 ? Buffer.from([first, length]) : Buffer.alloc(10);
  if (length >= 126) {
    head.writeUInt16BE((first << 8) | 127);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  if (isMasked) head[1] = (head[1] as number) | 0x80;
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), Buffer.from(payload)]);
}

/** So many bytes of it, in whole frames. */
const filled = (one: Buffer, bytes = 256 * kibibyte): Buffer =>
  Buffer.concat(Array.from<Buffer>({ length: Math.floor(bytes / one.length) }).fill(one));

const textFrame = 0x81;
const done = '{"type":"response.done","response":{"usage":{"total_tokens":1}}}';
const failed = '{"type":"error","error":{"message":"The API key is wrong."}}';
const many = (piece: string): string => piece.repeat(Math.floor((15.9 * mebibyte) / piece.length));
/** By name: what an end sends. */
const floods: Readonly<Record<string, (isMasked: boolean) => Buffer>> = {
  'empty texts': (isMasked) => filled(frame(textFrame, '', isMasked)),
  'empty binary messages': (isMasked) => filled(frame(0x82, '', isMasked)),
  pings: (isMasked) => filled(frame(0x89, '', isMasked)),
  pongs: (isMasked) => filled(frame(0x8a, '', isMasked)),
  'events with usage': (isMasked) => filled(frame(textFrame, done, isMasked)),
  'events with an error': (isMasked) => filled(frame(textFrame, failed, isMasked)),
  'a message of the longest length': (isMasked) =>
    frame(
      textFrame,
      `{"type":"response.done","response":{"usage":{"total_tokens":3}},"x":[${many('{},')}1]}`,
      isMasked,
    ),
};

const last = '{"type":"the last one"}';

/** Settles when the end has read the last message; 0 where its connection closed before. */
function untilLast(end: WebSocket): Promise<number> {
  return new Promise((resolve) => {
    end.on('message', (data: Buffer) => {
      if (data.toString() === last) resolve(1);
    });
    end.on('close', () => resolve(0));
  });
}

function measure(side: 'client' | 'provider', flood: Buffer): Promise<Measured> {
  return quickestOf(async () => {
    const { socket, connection } = await openSession(gateway);
    const end = upstream.sessions.at(-1) as WebSocket;
    const [from, to] = side === 'client' ? [connection, end] : [upstream.asked.at(-1)?.socket, socket];
    const came = untilLast(to);
    const measured = await meter.during(() => {
      (from as Writable).write(Buffer.concat([flood, frame(textFrame, last, side === 'client')]));
      return came;
    });
    socket.terminate();
    end.terminate();
    return measured;
  });
}

for (const [name, make] of Object.entries(floods)) {
  await test(name, async (t) => {
    for (const side of ['client', 'provider'] as const) {
      const { status, longestMs } = await measure(side, make(side === 'client'));
      t.ok(longestMs < mostMs, `of a ${side}: ${longestMs.toFixed(0)} ms`);
      t.equal(status, 1, 'all of it passes, in order');
    }
  });
}
