// What a meter of frames says of a connection: the same, whatever pieces the bytes come in.
import { test } from 'tap';
import { FrameMeter } from '../../../proxy/realtime/frame-meter.ts';

/** `first`: the first byte of its head. */
function frame(first: number, length: number, isMasked: boolean): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const size = Buffer.alloc(length < 126 ? 1 : length < 65_536 ? 3 : 9);
  size[0] = mask | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (size.length === 3) size.writeUInt16BE(length, 1);
  if (size.length === 9) size.writeBigUInt64BE(BigInt(length), 1);
  return Buffer.concat([Buffer.from([first]), size, Buffer.alloc(isMasked ? 4 : 0), Buffer.alloc(length, 0x81)]);
}
const [text, more, last, ping] = [0x01, 0x00, 0x80, 0x89];

await test('a meter of frames knows what is missing of a message, after every byte of it', async (t) => {
  for (const isMasked of [true, false]) {
    for (const length of [0, 1, 125, 126, 65_535, 65_536]) {
      const bytes = frame(0x82, length, isMasked);
      const meter = new FrameMeter();
      const name = `${length} bytes, ${isMasked ? 'masked' : 'not masked'}`;
      const step = length > 1_000 ? 997 : 1;
      const completed: number[] = [];
      for (let at = 0; at < bytes.length; at += step) {
        if (meter.take(bytes.subarray(at, at + step))) completed.push(at);
        if (at + step < bytes.length && !meter.isUnfinished) t.fail(`${name}: complete after ${at + step} bytes`);
      }
      t.same(completed, [Math.floor((bytes.length - 1) / step) * step], name);
      t.same([meter.isUnfinished, meter.heldBytes], [false, 0], name);
    }
  }
});

await test('a message in frames is held until its last one; control frames between them are not', (t) => {
  const meter = new FrameMeter();
  const take = (bytes: Buffer) => [meter.take(bytes), meter.isUnfinished, Math.floor(meter.heldBytes / 1_000)];
  t.same(take(frame(text, 3_000, true)), [false, true, 3]);
  t.same(take(frame(ping, 100, true)), [false, true, 3]);
  t.same(take(frame(more, 2_500, true)), [false, true, 6], 'each piece takes some memory of its own');
  t.same(take(Buffer.concat([frame(last, 10, true), frame(text, 4_000, true)])), [true, true, 4]);
  t.same(take(frame(last, 0, true)), [true, false, 0]);
  for (let index = 0; index < 1_000; index += 1) take(frame(index === 0 ? text : more, 1, true));
  t.ok(meter.heldBytes > 250_000, 'a thousand pieces of a byte are no thousand bytes');
  t.end();
});
