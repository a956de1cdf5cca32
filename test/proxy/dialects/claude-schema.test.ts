// Schemas of answers as Claude takes them: closed objects, and limits as words.
import { test } from 'tap';
import { closedSchema } from '../../../proxy/dialects/claude/claude-schema.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';

const close = (schema: JsonObject) => closedSchema(schema).schema;

await test('every object is closed, wherever it stands, and it is told when that says less', (t) => {
  const object = { type: 'object', properties: {} };
  const closed = { ...object, additionalProperties: false };
  const given = {
    properties: { a: object, b: { items: object }, c: { anyOf: [object, { type: 'null' }] } },
    $defs: { d: object },
  };
  t.same(closedSchema(given), {
    schema: {
      type: 'object',
      properties: {
        a: closed,
        b: { items: closed, type: 'array' },
        c: { anyOf: [closed, { type: 'null' }] },
      },
      additionalProperties: false,
      $defs: { d: closed },
    },
    isNarrower: false,
    isRecursive: false,
  });
  const isNarrower = (schema: JsonObject) => closedSchema(schema).isNarrower;
  t.same([{ type: 'object' }, { ...object, additionalProperties: true }, closed].map(isNarrower), [true, true, false]);
  t.match(closedSchema({ type: 'object', additionalProperties: { type: 'string' } }), {
    schema: { additionalProperties: false, description: '{additionalProperties: {"type":"string"}}' },
    isNarrower: true,
  });
  t.end();
});

await test('limits become words of the description, and what is taken stays', (t) => {
  t.same(close({ type: 'integer', description: 'How many.', minimum: 1, maximum: 9 }), {
    type: 'integer',
    description: 'How many.\n\n{minimum: 1, maximum: 9}',
  });
  t.same(close({ type: 'array', items: { type: 'string', minLength: 2 }, minItems: 3, uniqueItems: true }), {
    type: 'array',
    items: { type: 'string', description: '{minLength: 2}' },
    description: '{minItems: 3, uniqueItems: true}',
  });
  const taken = {
    type: 'array',
    items: { type: 'string', format: 'date', enum: ['a', null], pattern: '^a+$' },
    minItems: 1,
  };
  t.same(close(taken), taken);
  t.same(close({ type: 'string', format: 'regex', pattern: '(?=a)' }), {
    type: 'string',
    description: '{format: "regex", pattern: "(?=a)"}',
  });
  t.same(close({ enum: [{ a: 1 }] }), { description: '{enum: [{"a":1}]}' });
  t.end();
});

await test('choices are told as one keyword, references stand alone, and what says nothing is left out', (t) => {
  const $ref = '#/$defs/a';
  t.same(close({ $schema: 's', $comment: 'c', oneOf: [{ $ref, description: 'd' }, { const: 1 }] }), {
    anyOf: [{ $ref }, { const: 1 }],
  });
  t.same(close({ description: 'd', allOf: [{ $ref }] }), { $ref });
  t.same(close({ description: 'd', allOf: [{ type: 'string', maxLength: 9 }] }), {
    type: 'string',
    description: 'd\n\n{maxLength: 9}',
  });
  const tuple = [{ type: 'string' }, { type: 'number' }];
  t.same(close({ type: 'array', items: tuple }), { type: 'array', items: { anyOf: tuple } });
  t.end();
});

await test('a schema that refers to itself is known', (t) => {
  const list = { type: 'object', properties: { next: { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] } } };
  const isRecursive = (schema: JsonObject) => closedSchema(schema).isRecursive;
  t.equal(isRecursive({ $ref: '#/$defs/list', $defs: { list } }), true);
  t.equal(isRecursive({ type: 'object', properties: { self: { $ref: '#' } } }), true);
  const twice = { type: 'object', properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/a' } } };
  t.equal(isRecursive({ ...twice, $defs: { a: { type: 'string' } } }), false, 'one that names something twice is not');
  t.end();
});
