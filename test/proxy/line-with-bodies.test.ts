// Bodies that are put behind their record as they came: those that may hold a secret, and answers that look like no JSON, are not.
import { test } from 'tap';
import { lineOfWholeBodies } from '../../proxy/records/line-with-bodies.ts';

const line = '{"id":"a","data":{"b":1}}';
/** Of a body. */
const mostBytes = 1_000;

function written(request: string, answer: string, secrets: readonly string[] = []): string | undefined {
  const bodies = { request: Buffer.from(request), answer: Buffer.from(answer), mostBytes };
  const pieces = lineOfWholeBodies(line, bodies, secrets);
  return pieces && Buffer.concat(pieces).toString();
}

await test('they stand behind it, in one line', async (t) => {
  t.equal(written('{"é":1}', '{"b":"ü"}'), `${line}\x1f{"é":1}\x1f{"b":"ü"}`);
  t.equal(written('{\r\n\t"é": 1\n}', '{\n  "b": "\\n ü"\r}\n'), `${line}\x1f{"é": 1}\x1f{"b": "\\n ü"\r}`);
  t.equal(written('{}', '{"b":1,}'), `${line}\x1f{}\x1f{"b":1,}`, 'the reader finds that out');
});

await test('of a longer one it is found out before, because it could grow beyond the limit', async (t) => {
  const long = (end: string): string => `{"b":"${'c'.repeat(200)}"${end}}`;
  t.equal(written('{}', long('')), `${line}\x1f{}\x1f${long('')}`);
  t.equal(written('{}', long(',')), undefined);
});

await test('others are read before they are recorded', async (t) => {
  for (const answer of ['', '[1]', 'text', ' {}', '{"b":\n1,}', '{"key":"sk-abcdefghijklmnop"}'])
    t.equal(written('{}', answer), undefined, answer);
  t.equal(
    lineOfWholeBodies(line, { request: Buffer.from('{}'), answer: Buffer.from('{"é"}', 'latin1'), mostBytes }, []),
    undefined,
  );
  t.equal(written('{"a":"Authorization: Bearer abc123def456"}', '{}'), undefined);
  for (const secret of ['a word of ours', 'ein Schlüssel'])
    t.equal(written(`{"a":"it is ${secret}"}`, '{}', [secret]), undefined, secret);
});
