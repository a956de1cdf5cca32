// The mistake that is reported when a body has several, its sentence, and the bounded cost of many mistakes.
import { test } from 'tap';
import { jsonWording } from '../../../control-plane/managed/json-wording.ts';
import { compileBody } from '../../../schemas/validation/compile.ts';
import { createCheck } from '../../../schemas/validation/first-mistake.ts';

const schema = JSON.parse(`{
  "type": "object",
  "additionalProperties": false,
  "required": ["name"],
  "properties": {
    "name": { "description": "What it is called; anything.", "type": "string" },
    "words": { "type": "array", "items": { "type": "string", "maxLength": 3 } },
    "inner": { "type": "object", "properties": { "size": { "type": "integer", "minimum": 1 } } },
    "allOf": { "type": "string" },
    "required": { "type": "string" },
    "mode": { "enum": ["on", "off"], "default": "on" }
  },
  "allOf": [
    {
      "if": { "required": ["mode"], "properties": { "mode": { "const": "off" } } },
      "then": { "description": "is missing: what is off has them", "required": ["words"] }
    },
    { "properties": { "name": { "description": "must not be a word", "not": { "const": "word" } } } },
    { "description": "a choice", "anyOf": [{ "properties": { "name": { "maxLength": 9 } } }, { "required": ["inner"] }] }
  ]
}`) as object;

const mistakes: [body: object, path: (string | number)[], message: string][] = [
  [{}, ['name'], 'is missing (what it is called)'],
  [{ names: 'x' }, ['names'], 'is unknown; perhaps "name" was meant'],
  [{ name: 7, words: 7 }, ['name'], 'must be a string, found the number 7 (what it is called)'],
  [{ name: 'x', words: ['a', null] }, ['words', 1], 'must be a string, found null'],
  [{ name: 'x', words: ['abcd'] }, ['words', 0], 'is longer than 3 characters'],
  [{ name: 'x', inner: { size: 0 } }, ['inner', 'size'], 'must be at least 1, found the number 0'],
  [{ name: 'x', mode: 'offf' }, ['mode'], 'must be one of on, off, found the text "offf"; perhaps "off" was meant'],
  [{ name: 'x', mode: 'off' }, ['words'], 'is missing: what is off has them'],
  [{ name: 'word' }, ['name'], 'must not be a word'],
  [{ name: 'a long name' }, [], 'a choice'],
];

await test('the first mistake has its place and its sentence', async (t) => {
  const check = createCheck(compileBody(schema), jsonWording);
  for (const [body, path, message] of mistakes) t.match(check(body), { path, message }, JSON.stringify(body));
});

await test('a good value gets its defaults, whatever its members are called', async (t) => {
  const body = { name: 'x', allOf: 'a', required: 'b' };
  t.equal(createCheck(compileBody(schema), jsonWording)(body), undefined);
  t.same(body, { name: 'x', allOf: 'a', required: 'b', mode: 'on' });
});

await test('a mistake without a sentence is refused too', async (t) => {
  const check = createCheck(compileBody({ allOf: [false] }), jsonWording);
  t.match(check({}), { message: String });
});

await test('nothing is looked for after the first mistake', async (t) => {
  const check = createCheck(compileBody(schema), jsonWording);
  let looked = 0;
  const words = Array.from({ length: 10 }, (_, index) => index);
  const body = {
    name: 'x',
    words: new Proxy(words, {
      get(target, key, receiver) {
        if (/^\d+$/.test(String(key))) looked += 1;
        return Reflect.get(target, key, receiver) as unknown;
      },
    }),
  };
  t.match(check(body), { path: ['words', 0] });
  t.ok(looked <= 2, `${looked} entries`);
});
