// Long JSON is written in steps as the engine writes it at once.
import * as fc from 'fast-check';
import { test } from 'tap';
import { type JsonValue, parseJson, writeJson } from '../../../proxy/dialects/json/json.ts';
import { writingJson } from '../../../proxy/dialects/json/write-json.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { anyCharacter } from '../../support/arbitrary.ts';
import { runs } from '../../support/extent.ts';

await test('what is written in steps of any length is what is written at once', (t) => {
  const isSame = (value: JsonValue, length: number): boolean =>
    atOnce(writingJson(value, length)).equals(Buffer.from(writeJson(value)));
  const json = fc.jsonValue({ stringUnit: anyCharacter }).map((value) => value as JsonValue);
  fc.assert(fc.property(json, fc.integer({ min: 1, max: 20 }), isSame), runs(300));
  t.ok(isSame({ a: undefined, b: [parseJson('1.50'), null], c: {}, d: [] }, 3), 'numbers keep their digits');
  t.ok(isSame(['😀😀a\ud83d', '\ud83d\ud83d\ude00', '\ude00'.repeat(9)], 1), 'no character is cut');
  t.end();
});

await test('a long list is written in steps, not in one', (t) => {
  let steps = 0;
  for (const _ of writingJson(Array.from({ length: 50_000 }, () => 'a'))) steps += 1;
  t.ok(steps >= 9, `${steps} steps`);
  t.end();
});
