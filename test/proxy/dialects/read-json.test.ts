// JSON is read as the engine reads it, in a time that no text of a client or provider can stretch.
import * as fc from 'fast-check';
import { test } from 'tap';
import { parseJson, parseObject, writeJson } from '../../../proxy/dialects/json/json.ts';
import { maxValues, readingJson, readJson } from '../../../proxy/dialects/json/read-json.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { anyCharacter } from '../../support/arbitrary.ts';
import { runs } from '../../support/extent.ts';
import { watchTime } from '../../support/slowdown.ts';

/** What a reader makes of a text; undefined: it refuses it. */
function outcome(read: (text: string) => unknown, text: string): string | undefined {
  try {
    return JSON.stringify(read(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

await test('a text is read, or refused, as the engine does it', async (t) => {
  const json = fc.oneof(
    fc.json(),
    fc.json({ stringUnit: anyCharacter }),
    fc.jsonValue().map((value) => JSON.stringify(value, null, '\t')),
  );
  // A character that is inserted or replaced makes most of them invalid.
  const odd = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '-', '0', '.', 'e', ' ', '\n', '\u0001', 'u');
  const broken = fc.tuple(json, fc.nat(), odd, fc.nat(1)).map(([text, place, character, length]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + character + text.slice(at + length);
  });
  const isSame = (text: string): boolean => {
    const own = outcome(readJson, text);
    const engine = outcome(JSON.parse, text);
    for (const length of [1, 7]) if (outcome((given) => atOnce(readingJson(given, length)), text) !== own) return false;
    // Digits stay as they were, so numbers are compared as the engine sees them.
    return own === undefined ? engine === undefined : JSON.stringify(JSON.parse(own)) === engine;
  };
  fc.assert(fc.property(fc.oneof(json, broken), isSame), runs(300));
  const spelled = [
    '"\\u0041\\n\\\\"',
    '"\\\\\\""',
    '"a\\"',
    '""',
    '"\\\\\\\\\\\\\\\\\\\\\\\\"',
    `"\\n${'a'.repeat(99)}\\"${'b'.repeat(99)}\\\\"`,
    `"\\n${'a'.repeat(99)}\\"${'b'.repeat(99)}`,
    `"\\n${'a'.repeat(99)}"a`,
    '["\\ud83d\\ude00\\ud83d\\ude00","\\\\\\"\\u0041\\\\u0041"]',
    '1234567890123',
    '[0,10,007]',
    ' [ ] ',
    '{"a":1,}',
    '[1,]',
    '[,1]',
    '01',
    '-',
    '1.',
    '+1',
    'nul',
    'truee',
  ];
  for (const text of spelled) {
    t.equal(outcome(readJson, text), outcome(JSON.parse, text), text);
    t.ok(isSame(text), `${text} in steps`);
  }
});

await test('a name that objects inherit is a member like any other', async (t) => {
  const text = `{"a":1.0,"__proto__":{"polluted":true},"constructor":{"prototype":1}}`;
  const body = parseObject(text) ?? {};
  t.strictSame(Object.keys(body), ['a', '__proto__', 'constructor']);
  t.equal(Object.getPrototypeOf(body), Object.prototype);
  t.equal(writeJson(body), text);
});

await test('a text with too many values is refused, and numbers count as a tenth of one, longer ones as more', (t) => {
  const most = `[${'"",'.repeat(maxValues - 2)}""]`;
  t.equal((parseJson(most) as unknown[]).length, maxValues - 1);
  t.throws(() => parseJson(`[${'"",'.repeat(maxValues - 1)}""]`), { name: 'TooManyValues' });
  t.equal((parseJson(`[${'1,'.repeat(9 * maxValues)}1]`) as unknown[]).length, 9 * maxValues + 1);
  t.throws(() => parseJson(`[${'1,'.repeat(10 * maxValues)}1]`), { name: 'TooManyValues' });
  // Four tenths, and a whole one where its text must be kept.
  for (const [number, count] of [
    ['0.25', 249_000],
    ['1e5', 99_000],
  ] as const) {
    t.equal((parseJson(`[${`${number},`.repeat(count)}1]`) as unknown[]).length, count + 1);
    t.throws(() => parseJson(`[${`${number},`.repeat(count + 2_000)}1]`), { name: 'TooManyValues' });
  }
  t.equal(parseObject(`{"a":[${'{},'.repeat(maxValues)}{}]}`), undefined);
  t.end();
});

await test('what is nested too deeply is refused at once', async (t) => {
  const deep = 8 << 20;
  const tookMs = watchTime();
  t.throws(() => parseJson('['.repeat(deep) + ']'.repeat(deep)), SyntaxError);
  t.equal(parseObject(`${'{"a":'.repeat(deep / 4)}1.0${'}'.repeat(deep / 4)}`), undefined);
  for (const words of ['', ' '.repeat(1_000), ' '.repeat(100_000)]) {
    const nested = (levels: number): string => `${'['.repeat(levels - 1)}{"a":1}${']'.repeat(levels - 1)}${words}`;
    t.equal(JSON.stringify(parseJson(nested(256))), nested(256).trim());
    t.throws(() => parseJson(nested(257)), SyntaxError);
  }
  t.ok(tookMs() < 1_000, 'not after minutes');
  const allowed = '['.repeat(256) + ']'.repeat(256);
  t.equal(writeJson(parseJson(allowed)), allowed);
});
