// Event streams on their way through: the usage event is dropped, secrets in errors are hidden, all other bytes pass.
import * as fc from 'fast-check';
import { test } from 'tap';
import { dataOf, linesOf } from '../../proxy/bytes/events.ts';
import { StreamTap } from '../../proxy/dialects/chat/stream-tap.ts';
import { runs } from '../support/extent.ts';

const nowMs = (): number => performance.now();

/** Pushes a text in pieces of the given sizes (again and again) and gives all that came out. */
function tapped(stream: Buffer, sizes: readonly number[], dropsUsage = true, secrets: readonly string[] = []) {
  const tap = new StreamTap({ dropsUsage, readsUsage: true, watchesEnd: true, secrets });
  const out: Buffer[] = [];
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? stream.length;
    // The chunk belongs to the tap.
    out.push(tap.push(Buffer.from(stream.subarray(at, at + size))));
    at += size;
  }
  return {
    passed: Buffer.concat(out).toString(),
    rest: tap.rest().toString(),
    finished: tap.finished(),
    inside: tap.insideEvent,
    usage: tap.usage(),
    events: tap.events(),
    bytes: tap.bytes,
  };
}

const eol = fc.constantFrom('\n', '\r\n', '\r');
const usageEvents = [
  'data: {"id":"1","choices":[],"usage":{"total_tokens":3}}',
  'data:{"choices":[],"usage":{}}',
  ': note\ndata: {"usage":{"a":[]},\ndata: "choices":[]}',
  'event: x\nid: 1\ndata: {"choices": [], "usage" : {"prompt_tokens":1}}',
  'data: {"choices": [ ], "usage" : {"total_tokens":3}}',
  'data: {"choices":[\ndata: ],"usage":{"total_tokens":3}}',
  'data: {"choices":null,"usage":{"total_tokens":3},"error":null}',
  'data: {"usage":{"total_tokens":3}}',
];
const otherEvents = [
  'data: {"choices":[{"delta":{"content":"hi"}}],"usage":null}',
  'data: {"choices":[],"usage":null}',
  'data: {"choices":[],"prompt_filter_results":[]}',
  'data: {"choices":[{"index":0}],"usage":{"total_tokens":3}}',
  'data: {"choices":[{"delta":{"content":"\\"choices\\":[],\\"usage\\":{}"}}]}',
  'data: {"choices":[],"usage":{"total_tokens":3},"error":{"message":"no"}}',
  'data: {"error":{"message":"no"},"usage":{"total_tokens":3}}',
  'data: {"choices":{},"usage":{"total_tokens":3}}',
  'data: {"usage":null}',
  'data: [DONE]',
  'data: []',
  ': keep-alive []',
  'data: {"choices":[],"usage":{}',
  'data: é😀[]\u2028',
  'event: ping\ndata',
  ': ',
];

await test('however a stream is cut into chunks, all its bytes pass but those of the usage event', async () => {
  const events = fc.array(fc.tuple(fc.boolean(), fc.nat(20), eol), { maxLength: 8 });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(events, sizes, fc.boolean(), (parts, cuts, dropsUsage) => {
      let stream = '';
      let expected = '';
      for (const [usage, pick, end] of parts) {
        const list = usage ? usageEvents : otherEvents;
        const event = (list[pick % list.length] ?? '').replaceAll('\n', end) + end + end;
        stream += event;
        expected += usage && dropsUsage ? '' : event;
      }
      const { passed, rest } = tapped(Buffer.from(stream), cuts, dropsUsage);
      return passed === expected && rest === '';
    }),
    runs(4_000),
  );
});

const secret = 'canary+key/1234';
const errorEvents = [
  `data: {"error":{"message":"the key ${secret} is wrong"}}`,
  `event: error\ndata: ${secret} is wrong, and so is sk-proj-abcdef`,
  `data: {"choices":[],\ndata: "error" : {"message":"sk-proj-abc***xyz"}}`,
  `data: {"object":"error","message":"${secret}"}`,
  `data: {"type":"server_error","message":"${secret}${secret}"}`,
  'data: {"error":{"message":"canary+key\\/1234","more":"canary\\u002bkey/1234"}}',
];
const harmlessEvents = [
  'data: {"choices":[{"delta":{"content":"an error of sk-proj-abcdef"}}],"error":null}',
  'data: {"choices":[{"delta":{"content":"{\\"error\\":\\"sk-proj-abcdef\\"}"}}]}',
  'data: {"error":{"message":"é😀 too many tokens"}}',
  ': error',
  'data: [DONE]',
];

