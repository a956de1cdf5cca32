// What the demo model makes of a JSON Schema is an instance of it, so that strict clients and tools take it.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { instanceOf, materialOf } from '../../deploy/demo-provider/schema.ts';

const text = { type: 'string' };
const schemas: Record<string, object> = {
  bounds: { type: 'number', exclusiveMinimum: 0.2, maximum: 0.4 },
  multiples: { type: 'integer', minimum: 5, multipleOf: 4 },
  'short and long text': {
    type: 'array',
    prefixItems: [
      { ...text, maxLength: 2 },
      { ...text, minLength: 40 },
    ],
    minItems: 2,
  },
  patterns: { type: 'string', pattern: '^\\d{5}$' },
  nullables: { type: ['null', 'boolean'], not: { type: 'null' } },
  lists: { type: 'array', items: { enum: ['b', 'a'] }, minItems: 3 },
  'an empty list': { type: 'array', items: text, maxItems: 0 },
  'joined parts': {
    allOf: [{ $ref: '#/$defs/named' }, { properties: { age: { const: 7 } }, required: ['age'] }],
    $defs: { named: { type: 'object', properties: { name: text }, required: ['name'] } },
  },
  'a tree': {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: {
          name: text,
          next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          children: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
        required: ['name', 'next', 'children'],
        additionalProperties: false,
      },
    },
  },
};

const material = materialOf('Ask "the old man" about 3.5 or 12 days in Łódź. What Bob Smith said', []);

await test('material: quoted words, names and numbers, without what begins a sentence', async (t) => {
  t.strictSame(material, { texts: ['the old man', 'Łódź', 'Bob Smith'], numbers: [3.5, 12] });
  t.strictSame(materialOf('use get weather for paris', ['get weather']).texts, ['paris']);
});

const ajv = new Ajv2020({ strict: false });
for (const [name, schema] of Object.entries(schemas)) {
  await test(`an instance with ${name}`, async (t) => {
    const validate = ajv.compile(schema);
    const made = instanceOf(schema, material);
    t.ok(validate(made), `${JSON.stringify(made)} ${ajv.errorsText(validate.errors)}`);
  });
}

await test('a schema that has no end ends', async (t) => {
  const members = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { $ref: '#' }]));
  const made = instanceOf({ type: 'object', properties: members, required: Object.keys(members) }, material);
  t.ok(JSON.stringify(made).length < 100_000);
  const circle = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
  t.equal(instanceOf(circle, material), 'the old man');
});
