// The first bytes of a body tell what it is, wherever they are cut, and a byte order mark is none of them.
import { test } from 'tap';
import { FirstBytes } from '../../proxy/upstream/first-bytes.ts';

const mark = Buffer.from([0xef, 0xbb, 0xbf]);

function read(body: Buffer, cut: number): string {
  const first = new FirstBytes();
  const pieces = [body.subarray(0, cut), body.subarray(cut)].filter(({ length }) => length > 0);
  const passed = pieces.map((piece) => (first.form === undefined ? first.take(piece) : piece));
  if (first.form === undefined) passed.push(first.rest());
  return `${first.form} ${Buffer.concat(passed).toString('latin1')}`;
}

await test('events, JSON and other bodies are told apart, with a mark and without', (t) => {
  const bodies: [text: string, form: string][] = [
    ['data: {"a":1}\n\n', 'events'],
    ['\r\n\n event:x\ndata: 1\n\n', 'events'],
    [': a comment\n\n', 'events'],
    ['retry:5\nid: 7\n\n', 'events'],
    ['{"data":1}', 'json'],
    [' \n{"a":1}\n{"b":2}\n', 'json'],
    ['dat', 'other'],
    ['database: down', 'other'],
    ['<html>data: 1</html>', 'other'],
    [`${' '.repeat(70)}data: 1`, 'other'],
    ['', 'other'],
  ];
  for (const [text, form] of bodies) {
    for (const begun of ['', mark.toString('latin1')]) {
      const body = Buffer.from(begun + text, 'latin1');
      const told = new Set(Array.from({ length: body.length + 1 }, (_, cut) => read(body, cut)));
      t.same([...told], [`${form} ${text}`], JSON.stringify(text));
    }
  }
  t.end();
});

await test('what only begins like a mark stays', (t) => {
  for (const bytes of [mark.subarray(0, 1), mark.subarray(0, 2), Buffer.from([0xef, 0xbb, 0x41])]) {
    t.equal(read(bytes, bytes.length), `other ${bytes.toString('latin1')}`);
  }
  t.end();
});
