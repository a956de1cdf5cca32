// JSON is read without making objects: what is accepted is what JSON.parse accepts, and an edit keeps every other byte.
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  longText,
  maxDepth,
  maxKeys,
  maxTokenBytes,
  maxTopLevelMembers,
  mostEnds,
  scanLargeObject,
  scanObject,
} from '../../proxy/bytes/scan.ts';
import { ScanError } from '../../proxy/bytes/scan-error.ts';
import { type Edit, splice } from '../../proxy/bytes/splice.ts';
import { character } from '../support/character.ts';
import { runs } from '../support/extent.ts';

type Parsed = { value: unknown } | undefined;

function parse(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** The bytes of a text, which begin at this offset of their memory. */
function bytesAt(offset: number, text: string): Buffer {
  const memory = Buffer.alloc(offset + Buffer.byteLength(text));
  memory.write(text, offset);
  return memory.subarray(offset);
}

function scanFault(text: string, offset: number = 0): string {
  try {
    scanObject(bytesAt(offset, text));
    return 'accepted';
  } catch (error) {
    if (error instanceof ScanError) return error.fault;
    throw error;
  }
}

/** What the scanner must say of a text that holds no forbidden key and breaks no cap. */
function expectedFault(parsed: Parsed): string {
  if (parsed === undefined) return 'refused';
  return typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)
    ? 'accepted'
    : 'not_object';
}

/** Fails when scanner and JSON.parse disagree about a text, or when the members do not lead back to it. Tells whether it was accepted. */
function compareWithParse(text: string, offset: number = 0): boolean {
  const body = bytesAt(offset, text);
  const parsed = parse(body.toString());
  const expected = expectedFault(parsed);
  const fault = scanFault(text, offset);
  const agrees = expected === 'refused' ? fault !== 'accepted' : fault === expected;
  if (!agrees) throw new Error(`${JSON.stringify(text)}: expected ${expected}, got ${fault}`);
  if (expected !== 'accepted') return false;
  const entries = scanObject(body).map(({ keyStart, keyEnd, valueStart, valueEnd }): [string, unknown] => {
    const between = body.toString('latin1', keyEnd, valueStart);
    if (!/^"[ \t\r\n]*:[ \t\r\n]*$/.test(between)) throw new Error(`${JSON.stringify(text)}: key and value are apart`);
    const value = body.toString('utf8', valueStart, valueEnd);
    if (value !== value.trim()) throw new Error(`${JSON.stringify(text)}: a value with space around it`);
    return [JSON.parse(`"${body.toString('utf8', keyStart, keyEnd)}"`) as string, JSON.parse(value)];
  });
  const rebuilt = JSON.stringify(Object.fromEntries(entries));
  if (rebuilt !== JSON.stringify(parsed?.value)) throw new Error(`${JSON.stringify(text)}: gave ${rebuilt}`);
  return true;
}

await test('a letter that ends or breaks a long text is seen wherever it stands', (t) => {
  const letters = ['"', '\\', '\\n', '\\u00e9', '\u0000', '\u001f', ' ', '!', '#', '[', ']', '\u007f', 'é', '😀'];
  // Words of memory, four bytes each, are looked at four at a time while so many are left.
  const places = ['x', 'é'].flatMap((fill) =>
    [9, 40].flatMap((after) => Array.from({ length: 48 }, (_, before) => ({ fill, before: before + 20, after }))),
  );
  const texts = letters.flatMap((letter) =>
    places.map(({ fill, before, after }) => `{"a":"${fill.repeat(before)}${letter}${fill.repeat(after)}"}`),
  );
  for (const offset of [0, 1, 2, 3]) {
    const accepted = texts.filter((text) => compareWithParse(text, offset));
    t.equal(accepted.length, places.length * 10, 'as JSON.parse decides');
  }
  t.end();
});

const pieces = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"a"',
  '"b":',
  '{"a":',
  '"',
  '\\',
  '\\u00e9',
  '\\ud800',
  '\\x',
  'é',
  '😀',
  '\u2028',

  '0',
  '-',
  '1',
  '01',
  '1.5',
  '.5',
  '1.',
  'e',
  '1e5',
  'E+',
  '1e',
  '-0',
  '12345678901234567890',
  '1E-400',

  'true',
  'false',
  'null',
  'tru',
  'NaN',
  ' ',
  '\t',
  '\n',
  '\r',
  '\f',
  '\u00a0',
  '\ufeff',
  '\u0001',
  "'a'",
  '//',
  '{}',
  '[]',
];

await test('accepts and refuses what JSON.parse does, over thousands of texts made of JSON pieces', async (t) => {
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 10 }).map((parts) => parts.join(''));
  const wrapped = fc.tuple(
    fc.constantFrom('', '{"a":', '[', ' {"k":[', '{"x":{"y":'),
    texts,
    fc.constantFrom('', '}', ']', ']}', '}}'),
  );
  let accepted = 0;
  fc.assert(
    fc.property(wrapped, (parts) => {
      accepted += compareWithParse(parts.join('')) ? 1 : 0;
    }),
    runs(12_000),
  );
  t.ok(accepted > 5, `${accepted} were valid objects`);
});

