// A whole value is passed, whatever stands around it, at once and with pauses.
import * as fc from 'fast-check';
import { test } from 'tap';
import { skippingValue, skipValue } from '../../../proxy/bytes/skip-value.ts';
import { runs } from '../../support/extent.ts';

await test('the end of a value is found, whatever stands before and behind it', async (t) => {
  const around = fc.constantFrom('', ' ', ',', ']', '}', '"', '\\', ',"x":[');
  const property = fc.property(fc.jsonValue(), around, around, (value, before, behind) => {
    const [head, json] = [Buffer.from(before), Buffer.from(JSON.stringify(value))];
    const text = Buffer.concat([head, json, Buffer.from(`,${behind}`)]);
    return skipValue(text, head.length) === head.length + json.length;
  });
  t.doesNotThrow(() => fc.assert(property, runs(2_000)));
  for (const text of ['', '[', '{"a":', '"a', '["]"']) t.throws(() => skipValue(Buffer.from(text), 0), text);
});

await test('a long value is passed with pauses, in a text and between texts', async (t) => {
  const mebibytes = 3;
  for (const json of [
    JSON.stringify('\\"'.repeat(mebibytes * 2 ** 18)),
    `[${'1,'.repeat(mebibytes * 2 ** 19)}1]`,
    `[${'"a",'.repeat(mebibytes * 2 ** 18)}1]`,
  ]) {
    const work = skippingValue(Buffer.from(`${json},1`), 0);
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses += 1;
    t.ok(pauses >= mebibytes - 1, `${pauses} pauses`);
    t.equal(step.value, Buffer.byteLength(json));
  }
});