await test('an event that is an error loses every secret, however it is cut; all others keep every byte', async () => {
  const events = fc.array(fc.tuple(fc.boolean(), fc.nat(20), eol), { maxLength: 6 });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  const told = /canary\+key|canary\\u002bkey|sk-proj/;
  fc.assert(
    fc.property(events, sizes, fc.boolean(), (parts, cuts, dropsUsage) => {
      const list = parts.map(([isError, pick, end]) => {
        const from = isError ? errorEvents : harmlessEvents;
        return { isError, event: `${(from[pick % from.length] ?? '').replaceAll('\n', end)}${end}${end}` };
      });
      const stream = Buffer.from(list.map(({ event }) => event).join(''));
      const { passed, rest } = tapped(stream, cuts, dropsUsage, [secret]);
      const kept = list.filter(({ isError }) => !isError).map(({ event }) => event);
      const errorsPassed = kept.reduce((left, event) => left.replace(event, ''), passed);
      return rest === '' && kept.every((event) => passed.includes(event)) && !told.test(errorsPassed);
    }),
    runs(2_000),
  );
});

await test('the last event of a stream, which did not end, tells no secret either', async (t) => {
  t.notMatch(tapped(Buffer.from(errorEvents[0] ?? ''), [7], true, [secret]).rest, secret);
  t.equal(tapped(Buffer.from('data: {"half": an error'), [7], true, [secret]).rest, 'data: {"half": an error');
});

await test('an event too long to be read loses known secrets wherever they are cut, and nothing else', async (t) => {
  const pad = 'x'.repeat(300 * 1024);
  const long = (inside: string) => `data: {"a":"${pad}${inside}${pad}${inside}"}\n\ndata: {"b":"${inside}"}\n\n`;
  for (const size of [7, 999, 16_384, 65_536]) {
    const { passed, rest, inside } = tapped(Buffer.from(long(secret)), [size], true, [secret, 'canary-org']);
    const expected = `data: {"a":"${pad}[redacted]${pad}[redacted]"}\n\ndata: {"b":"${secret}"}\n\n`;
    t.ok(passed === expected, `by ${size}: what is no error is left alone again behind it`);
    t.same([rest, inside], ['', false]);
  }
  const cut = tapped(Buffer.from(`data: {"a":"${pad}${secret}`), [999], true, [secret]);
  t.ok(cut.inside && !`${cut.passed}${cut.rest}`.includes('canary'), 'nor does one that breaks off');
});

await test('the usage is known to come next when the last words gave a reason to end', async (t) => {
  const tapOf = (...events: string[]) => {
    const tap = new StreamTap({ dropsUsage: true, readsUsage: true, watchesEnd: false, secrets: [] });
    for (const event of events) tap.push(Buffer.from(event.endsWith('\n') ? event : `${event}\n\n`));
    return tap.awaitsUsage();
  };
  const middle = 'data: {"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""},"finish_reason":null}]}';
  const last = 'data: {"choices":[{"delta":{},"finish_reason": "stop"}],"usage":null}';
  t.equal(tapOf(middle), false);
  t.equal(tapOf(), false);
  t.equal(tapOf(middle, last), true);
  t.equal(tapOf(middle, last, ': ping'), true, 'a ping says nothing');
  t.equal(tapOf(last, middle), false, 'another choice goes on');
  t.equal(tapOf(last, usageEvents[0] ?? ''), false, 'it has come');
  t.equal(tapOf(`${last}\n\ndata: [DONE]\n\n`), false, 'it will not come');
});

await test('an event that has not ended is held, and given back when the stream ends', async (t) => {
  const stream = Buffer.from('data: 1\n\ndata: {"choices":[],"usage":{}}\n\ndata: {"half":');
  for (const size of [1, 2, 3, 7, 1_000]) {
    t.match(tapped(stream, [size]), { passed: 'data: 1\n\n', rest: 'data: {"half":', inside: false, finished: false });
  }
});

await test('an event beyond 256 KiB passes in pieces, and what follows is read again', async (t) => {
  const long = `data: {"choices":[{"text":"${'x'.repeat(300 * 1024)} []"}],"usage":{}}\n\n`;
  const usage = `${usageEvents[0]}\n\n`;
  for (const size of [999, 16_384, 65_536, 300 * 1024]) {
    const { passed, rest } = tapped(Buffer.from(`data: 1\n\n${long}data: 2\n\n${usage}data: 3\n\n`), [size]);
    t.equal(rest, '');
    t.ok(passed === `data: 1\n\n${long}data: 2\n\ndata: 3\n\n`, `in chunks of ${size}`);
  }
  t.equal(
    tapped(Buffer.from(`data: 1\n\n${long.slice(0, -2)}`), [16_384]).inside,
    true,
    'a cut would be inside an event',
  );
  t.equal(tapped(Buffer.from(`data: 1\n\n${long}`), [16_384]).inside, false);
});

