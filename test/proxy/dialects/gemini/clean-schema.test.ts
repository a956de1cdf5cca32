// Schemas for Gemini: references written out, what it refuses left out and told, and never more than bounded.
import { array, assert, constantFrom, dictionary, letrec, oneof, property } from 'fast-check';
import { test } from 'tap';
import { cleanSchema } from '../../../../proxy/dialects/gemini/clean-schema.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { runs } from '../../../support/extent.ts';

const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, name: { type: 'string' } } };
const dated = { type: 'string', description: 'A day' };

await test('each keyword that Gemini reads otherwise', async (t) => {
  const table: readonly [given: JsonObject, expected: JsonObject, ...dropped: string[]][] = [
    [{}, { type: 'object' }],
    [
      { type: 'string', title: 'T', pattern: 'a', format: 'date-time' },
      { type: 'string', title: 'T', pattern: 'a', format: 'date-time' },
    ],
    [{ type: 'string', format: 'email', $comment: 'x' }, { type: 'string' }, 'format'],
    [
      { type: ['integer', 'null'], minimum: 1 },
      { type: 'integer', minimum: 1, nullable: true },
    ],
    [
      { type: ['string', 'integer', 'null'] },
      {
        anyOf: [
          { type: 'string', nullable: true },
          { type: 'integer', nullable: true },
        ],
      },
    ],
    [
      { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'D' },
      { description: 'D', type: 'string', nullable: true },
    ],
    [
      { oneOf: [{ type: 'string' }, { const: 'a', description: 'A' }], description: 'D' },
      {
        anyOf: [
          { description: 'D', type: 'string' },
          { description: 'A', type: 'string', enum: ['a'] },
        ],
      },
    ],
    [
      {
        allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: { type: 'number' } } }],
        required: ['b', 'c'],
      },
      { type: 'object', properties: { b: { type: 'number' }, a: { type: 'string' } }, required: ['a', 'b'] },
    ],
    [
      { type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }] },
      { type: 'object', properties: { a: { type: 'object' } } },
      'anyOf',
    ],
    [{ enum: ['a', '', null] }, { type: 'string', enum: ['a'] }, 'enum'],
    [{ type: 'integer', enum: [1, 2] }, { type: 'integer' }, 'enum'],
    [{ type: 'array' }, { type: 'array', items: { type: 'string' } }],
    [
      { prefixItems: [{ type: 'string' }, { type: 'number' }] },
      { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
    ],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { type: 'object' }, 'additionalProperties'],
    [{ type: 'number', exclusiveMinimum: 0, 'x y': 1 }, { type: 'number' }, 'exclusiveMinimum', 'unknown'],
    [{ type: 'null' }, { type: 'string', nullable: true }],
    [
      { type: 'object', properties: { format: { type: 'string' }, $ref: { type: 'string' } } },
      { type: 'object', properties: { format: { type: 'string' }, $ref: { type: 'string' } } },
    ],
  ];
  for (const [given, expected, ...dropped] of table) {
    const { schema, dropped: told } = cleanSchema(given);
    t.strictSame(schema, expected, JSON.stringify(given));
    t.same([...told].sort(), dropped.sort(), JSON.stringify(given));
  }
});

await test('references are written out; what stands beside them wins', async (t) => {
  const given = {
    type: 'object',
    properties: {
      from: { $ref: '#/$defs/day' },
      to: { $ref: '#/$defs/day', description: 'The last day' },
      odd: { $ref: '#/definitions/a~1b%20c' },
      lost: { $ref: '#/$defs/__proto__', description: 'Lost' },
      far: { $ref: 'https://a.example/schema' },
    },
    $defs: { day: dated },
    definitions: { 'a/b c': { type: 'boolean' } },
  };
  const { schema, dropped } = cleanSchema(given);
  t.same(schema['properties'], {
    from: dated,
    to: { type: 'string', description: 'The last day' },
    odd: { type: 'boolean' },
    lost: { type: 'object', description: 'Lost' },
    far: { type: 'object' },
  });
  t.same([...dropped], ['$ref']);
});

await test('a schema that holds itself ends after two rounds', async (t) => {
  const { schema, dropped } = cleanSchema({ $ref: '#/$defs/node', $defs: { node } });
  const name = { type: 'string' };
  const last = { type: 'object', properties: { next: { type: 'object' }, name } };
  t.same(schema, { type: 'object', properties: { next: last, name } });
  t.same([...dropped], ['$ref']);
  t.same(cleanSchema({ $ref: '#' }).schema, { type: 'object' });
});

await test('hostile schemas stay small', async (t) => {
  const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
  const names = Array.from({ length: 30 }, (_, index) => `d${index}`);
  const doubling = names.map((name, index) => [
    name,
    { properties: { a: ref(`d${index + 1}`), b: ref(`d${index + 1}`) }, allOf: [ref(name), ref(name)] },
  ]);
  const long = { type: 'string', description: 'x'.repeat(100_000) };
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, ref('long')]));
  const $defs = { ...Object.fromEntries(doubling), long } as JsonObject;
  for (const given of [
    { ...ref('d0'), $defs },
    { type: 'object', properties: many, $defs },
    { allOf: Array.from({ length: 1000 }, () => ref('long')), $defs },
    { description: 'x'.repeat(100_000), anyOf: Array.from({ length: 1000 }, () => ({ type: 'string' })) },
    { type: Array.from({ length: 1000 }, () => 'string'), description: 'x'.repeat(100_000) },
  ]) {
    const { schema } = cleanSchema(given);
    t.ok(JSON.stringify(schema).length < 1_500_000, Object.keys(given).join());
  }
});

/** Every schema within a cleaned one. */
function schemasIn(schema: JsonObject): readonly JsonObject[] {
  const {
    properties = {},
    items,
    anyOf = [],
  } = schema as {
    properties?: Record<string, JsonObject>;
    items?: JsonObject;
    anyOf?: JsonObject[];
  };
  const inner = [...Object.values(properties), ...(items === undefined ? [] : [items]), ...anyOf];
  return [schema, ...inner.flatMap(schemasIn)];
}

await test('whatever a schema says, each part has a type or choices, and nothing that is refused', async (t) => {
  const keywords = 'type properties items anyOf oneOf allOf enum const format required $ref additionalProperties'.split(
    ' ',
  );
  const values = constantFrom<unknown>('string', 'object', 'null', 7, ['string', 'null'], '#', '#/properties', 'a');
  const { schema: arbitrary } = letrec((tie) => ({
    schema: dictionary(
      constantFrom(...keywords),
      oneof({ depthSize: 'small' }, values, array(tie('schema'), { maxLength: 3 }), tie('schema')),
      { maxKeys: 5 },
    ),
  }));
  const refused = ['$ref', 'allOf', 'oneOf', 'const', 'additionalProperties'];
  assert(
    property(arbitrary, (given) => {
      for (const schema of schemasIn(cleanSchema(given as JsonObject).schema)) {
        if (typeof schema['type'] !== 'string' && !Array.isArray(schema['anyOf'])) return false;
        if (schema['anyOf'] !== undefined && Object.keys(schema).length > 1) return false;
        if (refused.some((keyword) => keyword in schema)) return false;
      }
      return true;
    }),
    runs(2_000),
  );
  t.pass();
});
