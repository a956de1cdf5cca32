// Of which bodies of model calls it is known without reading them that they name no stored object.
import { test } from 'tap';
import { mayRefer } from '../../../../proxy/kept/objects/may-refer.ts';

/** A call with this text as a member, as JSON writes it. */
const withMember = (member: string): Buffer => Buffer.from(`{"model":"m","messages":[],${member}}`);

await test('a body that may name a stored object has to be read, however the name is written', async (t) => {
  const naming = [
    '"file_id":"x"',
    '"previous_message_id":"x"',
    '"x":"files/abc"',
    '"x":"_0123456789abcdef"',
    '"fil\\u0065\\u005fid":"x"',
    '"x":"\\\\\\u0066ile-id"',
  ];
  t.same(
    naming.filter((member) => !mayRefer(withMember(member))),
    [],
  );
});

await test('prose and code name none, whatever escapes and underscores they have', async (t) => {
  const code = JSON.stringify('\tconst my_value = "C:\\u0041\\n" / 2; // the previous_value, ünïcode\n');
  const plain = [`"x":${code}`, '"x":"u0041 \\\\u0041 \\u00e9 \\u001f _0123456789abcde message"'];
  t.same(
    plain.filter((member) => mayRefer(withMember(member))),
    [],
  );
});
