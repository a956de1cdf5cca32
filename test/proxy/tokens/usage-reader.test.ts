// The usage of an answer that is not kept is read from the passing chunks, wherever they are cut.

import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { test } from 'tap';
import { createUsageReader } from '../../../proxy/tokens/usage-reader.ts';
import { extent, runs } from '../../support/extent.ts';
import { slownessOf, threadMsOf } from './quick.ts';

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

/** More than either end that is searched. */
const far = extent(300, 100) * kib;
const sizes = [1, 7, 1_000, 16 * kib, 64 * kib, 1_000_000];

await test('usage at either end is found, in the middle of a long answer it is not', async (t) => {
  const cases: Readonly<Record<string, readonly [body: Buffer, total: number | undefined]>> = {
    short: [answer(0, 0), 7],
    'at the end': [answer(far, 0), 7],
    'near the end': [answer(far, 15 * kib), 7],
    'at the beginning': [answer(0, far), 7],
    'near the beginning': [answer(60 * kib, far), 7],
    none: [answer(far, 0, '"usage":null'), undefined],
  };
  for (const [name, [body, total]] of Object.entries(cases)) {
    const wrong = sizes.filter((size) => !isDeepStrictEqual(read(body, [size]), { total, bytes: body.length }));
    t.same(wrong, [], `${name}, by any size`);
  }
  const middle = answer(far, far);
  const found = [1, 7, 1_000, 16 * kib].filter((size) => read(middle, [size]).total !== undefined);
  t.same(found, [], 'in the middle, by any size');
});

await test('the end is believed before the beginning', async (t) => {
  const early = '{"usage":{"total_tokens":9},"a":"';
  const body = Buffer.from(`${early}${'x'.repeat(far)}",${usage}}`);
  const wrong = sizes.filter((size) => read(body, [size]).total !== 7);
  t.same(wrong, [], 'by any size');
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
  const size = extent(1_000_000, 100_000);
  t.same(slownessOf(work, { size, mostMs: size / 250, trifleMs: 50 }), []);
  const body = answer(10_000_000, 0);
  t.equal(read(body, [16 * kib]).total, 7);
  t.ok(threadMsOf(() => read(body, [16 * kib]), 300) < 300);
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

await test('of an answer that is not so long after all the top level counts', async (t) => {
  const report = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const body = Buffer.from(JSON.stringify({ usage: report, x_groq: { usage: { total_tokens: 9 } } }, null, 2));
  const wrong = sizes.filter((size) => read(body, [size]).total !== 7);
  t.same(wrong, [], 'by any size');
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
