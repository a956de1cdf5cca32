// The id of a session is that of its beginning, its consumer and its model, whatever was remembered before.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { test } from 'tap';
import { type Scope, sessionOfBeginning } from '../../proxy/records/remembered-sessions.ts';

const digest = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const scope: Scope = { userPath: '/team', model: 'm' };

function expected(bytes: Buffer, { userPath, model }: Scope): string {
  return `auto-${digest(bytes).slice(0, 24)}${digest(`${userPath}\0${model}`).slice(0, 8)}`;
}

await test('an id is that of its beginning and its scope, though thousands share the places', (t) => {
  const text = fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ minLength: 4_000, maxLength: 4_200 }));
  const name = fc.constantFrom('', '/', '/team', '/team-a', '/team-b', '/meta');
  fc.assert(
    fc.property(text, name, name, (bytes, userPath, model) => {
      const one = { userPath, model };
      return sessionOfBeginning(Buffer.from(bytes), one) === expected(Buffer.from(bytes), one);
    }),
    { numRuns: 3_000 },
  );
  // These differ where nothing is sampled.
  const alike = ['a', 'b', 'a'].map((letter) => Buffer.from(`${'x'.repeat(33)}${letter}${'x'.repeat(1_000)}`));
  t.same(
    alike.map((bytes) => sessionOfBeginning(bytes, scope)),
    alike.map((bytes) => expected(bytes, scope)),
  );
  // So do these scopes: lengths and last characters are the same.
  const team = Buffer.from('hello');
  const scopes = ['/a-team', '/b-team', '/a-team'].map((userPath) => ({ userPath, model: 'm' }));
  t.same(
    scopes.map((each) => sessionOfBeginning(team, each)),
    scopes.map((each) => expected(team, each)),
  );
  t.end();
});

await test('a beginning that is written over is another one', (t) => {
  const bytes = Buffer.from('first');
  sessionOfBeginning(bytes, scope);
  bytes.write('other');
  t.equal(sessionOfBeginning(bytes, scope), expected(bytes, scope));
  bytes.write('first');
  t.equal(sessionOfBeginning(bytes, scope), expected(bytes, scope));
  t.end();
});