await test('accepts and refuses what JSON.parse does, over 12,000 bodies with a wound', async (t) => {
  const depth = { maxDepth: 3, maxKeys: 4 };
  const spaced = fc.constantFrom(undefined, 1, '\t');
  const whole = fc.tuple(
    fc.dictionary(fc.string({ unit: character, maxLength: 4 }), fc.jsonValue(depth), { maxKeys: 4 }),
    spaced,
  );
  const bodies = fc
    .sample(whole, 300)
    .map(([value, indent]) => JSON.stringify(value, null, indent))
    .filter((body) => !/__proto__|constructor/.test(body));
  for (const body of bodies) compareWithParse(body);
  const wound = fc.record({
    body: fc.constantFrom(...bodies),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.integer({ min: 0, max: 2 }),
    piece: fc.constantFrom('', ...pieces),
  });
  let accepted = 0;
  fc.assert(
    fc.property(wound, ({ body, at, cut, piece }) => {
      const from = Math.floor(at * body.length);
      accepted += compareWithParse(body.slice(0, from) + piece + body.slice(from + cut)) ? 1 : 0;
    }),
    runs(12_000),
  );
  t.ok(accepted > 5, `${accepted} were valid objects`);
});

await test('a fault says at which byte it is', async (t) => {
  const faults: [text: string, at: number][] = [
    ['', 0],
    ['{"a":1,}', 7],
    ['{"a":01}', 6],
    ['{"a":1', 6],
    ['{"é":tru}', 6],
    ['{"a":"\n"}', 6],
    ['{"a":1} x', 8],
    ['{"a":"\\x"}', 6],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
  ];
  for (const [text, at] of faults) t.throws(() => scanObject(Buffer.from(text)), new ScanError('syntax', at), text);
});

await test('128 levels are accepted, 129 are not', async (t) => {
  t.equal(maxDepth, 128);
  // The object around them is the first level.
  const arrays = (levels: number): string => `{"a":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`;
  const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const make of [arrays, objects]) {
    t.equal(scanFault(make(128)), 'accepted');
    t.equal(scanFault(make(129)), 'depth');
    t.equal(scanFault(make(1_000_000)), 'depth', 'without recursion');
  }
  t.equal(scanFault(`{"a":[${'[[]],'.repeat(1_000)}1]}`), 'accepted', 'what is closed does not count');
});

await test('250,000 keys are accepted, 250,001 are not', async (t) => {
  t.equal(maxKeys, 250_000);
  const object = `{${'"k":0,'.repeat(499)}"k":0}`;
  const body = (extra: string): string => `{"a":[${`${object},`.repeat(499)}{${extra}}]}`;
  t.equal(scanFault(body(`${'"k":0,'.repeat(498)}"k":0`)), 'accepted');
  t.equal(scanFault(body(`${'"k":0,'.repeat(500)}"k":0`)), 'keys');
  const lists = (count: number): string => `{"a":[${'[],'.repeat(count - 3)}[]]}`;
  t.equal(scanFault(lists(250_000)), 'accepted');
  t.equal(scanFault(lists(250_001)), 'keys', 'as many objects and lists');
});

await test('512 members are accepted at the top level, 513 are not', async (t) => {
  t.equal(maxTopLevelMembers, 512);
  const members = (count: number): string => Array.from({ length: count }, (_, index) => `"${index}":0`).join(',');
  t.equal(scanObject(Buffer.from(`{${members(512)}}`)).length, 512);
  t.equal(scanFault(`{${members(513)}}`), 'keys');
  t.equal(scanFault(`{"a":{${members(513)}}}`), 'accepted', 'deeper down there may be more');
});

await test('keys that poison objects are refused wherever and however they are written', async (t) => {
  const poisonous = [
    '{"__proto__":1}',
    '{"a":{"__proto__":1}}',
    '{"a":[1,{"b":2,"__proto__":1}]}',
    '{"\\u005f_proto__":1}',
    '{"__pr\\u006Fto__":1}',
    '{"\\u005f\\u005f\\u0070\\u0072\\u006f\\u0074\\u006f\\u005f\\u005f":1}',
    '{"constructor":{"prototype":1}}',
    '{"constructor":{"x":[],"prototype":{}}}',
    '{"constr\\u0075ctor":{"prototyp\\u0065":1}}',
    '{"a":[{"constructor" : {"x":{"y":1},"prototype":{}}}]}',
  ];
  for (const text of poisonous) t.equal(scanFault(text), 'forbidden_key', text);
  const harmless = [
    '{"constructor":1,"prototype":2}',
    '{"constructor":{"a":{"prototype":1}}}',
    '{"constructor":[{"prototype":1}]}',
    '{"constructor":{},"a":{"prototype":1}}',
    '{"a":["constructor",{"prototype":1}]}',
    '{"a":"__proto__"}',
    '{"__Proto__":1}',
    '{"__proto_":1}',
    '{"\\\\u005f_proto__":1}',
  ];
  for (const text of harmless) t.equal(scanFault(text), 'accepted', text);
});

