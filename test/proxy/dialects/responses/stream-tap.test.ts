// A stream of Responses passes byte for byte; its last event tells the cost, however long it is.
import { test } from 'tap';
import { ResponsesTap } from '../../../../proxy/dialects/responses/stream-tap.ts';

const options = { dropsUsage: false, readsUsage: true, watchesEnd: true, secrets: [] };
const event = (data: Record<string, unknown>): string =>
  `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;

const tools = [{ type: 'function', name: 'a', parameters: { properties: { usage: { total_tokens: 9 } } } }];
const usage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 42,
};
const details = { cachedInputTokens: 20, reasoningTokens: 5 };
const reported = { inputTokens: 30, outputTokens: 12, totalTokens: 42, source: 'reported', ...details };
const created = { type: 'response.created', response: { id: 'resp_1', tools, usage: null } };
const delta = { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'hi' };
const completed = {
  type: 'response.completed',
  response: { id: 'resp_1', output: [{ type: 'message', text: 'hihi' }], usage, user: null, tools },
};

function tapped(text: string, size = text.length): { tap: ResponsesTap; passed: string } {
  const tap = new ResponsesTap(options);
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(tap.push(Buffer.from(bytes.subarray(at, at + size))));
  return { tap, passed: Buffer.concat([...out, tap.rest()]).toString() };
}

await test('the last event tells the usage, wherever the stream is cut', (t) => {
  const text = [created, delta, delta, completed].map(event).join('');
  const wrong: number[] = [];
  for (let size = 1; size <= text.length; size += 1) {
    const { tap, passed } = tapped(text, size);
    const isRight = passed === text && tap.finished() && tap.events() === 2;
    if (!isRight || JSON.stringify(tap.usage()) !== JSON.stringify(reported)) wrong.push(size);
  }
  t.same(wrong, []);
  const { tap } = tapped(text.trimEnd());
  t.same([tap.usage(), tap.finished()], [reported, true], 'without the empty line at its end');
  t.end();
});

await test('every end is one', (t) => {
  for (const type of ['response.completed', 'response.incomplete', 'response.failed', 'error'])
    t.equal(tapped(event({ type, response: {} })).tap.finished(), true, type);
  for (const type of ['response.output_text.done', 'response.in_progress'])
    t.equal(tapped(event({ type, response: {} })).tap.finished(), false, type);
  t.end();
});

await test('a last event too long to be held is read as it passes', (t) => {
  const response = { id: 'resp_1', output: [{ text: 'x'.repeat(600_000) }], tools, usage, user: null };
  const instructions = 'y'.repeat(300_000);
  const begun = event({ type: 'response.created', response: { instructions, usage: { total_tokens: 1 } } });
  const text = begun + event({ type: 'response.completed', response });
  const { tap, passed } = tapped(text, 16_384);
  t.ok(passed === text);
  t.same([tap.usage(), tap.finished()], [reported, true]);
  t.end();
});

await test('a stream that broke off is estimated by its deltas, not by what repeats them', (t) => {
  const done = { type: 'response.output_text.done', text: 'hi'.repeat(20_000) };
  const { tap } = tapped([created, delta, delta, done].map(event).join(''));
  t.equal(tap.usage(), undefined);
  t.equal(tap.events(), 2);
  t.equal(tap.bytes, 2 * event(delta).length);
  t.end();
});
