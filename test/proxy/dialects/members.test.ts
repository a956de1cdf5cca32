// Members of a client's body have the type they must have, or are refused by their path.
import { test } from 'tap';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  requiredObject,
  requiredText,
  unknownMembers,
} from '../../../proxy/dialects/json/members.ts';

const body: JsonObject = { text: 'a', flag: false, number: 0, object: {}, list: [], none: null };
const readers = {
  text: optionalText,
  flag: optionalFlag,
  number: optionalNumber,
  object: optionalObject,
  list: optionalList,
};

await test('a member has one type', async (t) => {
  for (const [type, read] of Object.entries(readers)) {
    for (const key of Object.keys(readers)) {
      if (key === type) t.equal(read(body, key), body[key]);
      else
        t.throws(() => read(body, key, 'a[1]'), { name: 'InvalidRequest', param: `a[1].${key}` }, `${key} as ${type}`);
    }
    t.equal(read(body, 'none'), undefined);
    t.equal(read(body, 'missing'), undefined);
    t.equal(read(body, 'toString'), undefined, 'what every object has is no member');
  }
  const number = JSON.rawJSON('1.0');
  t.equal(optionalNumber({ number }, 'number'), number, 'exact numbers are numbers');
  t.throws(() => optionalObject({ number }, 'number'), { name: 'InvalidRequest', param: 'number' });
});

await test('what must be there is asked for', async (t) => {
  t.throws(() => requiredText(body, 'none', 'a'), { param: 'a.none', message: 'is missing; it must be a text' });
  t.throws(() => requiredObject(body, 'missing'), { param: 'missing', message: 'is missing; it must be an object' });
  t.same(objectsIn([{ a: 1 }], 'tools'), [{ value: { a: 1 }, at: 'tools[0]' }]);
  t.throws(() => objectsIn([{}, []], 'tools'), { param: 'tools[1]', message: 'must be an object' });
});

await test('unknown members are those with a value', async (t) => {
  const odd = JSON.parse('{"a":1,"b":null,"c":false,"__proto__":2}') as JsonObject;
  t.strictSame(unknownMembers(odd, new Set(['a'])), [
    ['c', false],
    ['__proto__', 2],
  ]);
});
