// JSON in one spelling: the same bytes for all texts that say the same, others for all that do not.
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { test } from 'tap';
import { CanonicalWriter } from '../../proxy/bytes/canonical-json.ts';
import { runs } from '../support/extent.ts';

function canonical(text: string): string {
  const source = Buffer.from(text);
  const target = Buffer.alloc(2 * source.length + 3);
  const writer = new CanonicalWriter(source, target, 3);
  writer.value(0);
  return target.toString('utf8', 3, writer.end);
}

const escaped = (text: string, pick: () => number): string =>
  [...Array(text.length).keys()]
    .map((index) => {
      const unit = text.charCodeAt(index);
      const upper = unit.toString(16).padStart(4, '0').toUpperCase();
      if (pick() % 4 === 0 || (unit >= 0xd800 && unit < 0xe000))
        return `\\u${pick() % 2 ? upper : upper.toLowerCase()}`;
      return text[index] === '/' && pick() % 2 ? '\\/' : JSON.stringify(text[index]).slice(1, -1);
    })
    .join('');

/** The same said otherwise: white space, order of members, escapes, zeros. */
function respelled(value: unknown, pick: () => number): string {
  const blank = (): string => ['', '', ' ', '\n', '\t\r '][pick() % 5] ?? '';
  const list = (parts: readonly string[]): string => parts.map((part) => blank() + part + blank()).join(',');
  if (typeof value === 'string') return `"${escaped(value, pick)}"`;
  if (Array.isArray(value)) return `[${blank()}${list(value.map((each) => respelled(each, pick)))}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([name, each]) => `"${escaped(name, pick)}"${blank()}:${blank()}${respelled(each, pick)}`,
    );
    for (let left = members.length; left > 1; left -= 1) members.push(...members.splice(pick() % left, 1));
    return `{${blank()}${list(members)}}`;
  }
  if (typeof value !== 'number' || String(value).includes('e')) return JSON.stringify(value);
  const zeros = String(value).includes('.') ? '00' : ['', '.0', '.00', 'e0', '.0E+00'][pick() % 5];
  return `${JSON.stringify(value)}${zeros}`;
}

/** Texts without the letters that only one spelling of JSON has. */
const text = fc.string({ unit: 'binary', maxLength: 12 });
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('any'), { maxKeys: 5, noNullPrototype: true }),
}))['any'];
const picks = fc.infiniteStream(fc.nat());

await test('two texts that say the same become one, which says it, too', (t) => {
  fc.assert(
    fc.property(value, picks, (said, random) => {
      const pick = (): number => random.next().value as number;
      const written = canonical(respelled(said, pick));
      const isSaid = isDeepStrictEqual(JSON.parse(written), JSON.parse(JSON.stringify(said)));
      return isSaid && written === canonical(respelled(said, pick)) && written === canonical(written);
    }),
    runs(3_000),
  );
  t.pass();
  t.end();
});

await test('two texts that do not say the same stay apart', (t) => {
  fc.assert(
    fc.property(value, value, (one, other) => {
      const [first = '', second = ''] = [one, other].map((said) => JSON.stringify(said));
      return (canonical(first) === canonical(second)) === isDeepStrictEqual(JSON.parse(first), JSON.parse(second));
    }),
    runs(3_000),
  );
  const apart = [
    ['[1,2]', '[2,1]'],
    ['{"a":1,"a":2}', '{"a":2,"a":1}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['[1]', '["1"]'],
    ['"a "', '"a"'],
    ['"\\\\u0041"', '"A"'],
    ['[12345678901234567890]', '[12345678901234567891]'],
    ['[0.10000000000000000001]', '[0.1]'],
    ['[1e1]', '[1]'],
    ['[10]', '[1]'],
    ['[1e-1]', '[1e1]'],
    ['{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
  ];
  for (const [one = '', other = ''] of apart) t.not(canonical(one), canonical(other), `${one} and ${other}`);
  t.equal(canonical('{"b":[{"d":-0.0,"c":1.50}],"a":"\\u00E9\\/\\n"}'), '{"a":"é/\\n","b":[{"c":1.5,"d":0}]}');
  t.end();
});

await test('of a text that would hold others up, what comes last stays as it is', (t) => {
  const many = (count: number, each: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => each(index)).join(',');
  const texts: Record<string, string> = {
    escapes: `[${many(110_000, () => '"\\u0041"')}]`,
    numbers: `[${many(200_000, () => '1.0')}]`,
    members: `{${many(80_000, (index) => `"${(index * 7_919) % 80_000}":1`)}}`,
    objects: `[${many(70_000, () => '{"b":1,"a":1}')}]`,
    levels: `${'{"b":'.repeat(120)}"${'x'.repeat(1_000_000)}"${',"a":1}'.repeat(120)}`,
  };
  for (const [name, long] of Object.entries(texts)) {
    const written = canonical(long);
    t.ok(isDeepStrictEqual(JSON.parse(written), JSON.parse(long)), name);
    t.equal(written.slice(-9), long.slice(-9), name);
  }
  t.end();
});
