// The usage of an answer is found in its bytes, and nothing that only looks like it, however long or odd the answer is.
import * as fc from 'fast-check';
import { test } from 'tap';
import { findLastUsage, findUsage } from '../../../proxy/tokens/find-usage.ts';
import type { TokenUsage } from '../../../proxy/tokens/token-usage.ts';
import { extent, runs } from '../../support/extent.ts';
import { slownessOf, threadMsOf } from './quick.ts';

type Find = (body: Buffer) => TokenUsage | undefined;

const total = (text: string, find: Find = findUsage): number | undefined => find(Buffer.from(text))?.totalTokens;
const seven = '{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}';

await test('the top-level usage is found wherever it stands', async (t) => {
  const bodies = [
    `{"usage":${seven}}`,
    `{"id":"a","usage":${seven},"choices":[]}`,
    `{"choices":[{"message":{"content":"hi"}}],"usage":${seven}}`,
    ` \r\n{ "usage" \t:\r\n ${seven} \n}\n`,
    JSON.stringify({ id: 'a', choices: [], usage: JSON.parse(seven) as object }, null, 2),
    '{"usage":{"total_tokens":7,"details":{"a":{"b":{}},"c":[{}]}}}',
    '{"usage":{"note":"}\\"}{\\\\","total_tokens":7}}',
    '{"usage":{"é":"😀}","total_tokens":7}}',
    // Decoys before and after it
    `{"a":"usage","usage":${seven},"b":"usage"}`,
    `{"type":"usage","usage":${seven}}`,
    `{"usage":${seven},"type":"usage"}`,
    `{"usage":${seven},"list":["usage",{"usage":null},"usage"]}`,
    `{"content":"\\"usage\\":{\\"total_tokens\\":9}","usage":${seven}}`,
    `{"usage":${seven},"content":"\\"usage\\":{\\"total_tokens\\":9}"}`,
    `{"content":"\\\\","usage":${seven}}`,
    // Others of that name, deeper
    `{"usage":${seven},"x_groq":{"id":"r","usage":{"total_tokens":9}}}`,
    `{"x_groq":{"id":"r","usage":{"total_tokens":9}},"usage":${seven}}`,
    `{"a":{"usage":{"total_tokens":9}},"usage":${seven},"b":[{"usage":{"total_tokens":9}}],"c":1}`,
    `{"usage":{"usage":{"total_tokens":9},"total_tokens":7}}`,
    // The last of two of the same name wins, as in JSON.parse
    `{"usage":{"total_tokens":9},"usage":${seven}}`,
  ];
  t.same(
    bodies.filter((body) => total(body) !== 7),
    [],
  );
});

await test('a usage that is deeper is better than none', async (t) => {
  const bodies = [
    `{"id":"a","x_groq":{"usage":${seven}}}`,
    `{"usage":null,"x_groq":{"usage":${seven}}}`,
    `{"x_groq":{"usage":${seven}},"usage":null}`,
    `{"x":{"usage":{"total_tokens":9}},"y":{"usage":${seven}},"z":1}`,
    `{"x":{"usage":{"total_tokens":9}},"y":{"usage":${seven}},"":0}`,
    // Broken off behind it, or before it
    `{"usage":${seven},"choices":[{"mess`,
    `"},{"usage":${seven}}`,
  ];
  t.same(
    bodies.filter((body) => total(body) !== 7),
    [],
  );
});

await test('no usage is none', async (t) => {
  const bodies = [
    '',
    '{}',
    'usage',
    '"usage"',
    '"usage":',
    '"usage":{',
    '{"usage":null}',
    '{"usage" : null , "choices":[]}',
    '{"usage":{}}',
    '{"usage":[{"total_tokens":9}]}',
    '{"usage":9}',
    '{"usage":"{\\"total_tokens\\":9}"}',
    '{"type":"usage"}',
    '{"type":"usage","total_tokens":9}',
    '{"type":"usage","other":{"total_tokens":9}}',
    '["usage",{"total_tokens":9}]',
    '{"Usage":{"total_tokens":9}}',
    '{"a\\"usage":{"total_tokens":9}}',
    '{"usages":{"total_tokens":9},"my_usage":{"total_tokens":9}}',
    '{"content":"\\"usage\\":{\\"total_tokens\\":9}"}',
    '{"usage":{"total_tokens":-1}}',
    '{"usage":{"total_tokens":1e400}}',
    '{"usage":{"total_tokens":9',
    '{"usage":{"total_tokens":9]}',
    `{"usage":{"pad":"${'x'.repeat(20_000)}","total_tokens":9}}`,
  ];
  for (const find of [findUsage, findLastUsage]) {
    const found = bodies.filter((body) => total(body, find) !== undefined);
    t.same(
      found.map((body) => body.slice(0, 80)),
      [],
      find.name,
    );
  }
});

await test('an explicit zero is a report', async (t) => {
  t.same(findUsage(Buffer.from('{"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}')), {
    inputTokens: 0,
    outputTokens: 0,
    totalTokens: 0,
    source: 'reported',
  });
});

