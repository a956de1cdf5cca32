// What a tap on a stream knows of its cost: the last usage, the events, the bytes; the same for every way of cutting it into chunks.
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { test } from 'tap';
import { StreamTap } from '../../../proxy/dialects/chat/stream-tap.ts';
import { isUsageEvent } from '../../../proxy/dialects/chat/stream-usage.ts';
import { extent, runs } from '../../support/extent.ts';
import { slownessOf } from './quick.ts';

interface Tapped {
  passed: string;
  total: number | undefined;
  events: number;
  bytes: number;
}

/** Pushes a stream in pieces of the given sizes, again and again, to its end. */
function tapped(stream: string | Buffer, sizes: readonly number[], dropsUsage = false, readsUsage = true): Tapped {
  const tap = new StreamTap({ dropsUsage, readsUsage, watchesEnd: false, secrets: [] });
  const bytes = Buffer.from(stream);
  const out: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    out.push(tap.push(bytes.subarray(at, at + size)));
    at += size;
  }
  const total = tap.usage()?.totalTokens;
  return { passed: Buffer.concat([...out, tap.rest()]).toString(), total, events: tap.events(), bytes: tap.bytes };
}

const delta = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}],"usage":null}';
const final = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}';
const done = 'data: [DONE]';
const join = (events: readonly string[], end = '\n'): string =>
  events.map((event) => event.replaceAll('\n', end) + end + end).join('');

await test('the last report of a stream counts, wherever it is cut', async (t) => {
  const streams: Readonly<
    Record<string, readonly [events: readonly string[], total: number | undefined, count: number]>
  > = {
    'at the end': [[delta, delta, final, done], 7, 3],
    'in every event, growing': [
      [1, 2, 3].map((count) => `data: {"choices":[],"usage":{"total_tokens":${count}}}`).concat(delta, done),
      3,
      4,
    ],
    'null in every event': [[delta, delta, done], undefined, 2],
    'before events with null': [[final, delta, delta], 7, 3],
    'nested only': [['data: {"x_groq":{"usage":{"total_tokens":7}}}', done], 7, 1],
    'nested beside its own': [
      ['data: {"choices":[],"usage":{"total_tokens":7},"x_groq":{"usage":{"total_tokens":9}}}', done],
      7,
      1,
    ],
    'without a blank after the colon': [[final.replace('data: ', 'data:'), 'data:[DONE]'], 7, 1],
    'with other fields': [[`event: x\nid: 1\n${final}`, ': note', 'event: ping'], 7, 1],
    'in a text that the model wrote': [['data: {"content":"\\"usage\\":{\\"total_tokens\\":9}"}'], undefined, 1],
    'in a comment of the provider': [[': "usage":null', delta], undefined, 1],
    'a zero': [['data: {"usage":{"prompt_tokens":0,"completion_tokens":0}}'], 0, 1],
    nothing: [[done], undefined, 0],
  };
  for (const [name, [events, total, count]] of Object.entries(streams)) {
    for (const end of ['\n', '\r\n', '\r']) {
      const stream = join(events, end);
      const right: Tapped = { passed: stream, total, events: count, bytes: stream.length };
      const wrong = [1, 2, 3, 5, 17, 100, 10_000].filter((size) => !isDeepStrictEqual(tapped(stream, [size]), right));
      t.same(wrong, [], `${name}, lines end with ${JSON.stringify(end)}: cut into pieces of any size`);
    }
  }
});

await test('an event of usage alone is one that a client who asked for none would not miss', async (t) => {
  const isAlone = (members: string): boolean => isUsageEvent(Buffer.from(`data: {${members}}\n\n`));
  const usage = '"usage":{"total_tokens":7}';
  for (const members of [
    usage,
    `"choices":[],${usage}`,
    `"choices": [ ] , ${usage}`,
    `${usage},"choices":null,"error":null`,
  ])
    t.equal(isAlone(members), true, members);
  for (const members of [
    `"choices":[{"index":0}],${usage}`,
    `"choices":[ {}],${usage}`,
    `"error":{"code":429},${usage}`,
    '"choices":[],"usage":null',
    '"choices":[]',
    `"choices":[],${usage}}x`,
  ])
    t.equal(isAlone(members), false, members);
});

