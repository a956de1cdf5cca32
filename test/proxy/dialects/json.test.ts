// JSON is written as it was read, digit by digit.
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  isObject,
  listOf,
  numberOf,
  parseJson,
  parseObject,
  textOf,
  writeJson,
} from '../../../proxy/dialects/json/json.ts';
import { runs } from '../../support/extent.ts';

const numbers = ['0', '-0', '1', '-1.5', '1.0', '0.10', '1e3', '1E-7', '12345678901234567890', '0.1234567890123456789'];

await test('every number is written as it was read', async (t) => {
  for (const number of [...numbers, '100', '10.01', '1e400', '-0.0', '9007199254740993']) {
    for (const length of [0, 1_000, 100_000]) {
      const text = `{"a":[${number},"${number}"],"text":"${'ab '.repeat(length / 3)}","b":${number}}`;
      t.ok(writeJson(parseJson(text)) === text, `${number} beside ${length} letters`);
    }
  }
  const value = fc.oneof(fc.constantFrom(...numbers), fc.json());
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), value)), (members) => {
      const unique = [...new Map(members.filter(([key]) => !/^\d+$/.test(key)))];
      const text = `{${unique.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
      const plain = JSON.stringify(JSON.parse(text)) === text;
      return !plain || writeJson(parseJson(text)) === text;
    }),
    runs(200),
  );
});

await test('a number that JavaScript cannot hold is a number all the same', async (t) => {
  const [exact, usual] = listOf(parseJson('[12345678901234567890, 5]')) ?? [];
  t.equal(numberOf(exact), Number('12345678901234567890'));
  t.equal(numberOf(usual), 5);
  t.equal(numberOf('5'), undefined);
  t.notOk(isObject(exact), 'and no object');
  t.equal(textOf(exact), undefined);
});

await test('only an object is an object', async (t) => {
  t.same(parseObject('{"a":1.0}'), { a: { rawJSON: '1.0' } });
  for (const text of ['[]', 'null', '1.0', '"a"', '{', '', '{} {}']) t.equal(parseObject(text), undefined, text);
  const body = parseObject('{"__proto__":{"a":1}}');
  t.strictSame(Object.keys(body ?? {}), ['__proto__']);
  t.equal(Object.getPrototypeOf(body), Object.prototype);
});
