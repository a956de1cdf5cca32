// The usage of an answer that is not kept is read from the passing chunks, wherever they are cut.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { test } from 'tap';
import { createUsageReader } from '../../../proxy/tokens/usage-reader.ts';
import { runs } from '../../support/extent.ts';
import { growsLinearly, threadMsOf } from './quick.ts';

const kib = 1024;
const usage = '"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}';

/** Pushes a text in pieces of the given sizes, again and again. */
function read(body: Buffer, sizes: readonly number[]): { total: number | undefined; bytes: number } {
  const reader = createUsageReader();
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? body.length;
    reader.push(body.subarray(at, at + size));
    at += size;
  }
  return { total: reader.usage()?.totalTokens, bytes: reader.bytes() };
}

/** A long answer with its usage after `before` and before `after` bytes of something else. */
function answer(before: number, after: number, report = usage): Buffer {
  return Buffer.from(`{"a":"${'x'.repeat(before)}",${report},"z":"${'y'.repeat(after)}"}`);
}

const sizes = [1, 7, 1_000, 16 * kib, 64 * kib, 1_000_000];

await test('usage at either end is found, in the middle of a long answer it is not', async (t) => {
  for (const size of sizes) {
    t.same(read(answer(0, 0), [size]), { total: 7, bytes: answer(0, 0).length }, `short, by ${size}`);
    t.equal(read(answer(300 * kib, 0), [size]).total, 7, `at the end, by ${size}`);
    t.equal(read(answer(300 * kib, 15 * kib), [size]).total, 7, `near the end, by ${size}`);
    t.equal(read(answer(0, 300 * kib), [size]).total, 7, `at the beginning, by ${size}`);
    t.equal(read(answer(60 * kib, 300 * kib), [size]).total, 7, `near the beginning, by ${size}`);
    t.equal(read(answer(300 * kib, 0, '"usage":null'), [size]).total, undefined, `none, by ${size}`);
  }
  for (const size of [1, 7, 1_000, 16 * kib]) {
    t.equal(read(answer(200 * kib, 200 * kib), [size]).total, undefined, `in the middle, by ${size}`);
  }
});

await test('the end is believed before the beginning', async (t) => {
  const early = '{"usage":{"total_tokens":9},"a":"';
  for (const size of sizes) {
    const body = Buffer.from(`${early}${'x'.repeat(300 * kib)}",${usage}}`);
    t.equal(read(body, [size]).total, 7, `by ${size}`);
  }
});

await test('nothing has passed', async (t) => {
  const reader = createUsageReader();
  t.same([reader.usage(), reader.bytes()], [undefined, 0]);
  reader.push(Buffer.alloc(0));
  t.same([reader.usage(), reader.bytes()], [undefined, 0]);
});

await test('however an answer is cut into chunks, its usage and its length are the same', async () => {
  const before = fc.oneof(fc.nat(3 * kib), fc.integer({ min: 10 * kib, max: 63 * kib }), fc.constant(200 * kib));
  const after = fc.oneof(fc.nat(3 * kib), fc.integer({ min: 10 * kib, max: 15 * kib }));
  const cuts = fc.array(fc.integer({ min: 1, max: 40 * kib }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(before, after, cuts, (head, tail, pieces) => {
      const body = answer(head, tail);
      const { total, bytes } = read(body, pieces);
      return total === 7 && bytes === body.length;
    }),
    runs(300),
  );
});

await test('chunks cost time in proportion to their number, even single bytes', async (t) => {
  const work = (size: number) => {
    const body = answer(size, 0);
    return () => read(body, [1]);
  };
  t.ok(growsLinearly(work, 250_000, 50));
  t.ok(threadMsOf(work(250_000)) < 1_000, `${threadMsOf(work(250_000)).toFixed(0)} ms`);
  const body = answer(10_000_000, 0);
  t.equal(read(body, [16 * kib]).total, 7);
  t.ok(threadMsOf(() => read(body, [16 * kib])) < 300);
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

await test('of an answer that is not so long after all the top level counts', async (t) => {
  const report = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const body = Buffer.from(JSON.stringify({ usage: report, x_groq: { usage: { total_tokens: 9 } } }, null, 2));
  for (const size of sizes) t.equal(read(body, [size]).total, 7, `by ${size}`);
});

await test('what has passed is let go', async (t) => {
  const reader = createUsageReader();
  const seen: WeakRef<Buffer>[] = [];
  const chunks = 400;
  for (let count = 0; count < chunks; count += 1) {
    const chunk = Buffer.alloc(4 * kib, 0x20);
    seen.push(new WeakRef(chunk));
    reader.push(chunk);
  }
  t.equal(reader.bytes(), chunks * 4 * kib);
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  const kept = seen.filter((reference) => reference.deref() !== undefined).length;
  t.ok(kept <= 9, `${kept} chunks of the end are kept`);
});

await test('small chunks are not kept one by one', async (t) => {
  const reader = createUsageReader();
  const seen: WeakRef<Buffer>[] = [];
  for (let count = 0; count < 5_000; count += 1) {
    const chunk = Buffer.alloc(1, 0x20);
    seen.push(new WeakRef(chunk));
    reader.push(chunk);
  }
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  const kept = seen.filter((reference) => reference.deref() !== undefined).length;
  t.ok(kept <= 130, `${kept} chunks are kept`);
  t.equal(reader.bytes(), 5_000);
});