await test('a usage event that is kept from the client is read all the same', async (t) => {
  for (const size of [1, 7, 1_000]) {
    const { passed, total, events } = tapped(join([delta, final, done]), [size], true);
    t.same([passed, total, events], [join([delta, done]), 7, 2]);
  }
});

await test('a stream that broke off: what came counts, an unfinished event too where its usage is whole', async (t) => {
  for (const size of [1, 7, 1_000]) {
    t.match(tapped(`${join([delta, delta])}data: {"choi`, [size]), { total: undefined, events: 2 });
    t.match(tapped(`${join([delta])}${final}`, [size]), { total: 7, events: 1 });
    t.match(tapped(`${join([delta])}${final.slice(0, -3)}`, [size]), { total: undefined, events: 1 });
  }
});

await test('an event too long to be held: the rest of the stream is read', async (t) => {
  const long = `data: {"content":"${'x'.repeat(300 * 1024)}"}`;
  for (const size of [999, 16_384, 65_536]) {
    const stream = join([delta, long, final, done]);
    const { passed, total, bytes } = tapped(stream, [size]);
    t.ok(passed === stream);
    t.same([total, bytes], [7, stream.length], `by ${size}`);
  }
});

await test('a tap that reads no usage knows none', async (t) => {
  const stream = join([delta, final]);
  t.same(tapped(stream, [9], false, false), { passed: stream, total: undefined, events: 0, bytes: stream.length });
});

await test('however a stream is cut, its bytes, usage and events are the same', async () => {
  const event = fc.oneof(
    fc.constantFrom(delta, final, done, ': note', 'event: ping', 'data', `: ${final}`, `${final}x`, 'data: é😀'),
    fc.nat(99).map((count) => `data: {"usage":{"total_tokens":${count}}}`),
    fc.nat(99).map((count) => `data: {"usage":{"total_tokens":${count}},"x":{"usage":{"total_tokens":100}}}`),
    fc.nat(99).map((count) => `data: {"x":{"usage":{"total_tokens":100}},"usage":{"total_tokens":${count}},"y":0}`),
    fc.json().map((json) => `data: ${json}`),
  );
  const parts = fc.array(fc.tuple(event, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 10 });
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(parts, sizes, fc.nat(20), (events, cuts, cut) => {
      const whole = Buffer.from(events.map(([text, end]) => join([text], end)).join(''));
      const stream = whole.subarray(0, Math.max(0, whole.length - (cut < 10 ? 0 : cut)));
      const [once, pieces] = [tapped(stream, []), tapped(stream, cuts)];
      return pieces.passed === stream.toString() && JSON.stringify(pieces) === JSON.stringify(once);
    }),
    runs(4_000),
  );
});

await test('hostile streams cost time in proportion to their length', async (t) => {
  const shapes: Readonly<Record<string, (count: number) => string>> = {
    'one event of words': (count) => `data: {"a":[${'"usage",'.repeat(count)}1]}\n\n`,
    'objects in each other': (count) => `data: ${'{"usage":'.repeat(count)}\n\n`,
    'data fields without end': (count) => 'data:'.repeat(count),
    'empty lists': (count) => `data: {"choices":[${'[],'.repeat(count)}[]]}\n\n`,
    'line ends': (count) => '\n'.repeat(2 * count),
    'carriage returns': (count) => '\r'.repeat(2 * count),
    'lines without an end of the event': (count) => 'a\r'.repeat(count),
    errors: (count) => 'data: {"error":"\\\\"}\n\n'.repeat(count / 4),
    'an endless error': (count) => `data: {${'"error":'.repeat(count)}`,
    pings: (count) => ': ping\n\n'.repeat(count / 2),
    'events of nothing': (count) => 'data: {"choices":[],"usage":{}}\n\n'.repeat(count / 4),
  };
  const size = extent(100_000, 25_000);
  const slow = Object.entries(shapes).flatMap(([name, shape]) =>
    [64, 65_536].flatMap((chunk) => {
      const work = (count: number) => {
        const stream = Buffer.from(shape(count));
        return () => tapped(stream, [chunk], true);
      };
      const found = slownessOf(work, { size, mostMs: size / 125, trifleMs: 60 });
      return found.map((slowness) => `${name}, by ${chunk}: ${slowness}`);
    }),
  );
  t.same(slow, []);
});
