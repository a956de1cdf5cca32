// Frames of AWS are cut out wherever chunks end, and a frame with a wrong bit is never believed.
import { test } from 'tap';
import { EventStreamSplitter } from '../../../../proxy/dialects/bedrock/event-stream.ts';
import { InvalidAnswer, type RawEvent } from '../../../../proxy/dialects/translation.ts';
import { converseFrame, frame, rawFrame } from '../../../support/aws-frames.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const cut = (...chunks: Buffer[]): RawEvent[] => {
  const splitter = new EventStreamSplitter();
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
};

await test('the examples that the SDKs of AWS test themselves with', async (t) => {
  t.same(cut(hex('00000010 00000000 05c248eb 7d98c8ff')), [{ event: undefined, data: '' }], 'an empty frame');
  const plain = hex('0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936');
  t.same(cut(plain), [{ event: undefined, data: "{'foo':'bar'}" }], 'a frame without headers');
  const typed = Buffer.concat([
    hex('0000003d 00000020 07fd8396 0c'),
    Buffer.from('content-type'),
    hex('07 0010'),
    Buffer.from("application/json{'foo':'bar'}"),
    hex('8d9c08b1'),
  ]);
  t.same(cut(typed), [{ event: undefined, data: "{'foo':'bar'}" }], 'a frame with a header');
});

await test('headers of every type are passed over', async (t) => {
  const headers = [
    '01 61 00',
    '01 62 01',
    '01 63 02 cf',
    '01 64 03 002a',
    '01 65 04 0000a00c',
    '01 66 05 0000000000000001',
    '01 67 06 0002 ffff',
    '01 68 08 0000019000000000',
    '01 69 09 000102030405060708090a0b0c0d0e0f',
    '0b 3a6576656e742d74797065 07 0002 6869',
  ].map(hex);
  t.same(cut(rawFrame(Buffer.concat(headers), Buffer.from('{}'))), [{ event: 'hi', data: '{}' }]);
  for (const bad of ['01 61 0a', '05 61', '01 61 07 0009 62', '01']) {
    t.throws(() => cut(rawFrame(hex(bad), Buffer.alloc(0))), bad);
  }
});

await test('exceptions and errors are one kind of event, with their name', async (t) => {
  t.same(cut(converseFrame('throttlingException', { message: 'slow down' })), [
    { event: 'exception', data: '{"message":"slow down","__type":"throttlingException"}' },
  ]);
  const headers = { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'broken' };
  t.same(cut(frame(headers, '')), [{ event: 'exception', data: '{"message":"broken","__type":"InternalFailure"}' }]);
  const page = frame({ ':message-type': 'exception', ':exception-type': 'x' }, '<html>');
  t.same(cut(page), [{ event: 'exception', data: '{"message":"<html>","__type":"x"}' }]);
});

await test('the same events at every split, byte by byte, and none for a frame that is cut off', async (t) => {
  const stream = Buffer.concat([
    converseFrame('messageStart', { role: 'assistant' }),
    converseFrame('contentBlockDelta', { delta: { text: 'größe 漢字' }, contentBlockIndex: 0, p: 'abcd' }),
    converseFrame('messageStop', { stopReason: 'end_turn' }),
  ]);
  const whole = cut(stream);
  t.equal(whole.length, 3);
  for (let at = 0; at <= stream.length; at += 1) {
    const events = cut(stream.subarray(0, at), stream.subarray(at));
    if (JSON.stringify(events) !== JSON.stringify(whole)) t.fail(`split at ${at}`);
  }
  t.same(cut(...Array.from(stream, (byte) => Buffer.from([byte]))), whole);
  t.same(cut(stream.subarray(0, -1)), whole.slice(0, 2));
});

await test('what is held is a copy: the bytes of a chunk may be used again', async (t) => {
  const bytes = converseFrame('messageStop', { stopReason: 'end_turn' });
  const chunk = Buffer.from(bytes.subarray(0, 30));
  const splitter = new EventStreamSplitter();
  splitter.push(chunk);
  chunk.fill(0);
  t.equal(splitter.push(bytes.subarray(30)).length, 1);
});

await test('no wrong bit passes', async (t) => {
  const bytes = converseFrame('messageStop', { stopReason: 'end_turn' });
  for (let at = 0; at < bytes.length; at += 1) {
    const broken = Buffer.from(bytes);
    broken.writeUInt8(broken.readUInt8(at) ^ 4, at);
    t.throws(() => cut(broken), InvalidAnswer, `byte ${at}`);
  }
});

await test('a frame longer than 4 MiB is refused at its first bytes', async (t) => {
  const bytes = rawFrame(Buffer.alloc(0), Buffer.alloc(4 * 1024 * 1024 - 16, 'a'));
  t.equal(cut(bytes.subarray(0, 70_000), bytes.subarray(70_000))[0]?.data.length, 4 * 1024 * 1024 - 16);
  const longer = rawFrame(Buffer.alloc(0), Buffer.alloc(4 * 1024 * 1024 - 15));
  t.throws(() => cut(longer.subarray(0, 12)), { message: /longer than 4194304 bytes/ });
});