await test('a stream in single bytes costs time in proportion to its length', async (t) => {
  const stream = Buffer.from(`data: ${'x'.repeat(200 * 1024)}\n\n`);
  const startedMs = nowMs();
  t.equal(tapped(stream, [1]).passed.length, stream.length);
  t.ok(nowMs() - startedMs < 1_500, `${Math.round(nowMs() - startedMs)} ms`);
});

await test('a stream is finished by its terminal event and by nothing that resembles it', async (t) => {
  const finished = [
    'data: [DONE]\n\n',
    'data:[DONE]\r\n\r\n',
    'data: [DONE]',
    `data: ${'x'.repeat(50)}\n\ndata: [DONE]\n\n`,
  ];
  const unfinished = [
    '',
    'data: 1\n\n',
    'data: {"content":"[DONE]"}\n\n',
    'data: {"content":"data: [DONE]"}\n\n',
    'data: [DONE',
    ': [DONE]\n\n',
  ];
  for (const size of [1, 5, 13, 1_000]) {
    for (const stream of finished) t.equal(tapped(Buffer.from(stream), [size]).finished, true, `${stream} by ${size}`);
    for (const stream of unfinished)
      t.equal(tapped(Buffer.from(stream), [size]).finished, false, `${stream} by ${size}`);
  }
});

await test('usage is read from the whole event, whatever lines it has, and dropped or not', async (t) => {
  const counts = '{"prompt_tokens":3,"completion_tokens":4}';
  const reports = [
    `data: {"choices":[],"usage":${counts}}`,
    `data: {"choices":[],"usage":\ndata: {"prompt_tokens":3,\ndata:"completion_tokens":4}}`,
    `event: x\ndata: {"choices":[],"x_groq":{"usage":{"total_tokens":9}},"usage" : ${counts},"a":{"usage":null}}\nid: 1`,
    `: {"usage":{"total_tokens":9}}\ndata: {"choices":[],"usage":${counts}}`,
  ];
  const before = `data: {"choices":[{"delta":{"content":"usage"}}],"usage":null}\n\n`;
  const after = `data: {"choices":[{"delta":{"content":"_tokens"}}],"usage":null}\n\ndata: [DONE]\n\n`;
  for (const report of reports) {
    for (const size of [1, 7, 1_000]) {
      for (const end of ['\n', '\r\n', '\r']) {
        const stream = Buffer.from(`${before}${report}\n\n${after}`.replaceAll('\n', end));
        const dropped = tapped(stream, [size]);
        t.same(
          [dropped.usage?.totalTokens, dropped.events, dropped.bytes],
          [7, 3, stream.length],
          `${report} by ${size}`,
        );
        t.equal(dropped.passed, `${before}${after}`.replaceAll('\n', end));
        t.match(tapped(stream, [size], false), { usage: { totalTokens: 7 }, events: 3, passed: stream.toString() });
      }
    }
  }
});

await test('an event too long to be held says nothing, but is an event', async (t) => {
  const long = `data: {"choices":[{"text":"${'x'.repeat(400 * 1024)}"}],"usage":{"total_tokens":9}}\n\n`;
  const stream = Buffer.from(`data: {"usage":{"total_tokens":7}}\n\n${long}data: 2\n\n`);
  for (const size of [1_000, 16_384, 65_536]) {
    t.match(tapped(stream, [size]), { usage: { totalTokens: 7 }, events: 3, bytes: stream.length }, `by ${size}`);
    t.equal(tapped(Buffer.from(long), [size]).usage, undefined, `alone, by ${size}`);
  }
});

await test('the data of an event are its data lines, joined', async (t) => {
  t.equal(dataOf(Buffer.from(': c\nevent: x\ndata: a\ndata:b\r\ndata:  c\ndatab: d\nid: 1\n\n')), 'a\nb\n c');
  t.equal(dataOf(Buffer.from('event: x\n\n')), '');
  t.same([...linesOf(Buffer.from('a\nb\r\nc\rd\r\r\n\ne'))].map(String), ['a', 'b', 'c', 'd', '', '', 'e']);
  t.equal(dataOf(Buffer.from('data: a\rdata: b\r\ndata: c\r\r')), 'a\nb\nc');
});