await test('a splice equals cutting and joining text', async (t) => {
  const cuts = fc.tuple(
    fc.string({ unit: character, maxLength: 40 }),
    fc.array(fc.tuple(fc.nat(60), fc.string({ unit: character, maxLength: 6 })), { maxLength: 4 }),
    fc.array(fc.nat(60), { minLength: 4, maxLength: 4 }),
  );
  fc.assert(
    fc.property(cuts, ([text, starts, lengths]) => {
      const body = Buffer.from(text);
      const edits: Edit[] = [];
      let expected = '';
      let from = 0;
      for (const [index, [start, replacement]] of starts.sort((a, b) => a[0] - b[0]).entries()) {
        const begin = Math.min(Math.max(start, from), body.length);
        const end = Math.min(begin + ((lengths[index] ?? 0) % 5), body.length);
        edits.push({ start: begin, end, bytes: Buffer.from(replacement) });
        expected += body.toString('latin1', from, begin) + Buffer.from(replacement).toString('latin1');
        from = end;
      }
      expected += body.toString('latin1', from);
      return splice(body, edits).toString('latin1') === expected;
    }),
    runs(5_000),
  );
  const body = Buffer.from('same');
  t.equal(splice(body, []), body, 'without edits it is the same buffer');
});

await test('in steps of any length the same is found', async (t) => {
  const members = fc.dictionary(fc.string({ unit: character }), fc.jsonValue({ stringUnit: character }));
  const isSame = fc.asyncProperty(members, fc.integer({ min: 1, max: 40 }), async (body, step) => {
    const long = { ...body, text: 'ab"\\\n 😀'.repeat(40) };
    const bytes = Buffer.from(JSON.stringify(long, null, 1));
    const outcome = (error: unknown): string => String(error);
    const stepped = await scanLargeObject(bytes, step).catch(outcome);
    const whole = await (async () => scanObject(bytes))().catch(outcome);
    return JSON.stringify(stepped) === JSON.stringify(whole);
  });
  await fc.assert(isSame, runs(100));
  t.equal((await scanLargeObject(Buffer.from(`{"a":"${'é'.repeat(99)}"}`), 1)).length, 1);
});

await test('of each member it is known where its first entries and its long texts end', async (t) => {
  const [short, long] = ['b'.repeat(longText - 3), `\\n${'a'.repeat(longText - 4)}`];
  const text = `{"a" : [1, {"x":[2,3]} ,"${long}",["${short}"]],"b":"${long}","c":{"d":["${long}",{"text":1}]},"e":[[]],"text":[]}`;
  const bytes = Buffer.from(text);
  const behind = (part: string, from = 0): number => text.indexOf(part, from) + part.length;
  const quoted = `"${long}"`;
  const [first, second, third] = [0, text.indexOf('"b"'), text.indexOf('"c"')];
  const spanFrom = (from: number): number[] => [text.indexOf(quoted, from), behind(quoted, from)];
  const entries = [behind('[1'), behind('[2,3]}'), behind(quoted), behind(`["${short}"]`)];
  const found = scanObject(bytes);
  t.same(
    found.map(({ ends, longTexts }) => [ends, longTexts]),
    [
      [entries, spanFrom(first)],
      [[], spanFrom(second)],
      [[], spanFrom(third)],
      [[behind('"e":[[]')], []],
      [[], []],
    ],
  );
  t.same(await scanLargeObject(bytes, 1), found, 'in steps');
  const many = `[${'0,'.repeat(mostEnds)}0]`;
  t.equal(scanObject(Buffer.from(`{"a":${many}}`))[0]?.ends.length, mostEnds);
});

await test('a key, a number and white space in a row have a length that is enough', (t) => {
  const long = maxTokenBytes;
  t.equal(scanFault(`{"${'k'.repeat(long)}":1}`), 'accepted');
  t.equal(scanFault(`{"a":${'1'.repeat(long)}}`), 'accepted');
  t.equal(scanFault(`{"${'k'.repeat(long + 100)}":1}`), 'long');
  t.equal(scanFault(`{"a":${'1'.repeat(long + 1)}}`), 'long');
  for (const space of [' ', '\n'])
    t.same(
      [`${space}{}`, `{${space}}`, `{"a"${space}:1}`, `{"a":${space}1}`, `{"a":1${space}}`, `{}${space}`].map((text) =>
        scanFault(text.replace(space, space.repeat(long))),
      ),
      Array.from({ length: 6 }, () => 'long'),
    );
  t.end();
});
