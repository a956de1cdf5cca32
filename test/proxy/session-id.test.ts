// The ids of sessions that clients do not name: records of earlier versions are in the store, so a conversation keeps its id.
import { test } from 'tap';
import { readCall } from '../../proxy/call/call.ts';
import { sessionIdOf } from '../../proxy/records/session-id.ts';

const question = (content: string) => ({ messages: [{ role: 'user', content }] });
const idOf = (body: object, userPath = '/team', model = 'm'): string | undefined =>
  sessionIdOf([], readCall(Buffer.from(JSON.stringify({ model, ...body }))), userPath);

await test('a conversation has the id that it has always had', (t) => {
  const long = 'ü'.repeat(5_000);
  const rows: readonly (readonly [claim: string, body: object, id: string])[] = [
    ['one short part', question('Hello'), 'auto-224b36e01042cabbd588fce14ca160f4'],
    ['instructions', { system: 'Be brief.', ...question('Hello') }, 'auto-6d1749e5b30369de37be32f74ca160f4'],
    ['a part of 2,048 bytes', question('x'.repeat(2_048 - 29)), 'auto-37d52d5fcd021ed36d159d994ca160f4'],
    ['a longer part', question('x'.repeat(2_049 - 29)), 'auto-f714e6a244a2da3abf5426ff4ca160f4'],
    ['long parts', { system: long, instructions: long, ...question(long) }, 'auto-5fffaf7ef2dcc2a33426eb924ca160f4'],
  ];
  for (const [claim, body, id] of rows) t.equal(idOf(body), id, claim);
  t.end();
});

await test('of a long part the length, the beginning and the end tell conversations apart', (t) => {
  const first = idOf(question(`a${'x'.repeat(5_000)}z`));
  t.equal(idOf(question(`a${'x'.repeat(2_500)}y${'x'.repeat(2_499)}z`)), first, 'not what is in the middle');
  for (const other of [`b${'x'.repeat(5_000)}z`, `a${'x'.repeat(5_000)}y`, `a${'x'.repeat(5_001)}z`])
    t.not(idOf(question(other)), first);
  t.end();
});

await test('user path and model are part of the id, each by itself', (t) => {
  const ids = [
    ['/team', 'm'],
    ['/tea', 'mm'],
    ['/team', 'n'],
    ['/meat', 'm'],
  ].map(([userPath, model]) => idOf(question('Hello'), userPath, model));
  t.equal(new Set(ids).size, 4);
  t.equal(new Set(ids.map((id) => id?.slice(0, -8))).size, 1, 'the first digits are those of the beginning');
  t.end();
});
