// Frames of `application/vnd.amazon.eventstream`, as Bedrock sends them.
import { crc32 } from 'node:zlib';

/** A frame with headers that are texts. */
export function frame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const parts = Object.entries(headers).map(([name, value]) => textHeader(name, value));
  return rawFrame(Buffer.concat(parts), Buffer.from(payload));
}

/** A frame with right lengths and checksums around any bytes. */
export function rawFrame(headers: Buffer, payload: Buffer): Buffer {
  const whole = Buffer.alloc(12 + headers.length + payload.length + 4);
  whole.writeUInt32BE(whole.length, 0);
  whole.writeUInt32BE(headers.length, 4);
  whole.writeUInt32BE(crc32(whole.subarray(0, 8)), 8);
  headers.copy(whole, 12);
  payload.copy(whole, 12 + headers.length);
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4);
  return whole;
}

/** An event of ConverseStream. An exception is one whose name says so. */
export function converseFrame(name: string, payload: unknown): Buffer {
  const isException = name.endsWith('Exception');
  const kind = isException ? 'exception' : 'event';
  return frame(
    { [`:${kind}-type`]: name, ':content-type': 'application/json', ':message-type': kind },
    JSON.stringify(payload),
  );
}

/** The stream that the lines of a recorded answer tell: `{"messageStart": {…}}`, one event a line. */
export function recordedFrames(lines: string): Buffer {
  const events = lines.trim().split('\n');
  return Buffer.concat(
    events.flatMap((line) =>
      Object.entries(JSON.parse(line) as Record<string, unknown>).map(([name, payload]) =>
        converseFrame(name, payload),
      ),
    ),
  );
}

function textHeader(name: string, value: string): Buffer {
  const text = Buffer.from(value);
  const head = Buffer.from([name.length, ...Buffer.from(name), 7, text.length >> 8, text.length & 0xff]);
  return Buffer.concat([head, text]);
}
