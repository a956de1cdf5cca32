// A stream of Messages passes byte for byte, and its cost is known wherever it is cut and wherever it breaks off.
import { test } from 'tap';
import { MessagesTap } from '../../../../proxy/dialects/messages/stream-tap.ts';
import { slownessOf } from '../../tokens/quick.ts';

const options = { dropsUsage: false, readsUsage: true, watchesEnd: true, secrets: ['canary-key'] };
const event = (data: Record<string, unknown>, end = '\n'): string =>
  `event: ${String(data['type'])}${end}data: ${JSON.stringify(data)}${end}${end}`;

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    content: [],
    usage: { input_tokens: 3, cache_creation_input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 1 },
  },
};
const open = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Say "usage": {}' } };
const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 15 } };
const stop = { type: 'message_stop' };
const whole = [start, { type: 'ping' }, open, delta, delta, { type: 'content_block_stop', index: 0 }, last, stop];

function tapped(text: string, cut = 0): { tap: MessagesTap; passed: string } {
  const tap = new MessagesTap(options);
  const bytes = Buffer.from(text);
  const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)].map((piece) => tap.push(Buffer.from(piece)));
  return { tap, passed: Buffer.concat([...pieces, tap.rest()]).toString() };
}

await test('a stream passes as it came and costs the same, wherever it is cut', (t) => {
  const caches = { cachedInputTokens: 20, cacheWriteTokens: 100 };
  const reported = { inputTokens: 123, outputTokens: 15, totalTokens: 138, source: 'reported', ...caches };
  for (const end of ['\n', '\r\n']) {
    const text = whole.map((data) => event(data, end)).join('');
    const wrong: number[] = [];
    for (let cut = 0; cut <= text.length; cut += 1) {
      const { tap, passed } = tapped(text, cut);
      const isRight = passed === text && tap.finished() && tap.events() === 3 && !tap.awaitsUsage();
      if (!isRight || JSON.stringify(tap.usage()) !== JSON.stringify(reported)) wrong.push(cut);
    }
    t.same(wrong, []);
  }
  const dataOnly = whole.map((data) => `data: ${JSON.stringify(data)}\n\n`).join('');
  const { tap } = tapped(dataOnly);
  t.same([tap.usage(), tap.finished(), tap.events()], [reported, true, 3], 'without the names of events');
  t.end();
});

await test('a later count replaces the one before, but for a zero', (t) => {
  const usageOf = (first: object, then: object) => {
    const events = [
      { type: 'message_start', message: { usage: first } },
      { type: 'message_delta', usage: then },
    ];
    return tapped(events.map((data) => event(data)).join('')).tap.usage();
  };
  t.match(usageOf({ input_tokens: 3, output_tokens: 1 }, { input_tokens: 9, output_tokens: 5 }), { totalTokens: 14 });
  t.match(usageOf({ input_tokens: 3, output_tokens: 1 }, { input_tokens: 0, output_tokens: 5 }), { totalTokens: 8 });
  t.match(usageOf({ input_tokens: 0 }, { input_tokens: 9, output_tokens: 5 }), { totalTokens: 14 });
  const absurd = usageOf({ input_tokens: 3 }, { output_tokens: -5 });
  t.match(absurd, { inputTokens: 3, source: 'estimated' }, 'what is absurd was not said');
  t.end();
});

await test('of a stream that broke off the input is known and the output estimated', (t) => {
  const { tap } = tapped([start, open, ...Array.from({ length: 40 }, () => delta)].map((data) => event(data)).join(''));
  const caches = { cachedInputTokens: 20, cacheWriteTokens: 100 };
  t.same(tap.usage(), { inputTokens: 123, outputTokens: 40, totalTokens: 163, source: 'estimated', ...caches });
  t.equal(tap.finished(), false);
  const silent = tapped(event({ type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 0 } } }));
  t.equal(silent.tap.usage(), undefined, 'a server that does not know its input yet');
  t.end();
});

await test('an error ends a stream and tells no secret', (t) => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'key canary-key is busy' } };
  const { tap, passed } = tapped(event(start) + event(error));
  t.equal(tap.finished(), true);
  t.match(passed, 'key [redacted] is busy');
  t.end();
});

await test('only a name makes an end: no text and no tool does', (t) => {
  const tool = { type: 'tool_use', id: 'a', name: 'b', input: { type: 'message_stop', usage: { input_tokens: 7 } } };
  const text = event(start) + event({ type: 'content_block_start', index: 0, content_block: tool });
  const { tap } = tapped(text);
  t.equal(tap.finished(), false);
  t.match(tap.usage(), { inputTokens: 123 });
  t.end();
});

await test('time grows with the length of a stream alone', (t) => {
  const work = (size: number) => {
    const text = Buffer.from(event(delta).repeat(size / 100));
    return () => new MessagesTap(options).push(Buffer.from(text));
  };
  t.same(slownessOf(work, { size: 400_000, mostMs: 150 }), []);
  t.end();
});
