// A raw client for paced streams: many at once, every event counted, cheap enough never to be the limit.
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { PACED_EVENTS } from './workload.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    body: { type: 'string', default: '' },
    token: { type: 'string', default: '' },
    streams: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '1' },
  },
});
const target = new URL(values.url);
const rounds = Number(values.rounds);
const request = [
  `POST ${target.pathname} HTTP/1.1`,
  `host: ${target.host}`,
  'content-type: application/json',
  `authorization: Bearer ${values.token}`,
  `content-length: ${values.body.length}`,
  '',
  values.body,
].join('\r\n');
const MARK = 'data: ';
const END = '\r\n0\r\n\r\n';

const firstEventMs: number[] = [];
let events = 0;
let streams = 0;
let failures = 0;

const startMs = performance.now();
await Promise.all(Array.from({ length: Number(values.streams) }, lane));
const seconds = (performance.now() - startMs) / 1000;
firstEventMs.sort((a, b) => a - b);
const at = (share: number): number => firstEventMs[Math.floor((firstEventMs.length - 1) * share)] ?? 0;
process.stdout.write(
  `${JSON.stringify({ requests: streams, events, seconds, p50Ms: at(0.5), p99Ms: at(0.99), failures })}\n`,
);

// One connection: the next stream begins when the one before has ended. A lost connection is a failure and ends the lane.
function lane(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    let left = rounds;
    let sentMs = 0;
    let seen = 0;
    let carry = '';
    let fresh = true;
    const send = (): void => {
      sentMs = performance.now();
      seen = 0;
      carry = '';
      fresh = true;
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (left > 0) failures += 1;
      resolve();
    });
    socket.on('data', (chunk: Buffer) => {
      const text = carry + chunk.toString('latin1');
      if (fresh && !text.startsWith('HTTP/1.1 200')) {
        socket.destroy();
        return;
      }
      fresh = false;
      // The carry lets a mark or an end cut in two be found; a mark that lay wholly in it was counted before.
      let from = text.indexOf(MARK, Math.max(0, carry.length - MARK.length + 1));
      for (; from >= 0; from = text.indexOf(MARK, from + MARK.length)) {
        if (seen === 0) firstEventMs.push(performance.now() - sentMs);
        seen += 1;
      }
      carry = text.slice(-END.length);
      if (!text.endsWith(END)) return;
      events += seen;
      streams += 1;
      if (seen !== PACED_EVENTS) failures += 1;
      left -= 1;
      if (left === 0) socket.destroy();
      else send();
    });
  });
}