await test('of the events of a stream the last report counts', async (t) => {
  const nothing = 'data: {"choices":[{"delta":{"content":"hi"}}],"usage":null}\n\n';
  const streams = [
    `data: {"choices":[],"usage":${seven}}\n\ndata: [DONE]\n\n`,
    `${nothing}data: {"usage":{"total_tokens":2}}\n\n${nothing}data: {"usage":${seven}}\n\n${nothing}${nothing}`,
    `data: {"usage":${seven}}\r\n\r\ndata: {"usage":{}}\r\n\r\n`,
    // In one event that of its top level counts, whichever comes last
    `data: {"usage":${seven},"x_groq":{"usage":{"total_tokens":9}}}\n\n`,
    `data: {"x_groq":{"usage":{"total_tokens":9}},"usage":${seven}}\n\n`,
    `data:{"usage":${seven},"x_groq":{"usage":{"total_tokens":9}}}\r\n\r\n${nothing}`,
    `data: {"usage":{"total_tokens":9}}\n\ndata: {"usage":null,"x_groq":{"usage":${seven}}}\n\n`,
  ];
  t.same(
    streams.filter((stream) => total(stream, findLastUsage) !== 7),
    [],
  );
});

const decoy = fc.constantFrom('usage', '"usage":{"total_tokens":1}', '\\"usage\\"', '"', '\\', '{', '}', 'é😀', '\n');
const leaf = fc.oneof(decoy, fc.string({ maxLength: 8 }), fc.integer(), fc.boolean(), fc.constant(null));
const key = fc.oneof(fc.constantFrom('usage', 'x_groq', 'choices', 'a"usage"', 'type'), fc.string({ maxLength: 4 }));
const counts = fc.record({ prompt_tokens: fc.nat(99), completion_tokens: fc.nat(99) });
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    counts,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}));

await test('in any JSON the top-level usage is what JSON.parse finds', async () => {
  const spaces = fc.constantFrom(undefined, 1, '\t');
  const members = fc.array(fc.tuple(key, value), { maxLength: 5 });
  fc.assert(
    fc.property(members, fc.nat(5), counts, spaces, (others, place, usage, indent) => {
      const all = others.filter(([name]) => name !== 'usage' && name !== '__proto__');
      all.splice(place, 0, ['usage', usage]);
      const body = JSON.stringify(Object.fromEntries(all), null, indent);
      const found = findUsage(Buffer.from(body));
      return found?.inputTokens === usage.prompt_tokens && found.outputTokens === usage.completion_tokens;
    }),
    runs(3_000),
  );
});

await test('anything at all is looked through without a throw', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '"usage"',
      '"usage":',
      '"usage":{',
      seven,
      '{',
      '}',
      '"',
      '\\',
      '\n',
      ',',
      ':',
      'data: ',
      ' ',
      '[',
      ']',
    ),
    fc.string({ maxLength: 5 }),
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(pieces.join('')));
  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(fc.oneof(text, bytes), (body) => {
      findUsage(body);
      findLastUsage(body);
    }),
    runs(5_000),
  );
});

/** Text that a search which starts again at each word would read many times. */
const hostile: Readonly<Record<string, (count: number) => string>> = {
  'the word as a string': (count) => `{"a":[${'"usage",'.repeat(count)}1]}`,
  'the word without a value': (count) => `{"a":[${'"usage":'.repeat(count)}`,
  'empty objects': (count) => `{"a":[${'{"usage":{}},'.repeat(count)}1]}`,
  nulls: (count) => `{"a":[${'{"usage":null},'.repeat(count)}1]}`,
  'objects in each other, never closed': (count) => '{"usage":'.repeat(count),
  'objects in each other, closed': (count) => `${'{"usage":'.repeat(count)}{}${'}'.repeat(count)}`,
  'objects that open strings': (count) => '{"usage":{"'.repeat(count),
  'events of empty objects': (count) => 'data: {"usage":{}}\n\n'.repeat(count),
  'many keys in one event': (count) => `data: {"a":[${`{"usage":${seven}},`.repeat(count / 4)}1]}\n\n`,
  blanks: (count) => `{"usage"${' '.repeat(5 * count)}:${'\t'.repeat(5 * count)}`,
  'brackets after it': (count) => `{"usage":${'['.repeat(9 * count)}`,
  'braces after it': (count) => `{"usage":${'{'.repeat(9 * count)}`,
};

const words = extent(400_000, 40_000);

for (const find of [findUsage, findLastUsage]) {
  await test(`time grows with the length alone: ${find.name}`, async (t) => {
    const slow = Object.entries(hostile).flatMap(([name, make]) => {
      const work = (size: number) => {
        const body = Buffer.from(make(size));
        return () => find(body);
      };
      return slownessOf(work, { size: words, mostMs: words / 250 }).map((slowness) => `${name}: ${slowness}`);
    });
    t.same(slow, []);
  });
}

await test('an answer of 10 MB', async (t) => {
  const filler = JSON.stringify({ content: '"usage" {} '.repeat(900_000) }).slice(1, -1);
  for (const [body, expected] of [
    [`{${filler},"usage":${seven}}`, 7],
    [`{"usage":${seven},${filler}}`, 7],
    [`{${filler},"x":{"usage":{"total_tokens":9}},"usage":${seven},"y":{"usage":{}}}`, 7],
    [`{${filler}}`, undefined],
  ] as const) {
    t.ok(body.length > 10_000_000);
    t.equal(total(body), expected);
    const bytes = Buffer.from(body);
    t.ok(threadMsOf(() => findUsage(bytes), 1_000) < 1_000);
  }
});
