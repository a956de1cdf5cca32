// An event stream is cut into the same events wherever its chunks end.
import * as fc from 'fast-check';
import { test } from 'tap';
import { maxEventBytes, ServerEventSplitter } from '../../../proxy/dialects/server-events.ts';
import type { RawEvent } from '../../../proxy/dialects/translation.ts';
import { runs } from '../../support/extent.ts';

function split(chunks: readonly Buffer[]): readonly RawEvent[] {
  const splitter = new ServerEventSplitter();
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

const stream = [
  ': a comment',
  '',
  'event: first',
  'data: {"a":"Grüße 漢"}',
  '',
  'id: 7',
  'data:one',
  'data:  two',
  'data',
  '',
  'event: without data',
  '',
  '',
  'data: ',
  'retry: 5',
  '',
  'data: [DONE]',
  '',
  '',
];
const events = [
  { event: 'first', data: '{"a":"Grüße 漢"}' },
  { event: undefined, data: 'one\n two' },
  { event: undefined, data: '' },
  { event: undefined, data: '[DONE]' },
];

await test('lines end with LF, CRLF or CR, and chunks anywhere', async (t) => {
  for (const end of ['\n', '\r\n', '\r']) {
    const bytes = Buffer.from(stream.join(end));
    const wrong: number[] = [];
    for (let at = 0; at <= bytes.length; at += 1) {
      const found = split([bytes.subarray(0, at), bytes.subarray(at)]);
      if (JSON.stringify(found) !== JSON.stringify(events)) wrong.push(at);
    }
    t.same(wrong, [], JSON.stringify(end));
    t.strictSame(split(Array.from(bytes, (byte) => Buffer.from([byte]))), events, 'byte by byte');
  }
});

await test('chunks of every size give the same events', async () => {
  const line = fc.constantFrom('data: a', 'data:', 'event: e', '', ': c', 'data: é');
  const end = fc.constantFrom('\n', '\r\n');
  const cuts = fc.array(fc.nat(12), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(line), end, cuts, (lines, lineEnd, sizes) => {
      const bytes = Buffer.from(lines.join(lineEnd));
      const chunks: Buffer[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = (sizes[turn % sizes.length] ?? 0) + 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      return JSON.stringify(split(chunks)) === JSON.stringify(split([bytes]));
    }),
    runs(200),
  );
});

await test('an event comes as soon as it is whole', async (t) => {
  const splitter = new ServerEventSplitter();
  t.same(splitter.push(Buffer.from('data: 1\n\ndata: 2')), [{ event: undefined, data: '1' }]);
  t.same(splitter.push(Buffer.from('\n\n')), [{ event: undefined, data: '2' }]);
  t.same(splitter.end(), []);
});

await test('what is held may be changed by the caller, and has an end', async (t) => {
  const splitter = new ServerEventSplitter();
  const chunk = Buffer.from('data: 1');
  splitter.push(chunk);
  chunk.fill(0);
  t.same(splitter.push(Buffer.from('\n\n')), [{ event: undefined, data: '1' }]);
  const piece = Buffer.alloc(maxEventBytes / 4, 'a');
  for (let count = 0; count < 4; count += 1) splitter.push(piece);
  t.throws(() => splitter.push(Buffer.from('a')), { name: 'InvalidAnswer' });
});
