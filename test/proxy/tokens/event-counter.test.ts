// Events are counted once each, whatever fields they have and however their bytes come.
import * as fc from 'fast-check';
import { test } from 'tap';
import { EventCounter } from '../../../proxy/tokens/event-counter.ts';
import { runs } from '../../support/extent.ts';

/** Counts what comes in these pieces. */
function count(...pieces: string[]): number {
  const counter = new EventCounter();
  for (const piece of pieces) counter.push(Buffer.from(piece));
  return counter.count;
}

await test('an event with data is one, however many lines it has', (t) => {
  const streams: Readonly<Record<string, readonly [stream: string, count: number]>> = {
    nothing: ['', 0],
    one: ['data: 1\n\n', 1],
    'without a blank': ['data:1\n\ndata:{}\n\n', 2],
    'lists of no kind but the terminal one': ['data: [DONE]\n\ndata:[DONE]\n\n', 0],
    'several lines': ['data: {"a":\ndata: 1,\ndata: "b": 2}\n\ndata: 2\n\n', 2],
    'other fields before and after': ['event: delta\nid: 7\ndata: 1\nretry: 1\n\nevent: delta\ndata: 2\n\n', 2],
    'no data at all': [': keep-alive\n\nevent: ping\n\nid: 1\n\n\n\n', 0],
    'fields that look like it': ['dat: 1\n\ndatab: 1\n\n data: 1\n\ndata\n\nDATA: 1\n\n', 0],
    'data in a text': ['event: data: 1\n\ndata: data: 1\n\n', 1],
    'more line ends than needed': ['\n\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n', 2],
    unfinished: ['data: 1\n\ndata: 2', 2],
  };
  for (const [name, [stream, expected]] of Object.entries(streams)) {
    t.equal(count(stream), expected, name);
    t.equal(count(stream.replaceAll('\n', '\r\n')), expected, `${name}, with carriage returns`);
    t.equal(count(stream.replaceAll('\n', '\r')), expected, `${name}, with nothing else`);
  }
  t.end();
});

await test('an event that comes in pieces is one', (t) => {
  t.equal(count('data: {"text":"', 'data: b', 'data: c"}\n\n', 'data: 2\n\n'), 2);
  t.equal(count('data: 1', '\ndata: 2', '\n', '\n', 'data: 3\n\n'), 2);
  t.equal(count('data: 1\n', '\n', 'data: 2\r\n\r\n'), 2);
  t.equal(count('event: x', '', '\ndata: 1\n\n'), 1);
  t.end();
});

await test('the count is that of a parser, wherever lines are parted', async () => {
  const line = fc.constantFrom(
    'data: {"a":1}',
    'data:x',
    'data: [DONE]',
    ': data: 1',
    'event: data:',
    'id: 1',
    'data',
    'é😀',
  );
  const event = fc.tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\r'));
  const isData = (each: string): boolean => /^data:(?! ?\[)/.test(each);
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), fc.boolean(), (events, parted) => {
      const pieces = events.flatMap(([lines, end]) => [...lines.map((each) => each + end), end]);
      const expected = events.filter(([lines]) => lines.some(isData)).length;
      return count(...(parted ? pieces : [pieces.join('')])) === expected;
    }),
    runs(2_000),
  );
});
